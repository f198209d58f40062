package main

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/readstat"
)

// labelledFile writes n records of two labelled columns, q with codes 1 to 8 and 99, s with a to e, of which 8 and e
// are each in one record, and code 7 and d are rare. The label of code c of column v says "label-v-c.". income has the
// record's number times 10.
func labelledFile(t *testing.T, kind readstat.Kind, path string, n int) {
	t.Helper()
	var q, income, id readstat.Column
	s := readstat.Column{Offsets: []uint32{0}}
	codes := []string{"a", "b", "c"}
	for i := range n {
		code, text := float64(1+i%6), codes[(i*i/5+i/11)%3]
		switch {
		case i == 17:
			code, text = 8, "e"
		case i%97 == 5:
			code, text = 7, "d"
		case i%31 == 3:
			code = 99
		}
		q.Numbers, income.Numbers, id.Numbers = append(q.Numbers, code), append(income.Numbers, float64(1000+10*i)),
			append(id.Numbers, float64(i))
		s.Bytes = append(append(s.Bytes, text...), 0)
		s.Offsets = append(s.Offsets, uint32(len(s.Bytes)))
	}
	q.States, income.States, id.States = make([]byte, n), make([]byte, n), make([]byte, n)
	format := map[readstat.Kind]string{readstat.SAV: "F8.2", readstat.DTA: "%9.0g"}[kind]
	number := func(i int, name string) readstat.Variable {
		return readstat.Variable{Index: i, Name: name, Type: readstat.Double, Format: format, Set: name,
			Label: "variable-" + name + "."}
	}
	columns := []readstat.Out{{Variable: number(0, "id")}, {Variable: number(1, "q")},
		{Variable: readstat.Variable{Index: 2, Name: "s", Type: readstat.String, Width: 4, Set: "s"}},
		{Variable: number(3, "income")}}
	for _, code := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 99} {
		columns[1].Labels = append(columns[1].Labels,
			readstat.Label{Number: float64(code), Label: fmt.Sprintf("label-q-%d.", code)})
	}
	if kind == readstat.SAV {
		columns[1].Missing = []readstat.Range{{From: 99, To: 99}}
		for _, code := range []string{"a", "b", "c", "d", "e", "f"} {
			columns[2].Labels = append(columns[2].Labels,
				readstat.Label{IsText: true, Text: code, Label: "label-s-" + code + "."})
		}
	}
	var file bytes.Buffer
	w, err := readstat.NewWriter(t.Context(), &file, readstat.Target{Kind: kind, Rows: int64(n), Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Rows(t.Context(), readstat.AppendChunk(nil, []readstat.Column{id, q, s, income}, n), 0); err != nil {
		t.Fatal(err)
	}
	if err := w.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLabelsOfReleasedCodes: whatever masks do, and in whatever format, a release, its reports and all that a run
// prints have the labels of codes that released records have and that still mean the same, and no others.
func TestLabelsOfReleasedCodes(t *testing.T) {
	const config = `version: 1
name: labelled
key: {file: k}
source: {%s: {path: %s}}
columns:
  id: {role: identifier}
  q: {role: key%s}
  s: {role: key}
  income: {role: sensitive, decimals: 0}
identity: [id]
unlisted: drop
masks:
%s
  - noise: {columns: [income], sd: 50}
sink: {%s}
assess: {intruder: {inversion: false}}
gate: {max_quarantined: 1, rules: [{column: income, %s}]}
quarantine: {jsonl: out/quarantine.jsonl}
report: {json: out/report.json, html: out/report.html, board: out/board.html, xlsx: out/report.xlsx, publish: [sd]}
`
	all := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "99"}
	sinks := []string{
		"csv: {path: out/r.csv, codebook: out/book.csv}", "spss: {path: out/r.sav, compression: none}",
		"spss: {path: out/r.zsav}", "stata: {path: out/r.dta}",
		"stata: {path: out/r.dta, version: 117}", "xlsx: {path: out/r.xlsx}",
		"parquet: {path: out/r.parquet, compression: none}", "jsonl: {path: out/r.jsonl}",
	}
	tests := []struct {
		name, masks, missing string
		changed              []string // codes of q that no longer mean the same
		shuffled, withheld   bool
	}{
		{name: "nothing"},
		{
			name:  "recode",
			masks: "  - recode: {columns: [q], map: {\"1\": \"1\", \"2\": \"2\", \"3\": \"3\", \"4\": \"4\", \"5\": \"4\", \"6\": \"4\", \"7\": \"1\", \"8\": \"8\"}}", changed: []string{"1", "4"}},
		{name: "quarantine", masks: "  - recode: {columns: [q], map: {\"1\": \"1\", \"2\": \"3\", \"3\": \"3\"}}",
			changed: []string{"3"}},
		{
			name:  "pram",
			masks: "  - pram: {columns: [q], keep: 0.8, categories: [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\"]}"},
		{name: "topcode", masks: "  - topcode: {columns: [q], upper: 5}", changed: []string{"5"}},
		{name: "sample", masks: "  - sample: {rate: 0.2}"},
		{name: "suppress", masks: "  - suppress: {keys: [q, s], k: 12, max_share: 1}"},
		{name: "missing", missing: ", missing: {codes: [99], as: null}", changed: []string{"99"}},
		{name: "other missing", missing: ", missing: [7]", masks: "  - shuffle: {columns: [q]}"},
		{name: "round", masks: "  - round: {columns: [q], base: 2}", changed: all[:9]},
		{name: "shuffled", masks: "  - sample: {rate: 0.2}", shuffled: true},
		{name: "withheld", masks: "  - sample: {rate: 0.2}", withheld: true},
	}
	dir := t.TempDir()
	if program(t, dir, "keygen", "--out", "k").Run() != nil {
		t.Fatal("no key")
	}
	labelledFile(t, readstat.SAV, filepath.Join(dir, "in.sav"), 400)
	labelledFile(t, readstat.DTA, filepath.Join(dir, "in.dta"), 400)
	once := 0
	for i, c := range tests {
		for _, in := range []struct{ program, path string }{{"spss", "in.sav"}, {"stata", "in.dta"}} {
			released := map[string]map[string]bool{}
			for k, sink := range sinks {
				// All formats have the records of the first one.
				if k > 0 && testing.Short() && (k+i)%len(sinks) != 0 || testing.Short() && in.program == "stata" && i%4 != 0 {
					continue
				}
				if in.program == "stata" && k > 0 && (k+i)%3 != 0 {
					continue
				}
				name := c.name + "/" + in.program + "/" + sink[:strings.IndexByte(sink, ':')]
				rule, want := "min_efficiency: 1e-9", 0
				if c.withheld {
					rule, want = "max_risk: 1e-30", exitRefused
				}
				text := fmt.Sprintf(config, in.program, in.path, c.missing, c.masks, sink, rule)
				if c.shuffled {
					text = strings.Replace(text, "sink: {", "sink: {order: shuffled, ", 1)
				}
				if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				run := program(t, dir, "run", "p.yaml")
				printed, err := run.CombinedOutput()
				if status := run.ProcessState.ExitCode(); status != want && !(want == 0 && status == exitQuarantined) {
					t.Fatalf("%s: status %d, %v\n%s", name, status, err, printed)
				}
				said := &bytes.Buffer{}
				said.Write(printed)
				contents(t, said, filepath.Join(dir, "out"))
				if k == 0 && !c.withheld {
					released = releasedCodes(t, filepath.Join(dir, "out", "r.csv"))
				}
				if c.withheld {
					for _, path := range []string{"r.csv", "book.csv", "r.sav", "r.dta", "r.xlsx", "r.parquet"} {
						if _, err := os.Stat(filepath.Join(dir, "out", path)); err == nil {
							t.Errorf("%s: %s is there", name, path)
						}
					}
					for _, path := range []string{"report.public.json", "report.public.html"} {
						if text, err := os.ReadFile(filepath.Join(dir, "out", path)); err == nil &&
							bytes.Contains(text, []byte("label-")) {
							t.Errorf("%s: %s has labels of a release that there is not", name, path)
						}
					}
					for _, code := range []string{"q-9", "s-f"} {
						if bytes.Contains(said.Bytes(), []byte("label-"+code+".")) {
							t.Errorf("%s: the label of %s, which no record has, is said", name, code)
						}
					}
					continue
				}
				once++
				if bytes.Contains(said.Bytes(), []byte("variable-")) {
					t.Errorf("%s: the label of a variable is said", name)
				}
				check := func(column, code string, changed bool) {
					has := bytes.Contains(said.Bytes(), []byte("label-"+column+"-"+code+"."))
					should := released[column][code] && !changed && !strings.HasPrefix(sink, "jsonl") &&
						(column == "q" || in.program == "spss")
					if column == "s" && strings.HasPrefix(sink, "stata") { // whose texts have no labels
						should = false
					}
					if sink == "spss: {path: out/r.zsav}" {
						has = has || should // compressed, in the release
					}
					if has != should {
						t.Errorf("%s: the label of %s of %s is said: %v, want %v", name, code, column, has, should)
					}
				}
				for _, code := range all {
					changed := false
					for _, other := range c.changed {
						changed = changed || other == code
					}
					check("q", code, changed)
				}
				for _, code := range []string{"a", "b", "c", "d", "e", "f"} {
					check("s", code, false)
				}
			}
		}
	}
	if once == 0 {
		t.Error("nothing was released")
	}
}

// Of a folder of files, a release of files has in each the labels of its own codes, and one of a single file those of
// all.
func TestLabelsOfFolders(t *testing.T) {
	dir := t.TempDir()
	if program(t, dir, "keygen", "--out", "k").Run() != nil {
		t.Fatal("no key")
	}
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	labelledFile(t, readstat.SAV, filepath.Join(dir, "in", "a.sav"), 10) // codes 1 to 7 and 99
	labelledFile(t, readstat.SAV, filepath.Join(dir, "in", "b.sav"), 400)
	for _, c := range []struct {
		sink  string
		files map[string]string // the greatest code below 9 that each has a label of
	}{
		{"parquet: {path: out/r/, compression: none}",
			map[string]string{"r/part-00000.parquet": "7", "r/part-00001.parquet": "8"}},
		{"spss: {path: out/r.sav, compression: none}", map[string]string{"r.sav": "8"}},
		{"csv: {path: out/c/, codebook: out/book.csv}", map[string]string{"book.csv": "8"}},
	} {
		config :=
			"version: 1\nname: p\nkey: {file: k}\nsource: {spss: {path: in/}}\ncolumns:\n  q: {role: other}\n  s: {role: other}\nunlisted: drop\nsink: {" + c.sink + "}\n"
		if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if printed, err := program(t, dir, "run", "p.yaml").CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", c.sink, err, printed)
			}
			for name, last := range c.files {
				text, err := os.ReadFile(filepath.Join(dir, "out", name))
				if err != nil {
					t.Fatal(err)
				}
				for _, code := range []string{"7", "8", "9"} {
					if has := bytes.Contains(text, []byte("label-q-"+code+".")); has != (code <= last) {
						t.Errorf("%s, %s: the label of %s: %v", c.sink, name, code, has)
					}
				}
			}
		}
	}
}

// releasedCodes returns the codes of the columns of a release.
func releasedCodes(t *testing.T, path string) map[string]map[string]bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]map[string]bool{}
	for k, name := range rows[0] {
		codes[name] = map[string]bool{}
		for _, row := range rows[1:] {
			code := row[k]
			if x, err := strconv.ParseFloat(code, 64); err == nil {
				code = strconv.FormatFloat(x, 'g', -1, 64)
			}
			codes[name][code] = true
		}
	}
	return codes
}

// contents adds the content of all files of a folder, and of the members of zip files.
func contents(t *testing.T, to *bytes.Buffer, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		to.Write(data)
		if z, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
			for _, f := range z.File {
				r, err := f.Open()
				if err != nil {
					return err
				}
				if _, err := io.Copy(to, r); err != nil {
					return err
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A map shows the label of its variable where the release would have it, and no label otherwise.
func TestLabelOfAMap(t *testing.T) {
	dir := t.TempDir()
	if program(t, dir, "keygen", "--out", "k").Run() != nil {
		t.Fatal("no key")
	}
	labelledFile(t, readstat.SAV, filepath.Join(dir, "in.sav"), 60)
	for _, c := range []struct {
		sink  string
		shows bool
	}{
		{"spss: {path: r.sav, labels: [variables]}", true}, {"spss: {path: r.sav}", false},
		{"stata: {path: r.dta, labels: [variables]}", true},
		{"xlsx: {path: r.xlsx, labels: [values, variables]}", true}, {"xlsx: {path: r.xlsx, labels: []}", false},
		{"parquet: {path: r.parquet, labels: [variables]}", true}, {"parquet: {path: r.parquet}", false},
		{"csv: {path: r.csv, codebook: b.csv, labels: [variables]}", true}, {"csv: {path: r.csv}", false},
		{"jsonl: {path: r.jsonl}", false},
	} {
		config :=
			"version: 1\nname: p\nkey: {file: k}\nsource: {spss: {path: in.sav}}\ncolumns:\n  income: {role: sensitive}\nunlisted: drop\n" +
				"masks:\n  - noise: {columns: [income], sd: 50}\nsink: {" + c.sink +
				"}\nmap: {vary: {masks.0.noise.sd: {from: 10, to: 50, steps: 2}}}\n"
		if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "m")); err != nil {
			t.Fatal(err)
		}
		printed, err := program(t, dir, "map", "p.yaml", "--out", "m").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.sink, err, printed)
		}
		var said bytes.Buffer
		said.Write(printed)
		contents(t, &said, filepath.Join(dir, "m"))
		if bytes.Contains(said.Bytes(), []byte("variable-income.")) != c.shows ||
			bytes.Contains(said.Bytes(), []byte("label-")) {
			t.Errorf("%s: the label is shown: %v", c.sink, !c.shows)
		}
	}
}
