package replicate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// The moments of a replicate equal their definition: for small and large values, any number of
// values, with and without missing values. The same holds for the minimum and maximum of the
// released values.
func TestMomentsByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 6))
	for _, scale := range []float64{1e-3, 1, 1e6} {
		for _, shift := range []float64{0, -50, 300} {
			for n := 1; n <= 12; n++ {
				x, y := make([]float64, n), make([]float64, n)
				valid := microdata.NewBitmap(n, nil)
				for i := range x {
					x[i] = scale * (shift + rng.NormFloat64())
					y[i] = x[i] + scale*rng.NormFloat64()
					valid.Set(i)
				}
				check := func(what string, got Answer) {
					t.Helper()
					var want Answer
					for i, v := range y {
						if v == v {
							want.N++
							want.Mean += v
							if valid.Has(i) {
								want.Both++
								want.Diff += v - x[i]
								want.SquareDiff += (v - x[i]) * (v - x[i])
							}
						}
					}
					want.Mean /= want.N
					want.Diff /= want.Both
					want.SquareDiff /= want.Both
					for _, v := range y {
						if v == v {
							want.Variance += (v - want.Mean) * (v - want.Mean) / (want.N - 1)
						}
					}
					if want.N == 1 {
						want.Variance = math.NaN()
					}
					near := func(a, b, of float64) bool { return math.Abs(a-b) <= 1e-9*of || a != a && b != b }
					size := scale * (1 + math.Abs(shift))
					if got.N != want.N || got.Both != want.Both || !near(got.Mean, want.Mean, size) ||
						!near(got.Diff, want.Diff, size) ||
						!near(got.SquareDiff, want.SquareDiff, scale*scale) || !near(got.Variance, want.Variance, scale*scale) {
						t.Errorf("%s, %d of scale %v: %+v, want %+v", what, n, scale, got, want)
					}
				}
				var a Answer
				low, high := a.moments(x, y)
				check("all", a)
				if wantLow, wantHigh := ends(y); low != wantLow || high != wantHigh {
					t.Errorf("%v: from %v to %v", y, low, high)
				}
				for at := range n { // minimum and maximum at every place
					for _, v := range []float64{-1e9, 1e9} {
						before := y[at]
						y[at] = v
						var b Answer
						low, high := b.moments(x, y)
						if v < 0 && low != v || v > 0 && high != v || n > 1 && (low == v) == (high == v) {
							t.Errorf("%v at %d of %d: from %v to %v", v, at, n, low, high)
						}
						if l, h := ends(y); l != low || h != high {
							t.Errorf("ends of %v: %v, %v", y, l, h)
						}
						y[at] = before
					}
				}
				for i := range y {
					switch rng.IntN(4) {
					case 0:
						y[i] = math.NaN() // not released
					case 1:
						valid.Clear(i) // released although the original is missing
					}
				}
				var b Answer
				there := b.partial(x, y, valid, new(replicator))
				if b.N == 0 {
					if there != nil || b.Mean == b.Mean || b.Variance == b.Variance || b.Diff == b.Diff ||
						b.SquareDiff == b.SquareDiff {
						t.Errorf("without values: %v, %+v", there, b)
					}
					continue
				}
				if float64(len(there)) != b.N {
					t.Errorf("%d values are present, and it counts %v", len(there), b.N)
				}
				check("some", b)
			}
		}
	}
}

// The difference of two means, with values missing on either side.
func TestExchangedByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 6))
	for range 200 {
		n := 2 + rng.IntN(8)
		x, y := make([]float64, n), make([]float64, n+rng.IntN(3))
		valid := microdata.NewBitmap(len(y), nil)
		var before, after, xs, ys float64
		for i := range y {
			if y[i] = 1e3 + rng.NormFloat64(); i > 0 && rng.IntN(4) == 0 {
				y[i] = math.NaN()
			} else {
				after++
				ys += y[i]
			}
			valid.Clear(i)
			if i >= n {
				continue
			}
			if x[i] = 1e3 + rng.NormFloat64(); i == 0 || rng.IntN(4) > 0 {
				valid.Set(i)
				before++
				xs += x[i]
			}
		}
		var a Answer
		a.exchanged(x, y, valid)
		if a.Both != after || !(math.Abs(a.Diff-(ys/after-xs/before)) <= 1e-9) {
			t.Errorf("%v of %v, want %v of %v", a.Diff, a.Both, ys/after-xs/before, after)
		}
	}
}
