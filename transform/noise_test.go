package transform

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// ε has mean 0, SD λ and the kurtosis and distribution function of its kind. Tolerances are 5
// standard errors: λ/√n for ε, and λ²·√((κ−1)/n) for ε², with kurtosis κ = 3, 6 and 9/5. Five
// standard errors are exceeded once in 1.7 million.
func TestNoiseDistribution(t *testing.T) {
	n := thin(500000)
	const lambda = 35.0
	laplaceCDF := func(e float64) float64 {
		if b := lambda / math.Sqrt2; e < 0 {
			return math.Exp(e/b) / 2
		} else {
			return 1 - math.Exp(-e/b)/2
		}
	}
	half := lambda * math.Sqrt(3)
	for _, tt := range []struct {
		distribution string
		kurtosis     float64
		cdf          func(float64) float64
	}{
		{"", 3, func(e float64) float64 { return math.Erfc(-e/(lambda*math.Sqrt2)) / 2 }},
		{"laplace", 6, laplaceCDF},
		{"uniform", 9.0 / 5, func(e float64) float64 { return min(max((e+half)/(2*half), 0), 1) }},
	} {
		for _, decimals := range []int{6, -1} {
			x := floats(decimals, repeat(1000, n)...)
			y := release(t, testSetup(t, x), []testColumn{x},
				mask(&Noise{Columns: []string{"a"}, SD: amount(lambda), Distribution: tt.distribution}))
			var sum, squares float64
			for i := range y {
				y[i] -= 1000
				sum += y[i]
				squares += y[i] * y[i]
			}
			root := math.Sqrt(float64(n))
			if z := sum / root / lambda; !(math.Abs(z) <= 5) {
				t.Errorf("%q: mean is off by %.1f standard errors", tt.distribution, z)
			}
			if z := (squares/float64(n) - lambda*lambda) / (lambda * lambda * math.Sqrt(
				(tt.kurtosis-1)/float64(n))); !(math.Abs(z) <= 5) {
				t.Errorf("%q: variance is off by %.1f standard errors", tt.distribution, z)
			}
			if d := kolmogorov(y, tt.cdf); d > 2.5 {
				t.Errorf("%q, %d decimals: Kolmogorov distance %.2f/√n", tt.distribution, decimals, d)
			}
		}
	}
}

// θ ~ N(1, φ²), for values of any size; nulls and zeros do not change.
func TestBiasDistribution(t *testing.T) {
	n := thin(300000)
	for _, p := range []*Bias{{Columns: []string{"a"}, Phi: ptr(0.02)}, {Columns: []string{"a"}, Range: ptr(0.06)}} {
		for _, decimals := range []int{2, -1} {
			for _, value := range []float64{1e6, -1e6} {
				x := floats(decimals, repeat(value, n)...)
				y := release(t, testSetup(t, x), []testColumn{x}, mask(p))
				for i := range y {
					y[i] = (y[i]/value - 1) / 0.02
				}
				if d := kolmogorov(y, func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }); d > 2.5 {
					t.Errorf("φ = 0.02, value %v, %d decimals: Kolmogorov distance %.2f/√n", value, decimals, d)
				}
			}
		}
	}
	x := floats(2, 0, 5)
	if y := release(t, testSetup(t, x), []testColumn{x}, mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.5)})); y[0] != 0 ||
		math.Signbit(y[0]) {
		t.Errorf("0·θ: got %v", y[0])
	}
}

// A tier multiplies the variance of the values above its bound by its factor. In a replicate the
// draw equals that of the mask without tiers; in a release it must differ
// (TestOtherParametersOtherDraws).
func TestTiers(t *testing.T) {
	x := floats(9, 1, 999, 1000, 1000.001, 1999, 2000, 2001, 1e6)
	factors := []float64{1, 1, 1, 2, 2, 2, 0, 0}
	setup := testSetup(t, x)
	replicate := func(m *Noise) []float64 {
		b := apply(t, chain(t, setup, mask(m)).Replicate(1), block(0, len(x.Values), x))
		return b.Columns[0].Out().Values
	}
	plain := replicate(&Noise{Columns: []string{"a"}, SD: amount(10)})
	tiered := replicate(
		&Noise{Columns: []string{"a"}, SD: amount(10), Tiers: []Tier{{Above: ptr(1000.0), VarianceFactor: ptr(2.0)},
			{Above: ptr(2000.0), VarianceFactor: ptr(0.0)}}})
	for i, v := range x.Values {
		want := math.Sqrt(factors[i]) * (plain[i] - v)
		if got := tiered[i] - v; !(math.Abs(got-want) <= 5e-9) {
			t.Errorf("value %v: noise %v, want %v", v, got, want)
		}
	}
}

func TestPercentage(t *testing.T) {
	x := floats(6, incomes(100, 4)...)
	setup := testSetup(t, x)
	relative := release(t, setup, []testColumn{x}, mask(&Noise{Columns: []string{"a"}, SD: percent(35)}))
	absolute := release(t, setup, []testColumn{x},
		mask(&Noise{Columns: []string{"a"}, SD: amount(0.35 * setup.Columns[0].SD)}))
	if !slices.Equal(relative, absolute) {
		t.Error("35% of the SD is not λ = 0.35·SD")
	}
}

// Released values are the float64 nearest to their decimal number. Value and noise are rounded to
// the grid before they are added, so the released digits do not depend on digits of the value
// beyond the grid.
func TestGrid(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	n := 20000
	for _, d := range []int{0, 1, 2, 5, 9} {
		mult := math.Pow10(d)
		on, off := floats(d, make([]float64, n)...), floats(d, make([]float64, n)...)
		for i := range n {
			k := math.Floor(r.Float64() * 1e10)
			on.Values[i] = k / mult
			off.Values[i] = (k + 0.98*(r.Float64()-0.5)) / mult
		}
		noise := mask(&Noise{Columns: []string{"a"}, SD: amount(123.456 / mult)})
		setup := testSetup(t, on)
		y, z := release(t, setup, []testColumn{on}, noise), release(t, setup, []testColumn{off}, noise)
		for i := range y {
			if math.RoundToEven(y[i]*mult)/mult != y[i] {
				t.Fatalf("%d decimals: %v is not on the grid", d, y[i])
			}
			if y[i] != z[i] {
				t.Fatalf("%d decimals: digits below the grid show in the release", d)
			}
		}
	}
	// Without decimals: multiples of the largest power of two at or below λ/2²⁰.
	x := floats(-1, incomes(n, 9)...)
	for i := range x.Values {
		x.Values[i] *= math.Pi
	}
	for _, lambda := range []float64{1, 0.75, 1000, 1e-3} {
		g := math.Exp2(math.Floor(math.Log2(lambda)) - 20)
		for _, y := range release(t, testSetup(t, x), []testColumn{x},
			mask(&Noise{Columns: []string{"a"}, SD: amount(lambda)})) {
			if math.Mod(y, g) != 0 {
				t.Fatalf("λ = %v: %v is no multiple of %v", lambda, y, g)
			}
		}
	}
}

// λ = 0 and φ = 0 change nothing.
func TestNoNoise(t *testing.T) {
	for _, decimals := range []int{2, -1} {
		x := floats(decimals, incomes(1000, 6)...)
		got := release(t, testSetup(t, x), []testColumn{x},
			mask(&Noise{Columns: []string{"a"}, SD: amount(0)}), mask(&Bias{Columns: []string{"a"}, Phi: ptr(0.0)}))
		if !slices.Equal(got, x.Values) {
			t.Errorf("%d decimals: values moved", decimals)
		}
	}
}

// In mode redraw, released values have the distribution of x + ε conditional on lying inside the
// bounds, without an accumulation at a bound.
func TestRedrawDistribution(t *testing.T) {
	n := thin(100000)
	inf := math.Inf(1)
	for _, tt := range []struct{ x, lower, upper, lambda float64 }{
		{1000, 950, inf, 100},
		{1000, -inf, 980, 100},
		{1000, 990, 1100, 100},
		{1000, 1000, inf, 100},
		{800, 1000, inf, 50},  // 4 SD outside: the right tail
		{1200, -inf, 999, 50}, // and the left tail
		{500, 1000, 1020, 50}, // 10 SD outside
		{0, 300, inf, 10},     // 30 SD outside
	} {
		for _, distribution := range []string{"normal", "laplace", "uniform"} {
			m := &Noise{Columns: []string{"a"}, SD: amount(tt.lambda), Distribution: distribution}
			d := m.Draw()
			s := d.Scale(tt.lambda)
			a, b := (tt.lower-tt.x)/s, (tt.upper-tt.x)/s
			if d == core.Uniform && (a > 0.99 || b < -0.99) {
				continue
			}
			trunc := &Truncate{Columns: []string{"a"}, Mode: "redraw"}
			if !math.IsInf(tt.lower, 0) {
				trunc.Lower = &tt.lower
			}
			if !math.IsInf(tt.upper, 0) {
				trunc.Upper = &tt.upper
			}
			column := floats(9, repeat(tt.x, n)...)
			y := release(t, testSetup(t, column), []testColumn{column}, mask(m), mask(trunc))
			atBound := 0
			for _, v := range y {
				if v < tt.lower || v > tt.upper {
					t.Fatalf("%+v: %v is outside", tt, v)
				}
				if v == tt.lower || v == tt.upper {
					atBound++
				}
			}
			// Half a step of the grid belongs to the bound: 1e-9 of widths above 1e-2. Fewer than 1
			// value in 1e5 is expected there, so more than 3 are an accumulation.
			if atBound > 3 {
				t.Errorf("%+v %s: %d values at the bound", tt, distribution, atBound)
			}
			// Upper tails are accurate in survival functions, so the test compares with those.
			cdf := func(v float64) float64 {
				z := (v - tt.x) / s
				if a > 0 {
					return (upper(d, a) - upper(d, z)) / (upper(d, a) - upper(d, b))
				}
				return (upper(d, -z) - upper(d, -a)) / (upper(d, -b) - upper(d, -a))
			}
			if k := kolmogorov(y, cdf); k > 2.5 {
				t.Errorf("%+v %s: Kolmogorov distance %.2f/√n", tt, distribution, k)
			}
		}
	}
}

// upper returns the probability above z of the standard form of a distribution, computed with the
// standard library.
func upper(d core.Draw, z float64) float64 {
	switch d {
	case core.Laplace:
		if z < 0 {
			return 1 - math.Exp(z)/2
		}
		return math.Exp(-z) / 2
	case core.Uniform:
		return (1 - min(max(z, -1), 1)) / 2
	}
	return math.Erfc(z/math.Sqrt2) / 2
}

// If landing inside is almost impossible, or if λ is 0, the nearer bound is released.
func TestRedrawOutOfReach(t *testing.T) {
	x := floats(2, 0, 1e6, -1e6)
	setup := testSetup(t, x)
	for _, noise := range []*Noise{{SD: amount(1)}, {SD: amount(1), Distribution: "uniform"},
		{SD: amount(1), Distribution: "laplace"}, {SD: amount(0)}} {
		noise.Columns = []string{"a"}
		y := release(t, setup, []testColumn{x}, mask(noise),
			mask(&Truncate{Columns: []string{"a"}, Lower: ptr(5000.0), Upper: ptr(6000.0), Mode: "redraw"}))
		if !slices.Equal(y, []float64{5000, 6000, 5000}) {
			t.Errorf("%+v: got %v", noise, y)
		}
	}
}

// On a coarse grid the result is distributed as if drawn repeatedly until the rounded value lies
// inside: χ² over the values.
func TestRedrawOnCoarseGrid(t *testing.T) {
	n := thin(100000)
	const x, lower, upperBound, lambda = 10.0, 9.0, 12.0, 1.5
	column := floats(0, repeat(x, n)...)
	y := release(t, testSetup(t, column), []testColumn{column}, mask(&Noise{Columns: []string{"a"}, SD: amount(lambda)}),
		mask(&Truncate{Columns: []string{"a"}, Lower: ptr(lower), Upper: ptr(upperBound), Mode: "redraw"}))
	counts := map[float64]int{}
	for _, v := range y {
		counts[v]++
	}
	mass := func(v float64) float64 {
		return keystream.NormalCDF((v+0.5-x)/lambda) - keystream.NormalCDF((v-0.5-x)/lambda)
	}
	total := 0.0
	for v := lower; v <= upperBound; v++ {
		total += mass(v)
	}
	chi2 := 0.0
	for v := lower; v <= upperBound; v++ {
		expected := float64(n) * mass(v) / total
		chi2 += (float64(counts[v]) - expected) * (float64(counts[v]) - expected) / expected
	}
	if len(counts) != 4 || chi2 > 26 { // χ² with 3 degrees of freedom exceeds 26 with probability 1e-5
		t.Errorf("χ² = %.1f over %v", chi2, counts)
	}
}

// between keeps its relative accuracy far out in either tail: F at the returned point is the share
// u.
func TestBetweenTails(t *testing.T) {
	for _, d := range []core.Draw{core.Normal, core.Laplace} {
		for _, a := range []float64{-36, -20, -5, -1, 0, 1, 5, 20, 36} {
			for _, width := range []float64{1e-3, 0.1, 1, math.Inf(1)} {
				b := a + width
				for _, u := range []float64{1e-9, 0.1, 0.5, 0.9, 1 - 1e-9} {
					z := d.Between(a, b, u)
					if z < a || z > b {
						t.Fatalf("%v in [%v, %v]: got %v", u, a, b, z)
					}
					// share of [a, b] below z, from survival or distribution functions
					share := (upper(d, a) - upper(d, z)) / (upper(d, a) - upper(d, b))
					if a <= 0 {
						share = (upper(d, -z) - upper(d, -a)) / (upper(d, -b) - upper(d, -a))
					} else {
						share = 1 - share // by symmetry
					}
					if !(math.Abs(share-u) <= 1e-9+1e-11/width) {
						t.Errorf("%v, [%v, %v]: share %v, want %v", d, a, b, share, u)
					}
				}
			}
		}
	}
}

// Two releases of the same values under one key with different parameters share no draw: otherwise
// x + λ₁z and x + λ₂z could be solved for x. The same holds for earlier masks of the column, the
// bounds of a redraw, φ and π.
func TestOtherParametersOtherDraws(t *testing.T) {
	const n = 20_000
	values := make([]float64, n) // all 0: the release is the noise itself
	ones := repeat(1, n)
	noise := func(sd float64, change func(*Noise)) Spec {
		m := &Noise{Columns: []string{"a"}, SD: amount(sd)}
		if change != nil {
			change(m)
		}
		return mask(m)
	}
	redraw := func(upper float64) Spec {
		return mask(&Truncate{Columns: []string{"a"}, Upper: ptr(upper), Mode: "redraw"})
	}
	bias := func(phi float64) Spec { return mask(&Bias{Columns: []string{"a"}, Phi: ptr(phi)}) }
	for _, tt := range []struct {
		name   string
		values []float64
		a, b   []Spec
	}{
		{"λ", values, []Spec{noise(10, nil)}, []Spec{noise(11, nil)}},
		{"tiers", values, []Spec{noise(10, nil)},
			[]Spec{noise(10, func(m *Noise) { m.Tiers = []Tier{{Above: ptr(100.0), VarianceFactor: ptr(2.0)}} })}},
		{"distribution", values, []Spec{noise(10, nil)}, []Spec{noise(10, func(m *Noise) { m.Distribution = "laplace" })}},
		{"bounds of a redraw", values, []Spec{noise(10, nil), redraw(20)}, []Spec{noise(10, nil), redraw(21)}},
		{"φ", ones, []Spec{bias(0.1)}, []Spec{bias(0.2)}},
		{"bias before", values, []Spec{bias(0.1), noise(10, nil)}, []Spec{bias(0.2), noise(10, nil)}},
	} {
		x := floats(9, tt.values...)
		setup := testSetup(t, x)
		y1 := release(t, setup, []testColumn{x}, tt.a...)
		y2 := release(t, setup, []testColumn{x}, tt.b...)
		// The correlation of independent draws is N(0, 1/n); 5 SDs are exceeded once in 1.7
		// million.
		if r := stat.Correlation(y1, y2, nil); !(math.Abs(r) <= 5/math.Sqrt(n)) {
			t.Errorf("another %s: the releases' noise is correlated, r = %.3f", tt.name, r)
		}
		again := release(t, setup, []testColumn{x}, tt.a...)
		if !slices.Equal(y1, again) {
			t.Errorf("%s: the same masks released something else", tt.name)
		}
	}
}
