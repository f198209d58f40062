package transform

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// BelowEach has the same bits as Below, for draws that it handles together and for others, with
// values and bounds of every size.
func TestBelowEachHasTheBitsOfBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 17))
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		law      *Law
		together bool
	}{
		"normal":          {free(core.Normal, 3, 0.01), true},
		"fine":            {free(core.Normal, 1e-3, 0x1p-30), true},
		"coarse":          {free(core.Normal, 0.2, 1), true},
		"nothing drawn":   {free(core.Normal, 0, 1), false},
		"laplace":         {free(core.Laplace, 3, 0.01), false},
		"uniform":         {free(core.Uniform, 3, 0.01), false},
		"within bounds":   {bounded(free(core.Normal, 3, 0.01), -5, 20), false},
		"above a bound":   {bounded(free(core.Normal, 3, 0.01), 0, inf), false},
		"no scale at all": {free(core.Normal, inf, 0.01), false},
	} {
		x := []float64{0, math.Copysign(0, -1), 1e-300, 1, -1, 1e15, -1e18, 0.005, 0.015}
		for range 700 {
			x = append(x, 20*rng.NormFloat64())
		}
		if of := c.law.FreeDraws(x); (of != nil) != c.together {
			t.Errorf("%s: taken together is %v", name, of != nil)
		}
		at := []float64{inf, -inf, math.NaN(), 0, 1e15, -1e18, math.MaxFloat64, -math.MaxFloat64}
		for range 60 {
			at = append(at, 25*rng.NormFloat64(), math.Round(500*rng.NormFloat64())/100)
		}
		for _, n := range []int{0, 1, 255, 256, 257, len(x)} {
			p := make([]float64, n)
			each := c.law.BelowEach(x[:n])
			for _, limit := range at {
				each(limit, p)
				for i, v := range x[:n] {
					if want := c.law.Below(v, limit); math.Float64bits(p[i]) != math.Float64bits(want) {
						t.Fatalf("%s: P(y ≤ %v) of %v is %v, want %v", name, limit, v, p[i], want)
					}
				}
			}
		}
	}
}

// free returns the law of one draw with a scale, around multiples of a step.
func free(d core.Draw, scale, step float64) *Law {
	l := &Law{Column: &core.Column{}, Random: []core.Spread{{
		Draw: d, Grid: core.Grid{Mult: 1 / step}, Scale: func(float64) float64 { return scale }, Lower: math.Inf(-1),
		Upper: math.Inf(1),
	}}}
	l.Settle()
	return l
}

// bounded returns a law with a draw that must lie within bounds.
func bounded(l *Law, lower, upper float64) *Law {
	l.Random[0].Lower, l.Random[0].Upper = lower, upper
	return l
}
