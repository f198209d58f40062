package filejob

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// numbersOf returns the values of two columns for the records that have both.
func numbersOf(t *testing.T, path, a, b string) (x, y []float64) {
	t.Helper()
	of := columnOf(t, path, b)
	for i, text := range columnOf(t, path, a) {
		v, err := strconv.ParseFloat(text, 64)
		w, err2 := strconv.ParseFloat(of[i], 64)
		if err == nil && err2 == nil {
			x, y = append(x, v), append(y, w)
		}
	}
	return x, y
}

// With noise of 100 % the correlation stays and the variance doubles, whether the correlations come
// from a first pass or from a profile. Both give the same release.
func TestCorrelatedNoiseOfAFile(t *testing.T) {
	const mask = "\n  - noise: {columns: [income, debt], sd: 100%, correlated: true}\n"
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.csv")
	writeCSV(t, in, indebted(900))
	p := parse(t, dir,
		setup{source: "csv: {path: " + in + "}", sink: "csv: {path: " + out + "}", masks: mask,
			extra: "assess: {replicates: 20}\n"})
	r, err := Run(context.Background(), p, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, w := numbersOf(t, in, "income", "debt")
	y, v := numbersOf(t, out, "income", "debt")
	n := float64(len(x))
	before, after := stat.Correlation(x, w, nil), stat.Correlation(y, v, nil)
	// SE of the correlation of half signal, half normal noise: below 2/√n.
	if !(math.Abs(after-before) <= 5*2/math.Sqrt(n)) {
		t.Errorf("the correlation is %v released and %v original", after, before)
	}
	for i := range x {
		x[i], w[i] = y[i]-x[i], v[i]-w[i]
	}
	if noise := stat.Correlation(x, w, nil); !(math.Abs(noise-before) <= 5/math.Sqrt(n)) {
		t.Errorf("the noise has the correlation %v, the data %v", noise, before)
	}
	for _, name := range []string{"income", "debt"} {
		c := measured(r, name)
		i := slices.IndexFunc(c.Risk, func(k assess.Risk) bool { return k.Target == "typical" && k.Knowledge == "index" })
		if λ := float64(c.Original.SD); i < 0 || !(math.Abs(1/math.Sqrt(float64(c.Risk[i].R))/λ-1) <= 0.01) {
			t.Errorf("%s: R by index does not give λ = %v: %+v", name, λ, c.Risk)
		}
	}

	profile, err := pipeline.ProfilePipeline(context.Background(), p, new(pipeline.Progress))
	if err != nil {
		t.Fatal(err)
	}
	text, err := assess.SaveProfile(profile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "profile.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	p = parse(t, dir, setup{source: "csv: {path: " + in + "}", sink: "csv: {path: " + dir + "/again.csv}", masks: mask,
		extra: "profile: " + dir + "/profile.yaml\n"})
	if _, err := Run(context.Background(), p, pipeline.Options{}); err != nil {
		t.Fatal(err)
	}
	first, _ := os.ReadFile(out)
	again, err := os.ReadFile(filepath.Join(dir, "again.csv"))
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("a run with a profile makes another release (error %v)", err)
	}
}

// indebted returns people with debts that are correlated with their incomes.
func indebted(n int) []person {
	rows := people(n)
	for i := range rows {
		if d := rows[i].Debt; d != nil {
			*d = (*d + int64(rows[i].Income/2)) / 2
		}
	}
	return rows
}

// A warning names a column that the other columns of the mask determine, and no other column.
func TestWarnsOfDeterminedColumns(t *testing.T) {
	for _, determined := range []bool{true, false} {
		dir := t.TempDir()
		rows := indebted(300)
		if determined {
			for i := range rows {
				rows[i].Age = int32(rows[i].Income / 100)
			}
		}
		writeCSV(t, filepath.Join(dir, "in.csv"), rows)
		p := parse(t, dir, setup{source: "csv: {path: " + dir + "/in.csv}", sink: "csv: {path: " + dir + "/out.csv}",
			masks: "\n  - noise: {columns: [debt, income, age], sd: 10%, correlated: true}\n"})
		var log bytes.Buffer
		if _, err := Run(context.Background(), p, pipeline.Options{Log: zerolog.New(&log)}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"income", "age", "debt"} {
			want := determined && name != "debt"
			if got := strings.Contains(log.String(), `"column":"`+name+`","mask":"noise#1","message":"the other columns`); got !=
				want {
				t.Errorf("determined: %v; warning about %s: %v; log: %s", determined, name, got, log.String())
			}
		}
	}
}
