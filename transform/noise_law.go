package transform

import "math"

func (s *noiseStep) law(column string) []stage {
	for _, n := range s.columns {
		if n.Name == column {
			r := n.spread()
			return []stage{{spread: &r}}
		}
	}
	for _, redraw := range s.redraws {
		for _, n := range redraw.columns {
			if n.Name == column {
				r := n.spread()
				// Results within half a step of a bound are rounded to it.
				r.lower, r.upper = (n.lower-0.5)/n.grid.mult, (n.upper+0.5)/n.grid.mult
				return []stage{{spread: &r}}
			}
		}
	}
	return nil
}

// spread returns the draw of the noise, without bounds.
func (c *noiseColumn) spread() spread {
	return spread{draw: c.draw, grid: c.grid, scale: c.scaleAt, above: c.above, lower: math.Inf(-1), upper: math.Inf(1)}
}

func (s *noiseStep) keeps(l *keepingOf, i int) {
	for _, n := range s.columns {
		if n.Name == l.name {
			l.moves = append(l.moves, n.moving(i, false))
		}
	}
	for _, r := range s.redraws {
		for _, n := range r.columns {
			if n.Name == l.name {
				l.moves = append(l.moves, n.moving(i, true))
			}
		}
	}
}

// moving declares which values noise leaves: those with |ε| below half a step. For noise drawn
// within bounds the probability is conditional on these.
func (n *noiseColumn) moving(i int, redrawn bool) moving {
	sd := func(x float64) float64 { return n.draw.deviation(n.scaleAt(x)) }
	return moving{
		mask: i,
		lost: func(x, step float64) bool { return n.grid == (grid{}) || sd(x) < max(step, n.grid.value(1)) },
		share: func(x, step float64) float64 {
			step = max(step, n.grid.value(1))
			scale := n.scaleAt(x)
			p := n.draw.within(-step/2, step/2, scale)
			if redrawn {
				inside := n.draw.within(n.grid.value(n.lower)-step/2-x, n.grid.value(n.upper)+step/2-x, scale)
				p = min(1, p/max(inside, p))
			}
			return p
		},
	}
}
