package joint

import (
	"slices"
)

// dependence reports whether x is constant in the groups of a category, of several categories, or of a
// grouping that the intruder knows, or is in most records what the most others of its group have.
func (f *Frame) dependence(s *sought) *exact {
	rows := s.tried()
	if len(rows) < 20 {
		return nil
	}
	for _, g := range slices.Concat(f.groups, f.crossings()) {
		if slices.Contains(g.columns, s.own) {
			continue
		}
		constant, size, judged := s.constant(&g, rows, s.x)
		only := f.columns[g.columns[0]].GroupOnly
		switch {
		case judged < leastRows:
		case !only && 2*judged >= len(rows) && constant >= 0.9 && size >= leastOthers:
			return &exact{tells: f.names(g.columns)}
		case !f.complete && constant >= 0.5 && !s.alike(&g, rows, constant):
			return &exact{tells: f.names(g.columns), open: true}
		}
	}
	parts, order := samples(rows), s.byValue()
	found := s.totalled()
	s.eachOfSeveral(func(g *grouping) {
		if found != nil {
			return
		}
		if at := s.often(g, order); s.majority(parts, false, at) {
			found = &exact{tells: f.names(g.columns), at: at}
		}
	})
	return found
}

// alike reports whether what leaves is the same in a group as often as the originals are (one draw for all
// of them, whose mean tells no more than one value), and no other column goes with x, whose mean might.
func (s *sought) alike(g *grouping, rows []int, constant float64) bool {
	share, _, judged := s.constant(g, rows, s.y)
	if judged < leastRows || share < constant-0.01 {
		return false
	}
	for c := range s.columns {
		if c == s.own || s.columns[c].GroupOnly {
			continue
		}
		if z := s.columns[c].numbers; z != nil && s.goesWith(z, rows) || z == nil && s.differsBy(s.columns[c].Values, g) {
			return false
		}
	}
	return true
}

// differsBy reports whether a category that differs within the groups tells of x: whether the means by category have
// more than 0.01 of its variance, which is a correlation of 0.1, beyond what as many categories have by chance.
func (s *sought) differsBy(category []float64, g *grouping) bool {
	type level struct{ n, sum float64 }
	var levels []level
	place, first, differs := map[float64]int{}, map[int32]float64{}, false
	var n, sum, square float64
	for _, i := range s.rows {
		x, v := s.x[i]-s.x[s.rows[0]], category[i]
		if x != x || v != v {
			continue
		}
		at, seen := place[v]
		if !seen {
			at, levels = len(levels), append(levels, level{})
			place[v] = at
		}
		levels[at].n, levels[at].sum = levels[at].n+1, levels[at].sum+x
		n, sum, square = n+1, sum+x, square+x*x
		if at := g.of[i]; at >= 0 {
			if before, seen := first[at]; !seen {
				first[at] = v
			} else if before != v {
				differs = true
			}
		}
	}
	between, degrees := -sum*sum/n, float64(len(levels)-1)
	for _, l := range levels {
		between += l.sum * l.sum / l.n
	}
	total := square - sum*sum/n
	return differs && n > degrees+1 && between-degrees*(total-between)/(n-degrees-1) > 0.01*total
}

// goesWith reports whether numbers are correlated with x by more than 0.1.
func (s *sought) goesWith(z []float64, rows []int) bool {
	var n, sx, sz, sxx, szz, sxz float64
	for _, i := range rows {
		if x, v := s.x[i]-s.x[rows[0]], z[i]; v == v && x == x {
			n, sx, sz = n+1, sx+x, sz+v
			sxx, szz, sxz = sxx+x*x, szz+v*v, sxz+x*v
		}
	}
	c := sxz - sx*sz/n
	return c*c > 0.01*(sxx-sx*sx/n)*(szz-sz*sz/n)
}

// constant returns the share of rows in groups of two or more whose value x is that of all the group,
// the mean size of the groups of such rows, and their number.
func (s *sought) constant(g *grouping, rows []int, x []float64) (share, size float64, judged int) {
	low, high := make([]float64, g.groups), make([]float64, g.groups)
	count := make([]int, g.groups)
	for _, i := range s.rows {
		at := g.of[i]
		if at < 0 {
			continue
		}
		if count[at] == 0 {
			low[at], high[at] = x[i], x[i]
		}
		count[at]++
		low[at], high[at] = min(low[at], x[i]), max(high[at], x[i])
	}
	same := 0
	for _, i := range rows {
		at := g.of[i]
		if at < 0 || count[at] < 2 {
			continue
		}
		judged++
		size += float64(count[at])
		if high[at]-low[at] <= s.tolerance(high[at], false) {
			same++
		}
	}
	if judged == 0 || !s.different(rows) {
		return 0, 0, 0
	}
	return float64(same) / float64(judged), size / float64(judged), judged
}
