package truth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// columnOf makes a file of given values, the keys of which do not matter.
func columnOf(name string, decimals int, x []float64) *file {
	f := &file{name: name, decimals: decimals, x: x}
	f.keys(generator(name))
	f.settle()
	return f
}

// onGrid draws n values with two decimals.
func onGrid(n int, seed string, draw func(*rand.Rand) float64) []float64 {
	g, x := generator(seed), make([]float64, n)
	for i := range x {
		x[i] = math.RoundToEven(100*draw(g)) / 100
	}
	return x
}

// Masks that draw nothing, or only move values between records, of more records than the sample: the release itself
// tells the truth. R by index and position of every target is that of the record with the target's rank in all data, to
// the rounding of a square; where it is said to be an upper bound, it is one. Nothing depends on the key. A finite R
// that is not exact has a standard error, and that of a bound claims nothing below it.
func TestPercentilesBeyondTheSample(t *testing.T) {
	if formOf(t) == small && testing.Short() {
		t.Skip("seconds")
	}
	dir := tempDir(t)
	shapes := map[string]func(*rand.Rand) float64{
		"lognormal": lognormal(3, 1), "pareto1.3": pareto(100, 1.3),
		"ties": func(g *rand.Rand) float64 { return math.Round(4 * g.ExpFloat64()) },
	}
	masks := map[string]struct {
		yaml     string
		permutes bool
		least    int // the fewest records that it takes
	}{
		"topcode, mean": {"{topcode: {columns: [x], upper_percentile: 95, replace: mean}}", false, 800},
		"topcode, means": {
			"{topcode: {columns: [x], upper_percentile: 90, lower_percentile: 12, replace: mean, share: 1}}", false, 100},
		"topcode, percentile":     {"{topcode: {columns: [x], upper_percentile: 93}}", false, 800},
		"microaggregate":          {"{microaggregate: {columns: [x], k: 5, share: 1}}", false, 5},
		"microaggregate, medians": {"{microaggregate: {columns: [x], k: 6, aggregate: median}}", false, 41},
		"microaggregate, few":     {"{microaggregate: {columns: [x], k: 3, share: 1}}", false, 3},
		"rankswap, far":           {"{rankswap: {columns: [x], p: 0.5}}", true, 2},
		"round":                   {"{round: {columns: [x], base: 5}}", false, 0},
		"rankswap":                {"{rankswap: {columns: [x], p: 0.05}}", true, 40},
		"shuffle":                 {"{shuffle: {columns: [x]}}", true, 0},
	}
	for shape, draw := range shapes {
		for _, s := range []size{{3000, 700}, {801, 800}, {41, 40}, {5, 4}, {4, 3}, {3, 2}, {2, 1}} {
			f := columnOf(shape, 2, onGrid(s.n, shape, draw))
			path := filepath.Join(dir, fmt.Sprint(shape, s.n, ".csv"))
			f.write(t, path)
			order := f.ascending()
			for name, m := range masks {
				if s.n < 100 && m.least > s.n {
					continue
				}
				for key := range 2 {
					r, y := job{f: f, masks: "[" + m.yaml + "]", path: path, sample: s.sample, replicates: 20, key: key}.release(t)
					sorted := slices.Sorted(slices.Values(y))
					for _, k := range r.Columns["x"].Risk {
						at := fmt.Sprintf("%s of %s, %d of %d, key %d: %s by %s", name, shape, s.n, s.sample, key, k.Target, k.Knowledge)
						if finite := !math.IsInf(float64(k.R), 0); finite && k.Approximate && (!(k.SE > 0) || k.Bound && k.SE != k.R/2) {
							t.Errorf("%s: R %v is not exact, and has the standard error %v (a bound: %v)", at, k.R, k.SE, k.Bound)
						}
						if k.Target == "typical" || k.Knowledge != "index" && k.Knowledge != "position" || k.Knowledge == "index" &&
							m.permutes {
							continue
						}
						i := order[rank(k.Target, s.n)-1]
						d := f.x[i] - y[i]
						if k.Knowledge == "position" {
							d = f.x[i] - sorted[rank(k.Target, s.n)-1]
						}
						want := 1 / (d * d)
						bound := k.Approximate && k.Errs == "safe" && float64(k.R) >= want
						if !bound && float64(k.R) != want && !(math.Abs(float64(k.R)-want) <= 1e-6*want) {
							t.Errorf("%s: R %v, is %v", at, k.R, want)
						}
						if k.RealisedR == k.RealisedR && float64(k.RealisedR) != want &&
							!(math.Abs(float64(k.RealisedR)-want) <= 1e-6*want) {
							t.Errorf("%s: realised R %v, is %v", at, k.RealisedR, want)
						}
						if k.Approximate && !strings.HasPrefix(name, "topcode") && name != "round" {
							t.Errorf("%s: only a bound, though the data can be read again", at)
						}
					}
				}
			}
		}
	}
}

// Noise before groups of k is one draw, and a sample has other groups: beyond the sample no R of one record is below
// the truth.
func TestOneDrawOfGroupsBoundsNothing(t *testing.T) {
	f := columnOf("one draw", 2, onGrid(2000, "one draw", lognormal(3, 1)))
	path := filepath.Join(tempDir(t), "x.csv")
	f.write(t, path)
	r := job{f: f, masks: "[{noise: {columns: [x], sd: 3}}, {microaggregate: {columns: [x], k: 5, share: 1}}]", path: path,
		sample: 500, replicates: 20}.run(t)
	for _, k := range r.Columns["x"].Risk {
		if one := k.Knowledge == "index" || k.Knowledge == "position"; one && k.Target != "typical" &&
			!(math.IsInf(float64(k.R), 1) && k.Approximate) {
			t.Errorf("%s by %s: R %v of one draw", k.Target, k.Knowledge, k.R)
		}
		if k.Target == "typical" && k.Knowledge != "order" && k.Knowledge != "record" && !(k.SE > 0 && k.Approximate) {
			t.Errorf("typical by %s: R %v ± %v", k.Knowledge, k.R, k.SE)
		}
	}
}
