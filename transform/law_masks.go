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

// The mean of the values beyond a bound lies beyond it, so the map does not decrease; the bound of a
// percentile need not be on the grid, and its rounded mean may then lie within.
func (s *tailStep) law(column string) []stage {
	for i := range s.columns {
		t := &s.columns[i]
		if t.Name != column {
			continue
		}
		if s.of.Replace != "mean" || t.low > t.lower || t.high < t.upper {
			return []stage{{}}
		}
		f := t.level()
		return []stage{{level: &f}}
	}
	return nil
}

// level is the map of values beyond the bounds to their means.
func (t *tail) level() level {
	lower, upper, low, high := t.lower, t.upper, t.low, t.high
	return level{
		jumps: low < lower || high > upper,
		apply: func(v float64) float64 {
			switch {
			case v < lower:
				return low
			case v > upper:
				return high
			}
			return v
		},
		upTo: func(t float64) float64 {
			switch {
			case t >= high:
				return math.Inf(1)
			case t >= upper:
				return upper
			case t >= lower:
				return t
			case t >= low:
				return math.Nextafter(lower, math.Inf(-1))
			}
			return math.Inf(-1)
		},
	}
}
