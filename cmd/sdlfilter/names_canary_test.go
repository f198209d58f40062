package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A name of the source may be a value of a respondent: the first record of a file without header,
// all of one whose lines end with CR, a member named by a person. No command shows it, unless the
// configuration has it.
func TestNamesAreNotShown(t *testing.T) {
	var rows strings.Builder
	for i := range 300 {
		fmt.Fprintf(&rows, "%d,%d.50,Canaryperson%d\n", i, 4711+i, i)
	}
	long := strings.Repeat("Canarylong", 30)
	var members strings.Builder
	for i := range 50 {
		fmt.Fprintf(&members, `{"id":%d,"wage":%d.5,"Canarymember%d":%d,"friend":{"Canaryfriend%d":1}}`+"\n", i, 3000+i, i%9,
			i, i%9)
	}
	for name, c := range map[string]struct {
		in    map[string]string
		path  string // of the source
		cause string
	}{
		"no header": {in: map[string]string{"in.csv": rows.String()}, path: "in.csv",
			cause: "seems to have no header"},
		"no header, all texts": {in: map[string]string{"in.csv": "Canaryperson0,Canarytown,Canaryjob\n1,2,x\n3,4,y\n"},
			path: "in.csv"},
		"two alike": {in: map[string]string{"in.csv": "Canaryperson0,Canaryperson0,Canaryjob\n1,2,x\n3,4,y\n"},
			path: "in.csv", cause: "seems to have no header"},
		"second file": {in: map[string]string{"in/a.csv": "id,wage,name\n1,2.5,x\n", "in/b.csv": rows.String()},
			path: "in", cause: "seems to have no header"},
		"second file, texts": {
			in: map[string]string{"in/a.csv": "id,wage,name\n1,2.5,x\n",
				"in/b.csv": "Canaryperson0,Canarytown,Canaryjob\n1,2,x\n"}, path: "in", cause: "column 1 has another name"},
		"cr": {
			in: map[string]string{"in.csv": "id,wage,name\r" + strings.ReplaceAll(rows.String(), "\n", "\r")}, path: "in.csv",
			cause: "CR alone"},
		"cr, then lf": {
			in:   map[string]string{"in.csv": "id,wage,name\r" + strings.ReplaceAll(rows.String(), "\n", "\r") + "\n1,2,3\n"},
			path: "in.csv", cause: "CR alone"},
		"sep": {in: map[string]string{"in.csv": "sep=;\n" + strings.ReplaceAll(rows.String(), ",", ";")},
			path: "in.csv", cause: "sep="},
		"long": {in: map[string]string{"in.csv": "id,wage,name," + long + "\n1,2,3,4\n5,6,7,8\n"},
			path: "in.csv"},
		"similar": {in: map[string]string{"in.csv": "id,wage,Canaryname\n1,2,3\n5,6,7\n"}, path: "in.csv"},
		"members": {in: map[string]string{"in.jsonl": members.String()}, path: "in.jsonl"},
		"members, mixed": {
			in: map[string]string{"in.jsonl": members.String() + `{"id":1,"wage":2,"Canarymember1":{"x":1}}` + "\n" +
				`{"id":1,"wage":2,"Canarymember2":1,"Canarymember2":2}` + "\n"}, path: "in.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.in["k"] = base64.StdEncoding.EncodeToString([]byte("a fixed key of 32 bytes for tests"[:32]))
			format := "csv"
			if strings.HasSuffix(c.path, "jsonl") {
				format = "jsonl"
			}
			head := fmt.Sprintf("version: 1\nname: t\nkey: {file: k}\nsource: {%s: {path: %s}}\n", format, c.path)
			columns :=
				"columns: {id: {role: other}, wage: {role: sensitive, decimals: 2}, name: {role: identifier}}\nmasks: [{noise: {columns: [wage], sd: 50}}]\n"
			c.in["p.yaml"] = head + columns +
				fmt.Sprintf("sink: {%s: {path: out}}\nreport: {json: report.json}\nquarantine: {jsonl: bad.jsonl}\n", format)
			c.in["d.yaml"] = strings.Replace(c.in["p.yaml"], "columns:", "unlisted: drop\ncolumns:", 1)
			c.in["s.yaml"] = strings.Replace(c.in["p.yaml"], "name: {role", "Canarynam: {role", 1)
			c.in["t.yaml"] = head + "tables: [{name: a, rows: [region]}]\n"
			for file, text := range c.in {
				if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for i, args := range [][]string{
				{"run", "p.yaml"}, {"run", "-v", "d.yaml"}, {"run", "s.yaml"}, {"validate", "--connect", "p.yaml"},
				{"preview", "p.yaml"}, {"profile", "p.yaml"},
				{"tables", "t.yaml"}, {"map", "p.yaml"}, {"assess", "--original", c.path, "--released", c.path, "--columns", "wag"},
				{"attack", "--original", c.path, "--released", c.path, "--keys", "wag"},
				{"shard", "plan", "--shards", "2", "--out", "plan", "p.yaml"}, {"init", c.path},
			} {
				if args[0] == "init" && c.cause == "" {
					continue // it writes the names: this is what it is for
				}
				printed, err := program(t, dir, args...).CombinedOutput()
				text := bytes.ReplaceAll(printed, []byte("Canarynam:"), nil)
				if at := bytes.Index(text, []byte("Canary")); at >= 0 {
					t.Errorf("%s: %s", strings.Join(args, " "), text[max(at-100, 0):min(at+100, len(text))])
				}
				if len(printed) > 4000 {
					t.Errorf("%s: %d bytes", strings.Join(args, " "), len(printed))
				}
				if i == 0 && (err == nil || !bytes.Contains(printed, []byte(c.cause))) {
					t.Errorf("%s: %v: %s; want %q", strings.Join(args, " "), err, printed, c.cause)
				}
			}
			for _, file := range []string{"bad.jsonl", "report.json"} {
				if text, err := os.ReadFile(filepath.Join(dir, file)); err == nil && bytes.Contains(text, []byte("Canary")) {
					t.Errorf("%s: %s", file, text)
				}
			}
		})
	}
}
