package keystream

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// probabilities returns n values of p that cover (1e-300, 1−1e-16): the powers of
// ten below 1/2, their complements, the edges of AS 241's three regions, and
// random ones between.
func probabilities(n int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	ps := []float64{1e-300, 1 - 0x1p-53, 1 - 0x1p-52, 0.075, 0.925, math.Nextafter(0.075, 0), math.Nextafter(0.925, 1),
		math.Nextafter(0.5, 0), math.Nextafter(0.5, 1), math.Exp(-25), math.Nextafter(math.Exp(-25), 0), 1 - math.Exp(-25)}
	for len(ps) < n {
		switch r.IntN(4) {
		case 0:
			ps = append(ps, math.Pow(10, -300*r.Float64()))
		case 1:
			ps = append(ps, math.Pow(10, -16*r.Float64()))
		case 2:
			ps = append(ps, 1-math.Max(math.Pow(10, -16*r.Float64()), 0x1p-53))
		default:
			ps = append(ps, 0.5+(r.Float64()-0.5)*math.Pow(2, -40*r.Float64()))
		}
	}
	return ps
}

// maxRelative is the maximum relative error of the inverse distribution functions and of their
// complements.
const maxRelative = 1e-12

func points(t *testing.T, short, long int) int {
	if testing.Short() {
		return short
	}
	return long
}

// TestNormalQuantile measures the error of x = NormalQuantile(p) by one Newton step, (Φ(x) −
// p)/φ(x), which is exact up to the square of the error.
func TestNormalQuantile(t *testing.T) {
	worst := 0.0
	for _, p := range probabilities(points(t, 100, 600)) {
		if p == 0.5 {
			continue
		}
		x := NormalQuantile(p)
		prec := tailPrec(x)
		bx := bigF(prec, x)
		d := bigNormalCDF(bx)
		d.Sub(d, bigF(prec, p))
		d.Quo(d, bigDensity(bx))
		d.Quo(d, bx)
		e, _ := d.Abs(d).Float64()
		if !(e < maxRelative) {
			t.Errorf("NormalQuantile(%g) = %g: relative error %.2g, want below %g", p, x, e, maxRelative)
		}
		worst = max(worst, e)
	}
	t.Logf("greatest relative error %.2g", worst)
}

// TestNormalCDF covers both tails down to 1e-300.
func TestNormalCDF(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	xs := []float64{0, 0.67448975, 0.674489751, 5.656854248, 5.65685425, 37.04, 1e-300, 1e-9}
	for n := points(t, 60, 400); len(xs) < n; {
		xs = append(xs, 37.04*r.Float64(), 6*r.Float64(), r.Float64())
	}
	worst := 0.0
	check := func(name string, x, got float64, want *big.Float) {
		e := relativeError(got, want)
		if !(e < maxRelative) {
			t.Errorf("%s(%g) = %g: relative error %.2g, want below %g", name, x, got, e, maxRelative)
		}
		worst = max(worst, e)
	}
	for _, x := range xs {
		prec := tailPrec(x)
		lower := bigNormalCDF(bigF(prec, -x))
		upper := new(big.Float).SetPrec(prec).Sub(bigF(prec, 1), lower)
		check("NormalCDF", -x, NormalCDF(-x), lower)
		check("normalSurvival", x, normalSurvival(x), lower)
		check("NormalCDF", x, NormalCDF(x), upper)
		check("normalSurvival", -x, normalSurvival(-x), upper)
	}
	t.Logf("greatest relative error %.2g", worst)
}

// TestLogExp: both within one unit in the last place.
func TestLogExp(t *testing.T) {
	const prec = 128
	r := rand.New(rand.NewPCG(5, 6))
	n := points(t, 300, 3000)
	xs := []float64{1, 2, 10, math.SmallestNonzeroFloat64, 0x1p-1022, math.MaxFloat64, math.Sqrt2, math.Sqrt2 / 2,
		math.Nextafter(1, 0), math.Nextafter(1, 2), 0.7071067811865475, 0.7071067811865476}
	for len(xs) < n {
		xs = append(xs, math.Exp(1400*(r.Float64()-0.5)), math.Exp2(0.1*(r.Float64()-0.5)))
	}
	for _, x := range xs {
		if x == 1 {
			if log(x) != 0 {
				t.Errorf("log(1) = %g", log(x))
			}
			continue
		}
		if e := relativeError(log(x), bigLog(bigF(prec, x))); e > 0x1p-52 {
			t.Errorf("log(%g) = %g: relative error %.2g, want at most 2^-52", x, log(x), e)
		}
	}
	xs = []float64{1, -1, 1e-10, -1e-10, 0x1p-28, -0x1p-28, 709.78, -708.3, -0.5 * math.Ln2, 0.5 * math.Ln2}
	for len(xs) < n {
		xs = append(xs, -708*r.Float64(), 1417*(r.Float64()-0.5), r.Float64()-0.5)
	}
	for _, x := range xs {
		if e := relativeError(exp(x), bigExp(bigF(prec, x))); e > 0x1p-52 {
			t.Errorf("exp(%g) = %g: relative error %.2g, want at most 2^-52", x, exp(x), e)
		}
	}
	// For subnormal results the error is counted in units of the smallest float64.
	for _, x := range []float64{-708.5, -720, -735.2, -744, -745} {
		want, _ := bigExp(bigF(prec, x)).Float64()
		if got := exp(x); !(math.Abs(got-want) <= math.SmallestNonzeroFloat64) {
			t.Errorf("exp(%g) = %g, want %g", x, got, want)
		}
	}
}

func TestLaplaceFunctions(t *testing.T) {
	const prec = 256
	for _, p := range probabilities(points(t, 200, 2000)) {
		if p == 0.5 {
			continue
		}
		tail := bigF(prec, p)
		if p > 0.5 {
			tail.Sub(bigF(prec, 1), tail)
		}
		want := bigLog(tail.Mul(tail, bigF(prec, 2)))
		if p > 0.5 {
			want.Neg(want)
		}
		x := LaplaceQuantile(p)
		if e := relativeError(x, want); !(e < maxRelative) {
			t.Errorf("LaplaceQuantile(%g) = %g: relative error %.2g, want below %g", p, x, e, maxRelative)
		}
		half := bigExp(bigF(prec, -math.Abs(x)))
		half.Quo(half, bigF(prec, 2))
		rest := new(big.Float).SetPrec(prec).Sub(bigF(prec, 1), half)
		if e := relativeError(LaplaceCDF(-math.Abs(x)), half); !(e < maxRelative) {
			t.Errorf("LaplaceCDF(%g): relative error %.2g, want below %g", -math.Abs(x), e, maxRelative)
		}
		if e := relativeError(laplaceSurvival(math.Abs(x)), half); !(e < maxRelative) {
			t.Errorf("laplaceSurvival(%g): relative error %.2g, want below %g", math.Abs(x), e, maxRelative)
		}
		if e := relativeError(LaplaceCDF(math.Abs(x)), rest); !(e < maxRelative) {
			t.Errorf("LaplaceCDF(%g): relative error %.2g, want below %g", math.Abs(x), e, maxRelative)
		}
	}
}

// TestLimits: the results at the ends of the domains and outside.
func TestLimits(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name string
		f    func(float64) float64
		x, y float64
	}{
		{"NormalQuantile", NormalQuantile, 0, -inf},
		{"NormalQuantile", NormalQuantile, 1, inf},
		{"NormalQuantile", NormalQuantile, 0.5, 0},
		{"NormalQuantile", NormalQuantile, -1e-300, nan},
		{"NormalQuantile", NormalQuantile, math.Nextafter(1, 2), nan},
		{"NormalQuantile", NormalQuantile, nan, nan},
		{"LaplaceQuantile", LaplaceQuantile, 0, -inf},
		{"LaplaceQuantile", LaplaceQuantile, 1, inf},
		{"LaplaceQuantile", LaplaceQuantile, 0.5, 0},
		{"LaplaceQuantile", LaplaceQuantile, -0.1, nan},
		{"LaplaceQuantile", LaplaceQuantile, nan, nan},
		{"NormalCDF", NormalCDF, -inf, 0},
		{"NormalCDF", NormalCDF, inf, 1},
		{"NormalCDF", NormalCDF, 0, 0.5},
		{"NormalCDF", NormalCDF, -50, 0},
		{"NormalCDF", NormalCDF, nan, nan},
		{"normalSurvival", normalSurvival, -inf, 1},
		{"normalSurvival", normalSurvival, inf, 0},
		{"normalSurvival", normalSurvival, nan, nan},
		{"LaplaceCDF", LaplaceCDF, -inf, 0},
		{"LaplaceCDF", LaplaceCDF, inf, 1},
		{"LaplaceCDF", LaplaceCDF, 0, 0.5},
		{"LaplaceCDF", LaplaceCDF, nan, nan},
		{"log", log, 0, -inf},
		{"log", log, -1, nan},
		{"log", log, inf, inf},
		{"log", log, nan, nan},
		{"exp", exp, -inf, 0},
		{"exp", exp, inf, inf},
		{"exp", exp, 0, 1},
		{"exp", exp, nan, nan},
	} {
		if got := c.f(c.x); got != c.y && !(got != got && c.y != c.y) {
			t.Errorf("%s(%g) = %g, want %g", c.name, c.x, got, c.y)
		}
	}
}

// TestQuantileInverts: monotone, odd about the median, and the inverse of the
// distribution function.
func TestQuantileInverts(t *testing.T) {
	last := math.Inf(-1)
	for k := 1; k < 1<<12; k++ {
		p := float64(k) / (1 << 12)
		x := NormalQuantile(p)
		if x <= last {
			t.Fatalf("NormalQuantile is not increasing at %g", p)
		}
		last = x
		if y := NormalQuantile(1 - p); y != -x {
			t.Fatalf("NormalQuantile(1-%g) = %g, want %g", p, y, -x)
		}
		// The error of Φ(x) is φ(x)·δx plus its own rounding error: a few 1e-16.
		if q := NormalCDF(x); !(math.Abs(q-p) <= 1e-15) {
			t.Fatalf("NormalCDF(NormalQuantile(%g)) is off by %g", p, q-p)
		}
	}
}
