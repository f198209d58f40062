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
		apart := s.numbersUnits(c)
		for _, added := range []bool{false, true} {
			of := value
			if added {
				left := s.left
				of = func(k int) float64 { return left[k] }
			}
			z := s.columns[c].numbers
			if s.nearer(s.curveOf(z, apart, some, of), some, added) {
				s.takeWhere(s.curveOf(z, apart, all, of), added, c)
			}
		}
	}
	s.alongTwo(all, some)
}

// numbersUnits reports whether a column numbers units of so few records that no snooper knows the originals of others
// of the unit: a person's other years.
func (s *sought) numbersUnits(column int) bool {
	return slices.ContainsFunc(s.groups, func(g grouping) bool {
		return g.columns[0] == column && g.ofFew(s.Frame.rows)
	})
}

// What two columns make of which x may be a function, as a tax by brackets that is released in a sum with the rent.
var made = []func(a, b float64) float64{
	func(a, b float64) float64 { return a - b },
	func(a, b float64) float64 { return a + b },
	func(a, b float64) float64 { return a / b },
}

const (
	mostCurved = 12  // columns of which two are put together
	curveRows  = 256 // records in which this is tried first
)

// alongTwo uses two columns likewise, if they tell much in a few records.
func (s *sought) alongTwo(all, some []int) {
	few := thinned(all, curveRows)
	list := s.others(s.own)
	list = list[:min(len(list), mostCurved)]
	z := make([]float64, s.all)
	for i, a := range list {
		for _, b := range list[:i] {
			u, v := s.columns[a].numbers, s.columns[b].numbers
			for _, of := range made {
				for _, k := range few {
					row := s.rows[k]
					z[row] = of(u[row], v[row])
				}
				if !s.smoothBy(z, few) {
					continue
				}
				whole := make([]float64, s.all)
				for row := range whole {
					whole[row] = of(u[row], v[row])
				}
				value := func(k int) float64 { return s.x[s.rows[k]] }
				if s.nearer(s.curveOf(whole, false, some, value), some, false) {
					s.takeWhere(s.curveOf(whole, false, all, value), false, b, a)
				}
			}
		}
	}
}

// smoothBy reports whether x is, at places in rows, between those next to it in the order of z more nearly than by a
// half of what is left of its squares.
func (s *sought) smoothBy(z []float64, places []int) bool {
	order, by := make([]int32, 0, len(places)), make([]float64, len(places))
	before := 0.0
	for at, k := range places {
		before += s.left[k] * s.left[k]
		if by[at] = z[s.rows[k]]; by[at]-by[at] == 0 {
			order = append(order, int32(at))
		}
	}
	if 2*len(order) < len(places) || len(order) < leastRows || !(before > 0) {
		return false
	}
	rank.Order(order, by, nil)
	x := func(n int) float64 { return s.x[s.rows[places[order[n]]]] }
	after := 0.0
	for n := 1; n+1 < len(order) && after < before; n++ {
		from, to := by[order[n-1]], by[order[n+1]]
		part := 0.5
		if to > from {
			part = (by[order[n]] - from) / (to - from)
		}
		e := x(n) - (1-part)*x(n-1) - part*x(n+1)
		after += e * e
	}
	return after < before/2
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
// numbers: the mean of the others with the same number, else, and always if they are to be apart, between the next
// ones; NaN if it has no number.
func (s *sought) curveOf(z []float64, apart bool, places []int, value func(k int) float64) func(row int) float64 {
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
			if p.n > 0 && !apart {
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
