package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Dates and moments are masked alike in every format that holds them, by a run and by a shard, and what is told of them
// holds no date.
func TestDatesInEveryFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var printed []string
	do := func(args ...string) {
		t.Helper()
		out, err := program(t, dir, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		printed = append(printed, string(out))
	}
	put("k", "MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n")
	var text strings.Builder
	text.WriteString("pid,birth,visit,seen,code\n")
	for i := range 400 {
		fmt.Fprintf(&text, "P%d,19%02d-0%d-1%d,2021-0%d-1%d,2021-0%d-1%dT0%d:30:00Z,%d\n", i/4, 30+i%60, 1+i%9, i%10, 1+i%7,
			i%10, 1+i%5, i%10, i%10, 10000+i)
	}
	const masks = "[{date: {columns: [visit, seen], shift: 20, by: pid, scope: person}}, {date: {columns: [birth], age: 2024-01-01, top: 80}}, {date: {columns: [code], round: month, unit: days}}, {noise: {columns: [due], sd: 20}}]"
	const columns = "columns: {pid: {role: other}, birth: {role: key}, visit: {role: sensitive}, seen: {role: sensitive}, code: {role: other}, due: {role: sensitive}}\nidentity: [pid]\n"
	put("table.csv",
		strings.Replace(strings.ReplaceAll(text.String(), "Z,", "Z,2022-03-04,"), "seen,code", "seen,due,code", 1))
	var first string
	for _, format := range []string{"csv", "parquet", "jsonl", "arrow"} {
		types := ", types: {seen: timestamptz, visit: date, due: date, birth: date}"
		source := "csv: {path: table.csv" + types + "}"
		if format != "csv" {
			put("p.yaml",
				strings.ReplaceAll(
					strings.ReplaceAll("version: 1\nkey: {file: k}\n"+columns+"source: {"+source+"}\nsink: {"+format+": {path: in."+
						format+"}}\nmasks: []\n", "role: sensitive", "role: other"), "role: key", "role: other"))
			do("run", "p.yaml")
			source = format + ": {path: in." + format + map[bool]string{true: types}[format == "jsonl"] + "}"
		}
		for _, shard := range []bool{false, true} {
			if shard && format == "arrow" {
				continue // has no shards
			}
			out := "out." + format + ".csv"
			put("p.yaml", "version: 1\nkey: {file: k}\n"+columns+"source: {"+source+"}\nsink: {csv: {path: "+out+
				map[bool]string{true: "/"}[shard]+"}}\nmasks: "+masks+"\nreport: {json: r.json, html: r.html}\n")
			if shard {
				if err := os.Remove(filepath.Join(dir, out)); err != nil {
					t.Fatal(err)
				}
				do("shard", "plan", "p.yaml", "--shards", "1", "--out", "plan.json")
				do("shard", "run", "plan.json", "--shard", "0", "--state", "states/0.state")
				do("shard", "commit", "plan.json", "--states", "states")
				files, err := filepath.Glob(filepath.Join(dir, out, "*.csv"))
				if err != nil || len(files) != 1 {
					t.Fatalf("a shard leaves %v, %v", files, err)
				}
				out += "/" + filepath.Base(files[0])
			} else {
				do("run", "p.yaml")
			}
			got, err := os.ReadFile(filepath.Join(dir, out))
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(got)
				mustContain(t, strings.Join(strings.Fields(printed[len(printed)-1]), " "),
					"all dates of a respondent are shifted alike", "visit days")
			} else if string(got) != first {
				t.Errorf("%s, shard %v: other dates than of csv:\n%.300s\n%.300s", format, shard, got, first)
			}
		}
	}
	// The shift also goes by an identifier that is withheld.
	hidden := strings.Replace(columns, "pid: {role: other}", "pid: {role: identifier}", 1)
	put("p.yaml",
		"version: 1\nkey: {file: k}\n"+hidden+
			"source: {csv: {path: table.csv, types: {seen: timestamptz, visit: date, due: date, birth: date}}}\nsink: {csv: {path: hidden.csv}}\nmasks: "+masks+"\n")
	do("run", "p.yaml")
	if got, err := os.ReadFile(filepath.Join(dir, "hidden.csv")); err != nil ||
		!strings.HasPrefix(string(got), first[len("pid,"):strings.Index(first, "\n")+1]) ||
		!strings.Contains(string(got), "\n"+strings.SplitN(strings.Split(first, "\n")[1], ",", 2)[1]+"\n") {
		t.Errorf("by an identifier: %v, %.200s", err, got)
	}
	// A gate judges R of dates beside a rounded key, whose inversion looks at all columns.
	put("p.yaml", "version: 1\nkey: {file: k}\n"+strings.Replace(hidden, "due: {role: sensitive}", "due: {role: key}", 1)+
		"source: {csv: {path: table.csv, types: {seen: timestamptz, visit: date, due: date, birth: date}}}\nsink: {csv: {path: gate.csv}}\n"+
		"masks: "+strings.Replace(masks, "noise: {columns: [due], sd: 20}", "date: {columns: [due], round: year}", 1)+
		"\ngate: {rules: [{column: visit, max_risk: 0.02}, {min_k: 4}]}\n")
	out, err := program(t, dir, "run", "p.yaml").CombinedOutput()
	checkStatus(t, err, exitRefused, out)
	mustContain(t, strings.Join(strings.Fields(string(out)), " "),
		"due: rounded dates not known exactly by the release; found R = infinite")
	put("p.yaml",
		"version: 1\nkey: {file: k}\n"+hidden+
			"source: {csv: {path: table.csv, types: {seen: timestamptz, visit: date, due: date, birth: date}}}\nsink: {csv: {path: hidden.csv}}\nmasks: "+masks+"\n")
	row := strings.Split(strings.Split(first, "\n")[1], ",")
	preview, err := program(t, dir, "preview", "p.yaml").Output()
	for _, value := range row[1:] {
		if err != nil || !strings.Contains(string(preview), value) {
			t.Errorf("a preview shows other dates than %v: %v\n%.600s", row, err, preview)
		}
	}
	if !strings.HasPrefix(first, "pid,birth,visit,seen,due,code\nP0,") || strings.Contains(first, ",19") {
		t.Errorf("the release: %.200s", first)
	}
	for _, name := range []string{"r.public.json", "r.public.html"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		printed = append(printed, string(data))
	}
	for _, text := range printed {
		for _, value := range []string{"2022-03-04", "2021-07-1", "1967-", "P99"} {
			if strings.Contains(text, value) {
				t.Errorf("%s is told:\n%.400s", value, text)
			}
		}
	}
}
