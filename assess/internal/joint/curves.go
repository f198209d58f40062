package joint

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// A column of which x is a function of any shape tells it by its neighbours.

// along uses a column of which x is some function, or what is left of it: the value between those of
// the two records that are next to it in the order of that column, which leave out its own.
func (s *sought) along() {
	all, some := s.places(), s.some()
	value := func(k int) float64 { return s.x[s.rows[k]] }
	for c := range s.columns {
		if s.columns[c].numbers == nil || c == s.own || !(dot(s.left, s.left) > 1e-18*s.total) {
			continue
		}
		for _, added := range []bool{false, true} {
			of := value
			if added {
				left := s.left
				of = func(k int) float64 { return left[k] }
			}
			if s.nearer(s.curveOf(c, some, of), some, added) {
				s.takeWhere(s.curveOf(c, all, of), added, c)
			}
		}
	}
}

// takeWhere replaces the estimate where there is a value, or adds the value to it, if that leaves less.
func (s *sought) takeWhere(value func(row int) float64, added bool, tells ...int) {
	before := s.estimate
	left := slices.Clone(s.left)
	for k, i := range s.rows {
		if v := value(i); v == v {
			if left[k] -= v; !added {
				left[k] = s.x[i] - v
			}
		}
	}
	s.take(left, func(row int) float64 {
		v := value(row)
		switch {
		case v != v:
			return before(row)
		case added:
			return before(row) + v
		}
		return v
	}, tells...)
}

// curveOf returns, as a function of a row, a value at places in rows as it is beside that row in the order of
// a column: the mean of the others with the same number, else between the next ones; NaN if it has no number.
func (s *sought) curveOf(c int, places []int, value func(k int) float64) func(row int) float64 {
	z := s.columns[c].numbers
	type point struct{ at, sum, n float64 }
	var points []point
	order := make([]int32, 0, len(places))
	own := make([]float64, s.all) // by row; NaN: not among the places
	for i := range own {
		own[i] = math.NaN()
	}
	by := make([]float64, len(places))
	for at, k := range places {
		i := s.rows[k]
		if by[at] = z[i]; z[i] == z[i] {
			order = append(order, int32(at))
		}
		own[i] = value(k)
	}
	rank.Order(order, by, nil)
	for _, at := range order {
		if n := len(points); n == 0 || points[n-1].at != by[at] {
			points = append(points, point{at: by[at]})
		}
		p := &points[len(points)-1]
		p.sum, p.n = p.sum+own[s.rows[places[at]]], p.n+1
	}
	return func(row int) float64 {
		v := z[row]
		if v != v || len(points) < leastRows {
			return math.NaN()
		}
		at, there := slices.BinarySearchFunc(points, v, func(p point, v float64) int { return cmp.Compare(p.at, v) })
		next := at
		if there {
			p := points[at]
			if x := own[row]; x == x {
				p.sum, p.n = p.sum-x, p.n-1
			}
			if p.n > 0 {
				return p.sum / p.n
			}
			next = at + 1
		}
		switch {
		case at == 0:
			return points[next].sum / points[next].n
		case next == len(points):
			return points[at-1].sum / points[at-1].n
		}
		l, r := points[at-1], points[next]
		part := (v - l.at) / (r.at - l.at)
		return (1-part)*l.sum/l.n + part*r.sum/r.n
	}
}
