package tabling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

const testKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// people writes records of people with regions and sexes in a given order, and the key.
func people(t *testing.T, dir string, rows []string) {
	t.Helper()
	write(t, dir, "key", testKey+"\n")
	write(t, dir, "in.csv", "id,region,sex,age\n"+strings.Join(rows, "\n")+"\n")
}

func drawPeople(rng *rand.Rand, n int) (rows []string) {
	for i := range n {
		region := []string{"n1", "n2", "n3", "s1", "w1", "w2"}[min(int(rng.ExpFloat64()*1.3), 5)]
		rows = append(rows, fmt.Sprintf("%d,%s,%s,%d", 1000+i, region, []string{"f", "m"}[rng.IntN(2)], 10*rng.IntN(8)))
	}
	return rows
}

const cellKeyTables = `version: 1
source: {csv: {path: %s/in.csv}}
key: {file: %s/key}
identity: [id]
hierarchies: {region: {prefix: [1, 2]}}
tables:
  - {name: t, rows: [region, sex, age], unsafe: [{threshold: 3}], protect: {cell_key: {max: 3, variance: 1.5, respondents: ignore}}}
  - {name: u, rows: [age, region], unsafe: [{threshold: 3}], protect: {cell_key: {max: 3, variance: 1.5, respondents: ignore}}}
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json, cells: %s/cells.csv}
`

// values reads what was published for each cell, or would have been: by table and codes.
func values(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, row := range read(t, dir, "cells.csv")[1:] {
		found[strings.Join(row[:len(row)-9], "|")] = row[len(row)-1]
	}
	return found
}

// The same contributors get the same change: in another order of the records, in both tables, in a
// total with only one part, and in a release with fewer other people. Under another key almost
// every cell differs.
func TestTheSameContributorsAreChangedAlike(t *testing.T) {
	racetest.Further(t)
	rng := rand.New(rand.NewPCG(16, 5))
	rows := drawPeople(rng, 600)
	release := func(rows []string, change func(string) string) map[string]string {
		dir := t.TempDir()
		people(t, dir, rows)
		text := cellKeyTables
		if change != nil {
			text = change(text)
		}
		if _, err := run(t, dir, text); err != nil {
			t.Fatal(err)
		}
		return values(t, dir)
	}
	first := release(rows, nil)
	shuffled := append([]string(nil), rows...)
	rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if again := release(shuffled, nil); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Error("the order of the records changes the tables")
	}
	for cell, v := range first { // s has only the part s1
		f := strings.Split(cell, "|")
		if f[0] == "t" && f[1] == "s1" {
			if up := first[strings.Join([]string{"t", "s", f[2], f[3]}, "|")]; up != v {
				t.Errorf("%s is %s, but the total of this cell alone is %s", cell, v, up)
			}
		}
		if f[0] == "u" {
			if other := first[strings.Join([]string{"t", f[1], "total", f[3]}, "|")]; other != v {
				t.Errorf("%s is %s in one table, but %s in the other", cell, v, other)
			}
		}
	}
	var fewer []string // nobody of n1
	for _, r := range rows {
		if !strings.Contains(r, ",n1,") {
			fewer = append(fewer, r)
		}
	}
	kept, other := 0, 0
	for cell, v := range release(fewer, nil) {
		f := strings.Split(cell, "|")
		if region := f[1]; region == "total" || region == "n" {
			if first[cell] != v {
				other++
			}
			continue
		}
		if kept++; first[cell] != v {
			t.Errorf("%s is %s, but %s in a release with other records in other cells", cell, first[cell], v)
		}
	}
	if kept < 100 || other < 10 {
		t.Errorf("%d cells with the same records, %d with others, want at least 100 and 10", kept, other)
	}
	changed := 0
	folder := t.TempDir()
	write(t, folder, "other", strings.Replace(testKey, "B", "C", 1))
	for cell, v := range release(rows, func(s string) string {
		return strings.Replace(s, "key: {file: %s/key}", "key: {file: "+folder+"/other}", 1)
	}) {
		if first[cell] != v {
			changed++
		}
	}
	if changed < len(first)/3 {
		t.Errorf("with another key, only %d of %d cells change", changed, len(first))
	}
}

// Over many cells the changes have mean 0 and the configured variance, empty cells stay 0, and the
// confidential file contains the original of each.
func TestChangesOfCells(t *testing.T) {
	dir := t.TempDir()
	people(t, dir, drawPeople(rand.New(rand.NewPCG(16, 6)), 6000))
	if _, err := run(t, dir, cellKeyTables); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	n, sum, square := 0.0, 0.0, 0.0
	public := values(t, dir)
	for _, row := range read(t, dir, "cells.csv")[1:] {
		value, err := strconv.ParseFloat(row[4], 64)
		if err != nil {
			t.Fatal(row)
		}
		published, err := strconv.ParseFloat(row[len(row)-1], 64)
		if err != nil || public[strings.Join(row[:4], "|")] != row[len(row)-1] {
			t.Fatalf("%v: the public value is %s", row, public[strings.Join(row[:4], "|")])
		}
		if value == 0 {
			if published != 0 {
				t.Errorf("an empty cell is published as %v, want 0", published)
			}
			continue
		}
		if who := row[4] + row[len(row)-1] + row[2] + row[3]; seen[who] {
			continue // possibly the same contributors again
		} else {
			seen[who] = true
		}
		n, sum, square = n+1, sum+published-value, square+(published-value)*(published-value)
	}
	// The changes have a standard deviation of 1.22, and their squares one below 2.3 (fourth moment
	// at most 9 · 1.5). The tolerance is four standard errors of the means of n.
	if n < 150 || math.Abs(sum/n) > 4*1.23/math.Sqrt(n) || math.Abs(square/n-1.5) > 4*3.4/math.Sqrt(n) {
		t.Errorf("%v cells: the noise has the mean %v and the mean square %v, want 0 and 1.5", n, sum/n, square/n)
	}
}

// An intruder who enumerates all tables of counts compatible with everything published, over a
// hierarchy: no unsafe count has only one possible value in a release, and if one has, the tables
// are withheld.
func TestNothingIsComputedFromChangedTotals(t *testing.T) {
	racetest.Further(t)
	rng := rand.New(rand.NewPCG(16, 7))
	published, withheld := 0, 0
	for trial := range 60 {
		dir := t.TempDir()
		var rows []string
		counts := map[string]int{}
		id := 0
		for _, a := range []string{"x1", "x2", "y1"} {
			for _, b := range []string{"p", "q"} {
				n := 1 + rng.IntN(4)
				counts[a+"|"+b] = n
				for range n {
					id++
					rows = append(rows, fmt.Sprintf("%d,%s,%s", trial*100+id, a, b))
				}
			}
		}
		write(t, dir, "key", testKey)
		write(t, dir, "in.csv", "id,a,b\n"+strings.Join(rows, "\n")+"\n")
		res, err := run(t, dir, `version: 1
source: {csv: {path: %s/in.csv}}
key: {file: %s/key}
identity: [id]
hierarchies: {a: {prefix: [1, 2]}}
tables: [{name: t, rows: [a, b], unsafe: [{threshold: 3}], protect: {cell_key: {max: 1, variance: 0.7}}}]
sink: {csv: {path: %s/out.csv}}
report: {cells: %s/cells.csv}
`)
		if err != nil {
			t.Fatal(err)
		}
		shown := map[string]int{}
		for _, row := range read(t, dir, "cells.csv")[1:] {
			shown[row[1]+"|"+row[2]], _ = strconv.Atoi(row[len(row)-1])
		}
		single := singleValued(shown, counts, 1, func(_ string, count, published int) bool {
			return count == 0 && published == 0 || count > 0 && published >= count-1 && published <= count+1
		})
		if res.Report.Withheld != "" {
			withheld++ // a count that cannot be computed may still be almost certain
			continue
		}
		published++
		if len(single) > 0 {
			t.Errorf("trial %d: published, but %v can be computed from %v", trial, single, shown)
		}
		if _, err := os.Stat(filepath.Join(dir, "out.csv")); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d published, %d withheld", published, withheld)
	if published < 10 || withheld < 10 {
		t.Errorf("%d published, %d withheld: too few for this test", published, withheld)
	}
}

// singleValued enumerates all tables of inner counts within reach of the published counts, in which
// every cell may be published as it is. It returns the unsafe cells with only one value.
func singleValued(shown, counts map[string]int, reach int, agrees func(cell string, count, published int) bool) (
	single []string) {
	parents := map[string][]string{"x1": {"x1", "x", "total"}, "x2": {"x2", "x", "total"}, "y1": {"y1", "y", "total"}}
	inner := []string{"x1|p", "x1|q", "x2|p", "x2|q", "y1|p", "y1|q"}
	taken := map[string]map[int]bool{}
	sums := map[string]int{}
	truth := map[string]int{}
	add := func(into map[string]int, cell string, n int) {
		a, b, _ := strings.Cut(cell, "|")
		for _, up := range parents[a] {
			into[up+"|"+b] += n
			into[up+"|total"] += n
		}
	}
	for _, cell := range inner {
		add(truth, cell, counts[cell])
	}
	var fill func(i int)
	fill = func(i int) {
		if i == len(inner) {
			for cell, v := range sums {
				if !agrees(cell, v, shown[cell]) {
					return
				}
			}
			for cell, v := range sums {
				if taken[cell] == nil {
					taken[cell] = map[int]bool{}
				}
				taken[cell][v] = true
			}
			return
		}
		for v := max(0, shown[inner[i]]-reach); v <= shown[inner[i]]+reach; v++ {
			if !agrees(inner[i], v, shown[inner[i]]) {
				continue
			}
			add(sums, inner[i], v)
			fill(i + 1)
			add(sums, inner[i], -v)
		}
	}
	fill(0)
	for cell, v := range truth {
		if !taken[cell][v] {
			single = append(single, "impossible "+cell)
		}
		if v > 0 && v < 3 && len(taken[cell]) == 1 {
			single = append(single, cell)
		}
	}
	return single
}

// The release of a pipeline is changed like its source under the same key and identity: the same
// contributors are recognised in both. Without an identity it is refused.
func TestCellKeysOfAPipeline(t *testing.T) {
	dir := t.TempDir()
	people(t, dir, drawPeople(rand.New(rand.NewPCG(16, 8)), 300))
	const tables = `
hierarchies: {region: {prefix: [1, 2]}}
tables: [{name: t, rows: [region, sex], unsafe: [{threshold: 3}], protect: {cell_key: {}}}]
sink: {csv: {path: %s/out.csv}}
report: {cells: %s/cells.csv}
`
	if _, err := run(t, dir, "version: 1\nsource: {csv: {path: %s/in.csv}}\nkey: {file: %s/key}\nidentity: [id]"+
		tables); err != nil {
		t.Fatal(err)
	}
	want := values(t, dir)
	pipeline := `version: 1
source: {csv: {path: DIR/in.csv}}
key: {file: DIR/key}
identity: [id]
columns: {id: {role: identifier}, region: {role: key}, sex: {role: key}, age: {role: sensitive}}
masks: [{noise: {columns: [age], sd: 3}}]
sink: {csv: {path: DIR/masked.csv}}
`
	pipeline = strings.ReplaceAll(pipeline, "DIR", dir)
	write(t, dir, "p.yaml", pipeline)
	write(t, dir, "nobody.yaml", strings.Replace(pipeline, "identity: [id]\n", "", 1))
	if _, err := run(t, dir, "version: 1\npipeline: %s/p.yaml"+tables); err != nil {
		t.Fatal(err)
	}
	if got := values(t, dir); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("tables of the source: %v\ntables of the pipeline: %v", want, got)
	}
	if _, err := run(t, dir, "version: 1\npipeline: %s/nobody.yaml"+tables); err == nil ||
		!strings.Contains(err.Error(), "pipeline: must have an identity") {
		t.Errorf("a pipeline without an identity: error %v", err)
	}
	write(t, dir, "sample.yaml", strings.Replace(pipeline, "masks: [", "masks: [{sample: {rate: 0.5}}, ", 1))
	if _, err := run(t, dir, "version: 1\npipeline: %s/sample.yaml"+tables); err == nil ||
		!strings.Contains(err.Error(), "pipeline: must not leave records out by a mask (sample)") {
		t.Errorf("a pipeline with a sample: error %v", err)
	}
}

// Records without an identifying value are an error, with their number and without a value, or are
// omitted.
func TestRecordsOfNobodyAreNotCounted(t *testing.T) {
	racetest.Further(t)
	dir := t.TempDir()
	people(t, dir, append(drawPeople(rand.New(rand.NewPCG(16, 9)), 100), ",n1,f,10", ",s1,m,20"))
	if _, err := run(t, dir, cellKeyTables); err == nil ||
		!strings.Contains(err.Error(), "identity: 2 records of no identity; mend them, or leave them out (unknown: drop)") {
		t.Errorf("two records without identity: error %v", err)
	}
	res, err := run(t, dir, "unknown: drop\n"+cellKeyTables)
	if err != nil || res.Report.Records.Lost() != 2 || res.Report.Records.NoIdentity != 2 {
		t.Errorf("unknown: drop: error %v, result %+v, want 2 records left out", err, res)
	}
}
