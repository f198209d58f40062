package tabling

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// A record with a declared code for a missing value contributes nothing to a table of the column's values, and in a
// variable the code is a code like any other; with as: null it is no code. The sums are those of a count by hand, for a
// source and for a pipeline.
func TestDeclaredCodesInTables(t *testing.T) {
	racetest.Further(t)
	var data strings.Builder
	data.WriteString("size,region,income,hours\n")
	sums, counts := map[string]float64{}, map[string]int{}
	add := func(keys []string, v float64, has bool) {
		for _, k := range keys {
			counts[k]++
			if has {
				sums[k] += v
			}
		}
	}
	for i := range 400 {
		size, region, income := []string{"small", "big"}[i%2], []string{"1", "2", "99"}[i/2%3], float64(1000+7*i%500)
		has := i%9 != 0
		if !has {
			income = []float64{-9, 9999997}[i%2]
		}
		hours := 20 + i%30
		if i%11 == 0 {
			hours = -1
		}
		fmt.Fprintf(&data, "%s,%s,%v,%d\n", size, region, income, hours)
		add([]string{size + "|" + region, "total|" + region, size + "|total", "total|total"}, income, has)
	}
	tables := `
tables:
  - {name: n, rows: [size, region], unsafe: [{threshold: 2}], protect: {suppress: {}}}
  - {name: v, rows: [size, region], value: income, unsafe: [{threshold: 2}], protect: {suppress: {}}}
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json}
`
	masks := `version: 1
key: {file: %s/k}
source: {csv: {path: %s/in.csv, types: {region: string}}}
columns:
  size: {role: other}
  region: {role: other, missing: ["99"]}
  income: {role: sensitive, unmasked: true, missing: [-9, {from: 9999997}]}
  hours: {role: other, missing: [-1]}
masks:
  - %s
sink: {csv: {path: %s/o.csv}}
`
	for name, text := range map[string]string{
		"source":            "version: 1\nsource: {csv: {path: %s/in.csv}}\nmissing: {income: [-9, {from: 9999997, to: 9999999}], region: ['99']}" + tables,
		"pipeline, hours":   "version: 1\npipeline: %s/p.yaml" + tables,
		"pipeline, regions": "version: 1\npipeline: %s/p.yaml" + tables,
	} {
		dir := t.TempDir()
		write(t, dir, "in.csv", data.String())
		write(t, dir, "k", keytest.Key(1).Text()+"\n")
		mask := "noise: {columns: [hours], sd: 3}"
		if strings.HasSuffix(name, "regions") {
			mask = "recode: {columns: [region], map: {\"1\": \"1\", \"2\": \"2\"}}"
		}
		write(t, dir, "p.yaml", fmt.Sprintf(masks, dir, dir, mask, dir))
		res, err := run(t, dir, text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := res.Report.Records.Tabulated; n != 400 {
			t.Errorf("%s: %d records are tabulated", name, n)
		}
		out, err := os.ReadFile(filepath.Join(dir, "out.csv"))
		if err != nil {
			t.Fatal(err)
		}
		cells := 0
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSpace(line), ",")
			if f[0] != "n" && f[0] != "v" {
				continue
			}
			cells++
			want := float64(counts[f[1]+"|"+f[2]])
			if f[0] == "v" {
				want = sums[f[1]+"|"+f[2]]
			}
			if got, err := strconv.ParseFloat(f[3], 64); err != nil || math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: the cell %v, want %v", name, f, want)
			}
		}
		if cells != 24 {
			t.Errorf("%s: %d cells, want 24", name, cells)
		}
	}
	dir := t.TempDir()
	write(t, dir, "in.csv", data.String())
	_,
		err := run(t, dir, "version: 1\nsource: {csv: {path: %s/in.csv}}\nmissing: {region: {codes: ['99'], as: null}}"+
		tables)
	if err == nil || !strings.Contains(err.Error(), "hierarchies.region: 132 records with") &&
		!strings.Contains(err.Error(), "132 records with a code") {
		t.Errorf("as null the records have no code, got the error %v", err)
	}
}
