package filejob

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
)

// columnOf reads a column of a CSV file.
func columnOf(t *testing.T, path, name string) []string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], name)
	if at < 0 {
		t.Fatalf("the file has no column %s, but %v", name, rows[0])
	}
	var values []string
	for _, row := range rows[1:] {
		values = append(values, row[at])
	}
	return values
}

// wholeRun releases 900 people with masks of all records.
func wholeRun(t *testing.T, masks, extra string) (dir string, p *config.Pipeline, r *account.Result, err error) {
	t.Helper()
	dir = t.TempDir()
	writeCSV(t, filepath.Join(dir, "in.csv"), people(900))
	p = parse(t, dir,
		setup{source: "csv: {path: " + dir + "/in.csv}", sink: "csv: {path: " + dir + "/out.csv}", masks: masks,
			extra: extra + "\nreport: {json: " + dir + "/r.json, html: " + dir +
				"/r.html, publish: [k, aggregate, p, bottom, top]}\n"})
	r, err = Run(context.Background(), p, pipeline.Options{})
	return dir, p, r, err
}

func measured(r *account.Result, name string) assess.ColumnMeasures {
	return r.Report.Columns[slices.IndexFunc(r.Report.Columns, func(c assess.ColumnMeasures) bool {
		return c.Name == name
	})]
}

// The released file has groups of k within each stratum, and all other columns are unchanged. R by
// index is the mean square of the file, whether the sample has all records or a few.
func TestMicroaggregatedFile(t *testing.T) {
	const k = 4
	for _, sample := range []string{"all", "100"} {
		dir, _, r, err := wholeRun(t, "\n  - microaggregate: {columns: [income, debt], k: 4, by: [region]}\n",
			"assess: {sample: "+sample+", replicates: 7}")
		if err != nil {
			t.Fatal(err)
		}
		in, out := filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.csv")
		for _, same := range []string{"age", "region"} {
			if !slices.Equal(columnOf(t, in, same), columnOf(t, out, same)) {
				t.Errorf("the column %s has changed", same)
			}
		}
		region := columnOf(t, out, "region")
		held := map[string]int{}
		var square float64
		before, after := columnOf(t, in, "income"), columnOf(t, out, "income")
		for i, y := range after {
			held[region[i]+" "+y]++
			a, _ := strconv.ParseFloat(before[i], 64)
			b, _ := strconv.ParseFloat(y, 64)
			square += (a - b) * (a - b) / float64(len(after))
		}
		for value, n := range held {
			if n < k {
				t.Errorf("%d records have the value %s, want at least k", n, value)
			}
		}
		debt := columnOf(t, in, "debt")
		for i, y := range columnOf(t, out, "debt") {
			if (debt[i] == "") != (y == "") {
				t.Fatalf("record %d: debt is missing in only one of original and release", i)
			}
		}
		column := measured(r, "income")
		found := false
		for _, risk := range column.Risk {
			if risk.Target == "typical" && risk.Knowledge == "index" {
				found = true
				if got := 1 / float64(risk.R); !(math.Abs(got-square) <= 1e-9*square) {
					t.Errorf("sample %s: R gives an error of ±%v, the file ±%v", sample, math.Sqrt(got), math.Sqrt(square))
				}
			}
		}
		if !found {
			t.Error("the report has no R of the typical record by index")
		}
	}
}

// Noise before groups is random: replicates are used if the sample has all records, otherwise the
// one release, marked as approximate.
func TestNoiseBeforeGroupsIsMarked(t *testing.T) {
	for _, tt := range []struct {
		sample      string
		replicates  int
		approximate bool
	}{{"all", 7, false}, {"100", 0, true}} {
		_, _, r,
			err := wholeRun(t, "\n  - noise: {columns: [income], sd: 500}\n  - microaggregate: {columns: [income], k: 3}\n",
			"assess: {sample: "+tt.sample+", replicates: 7}")
		if err != nil {
			t.Fatal(err)
		}
		column := measured(r, "income")
		for _, risk := range column.Risk {
			if risk.Replicates != tt.replicates || risk.Approximate != tt.approximate {
				t.Errorf("sample %s, target %s, knowledge %s: %d replicates, approximate %v", tt.sample, risk.Target,
					risk.Knowledge, risk.Replicates, risk.Approximate)
			}
		}
	}
}

// Exchanged values are those of the file. Swaps, groups and ranks can be combined in one run.
func TestRanksAndGroupsAndSwapsInOneRun(t *testing.T) {
	dir, _, r,
		err := wholeRun(t,
		"\n  - rankswap: {columns: [income], p: 5%}\n  - microaggregate: {columns: [debt], k: 3, method: univariate}\n"+
			"  - noise: {columns: [debt], sd: 3}\n", "assess: {replicates: 5}")
	if err != nil {
		t.Fatal(err)
	}
	before, after := columnOf(t, filepath.Join(dir, "in.csv"), "income"),
		columnOf(t, filepath.Join(dir, "out.csv"), "income")
	if slices.Equal(before, after) {
		t.Error("the column has not changed")
	}
	slices.Sort(before)
	slices.Sort(after)
	if !slices.Equal(before, after) {
		t.Error("the column has other values than before, not only another order")
	}
	for _, name := range []string{"income", "debt"} {
		column := measured(r, name)
		if len(column.Risk) == 0 || column.Risk[0].Replicates != 5 {
			t.Errorf("%s: risks are %+v, want 5 replicates", name, column.Risk)
		}
	}
	if _, _, _, err := wholeRun(t,
		"\n  - swap: {keys: [age], attribute: region, columns: [income], rate: 0.7, scope: dataset}\n  - microaggregate: {columns: [debt], k: 3}\n", "assess: {replicates: 3}"); err != nil {
		t.Error(err)
	}
}

// If the data do not allow the mask, the error gives the place and nothing is written.
func TestWholeMasksRefuse(t *testing.T) {
	for masks, want := range map[string]string{
		"\n  - microaggregate: {columns: [income], k: 901}\n":               "masks[0].microaggregate.k: must be at most the records with a value in the same columns: the data have 900, got 901; lower k (test.yaml:",
		"\n  - microaggregate: {columns: [income], k: 400, by: [region]}\n": "masks[0].microaggregate.k: must be at most the records with a value in the same columns: a stratum has ",
		"\n  - shuffle: {columns: [income], on: [age, region]}\n":           "masks[0].shuffle.on[1]: region is string, and shuffle needs numbers to go by; leave it out, or where only some of its values are no numbers, or it has no value at all, source.csv.types: {region: float64} makes it numbers ",
		// A column that a mask has turned into text cannot be used as a number by a later mask.
		"\n  - topcode: {columns: [income], upper: 900, replace: label, upper_label: much}\n  - noise: {columns: [income], sd: 3}\n": "masks[1].noise.columns: income is string, and noise needs a number (test.yaml:",
		// The type is only known from the data, but the error still gives the place of the
		// parameter.
		"\n  - noise: {columns: [debt], sd: 3}\n  - recode: {columns: [age], breaks: [0, 21, 200], midpoints: true}\n": `masks[1].recode.breaks: column "age" cannot hold 10.5 in its type and decimals (test.yaml:`,
		"\n  - noise: {columns: [debt], sd: 3}\n  - pram: {columns: [age], keep: 0.5, categories: [\"1\", x]}\n":       `masks[1].pram.categories: column "age" holds numbers, and "x" is none (test.yaml:`,
		"\n  - rankswap: {columns: [income], p: 0.001}\n":                                                              "masks[0].rankswap.p: must be at least 1 record of those with a value in columns[0]: a share of 0.001 of 900 is less; give a greater p (test.yaml:",
		"\n  - rankswap: {columns: [income], min_correlation: 0.9999999999}\n":                                         "masks[0].rankswap.min_correlation: must allow exchanges between neighbours in rank, and those of columns[0] differ too much for 0.9999999999; give a smaller one (test.yaml:",
	} {
		dir, _, _, err := wholeRun(t, masks, "")
		var problems config.Errors
		if !errors.As(err, &problems) || !strings.HasPrefix(fmt.Sprint(err), want) ||
			!strings.Contains(fmt.Sprint(err), "(test.yaml:") {
			t.Errorf("%s: error %v, want %s", masks, err, want)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) != 2 {
			t.Errorf("%s: the folder has the files %v (error %v), want 2", masks, files, err)
		}
	}
}

// The shuffled values are those of the file, R by index is that of replicates, and the rest of the
// file is unchanged. The note says what was kept.
func TestShuffledFile(t *testing.T) {
	dir, _, r, err := wholeRun(t, "\n  - shuffle: {columns: [income, debt], on: [age]}\n", "assess: {replicates: 6}")
	if err != nil {
		t.Fatal(err)
	}
	in, out := filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.csv")
	for _, name := range []string{"income", "debt", "age", "region"} {
		before, after := columnOf(t, in, name), columnOf(t, out, name)
		moved := 0
		for i := range before {
			if (before[i] == "") != (after[i] == "") {
				t.Fatalf("%s: the value of record %d is missing in only one of original and release", name, i)
			}
			if before[i] != after[i] {
				moved++
			}
		}
		if shuffled := name == "income" || name == "debt"; shuffled && moved < len(before)*3/4 || !shuffled && moved > 0 {
			t.Errorf("%s: %d of %d records have a changed value", name, moved, len(before))
		}
		slices.Sort(before)
		slices.Sort(after)
		if !slices.Equal(before, after) {
			t.Errorf("%s: the column has other values than before, not only another order", name)
		}
	}
	if column := measured(r, "income"); len(column.Risk) == 0 || column.Risk[0].Replicates != 6 ||
		column.Risk[0].Approximate {
		t.Errorf("risks are %+v, want 6 replicates, not approximate", column.Risk)
	}
	text, err := os.ReadFile(filepath.Join(dir, "r.public.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"shuffling: the values of the mask's columns were given to other records",
		"Shuffling keeps the column’s own distribution",
		"with debt, shuffled together with it, and with the columns that it was shuffled on"} {
		if !strings.Contains(strings.ReplaceAll(string(text), `\u0026`, "&"), want) {
			t.Errorf("the note does not contain: %s", want)
		}
	}
}

// A synthetic file: no value of the columns occurs in the data, the other columns are unchanged, R
// by index is 1/(2σ²) without predictors, and the note contains the rule for combining copies.
func TestSyntheticFile(t *testing.T) {
	var released []string
	for _, number := range []string{"1", "2"} {
		dir, _, r,
			err := wholeRun(t, "\n  - synthesise: {columns: [income, debt], copy: "+number+"}\n", "assess: {replicates: 50}")
		if err != nil {
			t.Fatal(err)
		}
		in, out := filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.csv")
		before, after := columnOf(t, in, "income"), columnOf(t, out, "income")
		same := 0
		for _, v := range after {
			if slices.Contains(before, v) {
				same++
			}
		}
		if same > 9 { // 900 incomes among 9 million possible amounts: .09 matches are expected by chance
			t.Errorf("%d of %d incomes are among the original ones", same, len(after))
		}
		if !slices.Equal(columnOf(t, in, "age"), columnOf(t, out, "age")) {
			t.Error("the column age has changed")
		}
		column := measured(r, "income")
		i := slices.IndexFunc(column.Risk, func(k assess.Risk) bool {
			return k.Target == "typical" && k.Knowledge == "index"
		})
		σ := float64(column.Original.SD)
		if i < 0 || !(math.Abs(1/float64(column.Risk[i].R)/(2*σ*σ)-1) <= 0.05) || column.Risk[i].Replicates != 50 {
			t.Errorf("R by index is %+v with σ %v", column.Risk, σ)
		}
		text, err := os.ReadFile(filepath.Join(dir, "r.public.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"T = ū + b/m", "all values were drawn from models of the data"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the note does not contain: %s", want)
			}
		}
		released = append(released, strings.Join(after, ","))
	}
	if released[0] == released[1] {
		t.Error("two copies have the same content")
	}
}

// The note contains the conclusions from the published parameters of groups.
func TestNoteOfGroups(t *testing.T) {
	dir, _, _,
		err := wholeRun(t, "\n  - microaggregate: {columns: [income], k: 3}\n  - rankswap: {columns: [debt], p: 10%}\n",
		"assess: {replicates: 2}")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"r.public.json", "r.public.html"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"of at least k = 3 records each", "Var(x) ≥ Var(y)",
			"at most 10 % of the records apart", "Rank swapping keeps the column’s values"} {
			if !strings.Contains(strings.ReplaceAll(string(text), `≥`, "≥"), want) {
				t.Errorf("%s does not contain: %s", name, want)
			}
		}
	}
}
