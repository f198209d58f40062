package joint

import (
	"math"
	"slices"
)

// Categories give a value in most records only if one of them was drawn anew, or the value follows from them but for a
// spread. Then what most others of a group have, near one another, states it; their mean is near none of them.

const (
	mostOthers  = 512 // of a group that are looked at
	fewOthers   = 128 // in the search for a grouping
	leastOthers = 5   // mean size of groups
	mostLooked  = 256 // rows of that search
)

// amongOthers returns for each distance what lets state the most values within it, by one of the groupings: the middle
// of the interval of that half width in which the originals of the most others of a row's group lie; each counts by how
// well the row's released value fits it, or all alike.
func (s *sought) amongOthers(distances []float64) (list []func(row int) float64) {
	order := s.byValue()
	rows := interleaved(thinned(s.rows, mostLooked), 4)
	for _, d := range distances {
		most := leastRows
		var best func(row int) float64
		s.eachOfSeveral(func(g *grouping) {
			for _, variance := range []float64{math.Inf(1), s.index} {
				if !(variance > 0) {
					continue
				}
				at, hits := s.densest(g, order, d, variance, fewOthers), 0
				for k, i := range rows {
					if k == len(rows)/4 && 8*hits < most {
						break
					}
					if math.Abs(at(i)-s.x[i]) <= d*(1+1e-9) {
						hits++
					}
				}
				if hits > most {
					most, best = hits, s.densest(g, order, d, variance, mostOthers)
				}
			}
		})
		if best != nil {
			list = append(list, best)
		}
	}
	return list
}

// eachOfSeveral visits the groupings, by one column or several, in which a record has some others.
func (s *sought) eachOfSeveral(visit func(g *grouping)) {
	for _, groups := range [][]grouping{s.groups, s.crossings()} {
		for k := range groups {
			g := &groups[k]
			if slices.Contains(g.columns, s.own) || s.columns[g.columns[0]].GroupOnly {
				continue
			}
			count := make([]int, g.groups)
			for _, i := range s.rows {
				if at := g.of[i]; at >= 0 {
					count[at]++
				}
			}
			size, n := 0, 0
			for _, k := range count {
				if k > 1 {
					size, n = size+k*k, n+k
				}
			}
			if n >= leastRows && size >= leastOthers*n {
				visit(g)
			}
		}
	}
}

// densest returns, as a function of a row, the middle of the interval of half width d with the most of the others of
// the row's group, each weighted by the normal density of the row's released value about its original; NaN if there are
// none. order has the places in rows in the order of x.
func (s *sought) densest(g *grouping, order []int32, d, variance float64, most int) func(row int) float64 {
	members := make([][]int32, g.groups) // rows
	for _, k := range order {
		if at := g.of[s.rows[k]]; at >= 0 {
			members[at] = append(members[at], int32(s.rows[k]))
		}
	}
	for at := range members {
		members[at] = thinned(members[at], most)
	}
	values, weights := make([]float64, 0, most), make([]float64, 0, most)
	return func(row int) float64 {
		at := g.of[row]
		if at < 0 {
			return math.NaN()
		}
		values, weights = values[:0], weights[:0]
		least := math.Inf(1)
		for _, i := range members[at] {
			if int(i) == row {
				continue
			}
			off := s.y[row] - s.x[i]
			w := off * off / (2 * variance)
			if w != w { // nothing is released
				w = 0
			}
			values, weights, least = append(values, s.x[i]), append(weights, w), min(least, w)
		}
		from, sum, best, middle := 0, 0.0, 0.0, math.NaN()
		for k, v := range values {
			weights[k] = math.Exp(least - weights[k])
			for sum += weights[k]; values[from] < v-2*d*(1+1e-9); from++ {
				sum -= weights[from]
			}
			if sum > best*(1+1e-9) {
				best, middle = sum, values[from]/2+v/2
			}
		}
		return middle
	}
}

// often returns the value that the most others of a row's group have, as a function of the row; NaN if there are none.
func (s *sought) often(g *grouping, order []int32) func(row int) float64 {
	type value struct {
		x float64
		n int
	}
	first, second := make([]value, g.groups), make([]value, g.groups)
	now := make([]value, g.groups)
	own := slices.Repeat([]float64{math.NaN()}, s.all) // by row; NaN: not counted
	end := func(at int32) {
		switch {
		case now[at].n > first[at].n:
			first[at], second[at] = now[at], first[at]
		case now[at].n > second[at].n:
			second[at] = now[at]
		}
	}
	for _, k := range order {
		i := s.rows[k]
		at := g.of[i]
		if own[i] = s.x[i]; at < 0 {
			continue
		}
		if now[at].n > 0 && now[at].x != s.x[i] {
			end(at)
			now[at].n = 0
		}
		now[at] = value{s.x[i], now[at].n + 1}
	}
	for at := range now {
		end(int32(at))
	}
	return func(row int) float64 {
		at := g.of[row]
		if at < 0 {
			return math.NaN()
		}
		a, b := first[at], second[at]
		if a.x == own[row] {
			a.n--
		}
		if b.n > a.n {
			a = b
		}
		if a.n == 0 {
			return math.NaN()
		}
		return a.x
	}
}
