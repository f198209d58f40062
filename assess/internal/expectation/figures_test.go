package expectation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
	"github.com/sdlfilter/sdlfilter/internal/pinned"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// stepped is slanted, rounded to multiples of a step and clipped, with an SD that is greater above
// a bound.
type stepped struct {
	slanted
	step, low, high, above, factor float64
}

func (l stepped) scale(x float64) float64 {
	if x > l.above {
		return l.factor * l.lambda
	}
	return l.lambda
}

func (l stepped) Below(x, t float64) float64 {
	switch {
	case t >= l.high:
		return 1
	case t < l.low:
		return 0
	}
	edge := t
	if l.step > 0 {
		edge = (math.Floor(t/l.step+1e-9) + 0.5) * l.step
	}
	return 0.5 * math.Erfc(((1+l.a)*x-edge)/l.scale(x)/math.Sqrt2)
}

func (l stepped) BelowEach(x []float64) func(t float64, p []float64) {
	return func(t float64, p []float64) {
		for i, v := range x {
			p[i] = l.Below(v, t)
		}
	}
}

func (l stepped) Moments(x float64) (shift, square float64) {
	s := l.scale(x)
	return l.a * x, l.a*l.a*x*x + s*s + l.step*l.step/12
}

func (l stepped) Reach(x float64) (low, high float64) {
	r := 8*l.scale(x) + l.step
	return min(max((1+l.a)*x-r, l.low), l.high), min(max((1+l.a)*x+r, l.low), l.high)
}

func (l stepped) Support() (low, high, step float64) { return l.low, l.high, l.step }

// fixed is y = x + 1, without a random draw.
type fixed struct{ slanted }

func (fixed) Moments(x float64) (shift, square float64) { return 1, 1 }
func (fixed) Reach(x float64) (low, high float64)       { return x + 1, x + 1 }
func (fixed) Fixed() bool                               { return true }
func (l fixed) Below(x, t float64) float64 {
	if x+1 <= t {
		return 1
	}
	return 0
}

// The expectations for targets at both ends and in between, for laws of every kind, for all values
// and for a sample, are compared with stored results.
func TestFiguresOfExpectations(t *testing.T) {
	inf := math.Inf(1)
	free := func(a, lambda float64) stepped { return stepped{slanted{a, lambda}, 0, -inf, inf, inf, 1} }
	laws := map[string]Law{
		"noise": free(0, 0.4), "little noise": free(0, 1e-4), "much noise": free(0.1, 30), "slanted": free(-0.2, 0.3),
		"rounded":             stepped{slanted{0, 0.4}, 0.5, -inf, inf, inf, 1},
		"coarsely rounded":    stepped{slanted{0, 0.4}, 5, -inf, inf, inf, 1},
		"clipped":             stepped{slanted{0, 0.4}, 0, 0.2, 8, inf, 1},
		"rounded and clipped": stepped{slanted{0, 0.4}, 0.25, 0.5, 4, inf, 1},
		"tiers":               stepped{slanted{0, 0.1}, 0, -inf, inf, 2, 20}, "fixed": fixed{},
	}
	var f pinned.Figures
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range laws {
			if !yield(name) {
				return
			}
		}
	}) {
		law := laws[name]
		for _, kind := range []string{"skewed", "with decimals", "heaps"} {
			for _, n := range []int{30, 700, 25_000} {
				x := skewed(uint64(n), n)
				for i, v := range x {
					switch kind {
					case "with decimals":
						x[i] = math.Round(100*v) / 100
					case "heaps":
						x[i] = math.Ceil(2 * v)
					}
				}
				sample, s, counts := x, tally.ExactSpectrum(x), new(tally.Tally)
				if n > 1000 {
					c := tally.NewCounts(400) // which keeps 5,242 at either end
					c.Add(&microdata.Block{N: n}, microdata.Vector{Values: x}, microdata.Vector{Values: x}, nil)
					c.AddEnds(x)
					c.BoundEnds()
					sample = slices.Clone(x)
					rand.New(rand.NewPCG(4, 4)).Shuffle(n, func(i, j int) { sample[i], sample[j] = sample[j], sample[i] })
					sample = sample[:600]
					unit := map[string]float64{"with decimals": 0.01, "heaps": 1}[kind]
					s, counts = c.Spectrum(sample, unit), &c.X
				}
				e := New(law, s, comoment.Of(x))
				e.Unit = map[string]float64{"with decimals": 0.01, "heaps": 1}[kind]
				e.Prepare()
				at := fmt.Sprintf("%s of %d, %s", name, n, kind)
				f.Add(at, e.Bias, e.BiasNoise, e.OfMean, e.Typical, e.TypicalNoise, e.Variance, e.Error, e.ErrorNoise)
				for _, k := range []int{1, 2, n / 10, n / 2, n - 3, n} {
					for _, of := range []*tally.Tally{counts, new(tally.Tally)} {
						if of != counts && n < 1000 {
							continue
						}
						q := e.Seek(k, of, sample)
						square, safe := e.ByIndex(q)
						byMean, noise := e.ByMean(q.Tau, q.Noise)
						row := []float64{q.Tau, q.Noise, q.width, q.density, square, byMean, noise}
						if n < 1000 || of == counts { // the other target takes long and differs only in the quantity that is sought
							position, spread, unknown := e.ByPosition(q)
							row = append(row, position, spread, number(unknown))
						}
						f.Add(fmt.Sprintf("%s, number %d, counted %v", at, k, of == counts),
							append(row, number(q.Exact), number(q.counted), number(safe))...)
					}
				}
			}
		}
	}
	f.Check(t, "testdata/expectations.txt")
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
