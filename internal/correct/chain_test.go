package correct_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/internal/correct"
	"github.com/sdlfilter/sdlfilter/internal/masksim"
)

// TestUndo: the limits are as narrow as the known parameters allow, and no narrower.
func TestUndo(t *testing.T) {
	noise := correct.Added{SD: 6, Normal: true}
	tiers := correct.Added{SD: 6, Tiers: []correct.Tier{{Above: 110, Factor: 4}}}
	hidden := correct.Added{SD: math.NaN()}
	inf := math.Inf(1)
	all := correct.Interval{Least: math.Inf(-1), Greatest: inf}
	at := func(v float64) correct.Interval { return correct.Interval{Least: v, Greatest: v} }
	// y has mean 100 and variance 400.
	for _, c := range []struct {
		name           string
		chain          correct.Chain
		mean, variance correct.Interval
		slack          float64
	}{
		{"nothing", nil, at(100), at(400), 0},
		{"noise", correct.Chain{noise}, at(100), at(364), 0},
		{"bias, then noise", correct.Chain{correct.Multiplied{Phi: 0.1}, noise}, at(100), at((364 - 100) / 1.01), 0},
		{"noise, then bias", correct.Chain{noise, correct.Multiplied{Phi: 0.1}}, at(100), at((400-100)/1.01 - 36), 0},
		{"tiers", correct.Chain{tiers}, at(100), correct.Interval{Least: 256, Greatest: 364}, 0},
		{"λ not published", correct.Chain{hidden}, at(100), correct.Interval{Least: 0, Greatest: 400}, 0},
		{"φ not published", correct.Chain{correct.Multiplied{Phi: math.NaN()}}, at(100),
			correct.Interval{Least: 0, Greatest: 400}, 0},
		{"clip", correct.Chain{noise, correct.Truncated{Lower: true}}, correct.Interval{Least: math.Inf(-1), Greatest: 100},
			correct.Interval{Least: 364, Greatest: inf}, inf},
		{"clip above", correct.Chain{noise, correct.Truncated{Upper: true}}, correct.Interval{Least: 100, Greatest: inf},
			correct.Interval{Least: 364, Greatest: inf}, inf},
		{"redraw", correct.Chain{noise, correct.Truncated{Lower: true, Upper: true, Redraw: true}}, all,
			correct.Interval{Least: 364, Greatest: inf}, inf},
		{"redraw of tiers", correct.Chain{tiers, correct.Truncated{Lower: true, Redraw: true}},
			correct.Interval{Least: math.Inf(-1), Greatest: 100}, correct.Interval{Least: 0, Greatest: inf}, inf},
		{"clip of tiers", correct.Chain{tiers, correct.Truncated{Lower: true}},
			correct.Interval{Least: math.Inf(-1), Greatest: 100}, correct.Interval{Least: 256, Greatest: inf}, inf},
		{"bias, then clip", correct.Chain{correct.Multiplied{Phi: 0.1}, correct.Truncated{Lower: true}},
			correct.Interval{Least: math.Inf(-1), Greatest: 100}, correct.Interval{Least: 0, Greatest: inf}, inf},
		{"smooth rounding", correct.Chain{noise, correct.Rounded{Step: 12}}, at(100), at(400 - 12 - 36), 0},
		{"just not smooth", correct.Chain{noise, correct.Rounded{Step: 12.1}},
			correct.Interval{Least: 93.95, Greatest: 106.05},
			correct.Interval{Least: 13.95*13.95 - 36, Greatest: 26.05*26.05 - 36}, 6.05},
		{"Laplace, rounded", correct.Chain{correct.Added{SD: 6}, correct.Rounded{Step: 3}}, at(100), at(400 - 0.75 - 36), 0},
		{"Laplace, not smooth", correct.Chain{correct.Added{SD: 6}, correct.Rounded{Step: 4}},
			correct.Interval{Least: 98, Greatest: 102}, correct.Interval{Least: 18*18 - 36, Greatest: 22*22 - 36}, 2},
		{"a clip between", correct.Chain{noise, correct.Truncated{Lower: true}, correct.Rounded{Step: 4}},
			correct.Interval{Least: math.Inf(-1), Greatest: 102}, correct.Interval{Least: 18*18 - 36, Greatest: inf}, inf},
		{"a swap between", correct.Chain{noise, correct.Exchanged{}, correct.Rounded{Step: 12}}, at(100), at(400 - 12 - 36),
			0},
		{"step not published", correct.Chain{noise, correct.Rounded{Step: math.NaN()}}, all,
			correct.Interval{Least: 0, Greatest: inf}, inf},
		{"unknown first", correct.Chain{correct.Unknown{}, noise}, all, correct.Interval{Least: 0, Greatest: inf}, inf},
		{"unknown last", correct.Chain{noise, correct.Unknown{}}, all, correct.Interval{Least: 0, Greatest: inf}, inf},
	} {
		k := c.chain.Undo(100, 400)
		for what, pair := range map[string][2]float64{
			"least mean": {k.Mean.Least, c.mean.Least}, "greatest mean": {k.Mean.Greatest, c.mean.Greatest},
			"least variance":    {k.Variance.Least, c.variance.Least},
			"greatest variance": {k.Variance.Greatest, c.variance.Greatest}, "slack": {k.Slack, c.slack},
		} {
			if pair[0] != pair[1] && !(math.Abs(pair[0]-pair[1]) < 1e-9) {
				t.Errorf("%s: %s %v, want %v", c.name, what, pair[0], pair[1])
			}
		}
	}
}

func TestTies(t *testing.T) {
	c := correct.Chain{correct.Exchanged{With: []string{"k", "a", "b"}}, correct.Added{SD: 1},
		correct.Exchanged{With: []string{"a", "b"}}}
	for name, want := range map[string]bool{"a": true, "b": true, "k": false, "w": false} {
		if c.Ties(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// TestMeanFactorRange: the limits that users compute from the released values hold, also if the
// column lies at or near the bound of a tier. They are narrower than the factors themselves if few
// values lie near it.
func TestMeanFactorRange(t *testing.T) {
	const n = 20_000
	r := rand.New(rand.NewPCG(4, 4))
	for name, draw := range map[string]func() float64{
		"normal": func() float64 { return 100 + 20*r.NormFloat64() },
		"below":  func() float64 { return 110 },
		"above":  func() float64 { return 110.1 },
		"far":    func() float64 { return 40 + 5*r.NormFloat64() + float64(r.IntN(2))*120 },
	} {
		for kind, tiers := range map[string][]correct.Tier{
			"one": {{Above: 110, Factor: 25}}, "less": {{Above: 110, Factor: 0}},
			"two": {{Above: 90, Factor: 0.5}, {Above: 110, Factor: 9}},
		} {
			x := make([]float64, n)
			y := make([]float64, n)
			_, greatest := correct.FactorRange(tiers)
			for i := range x {
				x[i] = draw()
				f := 1.0
				for _, tier := range tiers {
					if x[i] > tier.Above {
						f = tier.Factor
					}
				}
				y[i] = x[i] + 3*math.Sqrt(f)*r.NormFloat64()
			}
			low, high := correct.MeanFactorRange(y, tiers, 3*math.Sqrt(greatest))
			truth := correct.MeanFactor(x, tiers)
			// A share of n records has an SD of at most 1/(2√n), which the limits double; 5 of them
			// times the greatest step between factors.
			tol := 5 / math.Sqrt(n) * greatest
			if !(low <= truth+tol && truth-tol <= high) {
				t.Errorf("%s, %s: %v to %v, but the mean factor is %v", name, kind, low, high, truth)
			}
			if name == "far" && high-low > 0.15*greatest {
				t.Errorf("%s, %s: %v to %v says little of %v", name, kind, low, high, truth)
			}
		}
	}
	low, high := correct.MeanFactorRange([]float64{1, 2, math.NaN()}, nil, 1)
	if low != 1 || high != 1 {
		t.Errorf("no tiers: %v to %v", low, high)
	}
}

// TestClippedNormal: a normal column with normal noise is recovered after clipping. Any other
// column is refused, or brought nearer to the truth, never further from it.
func TestClippedNormal(t *testing.T) {
	r := rand.New(rand.NewPCG(70, 130))
	exp := func() float64 { return r.ExpFloat64() }
	for _, shape := range []struct {
		name   string
		draw   func() float64
		normal bool
	}{
		{"normal", func() float64 { return 100 + 20*r.NormFloat64() }, true},
		{"lognormal", func() float64 { return 68 + 24*math.Exp(0.6*r.NormFloat64()) }, false},
		{"nearly normal", func() float64 {
			return 100 + 2.9*(exp()+exp()+exp()+exp()+exp()+exp()+exp()+exp()+exp()+exp()-10)
		}, false},
		{"nearly normal, to the left", func() float64 { return 100 - 4*(exp()+exp()+exp()+exp()+exp()+exp()-6) }, false},
		{"mixture", func() float64 { return 100 + (15+15*float64(r.IntN(2)))*r.NormFloat64() }, false},
		{"t of 5 df", func() float64 {
			var s float64
			for range 5 {
				z := r.NormFloat64()
				s += z * z
			}
			return 100 + 16*r.NormFloat64()/math.Sqrt(s/5)
		}, false},
		{"uniform", func() float64 { return 65 + 70*r.Float64() }, false},
		{"two", func() float64 { return 85 + 30*float64(r.IntN(2)) }, false},
	} {
		for _, bounds := range [][2]float64{{70, 130}, {85, math.Inf(1)}, {math.Inf(-1), 120}, {0, 1000}} {
			for _, n := range []int{5000, 20_000} {
				const replicates = 20
				accepted := 0
				var off, naive [4][]float64
				for range replicates {
					x, y, w := make([]float64, n), make([]float64, n), make([]float64, n)
					for i := range x {
						x[i] = shape.draw()
						w[i] = 0.05*x[i] + r.NormFloat64()
						y[i] = masksim.Apply(r, x[i:i+1], nil,
							[]masksim.Mask{{Kind: "noise", SD: 6}, {Kind: "clip", Lower: bounds[0], Upper: bounds[1]}})[0]
					}
					fit, err := correct.ClippedNormal(y, bounds[0], bounds[1])
					if err != nil {
						if !errors.Is(err, correct.ErrShape) {
							t.Fatal(err)
						}
						continue
					}
					accepted++
					left, c := fit.SD*fit.SD-36, stat.Covariance(y, w, nil)/fit.Inside
					tx, ty := stat.Variance(x, nil), stat.Variance(y, nil)
					for i, v := range [4][3]float64{
						{fit.Mean, stat.Mean(y, nil), stat.Mean(x, nil)},
						{left, ty, tx},
						{c, stat.Covariance(y, w, nil), stat.Covariance(x, w, nil)},
						{c / left, stat.Covariance(y, w, nil) / ty, stat.Covariance(x, w, nil) / tx},
					} {
						off[i], naive[i] = append(off[i], v[0]-v[2]), append(naive[i], v[1]-v[2])
					}
				}
				what := [4]string{"mean", "variance", "covariance", "slope"}
				// χ² exceeds its limit for one normal column of 20; for 8 of 20 once in a million.
				if shape.normal && accepted < replicates-8 {
					t.Errorf("%s in %v, n = %d: refused %d of %d", shape.name, bounds, n, replicates-accepted, replicates)
				}
				if accepted < 3 {
					continue
				}
				for i := range what {
					mean, sd := stat.MeanStdDev(off[i], nil)
					se := sd / math.Sqrt(float64(accepted))
					without := math.Abs(stat.Mean(naive[i], nil))
					// 4.5 standard errors of up to 20 draws, which by t with 19 degrees of freedom
					// are exceeded by chance once in 4,000: 40 figures.
					if shape.normal && !(math.Abs(mean) < 4.5*se) {
						t.Errorf("%s in %v, n = %d: %s is off by %v ± %v (%v without correction)", shape.name, bounds, n, what[i], mean,
							se, without)
					}
					if math.Abs(mean) > without+2*se {
						t.Errorf("%s in %v, n = %d: %s is off by %v ± %v, further than %v without correction (%d of %d accepted)",
							shape.name, bounds, n, what[i], mean, se, without, accepted, replicates)
					}
				}
			}
		}
	}
}

// TestClippedNormalRefuses too few values, constant values, and values that all lie at the bounds.
func TestClippedNormalRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	few, constant, outside := make([]float64, 4999), make([]float64, 20_000), make([]float64, 20_000)
	for i := range few {
		few[i] = r.NormFloat64()
	}
	for i := range outside {
		constant[i], outside[i] = 3, float64(i%2)
	}
	for name, y := range map[string][]float64{"few": few, "constant": constant, "outside": outside, "nothing": nil} {
		if fit, err := correct.ClippedNormal(y, 0, 1); !errors.Is(err, correct.ErrShape) {
			t.Errorf("%s: %+v, %v", name, fit, err)
		}
	}
	if fit, err := correct.ClippedNormal(constant, 0, 10); !errors.Is(err, correct.ErrShape) {
		t.Errorf("a constant within the bounds: %+v, %v", fit, err)
	}
}

// TestRangeOfNothing: a column that does not depend on another remains independent of it whatever
// remains of its variance. All other quotients by a variance of 0 have no limit.
func TestRangeOfNothing(t *testing.T) {
	k := correct.Known{Variance: correct.Interval{Least: 0, Greatest: 4}}
	if v := k.SlopeRange(0, 1); v != (correct.Interval{}) {
		t.Errorf("slope of nothing: %v", v)
	}
	if v := k.SlopeRange(2, 1); v.Least != 0.5 || !math.IsInf(v.Greatest, 1) {
		t.Errorf("slope: %v", v)
	}
	if v := k.CorrelationRange(-0.5, 2); v.Least != -1 || v.Greatest != -0.5 {
		t.Errorf("correlation: %v", v)
	}
}
