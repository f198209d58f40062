package record

import (
	"math"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

func (s *noiseStep) Law(column string) []core.Stage {
	for _, n := range s.columns {
		if n.Name == column {
			r := n.spread()
			return []core.Stage{{Spread: &r}}
		}
	}
	for _, redraw := range s.redraws {
		for _, n := range redraw.columns {
			if n.Name == column {
				r := n.spread()
				// Results within half a step of a bound are rounded to it.
				r.Lower, r.Upper = (n.lower-0.5)/n.Grid.Mult, (n.upper+0.5)/n.Grid.Mult
				return []core.Stage{{Spread: &r}}
			}
		}
	}
	return nil
}

// spread returns the draw of the noise, without bounds.
func (c *NoiseColumn) spread() core.Spread {
	return core.Spread{Draw: c.draw, Grid: c.Grid, Scale: c.scaleAt, Above: c.above, Lower: math.Inf(-1),
		Upper: math.Inf(1)}
}

func (s *noiseStep) Keeps(l *core.KeepingOf, i int) {
	for _, n := range s.columns {
		if n.Name == l.Name {
			l.Moves = append(l.Moves, n.moving(i, false))
		}
	}
	for _, r := range s.redraws {
		for _, n := range r.columns {
			if n.Name == l.Name {
				l.Moves = append(l.Moves, n.moving(i, true))
			}
		}
	}
}

// moving declares which values noise leaves: those with |ε| below half a step. For noise drawn
// within bounds the probability is conditional on these.
func (n *NoiseColumn) moving(i int, redrawn bool) core.Moving {
	sd := func(x float64) float64 { return n.draw.Deviation(n.scaleAt(x)) }
	return core.Moving{
		Mask: i,
		Lost: func(x, step float64) bool { return n.Grid == (core.Grid{}) || sd(x) < max(step, n.Grid.Value(1)) },
		Share: func(x, step float64) float64 {
			step = max(step, n.Grid.Value(1))
			scale := n.scaleAt(x)
			p := n.draw.Within(-step/2, step/2, scale)
			if redrawn {
				inside := n.draw.Within(n.Grid.Value(n.lower)-step/2-x, n.Grid.Value(n.upper)+step/2-x, scale)
				p = min(1, p/max(inside, p))
			}
			return p
		},
	}
}
