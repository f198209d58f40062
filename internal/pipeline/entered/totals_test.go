package entered_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// Records after tables of sums are judged with them: of noise of SD 100 a total of three leaves 81.6 (beside the wages'
// distribution of SD 500, 1/√(1/81.6² + 1/(500²·⅔)) = 80.0). Of 600 errors a root mean square has a relative standard
// error of 2.9 %; three are allowed.
func TestRecordsAfterTablesAreJudged(t *testing.T) {
	racetest.Further(t)
	dir := records(t, 600)
	threes(t, dir)
	tables(t, dir, "t", "", 3)
	stated := func(rule string, passes bool) *report.Report {
		t.Helper()
		rep := release{name: "b", masks: noise, rule: rule}.run(t, dir)
		if rep.Ledger.Not != "" || len(rep.Ledger.Tables) == 0 || !rep.Ledger.Tables[0].Judged || rep.Gate.Passed != passes {
			t.Fatalf("%s: %q, %+v, %+v", rule, rep.Ledger.Not, rep.Ledger.Tables, rep.Gate)
		}
		return rep
	}
	const inverted = "assess: {replicates: 5, targets: [p50], sample: all, keys: [region], intruder: {inversion: true, uniqueness: {}}}\n"
	const other = ", {column: wage, max_unchanged: 1}"
	rep := stated("{column: wage, target: typical, min_rmse: 90}"+other, false)
	if got := float64(rmse(t, rep, assess.KnowledgeAllReleases).RMSE); !(math.Abs(got/80.0-1) < 0.09) {
		t.Errorf("± %.1f is stated, want 80.0", got)
	}
	if got := float64(rmse(t, rep, assess.KnowledgeRecord).RMSE); !(math.Abs(got/98-1) < 0.09) {
		t.Errorf("of this release ± %.1f is stated, want 98", got)
	}
	// Of normal errors of SD 80, 5.0 % are within 5: 2·Φ(5/80) − 1; with two standard errors of 600 and a prior that
	// tells more in some places, less than 9 %.
	stated("{column: wage, target: typical, min_rmse: 90, releases: alone}"+other, true)
	for share, passes := range map[string]bool{"0.049": false, "0.09": true} {
		dir = records(t, 600)
		threes(t, dir)
		tables(t, dir, "t", "", 3)
		rep := release{name: "b", masks: noise, rest: inverted,
			rule: "{column: wage, max_exact: {share: " + share + ", within: 5}}, {min_k: 3}" + other}.run(t, dir)
		if rep.Ledger.Not != "" || rep.Gate.Passed != passes {
			t.Errorf("share %s: %q, %+v", share, rep.Ledger.Not, rep.Gate)
		}
	}
	rep = stated("{column: wage, target: typical, min_rmse: 70}"+other, true)
	if got := byTotals(t, dir, "b", "t"); !(got > float64(rmse(t, rep, assess.KnowledgeAllReleases).RMSE)) {
		t.Errorf("whoever adds a third of what a total is more errs by %v", got)
	}
}

// What cannot be computed is not judged, and says why.
func TestTablesThatAreNotJudged(t *testing.T) {
	racetest.Further(t)
	const rule = "{column: wage, target: typical, min_rmse: 1}, {column: wage, max_unchanged: 1}"
	for name, c := range map[string]struct {
		release
		old, by string // in the ledger
		records int
		want    string
	}{
		"judged":         {},
		"as a key":       {release: release{rest: "assess: {replicates: 5, targets: [p50], sample: all, keys: [wage], intruder: {inversion: false}}\n"}, want: "wage is a key"},
		"sampled":        {release: release{rest: "assess: {replicates: 5, targets: [p50], sample: 100, intruder: {inversion: false}}\n"}, want: "sample: all"},
		"swapped":        {release: release{masks: "{rankswap: {columns: [wage], p: 10%}}"}, want: "more than its own value"},
		"conditional":    {release: release{masks: "{noise: {columns: [wage], sd: 100, where: age > 40}}"}, want: "more than its own value"},
		"masked member":  {release: release{masks: noise + ", {pram: {columns: [region], keep: 0.5, categories: [x, y]}}"}, want: "masks region"},
		"another column": {old: `"columns":["region","wage"]`, by: `"columns":["region","wage","tax"]`, want: "no release has tax"},
		"no system":      {old: `"variables":[{"column":"region"`, by: `"variabels":[{"column":"region"`, want: "ledger"},
		"changed sums":   {old: `"value":"wage","protect":"suppress"`, by: `"value":"wage","protect":"cell_key"`, want: "cell_key"},
		"weighted":       {old: `"cells":201,"variables"`, by: `"cells":201,"weight":"age","variables"`, want: "weighted"},
		"other codes":    {old: `"leaves":["g0"`, by: `"leaves":["h0"`, want: "codes today"},
		"other records":  {old: `"records":600`, by: `"records":599`, want: "599 records"},
		"masked sums":    {old: `"configuration":{`, by: `"configuration":{"masks":[{"noise":{"columns":["wage"],"sd":1}}],`, want: "masked values"},
	} {
		dir := records(t, 600)
		threes(t, dir)
		tables(t, dir, "t", "", 3)
		if c.old != "" {
			rewritten(t, filepath.Join(dir, "ledger"), c.old, c.by)
		}
		c.release.name, c.release.rule = "b", rule
		if c.release.masks == "" {
			c.release.masks = noise
		}
		if name == "no system" { // an entry of an unknown form is none
			continue
		}
		rep := c.release.run(t, dir)
		not := rep.Ledger.Not
		if not == "" {
			not = rmse(t, rep, assess.KnowledgeAllReleases).Not
		}
		if rep.Gate.Passed != (c.want == "") || !strings.Contains(not, c.want) || c.want == "" && not != "" {
			t.Errorf("%s: passes %v, %q", name, rep.Gate.Passed, not)
		}
	}
}

// Whoever has tables and masked records does not come nearer to the values than is stated, whatever the tables and the
// masks. The attacker shares no code with the program: of the published cells it makes a matrix, of the records' errors
// variances (the true ones, in 20 classes of released values), and solves least squares by an eigenvalue decomposition;
// besides it tries the mean of the least published cell, means of both, and a regression on all of these, fitted on half
// of the records. A mean of n squares e² has a standard error of √(Σe⁴)/n; five are allowed.
func TestNoAttackerWithTotalsDoesBetter(t *testing.T) {
	racetest.Further(t)
	seeds := 24
	if testing.Short() {
		seeds = 6
	}
	worst := math.Inf(1)
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 99))
		dir := records(t, 10)
		skewed := rng.IntN(2) == 0
		cells := []int{40, 100, 200}[rng.IntN(3)]
		var text strings.Builder
		text.WriteString("pid,region,age,tax,wage\n")
		for i := range 600 {
			wage := 2500 + 500*rng.NormFloat64()
			if skewed {
				wage = math.Exp(7 + rng.NormFloat64())
			}
			fmt.Fprintf(&text, "p%d,g%d,%d,%.2f,%.2f\n", i, rng.IntN(cells), rng.IntN(2), wage/10+15*rng.NormFloat64(), wage)
		}
		if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		rows := []string{"[region]", "[region, age]"}[rng.IntN(2)]
		made := tablesBy(t, dir, "t", rows)
		if !made.Report.Gate.Passed {
			continue
		}
		// What a table's rule forbids to know is judged apart.
		rewritten(t, filepath.Join(dir, "ledger"), `"percent":10,`, "")
		sd := []int{30, 100, 400, 1500}[rng.IntN(4)]
		law := []string{"normal", "laplace", "uniform"}[rng.IntN(3)]
		mask := []string{
			fmt.Sprintf("{noise: {columns: [wage], sd: %d, distribution: %s}}", sd, law),
			fmt.Sprintf("{round: {columns: [wage], base: %d}}", 3*sd),
			"{topcode: {columns: [wage], upper: 3000, replace: bound}}",
			"{bias: {columns: [wage], phi: 0.2}}",
		}[min(rng.IntN(6), 3)]
		columns := "region: {role: key}, age: {role: other}" + []string{"", ", tax: {role: other}"}[rng.IntN(2)]
		rep := release{name: "b", masks: mask, columns: columns,
			rule: "{column: wage, target: typical, min_rmse: 0.001}, {column: wage, max_unchanged: 1}"}.run(t, dir)
		risk := rmse(t, rep, assess.KnowledgeAllReleases)
		stated := float64(risk.RMSE) * float64(risk.RMSE)
		if stated != stated || rep.Ledger.Not != "" {
			t.Fatalf("seed %d: %q, %+v", seed, rep.Ledger.Not, risk)
		}
		got, se := attackedByTotals(t, dir)
		alone := float64(rmse(t, rep, assess.KnowledgeRecord).RMSE)
		t.Logf("seed %d: %s, %s: ± %.4g stated, ± %.4g by the record, ± %.4g reached, ± %.4g realised", seed, rows, mask, math.Sqrt(stated),
			alone, math.Sqrt(got), 1/math.Sqrt(float64(risk.RealisedR)))
		worst = min(worst, got/stated)
		if got < stated-5*se-1e-9 {
			t.Errorf("seed %d: %s, %s, %s: the attacker errs by ± %.4g, stated is ± %.4g (standard error of the square %.3g)", seed,
				rows, mask, columns, math.Sqrt(got), math.Sqrt(stated), se/stated)
		}
	}
	t.Logf("the attacker's mean square is at least %.3f of the stated one", worst)
}

// attackedByTotals is the least mean square of an attacker with b.csv and t.csv, and its standard error.
func attackedByTotals(t *testing.T, dir string) (least, se float64) {
	t.Helper()
	original, released, cells := table(t, filepath.Join(dir, "in.csv")), table(t, filepath.Join(dir, "b.csv")),
		table(t, filepath.Join(dir, "t.csv"))
	x, y := numbersOf(original["wage"]), numbersOf(released["wage"])
	n := len(x)
	variance := slices.Clone(y)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if y[a] < y[b] {
			return -1
		}
		return 1
	})
	for k := range 20 {
		part, square := order[k*n/20:(k+1)*n/20], 1e-6
		for _, i := range part {
			square += (x[i] - y[i]) * (x[i] - y[i]) / float64(len(part))
		}
		for _, i := range part {
			if variance[i] = square; x[i] == y[i] {
				variance[i] = 1e-6
			}
		}
	}
	var rows [][]float64
	var right []float64
	mean, size := slices.Repeat([]float64{0}, n), slices.Repeat([]int{n + 1}, n)
	for c := range cells["value"] {
		if cells["value"][c] == "" || cells["table"][c] != "wages" {
			continue
		}
		row, in, rest := make([]float64, n), 0, numbersOf(cells["value"][c : c+1])[0]
		total := rest
		for i := range n {
			is := true
			for _, v := range []string{"region", "age"} {
				if of, there := cells[v]; there && of[c] != "total" && of[c] != released[v][i] {
					is = false
				}
			}
			if is {
				row[i], in, rest = 1, in+1, rest-y[i]
			}
		}
		for i := range n {
			if row[i] == 1 && in < size[i] {
				mean[i], size[i] = total/float64(in), in
			}
		}
		rows, right = append(rows, row), append(right, rest)
	}
	m := len(rows)
	k := mat.NewSymDense(max(m, 1), nil)
	for a := range m {
		for b := range a + 1 {
			sum := 0.0
			for i := range n {
				sum += rows[a][i] * rows[b][i] * variance[i]
			}
			k.SetSym(a, b, sum)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(k, true) {
		t.Fatal("no decomposition")
	}
	var u mat.Dense
	eigen.VectorsTo(&u)
	values := eigen.Values(nil)
	solved := make([]float64, m)
	for c, value := range values {
		if value <= 1e-9*values[len(values)-1] {
			continue
		}
		project := 0.0
		for a := range m {
			project += u.At(a, c) * right[a] / value
		}
		for a := range m {
			solved[a] += project * u.At(a, c)
		}
	}
	best := slices.Clone(y)
	for a := range m {
		for i := range n {
			best[i] += variance[i] * rows[a][i] * solved[a]
		}
	}
	least = math.Inf(1)
	try := func(of func(i int) float64, step int) {
		square, fourth, count := 0.0, 0.0, 0.0
		for i := step - 1; i < n; i += step {
			e := of(i) - x[i]
			square, fourth, count = square+e*e, fourth+e*e*e*e, count+1
		}
		if square/count < least {
			least, se = square/count, math.Sqrt(fourth)/count
		}
	}
	at := func(list []float64) func(i int) float64 { return func(i int) float64 { return list[i] } }
	try(at(best), 1)
	try(at(mean), 1)
	try(at(y), 1)
	for w := 0.1; w < 1; w += 0.1 {
		try(func(i int) float64 { return w*best[i] + (1-w)*mean[i] }, 1)
		try(func(i int) float64 { return max(0, w*y[i]+(1-w)*mean[i]) }, 1)
	}
	features := [][]float64{best, mean, y}
	if tax, there := released["tax"]; there {
		features = append(features, numbersOf(tax))
	}
	fit := leastSquaresFit(x, features)
	try(fit, 2)
	return least, se
}

// Tables after records are judged with them: the release is judged once more, by its own rules, as if the tables were in
// the ledger.
func TestTablesAfterRecordsAreJudged(t *testing.T) {
	for _, c := range []struct {
		name, rule, masks string
		passes            bool
		want              string
	}{
		{"a rule that holds", "{column: wage, target: typical, min_rmse: 70}", noise, true, ""},
		{"one that does not", "{column: wage, target: typical, min_rmse: 90}", noise, false, "at least 90"},
		{"one of the release alone", "{column: wage, target: typical, min_rmse: 90, releases: alone}", noise, true, ""},
		// Of 250 for a wage of 2,500 the table's rule asks: noise of SD 290 leaves that, and beside two others it does not.
		{"the table's own rule", "{column: wage, target: typical, min_rmse: 70}", "{noise: {columns: [wage], sd: 330}}", false,
			"within 10 %"},
		{"swapped", "{column: wage, target: typical, min_rmse: 1}", "{rankswap: {columns: [wage], p: 10%}}", false,
			"more than its own value"},
	} {
		dir := records(t, 600)
		threes(t, dir)
		if rep := (release{name: "b", masks: c.masks, rule: c.rule + ", {column: wage, max_unchanged: 1}"}).run(t, dir); !rep.Gate.Passed {
			t.Fatalf("%s: the records are withheld: %+v", c.name, rep.Gate)
		}
		got := tables(t, dir, "t", "", 3).Report
		last := got.Gate.Rules[len(got.Gate.Rules)-1]
		if got.Gate.Passed != c.passes || last.Measure != "records" || last.Passed != c.passes || !strings.Contains(last.Advice, c.want) ||
			c.passes == (got.Withheld != "") {
			t.Errorf("%s: %+v, %q", c.name, last, got.Withheld)
		}
		if _, err := os.Stat(filepath.Join(dir, "t.csv")); (err == nil) != c.passes {
			t.Errorf("%s: the tables: %v", c.name, err)
		}
	}
}
