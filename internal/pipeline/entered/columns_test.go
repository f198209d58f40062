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

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// judgedColumns has the Bayesian intruder that a rule needs.
const judgedColumns = "assess: {replicates: 2, targets: [p90], sample: all, keys: [wage], intruder: {targets: 2000, inversion: false, bayes: {}}}\n"

// columnRules never fail for what is found.
const columnRules = "{column: wage, max_unchanged: 0.9999}, {max_correct_links: 100000}, " +
	"{column: wage, target: typical, knowledge: mean, min_rmse: 0.001}, {column: wage, target: p90, knowledge: mean, min_rmse: 0.001}, " +
	"{column: wage, knowledge: order, min_rmse: 0.001}"

// columnsFound is what the rules of columnRules find of all releases, in their order, and the advice of each.
func columnsFound(t *testing.T, rep *report.Report) (found [5]float64, why [5]string) {
	t.Helper()
	for i := range found {
		r := rep.Gate.Rules[i]
		if found[i], why[i] = float64(r.Found), r.Advice; !strings.Contains(r.Rule, "all releases") {
			t.Fatalf("not judged by all releases: %+v", r)
		}
	}
	return found, why
}

// tens rewrites the wages of the records as multiples of 10.
func tens(t *testing.T, dir string) []float64 {
	t.Helper()
	path := filepath.Join(dir, "in.csv")
	of := table(t, path)
	var list []float64
	var text strings.Builder
	text.WriteString("pid,region,age,tax,wage\n")
	for i, wage := range numbersOf(of["wage"]) {
		list = append(list, 10*math.Round(wage/10))
		fmt.Fprintf(&text, "%s,%s,%s,%s,%.2f\n", of["pid"][i], of["region"][i], of["age"][i], of["tax"][i], list[i])
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}

// randomColumn draws a release of wages, and the standard deviation of its error at a wage.
func randomColumn(rng *rand.Rand, name string) (r release, sd func(x float64) float64) {
	r = release{name: name, key: []string{"k1", "k2"}[rng.IntN(2)], noIdentity: rng.IntN(4) == 0,
		columns: "age: {role: other}", rule: columnRules, rest: judgedColumns}
	noise := []float64{3, 8, 30, 90}[rng.IntN(4)]
	phi := []float64{0.002, 0.01}[rng.IntN(2)]
	base := []float64{20, 50, 120}[rng.IntN(3)]
	switch rng.IntN(5) {
	case 0:
		r.masks, sd = fmt.Sprintf("{round: {columns: [wage], base: %v}}", base), func(float64) float64 { return base / math.Sqrt(12) }
	case 1:
		r.masks = fmt.Sprintf("{bias: {columns: [wage], phi: %v}}", phi)
		sd = func(x float64) float64 { return phi * x }
	case 2:
		r.masks = fmt.Sprintf("{noise: {columns: [wage], sd: %v}}, {round: {columns: [wage], base: 10}}", noise)
		sd = func(float64) float64 { return math.Hypot(noise, 10/math.Sqrt(12)) }
	default:
		r.masks, sd = fmt.Sprintf("{noise: {columns: [wage], sd: %v}}", noise), func(float64) float64 { return noise }
	}
	if rng.IntN(5) == 0 {
		r.masks = "{truncate: {columns: [wage], lower: 1500, upper: 3500}}, " + r.masks
	}
	return r, sd
}

// The property of a ledger for the Bayesian intruder, for unchanged values, and for those who know the mean or the order:
// an attacker who has all the files links no more respondents by the densities of all releases, names no more originals
// among the released values (that which most releases have), and is not nearer by the means of the files, or by the values
// of neighbours in them, than the last report finds. The attacker shares no code with the program, and knows the masks.
//
// Of n links or values with probability p the number has a standard error of √(np(1−p)), and where draws are others than
// the attacker's the difference of both √2 times that: four of these are allowed. A mean of n draws moves by SD/√n, of
// which five are allowed; guesses that do not go by the record have at least the variance of the wages, but by neighbours
// a mean square whose relative standard error is √(2/n).
func TestNoAttackerOfAllReleasesLearnsMoreOfAColumn(t *testing.T) {
	racetest.Further(t)
	sequences, n := 30, 700
	if testing.Short() {
		sequences, n = 2, 300
	}
	tolerance := func(count float64) float64 {
		p := min(max(count/float64(n), 1/float64(n)), 0.5)
		return 4 * math.Sqrt(2*float64(n)*p*(1-p))
	}
	nearest := math.Inf(1)
	for seed := range sequences {
		rng := rand.New(rand.NewPCG(uint64(seed), 439))
		dir := records(t, n)
		x := tens(t, dir)
		var files [][]float64
		var errs []func(float64) float64
		var said []string
		var found [5]float64
		for k := range 2 + rng.IntN(3) {
			r, sd := randomColumn(rng, fmt.Sprintf("r%d", k))
			rep := r.run(t, dir)
			said = append(said, fmt.Sprintf("%s, identity %v: %s", r.key, !r.noIdentity, r.masks))
			if k > 0 && !rep.Ledger.Releases[k-1].Repeats || k > 1 {
				var why [5]string
				if found, why = columnsFound(t, rep); slices.ContainsFunc(found[:], math.IsNaN) {
					t.Fatalf("sequence %d: %q\n%s", seed, why, strings.Join(said, "\n"))
				}
			} else {
				for i := range found {
					found[i] = float64(rep.Gate.Rules[i].Found)
				}
			}
			y := numbersOf(table(t, filepath.Join(dir, r.name+".csv"))["wage"])
			if !slices.ContainsFunc(files, func(o []float64) bool { return slices.Equal(o, y) }) {
				files, errs = append(files, y), append(errs, sd)
			}
		}
		said = append(said, fmt.Sprint(found))
		named, linked := namedBy(x, files), linkedBy(x, files, errs)
		nearest = min(nearest, found[0]*float64(n)-named, found[1]-linked)
		if named > found[0]*float64(n)+tolerance(named) || linked > found[1]+tolerance(linked) {
			t.Errorf("sequence %d: %.0f of %d originals are named, %.0f linked\n%s", seed, named, n, linked,
				strings.Join(said, "\n"))
		}
		typical, p90, order := guessedBy(x, files)
		if slack := 5 * 100 / math.Sqrt(float64(n)); typical < found[2]-1e-9 || p90 < found[3]-slack ||
			order < found[4]*(1-5*math.Sqrt(2/float64(n))) {
			t.Errorf("sequence %d: by the mean to ± %.4g, p90 to ± %.4g, by the order to ± %.4g\n%s", seed, typical, p90, order,
				strings.Join(said, "\n"))
		}
	}
	t.Logf("the attacker is at most %.1f respondents above what is found", -nearest)
}

// namedBy is how many originals the attacker names who takes the value that most files have, of equally many the last one.
func namedBy(x []float64, files [][]float64) (hits float64) {
	for i := range x {
		counts, best := map[float64]int{}, math.NaN()
		for _, y := range files {
			if counts[y[i]]++; best != best || counts[y[i]] >= counts[best] {
				best = y[i]
			}
		}
		if best == x[i] {
			hits++
		}
	}
	return hits
}

// linkedBy is the greatest number of respondents who are linked by the product of the normal densities of some files'
// errors: each alone, and all; by their mean with weights 1/variance; and by the product over its mean for all wages.
func linkedBy(x []float64, files [][]float64, errs []func(float64) float64) (most float64) {
	density := func(at, of, sd float64) float64 { return -math.Log(sd) - (at-of)*(at-of)/(2*sd*sd) }
	var tries []func(x0 float64, j int) float64
	for k, y := range files {
		tries = append(tries, func(x0 float64, j int) float64 { return density(y[j], x0, errs[k](x0)) })
	}
	all := func(x0 float64, j int) (sum float64) {
		for k := range files {
			sum += tries[k](x0, j)
		}
		return sum
	}
	normal := make([]float64, len(x)) // log Σ over wages of the product
	for j := range x {
		sum := 0.0
		for w := 500.0; w < 4500; w += 10 {
			sum += math.Exp(max(all(w, j), -600)) * math.Exp(-(w-2500)*(w-2500)/(2*500*500))
		}
		normal[j] = math.Log(sum)
	}
	tries = append(tries, all, func(x0 float64, j int) float64 { return all(x0, j) - normal[j] },
		func(x0 float64, j int) float64 {
			sum, total := 0.0, 0.0
			for k, y := range files {
				w := math.Pow(errs[k](2500), -2)
				sum, total = sum+w*y[j], total+w
			}
			return density(sum/total, x0, math.Sqrt(1/total))
		})
	for _, of := range tries {
		links := 0.0
		for i := range x {
			best, ties, own := math.Inf(-1), 0.0, false
			for j := range x {
				switch p := of(x[i], j); {
				case p > best:
					best, ties, own = p, 1, i == j
				case p == best:
					ties, own = ties+1, own || i == j
				}
			}
			if own {
				links += 1 / ties
			}
		}
		most = max(most, links)
	}
	return most
}

// guessedBy is how near the typical wage and the ninth decile are to the means of files and of all of them, and the typical
// wage to the means of 2, 10 and 40 neighbours in them.
func guessedBy(x []float64, files [][]float64) (typical, p90, order float64) {
	sorted := slices.Sorted(slices.Values(x))
	tau := sorted[int(math.Ceil(0.9*float64(len(x))))-1]
	typical, p90, order = math.Inf(1), math.Inf(1), math.Inf(1)
	joined := make([]float64, len(x))
	for _, y := range files {
		for i, v := range y {
			joined[i] += v / float64(len(files))
		}
	}
	for _, y := range append(slices.Clone(files), joined) {
		mean := 0.0
		for _, v := range y {
			mean += v / float64(len(y))
		}
		square := 0.0
		for _, v := range x {
			square += (v - mean) * (v - mean) / float64(len(x))
		}
		typical, p90 = min(typical, math.Sqrt(square)), min(p90, math.Abs(tau-mean))
		for _, width := range []int{1, 5, 20} {
			square, m := 0.0, 0.0
			for i := width; i+width < len(x); i++ {
				at := -y[i]
				for j := i - width; j <= i+width; j++ {
					at += y[j]
				}
				at = at/float64(2*width) - x[i]
				square, m = square+at*at, m+1
			}
			order = min(order, math.Sqrt(square/m))
		}
	}
	return typical, p90, order
}

// Wages that are multiples of 10 in sixths: a rounding to 20 leaves a half of them, one to 30 a third, and both together
// ½ + ⅓ − ⅙ = ⅔; with two standard errors of 700 records, 0.0356. A repetition leaves what it left alone. Four draws of SD
// 60 have a mean of SD 30, by which nearly twice as many are linked. Who knows the mean is wrong by the standard deviation
// of the wages at least.
func TestWhatAllReleasesTellOfAColumn(t *testing.T) {
	racetest.Further(t)
	of := func(name, masks string) release {
		return release{name: name, masks: masks, columns: "age: {role: other}", rule: columnRules, rest: judgedColumns}
	}
	dir := records(t, 700)
	x := tens(t, dir)
	half, third, both := 0.0, 0.0, 0.0
	var mean, square float64
	for _, v := range x {
		a, b := math.Mod(v, 20) == 0, math.Mod(v, 30) == 0
		for hit, to := range map[*float64]bool{&half: a, &third: b, &both: a || b} {
			if to {
				*hit += 1. / 700
			}
		}
		mean, square = mean+v/700, square+v*v/700
	}
	first := of("a", "{round: {columns: [wage], base: 20}}")
	first.run(t, dir)
	if rep := first.run(t, dir); math.Abs(float64(rep.Gate.Rules[0].Found)-half) > 1e-9 {
		t.Errorf("repeated: %+v, want %v", rep.Gate.Rules[0], half)
	}
	found, _ := columnsFound(t, of("b", "{round: {columns: [wage], base: 30}}").run(t, dir))
	if want := both + 2*math.Sqrt(both*(1-both)/700); math.Abs(found[0]-want) > 1e-9 || !(third < 0.4) {
		t.Errorf("%v are unchanged in one of two, want %v", found[0], want)
	}
	if want := math.Sqrt(square - mean*mean); math.Abs(found[2]-want) > 1e-6 || math.Abs(found[4]-want) > 1e-6 {
		t.Errorf("by the mean to ± %v, by the order to ± %v, want %v", found[2], found[4], want)
	}
	dir = records(t, 700)
	var links [4]float64
	for k := range links {
		r := of(fmt.Sprintf("r%d", k), "{noise: {columns: [wage], sd: 60}}")
		r.noIdentity = true
		rep := r.run(t, dir)
		links[k] = float64(rep.Gate.Rules[1].Found)
	}
	if !(links[3] > 1.5*links[0]) || !(links[1] > links[0]) {
		t.Errorf("linked %v", links)
	}
}

// Where the masks of a release are no noise, or the order of an earlier one told of the wages, or the earlier records are
// not today's, the rules do not hold, unless they are of this release alone. A mean near which a target lies tells it.
func TestUnknownColumnsOfTheUnion(t *testing.T) {
	of := func(name, masks string) release {
		return release{name: name, masks: masks, columns: "age: {role: other}", rule: columnRules, rest: judgedColumns}
	}
	for name, c := range map[string]struct {
		first string
		edit  func(dir string)
		rule  int
		says  string
	}{
		"swapped": {first: "{rankswap: {columns: [wage], p: 10%}}", rule: 1, says: "no law of a single value"},
		"sorted": {first: noise, rule: 4, says: "told of the column", edit: func(dir string) {
			of := table(t, filepath.Join(dir, "in.csv"))
			order := make([]int, len(of["pid"]))
			x := numbersOf(of["wage"])
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(a, b int) int { return int(x[a] - x[b]) })
			var text strings.Builder
			text.WriteString("pid,region,age,tax,wage\n")
			for _, i := range order {
				fmt.Fprintf(&text, "%s,%s,%s,%s,%s\n", of["pid"][i], of["region"][i], of["age"][i], of["tax"][i], of["wage"][i])
			}
			if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		"numbered anew": {first: noise, rule: 0, says: "fewer than half of the respondents"},
	} {
		dir := records(t, 400)
		before, err := os.ReadFile(filepath.Join(dir, "in.csv"))
		if err != nil {
			t.Fatal(err)
		}
		if c.edit != nil {
			c.edit(dir)
		}
		first := of("a", c.first)
		first.rule, first.rest = "", strings.ReplaceAll(judgedColumns, ", bayes: {}", "") // of swaps he knows nothing
		first.run(t, dir)
		if err := os.WriteFile(filepath.Join(dir, "in.csv"), before, 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "numbered anew" {
			edited(t, dir, `^p(\d)`, "q$1")
		}
		rep := of("b", "{noise: {columns: [wage], sd: 90}}").run(t, dir)
		if r := rep.Gate.Rules[c.rule]; r.Passed || !strings.Contains(r.Advice, c.says) {
			t.Errorf("%s: %+v", name, r)
		}
		alone := of("c", "{noise: {columns: [wage], sd: 80}}")
		alone.rule = strings.ReplaceAll(columnRules, "}", ", releases: alone}")
		for _, r := range alone.run(t, dir).Gate.Rules {
			if !r.Passed || strings.Contains(r.Rule, "all releases") {
				t.Errorf("%s, alone: %+v", name, r)
			}
		}
	}
}
