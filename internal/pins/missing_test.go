package pins

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/filter"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/run"
)

// By every carrier, a release of data with declared codes for missing values is that of the same data with missing
// values in their place, except that the codes are there, and so are its figures. Where the codes leave as null, it is
// the same altogether.
func TestDeclaredCodesByEveryCarrier(t *testing.T) {
	masks := []string{
		"{noise: {columns: [x, v], sd: 60%}}",
		"{swap: {keys: [s], attribute: k, columns: [v], rate: 0.6, policy: random, scope: dataset}}, {bias: {columns: [x], phi: 0.15}}",
		"{noise: {columns: [x], sd: 8, distribution: laplace}}, {topcode: {columns: [x], upper: 90}}",
	}
	for i, mask := range masks {
		t.Chdir(t.TempDir())
		write(t, "test.key", []byte(keytest.Key(1).Text()+"\n"))
		coded := draw(i)
		nulls := slices.Clone(coded)
		n := 0
		for j := range coded {
			if coded[j].W == 17 {
				coded[j].W, nulls[j].W = 18, 18
			}
			if j%7 == 3 && coded[j].X != nil {
				code := []float64{-9, 999999.5}[n%2]
				coded[j].X, nulls[j].X = &code, nil
				n++
			}
			if j%11 == 2 {
				coded[j].W, nulls[j].W = 99, 99
			}
		}
		body := func(missing string) string {
			return "version: 1\nname: pinned\nkey: {file: test.key}\nidentity: [id]\n" +
				"columns: {id: {role: identifier}, x: {role: sensitive, decimals: 2" + missing +
				"}, v: {role: other, decimals: 2}, w: {decimals: 0, role: other}, k: {role: other}, s: {role: other}}\n" +
				"masks: [" + mask + "]\nassess: {sample: all, replicates: 5, intruder: {inversion: false}}\n"
		}
		carriers := carriersOf(t)
		delete(carriers, "run")
		for name, carrier := range carriers {
			if name != "shards" && strings.Contains(mask, "swap") || name != "shards" && strings.Contains(mask, "%") {
				continue // they pass over the records once
			}
			want, measured := carrier(body(""), nulls)
			for _, as := range []string{"null", "keep"} {
				got, report := carrier(body(", missing: {codes: [-9, {from: 999999}], as: "+as+"}"), coded)
				codes := 0
				for j := range got {
					codes += len(code.FindAllString(got[j], -1))
					got[j] = code.ReplaceAllString(got[j], `"x":null$1`)
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					for j := range got {
						if j >= len(want) || got[j] != want[j] {
							t.Errorf("%s, %s, as %s: a row is\n%s\nand not the same with missing values:\n%s", name, mask, as, got[j],
								want[min(j, len(want)-1)])
							break
						}
					}
				}
				if (as == "keep") != (codes == n) || as == "null" && codes != 0 {
					t.Errorf("%s, %s, as %s: %d codes are released, of %d", name, mask, as, codes, n)
				}
				if a, b := measuredBy(t, report, as == "null"), measuredBy(t, measured, as == "null"); a != b {
					t.Errorf("%s, %s, as %s: the figures are\n%s\nand those with missing values\n%s", name, mask, as, a, b)
				}
				var counted struct {
					MissingCodes []struct {
						Codes []struct{ Records int }
					} `json:"missing_codes"`
				}
				if err := json.Unmarshal(report, &counted); err != nil || len(counted.MissingCodes) != 1 ||
					counted.MissingCodes[0].Codes[0].Records+counted.MissingCodes[0].Codes[1].Records != n {
					t.Errorf("%s, %s, as %s: the codes are counted as %+v, want %d in all", name, mask, as, counted, n)
				}
			}
		}
	}
}

// carriersOf returns what takes records through a configuration, and gives the rows that leave and the report.
func carriersOf(t *testing.T) map[string]func(body string, people []person) (rows []string, report []byte) {
	read := func(pattern string) (rows []string, report []byte) {
		files, _ := filepath.Glob(pattern)
		for _, file := range slices.Sorted(slices.Values(files)) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, lines(text)...)
			os.Remove(file)
		}
		report, err := os.ReadFile("report.json")
		if err != nil {
			t.Fatal(err)
		}
		return rows, report
	}
	job := func(body, sink string, people []person) *config.Pipeline {
		write(t, "in.jsonl", formats["jsonl"](t, people))
		return parse(t, body, "source: {jsonl: {path: in.jsonl}}", "sink: {jsonl: {path: "+sink+"}}",
			"report: {json: report.json}")
	}
	return map[string]func(body string, people []person) ([]string, []byte){
		"filter": func(body string, people []person) ([]string, []byte) { return embedded(t, body, people) },
		"run": func(body string, people []person) ([]string, []byte) {
			if _, err := run.Pipeline(t.Context(), job(body, "out.jsonl", people), quiet); err != nil {
				t.Fatalf("run: %v", err)
			}
			return read("out.jsonl")
		},
		"shards": func(body string, people []person) ([]string, []byte) {
			if err := sharded(t, job(body, "parts", people)); err != nil {
				t.Fatalf("shards: %v", err)
			}
			return read("parts/*")
		},
		"stream": func(body string, people []person) ([]string, []byte) {
			var rows []string
			seen, interval = func(all []string) { rows = all }, "10s"
			defer func() { seen, interval = nil, "1h" }()
			if out := streamed(t, body, people); strings.HasPrefix(out, "error") {
				t.Fatalf("stream: %s", out)
			}
			_, report := read("")
			return rows, report
		},
	}
}

// code is a declared code in a row.
var code = regexp.MustCompile(`"x":(?:-9|999999\.5)(,|})`)

func lines(text []byte) (rows []string) {
	s := bufio.NewScanner(bytes.NewReader(text))
	for s.Scan() {
		rows = append(rows, s.Text())
	}
	return rows
}

// measuredBy returns the figures of a report; without those by the whole record, since a reader tells kept codes apart.
func measuredBy(t *testing.T, text []byte, byRecord bool) string {
	t.Helper()
	var tree map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	for _, c := range tree["columns"].(map[string]any) {
		column := c.(map[string]any)
		if risks, ok := column["risk"].([]any); ok && !byRecord {
			column["risk"] = slices.DeleteFunc(risks, func(r any) bool { return r.(map[string]any)["knowledge"] == "record" })
		}
	}
	return canonical(tree["columns"]) + canonical(tree["correlation"])
}

// embedded passes the records through an embedded filter.
func embedded(t *testing.T, body string, people []person) (rows []string, report []byte) {
	t.Helper()
	p, err := config.ParseEmbedded("pipeline.yaml", []byte(body), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	f, err := filter.Open(p, filter.Options{Version: "pinned"})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]person{people[:80], people[80:]} {
		in := batch(part)
		out, err := f.Batch(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Release()
		text, err := out.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		for _, row := range list {
			rows = append(rows, string(row))
		}
		out.Release()
	}
	rep, err := f.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := rep.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return rows, text
}
