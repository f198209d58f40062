package filejob

import (
	"context"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// fileFormats are the file formats for both sources and sinks.
var fileFormats = []string{"csv", "jsonl", "parquet", "arrow"}

// rereleased runs masks from one file to another and returns the released records after a second
// release as CSV: numbers as the shortest text, in the order of the source.
func rereleased(t *testing.T, from, to, masks, extra string) ([][]string, *account.Result, error) {
	t.Helper()
	dir := t.TempDir()
	at := func(name, format string) string {
		return fmt.Sprintf("%s: {path: %s/%s.%s}", format, dir, name, format)
	}
	const same = "\n  - round: {columns: [income], decimals: 2}\n"
	write(t, filepath.Join(dir, "k"),
		[]byte(base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))))
	writeCSV(t, filepath.Join(dir, "in.csv"), people(300))
	run := func(source, sink, masks, extra string) (*account.Result, error) {
		p, err := config.Parse("test.yaml", fmt.Appendf(nil, `version: 1
key: {file: %s/k}
source: {%s}
sink: {%s}
unlisted: drop
columns:
  income: {role: sensitive, unmasked: true, decimals: 2}
  debt: {role: sensitive, unmasked: true}
  age: {role: key}
  region: {role: key}
masks:%s
%s
`, dir, source, sink, masks, extra), config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		return Run(context.Background(), p, pipeline.Options{})
	}
	if from != "csv" {
		if _, err := run("csv: {path: "+dir+"/in.csv}", at("in", from), same, "assess: {replicates: 0}"); err != nil {
			t.Fatal(err)
		}
	}
	result, err := run(at("in", from), at("out", to), masks, extra)
	if err != nil {
		return nil, result, err
	}
	types := ""
	if to == "csv" || to == "jsonl" {
		types = fmt.Sprintf("%s: {path: %s/out.%s, types: {income: float64}}", to, dir, to)
	} else {
		types = at("out", to)
	}
	if _, err := run(types, "csv: {path: "+dir+"/again.csv}", same, "assess: {replicates: 0}"); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "again.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		for c, cell := range row {
			if x, err := strconv.ParseFloat(cell, 64); err == nil {
				row[c] = strconv.FormatFloat(x, 'g', -1, 64)
			}
		}
	}
	return rows, result, nil
}

// Masks of categories and of all records give the same release for every combination of formats:
// labels in place of numbers, and missing cells in columns that had none.
func TestCategoriesInEveryFormat(t *testing.T) {
	racetest.Further(t)
	for name, masks := range map[string]string{
		"labels of intervals": "\n  - recode: {columns: [age], breaks: [0, 30, 50, 100], labels: [young, middle, old]}\n",
		"midpoints":           "\n  - recode: {columns: [age], breaks: [0, 30, 50, 100], midpoints: true}\n",
		"a sample":            "\n  - sample: {rate: 0.5, by: region, rates: {north: 0.2, east: 1}}\n  - noise: {columns: [income], sd: 100}\n",
		"groups of a sample":  "\n  - sample: {rate: 0.5}\n  - microaggregate: {columns: [income, debt], k: 3, by: [region]}\n",
		"coarser":             "\n  - recode: {columns: [region], map: {north: cold, east: cold, south: warm, west: warm}}\n",
		"top label":           "\n  - topcode: {columns: [age], upper: 65, replace: label, upper_label: 65+}\n",
		"pram":                "\n  - pram: {columns: [region], keep: 0.7, categories: [north, south, east, west]}\n",
		"groups":              "\n  - microaggregate: {columns: [income, debt], k: 3, by: [region]}\n",
		"ranks":               "\n  - rankswap: {columns: [income, debt], p: 10%}\n",
		"missing cells":       "\n  - suppress: {keys: [age, region], k: 4}\n",
		"missing labels":      "\n  - recode: {columns: [age], breaks: [0, 20, 50, 100], labels: [young, middle, old]}\n  - suppress: {keys: [age, region], k: 8}\n",
		"missing after noise": "\n  - noise: {columns: [income], sd: 500}\n  - round: {columns: [income], base: 20000}\n  - suppress: {keys: [income, region], k: 10}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _, err := rereleased(t, "csv", "csv", masks, "assess: {replicates: 0}")
			if err != nil {
				t.Fatal(err)
			}
			for i, format := range fileFormats {
				for same, pair := range [][2]string{{format, fileFormats[(i+1)%len(fileFormats)]}, {format, format}} {
					if testing.Short() && same > 0 {
						continue // each format is read and written
					}
					got, _, err := rereleased(t, pair[0], pair[1], masks, "assess: {replicates: 0}")
					if err != nil {
						t.Fatalf("%v: %v", pair, err)
					}
					if len(got) != len(want) {
						t.Fatalf("%v: %d lines; from CSV to CSV %d", pair, len(got), len(want))
					}
					for k := range want {
						if !slices.Equal(got[k], want[k]) {
							t.Fatalf("%v: line %d is %q; from CSV to CSV %q", pair, k+1, got[k], want[k])
						}
					}
				}
			}
		})
	}
}

// The released file reaches k, by counting its records, and the report says so. A numeric key has
// missing cells too.
func TestSuppressedFile(t *testing.T) {
	const extra = "assess: {replicates: 5, intruder: {categorical: [age], uniqueness: {k: [4]}}}\ngate: {rules: [{min_k: 4}]}\n"
	rows, result, err := rereleased(t, "parquet", "parquet", "\n  - suppress: {keys: [age, region], k: 4}\n", extra)
	if err != nil {
		t.Fatal(err)
	}
	age, region := slices.Index(rows[0], "age"), slices.Index(rows[0], "region")
	missing, whole := 0, map[string]int{}
	for _, row := range rows[1:] {
		whole[row[age]+"/"+row[region]]++
		if row[age] == "" || row[region] == "" {
			missing++
		}
	}
	for key, n := range whole {
		if !strings.HasPrefix(key, "/") && !strings.HasSuffix(key, "/") && n < 4 {
			t.Errorf("%d records have the same complete key, want at least 4", n)
		}
	}
	if missing == 0 || missing == len(rows)-1 {
		t.Errorf("%d of %d records have missing cells: the case checks nothing", missing, len(rows)-1)
	}
	u := result.Report.Attack.Uniqueness
	if u == nil || u.MinFrequency < 4 {
		t.Errorf("uniqueness in the report is %+v, want a least frequency of 4 or more", u)
	}
	if c := result.Report.Attack.Categories; c == nil || len(c.Columns) != 2 {
		t.Errorf("the loss of categories in the report is %+v, want 2 columns", c)
	} else {
		for _, l := range c.Columns {
			at, lost := age, 0
			if l.Name == "region" {
				at = region
			}
			for _, row := range rows[1:] {
				if row[at] == "" {
					lost++
				}
			}
			if l.Changed != lost || l.Missing != lost || (lost > 0) != (l.Lost > 0) ||
				!(l.Distance >= float64(lost)/300*(1-1e-12)) {
				t.Errorf("%d cells of %s are missing; the report has %+v", lost, l.Name, l)
			}
		}
		if !(c.PMSE > 0 && c.PMSE < 0.25) {
			t.Errorf("pMSE is %v, want it between 0 and 0.25", c.PMSE)
		}
	}
	if n := result.Report.Masks[0].Records; n != int64(missing) {
		t.Errorf("the report has %d changed records; %d have missing cells", n, missing)
	}
	if got := int(measured(result, "age").Released.Nulls); got == 0 {
		t.Error("the report counts no missing value of age")
	}
}

// If too many cells would be set missing, nothing is released, and the error gives the place and
// the remedy.
func TestSuppressBeyondItsShare(t *testing.T) {
	for masks, want := range map[string]string{
		"\n  - suppress: {keys: [age, region], k: 40, max_share: 10%}\n": "masks[0].suppress.max_share: is exceeded, and nothing is released: k = 40 takes ",
		"\n  - suppress: {keys: [age, region], k: 301}\n":                "masks[0].suppress.k: must be at most the number of records, got 301",
	} {
		if _, _, err := rereleased(t, "csv", "csv", masks, "assess: {replicates: 0}"); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// A JSON column with values of several kinds has no categories: it is refused, because the
// replacement would not be JSON.
func TestNoCategoriesOfMixedJSON(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in.jsonl"),
		[]byte(`{"id":"a","income":1.5,"debt":1,"age":1,"region":"north"}`+"\n"+
			`{"id":"b","income":2.5,"debt":2,"age":2,"region":{"of":"north"}}`+"\n"))
	p := parse(t, dir,
		setup{source: "jsonl: {path: " + dir + "/in.jsonl, types: {region: json}}",
			sink:  "jsonl: {path: " + dir + "/out.jsonl}",
			masks: "\n  - recode: {columns: [region], map: {north: cold}, other: warm}\n", extra: "assess: {replicates: 0}"})
	_, err := Run(context.Background(), p, pipeline.Options{})
	if err == nil || !strings.Contains(err.Error(), "region contains JSON values of several types") {
		t.Errorf("error %v, want one about JSON values of several types", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out.jsonl")); !os.IsNotExist(err) {
		t.Errorf("the run left a release (os.Stat returns %v)", err)
	}
}
