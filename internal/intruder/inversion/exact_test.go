package inversion

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform"
)

// drawn returns n values of f, from a fixed seed.
func drawn(seed uint64, n int, f func(r *rand.Rand) float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 17))
	x := make([]float64, n)
	for i := range x {
		x[i] = f(r)
	}
	return x
}

func around40(step float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return step * math.Round(max(1, 40+12*r.NormFloat64())) }
}

// The step of the usual values is found, with a tenth of other values, with an offset, and if two steps
// are mixed; data without one have none.
func TestLattices(t *testing.T) {
	often := func(p float64, a, b func(*rand.Rand) float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 {
			if r.Float64() < p {
				return a(r)
			}
			return b(r)
		}
	}
	whole := func(r *rand.Rand) float64 { return math.Round(40_000 + 12_000*r.NormFloat64()) }
	skewed := func(step float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return step * math.Round(math.Exp(6+r.NormFloat64())) }
	}
	for name, c := range map[string]struct {
		grid         float64
		of           func(*rand.Rand) float64
		step, offset float64 // 0: none
	}{
		"thousands":         {1, around40(1000), 1000, 0},
		"skewed":            {1, skewed(1000), 1000, 0},
		"a tenth of others": {1, often(0.91, skewed(1000), whole), 1000, 0},
		"five sixths":       {1, often(0.84, around40(1000), whole), 1000, 0},
		"two steps":         {1, often(0.6, around40(1000), around40(500)), 1000, 0},
		"mostly 500": {
			1, often(0.9, func(r *rand.Rand) float64 { return 500 + 1000*float64(r.IntN(90)) }, around40(1000)), 1000, 500},
		"an odd step": {1, func(r *rand.Rand) float64 { return 3 + 37*float64(r.IntN(500)) }, 37, 3},
		"prices": {0.01, func(r *rand.Rand) float64 {
			return 0.99 + math.Round(math.Exp(3+r.NormFloat64()))
		}, 1, 0.99},
		"cents in whole": {0.01, around40(1), 1, 0},
		"two values":     {1, func(r *rand.Rand) float64 { return 1000 * float64(r.IntN(2)) }, 1000, 0},
		"grid":           {1, whole, 0, 0},
		"zeros and others": {0.01, often(0.95, func(*rand.Rand) float64 { return 0 }, func(r *rand.Rand) float64 {
			return math.Round(1e5*r.Float64()) / 100
		}), 0, 0},
		"0 and 1":         {1, func(r *rand.Rand) float64 { return float64(r.IntN(2)) }, 0, 0},
		"constant":        {1, func(*rand.Rand) float64 { return 7 }, 0, 0},
		"years of age":    {1, func(r *rand.Rand) float64 { return float64(15 + r.IntN(80)) }, 0, 0},
		"not on the grid": {1, func(r *rand.Rand) float64 { return r.Float64() }, 0, 0},
	} {
		a := &attacker{column: &Column{Name: "v", Grid: c.grid, Original: drawn(5, 3000, c.of)}, grid: c.grid}
		a.column.Released = a.column.Original
		a.original = sideOf(a.column.Original)
		got := a.believe(nil).usual
		switch {
		case c.step == 0 && got != nil:
			t.Errorf("%s: found %+v, want none", name, *got)
		case c.step > 0 &&
			(got == nil || math.Abs(got.Step-c.step) > 1e-9*c.step || math.Abs(got.Offset-c.offset) > 1e-9*c.step):
			t.Errorf("%s: found %+v, want a step of %v from %v", name, got, c.step, c.offset)
		}
	}
}

// Noise that is small against the step of the usual values fails the column: 300 against 1,000 leaves
// P(|N(0, 300²)| < 500) = 0.904 of the values nearest to their own, uniform noise of SD 280, at most
// 485, all of them. Noise of one step passes.
func TestNoiseAgainstTheUsualStep(t *testing.T) {
	thousands := drawn(9, 3000, around40(1000))
	zeros := drawn(3, 5000, func(r *rand.Rand) float64 {
		if r.Float64() < 0.3 {
			return 0
		}
		return math.Round(100*math.Exp(8+0.4*r.NormFloat64())) / 100
	})
	heaps := drawn(4, 3000, func(r *rand.Rand) float64 { return []float64{12.5, 99.4, 451.17, 630, 1200.33}[r.IntN(5)] })
	mixed := drawn(6, 5000, func(r *rand.Rand) float64 {
		if r.Float64() < 0.15 {
			return math.Round(40_000 + 12_000*r.NormFloat64())
		}
		return around40(1000)(r)
	})
	binary := drawn(7, 3000, func(r *rand.Rand) float64 { return float64(r.IntN(2)) })
	prices := drawn(8, 3000, func(r *rand.Rand) float64 { return 0.99 + math.Round(math.Exp(3+r.NormFloat64())) })
	whole := drawn(10, 5000, func(r *rand.Rand) float64 { return float64(15 + r.IntN(80)) })
	for _, c := range []struct {
		name     string
		decimals int
		x        []float64
		masks    []transform.Spec
		fails    bool // computed back
		over     bool // above the default limit
	}{
		{"normal", 0, thousands, []transform.Spec{noiseOf("v", "300", "")}, true, true},
		{"uniform", 0, thousands, []transform.Spec{noiseOf("v", "280", "uniform")}, true, true},
		{"laplace", 0, thousands, []transform.Spec{noiseOf("v", "300", "laplace")}, true, true},
		{"twice", 0, thousands, []transform.Spec{noiseOf("v", "200", ""), noiseOf("v", "200", "uniform")}, true, true},
		{"then rounded", 0, thousands, []transform.Spec{noiseOf("v", "300", ""), roundTo("v", 100)}, true, true},
		{"bias", 0, thousands, []transform.Spec{biasOf("v", 0.005)}, true, true},
		{"bias and noise", 0, thousands, []transform.Spec{biasOf("v", 0.003), noiseOf("v", "200", "")}, true, true},
		{"clip", 0, thousands, []transform.Spec{noiseOf("v", "300", ""), clipOf("v", ptr(20_000.0), ptr(60_000.0), "clip")},
			true, true},
		{"redraw", 0, thousands, []transform.Spec{noiseOf("v", "300", ""), clipOf("v", ptr(0.0), ptr(90_000.0), "redraw")},
			true, true},
		{"tier", 0, thousands,
			[]transform.Spec{noiseOf("v", "3000", "", transform.Tier{Above: ptr(50_000.0), VarianceFactor: ptr(0.01)})}, true,
			false},
		{"six tenths of a step", 0, thousands, []transform.Spec{noiseOf("v", "620", "")}, false, true},
		{"a step", 0, thousands, []transform.Spec{noiseOf("v", "1000", "")}, false, false},
		{"a step, uniform", 0, thousands, []transform.Spec{noiseOf("v", "1000", "uniform")}, false, false},
		{"three steps", 0, thousands, []transform.Spec{noiseOf("v", "3000", "laplace")}, false, false},
		{"85 % on a lattice", 0, mixed, []transform.Spec{noiseOf("v", "300", "")}, true, true},
		{"85 % and rounding", 0, mixed, []transform.Spec{roundTo("v", 100)}, true, true},
		{"85 %, enough", 0, mixed, []transform.Spec{noiseOf("v", "1000", "")}, false, false},
		{"prices", 2, prices, []transform.Spec{noiseOf("v", "0.3", "")}, true, true},
		{"prices, enough", 2, prices, []transform.Spec{noiseOf("v", "1.2", "")}, false, false},
		{"heaps", 2, heaps, []transform.Spec{noiseOf("v", "30", "")}, true, true},
		{"zeros apart", 2, zeros, []transform.Spec{noiseOf("v", "100", "")}, true, false},
		{"zeros covered", 2, zeros, []transform.Spec{noiseOf("v", "1500", "")}, false, false},
		{"binary", 0, binary, []transform.Spec{noiseOf("v", "0.4", "")}, true, true},
		{"binary, uniform", 0, binary, []transform.Spec{noiseOf("v", "1", "uniform")}, true, false}, // beyond 1.73 it is a 1
		{"binary, enough", 0, binary, []transform.Spec{noiseOf("v", "1", "")}, false, false},
		{"whole numbers", 0, whole, []transform.Spec{noiseOf("v", "3", "")}, false, false},
		{"whole numbers, uniform", 0, whole, []transform.Spec{noiseOf("v", "3", "uniform")}, false, false},
		{"whole numbers, bias", 0, whole, []transform.Spec{biasOf("v", 0.1)}, false, false},
	} {
		r := attack(t, []field{{"v", c.decimals, c.x}}, c.masks...)
		e := r.Exact[0]
		if r.Passed == c.fails || (e.Found > *e.Limit) != c.over {
			t.Errorf("%s: passed %v by %q, stated %.4f within %v with limit %.4f; want fails %v and over %v", c.name, r.Passed,
				r.By, e.Found, e.Within, *e.Limit, c.fails, c.over)
		}
		if e.Expected == nil || math.Abs(*e.Expected-e.Realised) > 0.045 { // 3 SDs of a share of 1,500 looks: 0.039
			t.Errorf("%s: expected %v, realised %v", c.name, e.Expected, e.Realised)
		}
	}
}

// byForce is the share of values that the best snooper states, by counting: for each released value it
// adds up, over all original values that there are, how often each of them is released as this
// value in draws of its own, and takes the interval about a value with most of them.
func byForce(r *rand.Rand, x []float64, release func(x float64) float64, distance float64) float64 {
	const draws = 12_000
	frequency := map[float64]float64{}
	for _, v := range x {
		frequency[v]++
	}
	weight := map[float64]map[float64]float64{} // by released and original value
	for v, n := range frequency {
		for range draws {
			y := release(v)
			if weight[y] == nil {
				weight[y] = map[float64]float64{}
			}
			weight[y][v] += n / draws
		}
	}
	var right float64
	for _, of := range weight {
		best := 0.0
		for low := range of { // stated: a value, or the middle of two
			for high := range of {
				c, sum := (low+high)/2, 0.0
				for v, w := range of {
					if off := math.Abs(v - c); off <= distance*(1+1e-9) && (low == high || off < distance*(1-1e-5)) {
						sum += w
					}
				}
				best = max(best, sum)
			}
		}
		right += best
	}
	return right / float64(len(x))
}

// The expected share is that of counting, for random lattices, masks and distances. Both sides
// have errors: the count's draws choose the best of nearly equal values, which raises it by
// less than 0.01; the absolute discounting lowers the prior of rare values; and up to 0.01 come from looks.
func TestExpectedShareIsThatOfCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for try := range 24 {
		step := []float64{1, 5, 1000, 500}[r.IntN(4)]
		offset := float64(r.IntN(int(min(step, 7))))
		points := 2 + r.IntN(25)
		shape := 0.2 + r.Float64()
		x := make([]float64, 4000)
		for i := range x {
			x[i] = offset + step*math.Floor(float64(points)*math.Pow(r.Float64(), shape))
		}
		lambda := step * (0.2 + 2*r.Float64())
		form := []string{"normal", "uniform", "laplace"}[r.IntN(3)]
		noise := func() float64 {
			switch form {
			case "uniform":
				return lambda * math.Sqrt(3) * (2*r.Float64() - 1)
			case "laplace":
				e := r.ExpFloat64() * lambda / math.Sqrt2
				if r.IntN(2) == 0 {
					return -e
				}
				return e
			}
			return lambda * r.NormFloat64()
		}
		coarse := max(1, math.Round(step/8)) // so that the count has enough of each released value
		masks := []transform.Spec{noiseOf("v", fmt.Sprint(lambda), form)}
		lower := math.Inf(-1)
		if r.IntN(3) == 0 {
			lower = offset + step*float64(r.IntN(3))
			masks = append(masks, clipOf("v", &lower, nil, "clip"))
		}
		if coarse > 1 {
			masks = append(masks, roundTo("v", coarse))
		}
		release := func(v float64) float64 { return coarse * math.RoundToEven(max(lower, v+noise())/coarse) }
		distance := step * []float64{0.25, 0.5, 0.6, 0.8, 1, 1.5}[r.IntN(6)]
		out := mask(t, []field{{"v", 0, x}}, 0, masks)
		got,
			err := Attack(t.Context(), masks, Published{}, Release{Columns: out},
			Options{Within: map[string][]float64{"v": {distance}}})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(got.Columns[0].Exact, func(e Exact) bool { return e.Within == distance && e.Limit == nil })
		e := got.Columns[0].Exact[i]
		if want := byForce(r, x, release, distance); math.Abs(*e.Expected-want) > 0.025 {
			t.Errorf(
				"%d: step %v from %v, %d points, %s noise of %v, not below %v, within %v: expected %.4f, counted %.4f (realised %.4f)",
				try, step, offset, points, form, lambda, lower, distance, *e.Expected, want, e.Realised)
		}
	}
}

// A column that no mask changes is stated wholly; one without a law is stated as it is released, and
// its default limit is at least the confidence.
func TestSharesWithoutALaw(t *testing.T) {
	f := census(t)
	if e := attack(t, f[:1], roundTo("wage", 0.01)).Exact[0]; e.Found != 1 || !(*e.Limit < 0.9) {
		t.Errorf("%+v", e)
	}
	e := attack(t, f[:1], spec(&transform.RankSwap{Columns: []string{"wage"}, P: ptr(0.05)})).Exact[0]
	if e.Expected != nil || !(e.Realised < 0.2) || *e.Limit < DefaultConfidence || e.Found < e.Realised {
		t.Errorf("%+v", e)
	}
}

// A sample adds its standard error, 2√(p(1 − p)/m).
func TestSampleAddsItsError(t *testing.T) {
	x := drawn(9, 2000, around40(1000))
	masks := []transform.Spec{noiseOf("v", "1000", "")}
	out := mask(t, []field{{"v", 0, x}}, 0, masks)
	of := func(n int) Exact {
		r, err := Attack(t.Context(), masks, Published{N: n}, Release{Columns: out}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Columns[0].Exact[0]
	}
	all, some := of(0), of(1_000_000)
	p := *some.Expected
	if p != *all.Expected || math.Abs(some.SE*some.SE-all.SE*all.SE-p*(1-p)/2000) > 1e-9 || !(some.Found > all.Found) {
		t.Errorf("%+v, of a sample %+v", all, some)
	}
}

// TestStatementsOfAllRecords: what the columns beside one state is counted in all records, though the posterior is
// computed in some of them, and its error is that of all.
func TestStatementsOfAllRecords(t *testing.T) {
	const n = 12_000
	r := rand.New(rand.NewPCG(17, 5))
	x, told := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = math.Round(1e8*r.Float64()) / 100
		if told[i] = -1; i%25 == 0 {
			told[i] = x[i]
		}
	}
	masks := []transform.Spec{noiseOf("v", "1000", "")}
	out := mask(t, []field{{"v", 2, x}}, 0, masks)
	found, err := Attack(t.Context(), masks, publishedMoments(out),
		Release{Columns: out, Told: map[string][][]float64{"v": {told}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// 0.04 less two errors of √(0.04·0.96/12,000).
	if e := found.Columns[0].Exact[0]; math.Abs(e.Realised-0.04) > 1e-9 || math.Abs(e.Found-(0.04-0.00357771)) > 1e-6 {
		t.Errorf("found %v of %v, want 0.03642", e.Found, e.Realised)
	}
}
