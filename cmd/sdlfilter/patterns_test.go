package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A pattern that matches nothing ends a run before anything is published, with its place; a category that is listed in
// vain is a warning. A shard and a stream cannot know, and warn.
func TestPatternsThatMatchNothing(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("zip,n\n")
	for i := range 300 {
		fmt.Fprintf(&text, "0%d%03d,%d\n", 1+i%2, i, i)
	}
	for name, c := range map[string]struct {
		masks  string
		status int
		want   string
	}{
		"match": {`{recode: {columns: [zip], map: {"01*": east, "02???": west}}}`, 0, ""},
		"in vain": {`{recode: {columns: [zip], map: {"01*": east, "03*": west}, other: rest}}`, exitUsage,
			`masks[0].recode.map: the pattern "03*" matches no value of column zip`},
		"a category": {`{recode: {columns: [zip], map: {"01*": east, "99999": west}, other: rest}}`, 0,
			`masks[0].recode: "99999" matches no value of column zip`},
		"a file": {`{recode: {columns: [zip], file: zips.csv, level: 2, other: rest}}`, 0, ""},
		"prefix": {`{recode: {columns: [zip], prefix: 2}}`, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, content := range map[string]string{
				"in.csv": text.String(), "k": "MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=\n",
				"zips.csv": "01*;01;0\n02*;02;0\n09;09;0\n",
				"p.yaml":   "version: 1\nkey: {file: k}\nsource: {csv: {path: in.csv, types: {zip: string}}}\nsink: {csv: {path: out.csv}}\ncolumns: {zip: {role: key}, n: {role: other}}\nmasks: [" + c.masks + "]\nreport: {json: r.json}\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			printed, err := program(t, dir, "run", "p.yaml").CombinedOutput()
			checkStatus(t, err, c.status, printed)
			out, err := os.ReadFile(filepath.Join(dir, "out.csv"))
			if (err == nil) != (c.status == 0) {
				t.Errorf("a release: %v", err)
			}
			said := strings.Join(strings.Fields(strings.ReplaceAll(string(printed), `\"`, `"`)), " ")
			if c.want != "" && !strings.Contains(said, c.want) || c.want == "" && strings.Contains(said, "matches no value") {
				t.Errorf("it says\n%s, want %q", printed, c.want)
			}
			if strings.Contains(string(out), "01000") || strings.Contains(string(out), "02001") {
				t.Errorf("original codes leave: %.100s", out)
			}
		})
	}
}

func TestPatternsOfAStream(t *testing.T) {
	t.Parallel()
	s, f := canaryStand(t, canaryJSON)
	s.file("pipeline.yaml",
		s.canaryText(f, ", until: latest", `{kafka: {brokers: ["BROKER"], topic: out}}`,
			`masks: [{noise: {columns: [wage], sd: 5000}}, {recode: {columns: [kind], map: {"a*": many, "z*": none}, other: rest}}]`))
	stdout, _ := s.run(exitQuarantined, "run", "pipeline.yaml")
	mustContain(t, strings.Join(strings.Fields(stdout), " "), `masks[1].recode: "z*" matches no value of column kind`)
}
