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

func (s *biasStep) law(column string) []stage {
	for i := range s.columns {
		if c := &s.columns[i]; c.Name == column {
			return []stage{{spread: &spread{
				draw: normal, grid: c.grid, phi: c.phi, lower: math.Inf(-1), upper: math.Inf(1),
				scale: func(v float64) float64 { return math.Abs(c.grid.snap(v)) * c.phi },
			}}}
		}
	}
	return nil
}

func (s *clipStep) law(column string) []stage {
	for _, c := range s.columns {
		if c.Name == column {
			f := clipping(c.lower, c.upper)
			return []stage{{level: &f}}
		}
	}
	return nil // mode redraw: part of the law of the noise before it
}

func (s *roundStep) law(column string) []stage {
	for i := range s.columns {
		if c := &s.columns[i]; c.Name == column {
			step := c.step
			switch {
			case c.mult != 0:
				step = 1 / c.mult
			case c.grid != (grid{}):
				step /= c.grid.mult
			}
			f := rounding(step, c.round)
			return []stage{{level: &f}}
		}
	}
	return nil
}

// Swaps permute the values of a column, which does not change the law of the column as a
// whole.

func (s *windowSwap) law(string) []stage { return nil }

func (s *datasetSwap) law(string) []stage { return nil }
