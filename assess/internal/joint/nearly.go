package joint

import (
	"math"
	"slices"
)

// nearly uses relations that give x up to the rounding of what is released beside it: a share of one decimal, the
// reciprocal of a wage in any unit. They tell few values exactly, and all of them closely.
func (s *sought) nearly() {
	few, some := thinned(s.places(), 64), s.some()
	open := dot(s.left, s.left) > 1e-18*s.total
	try := func(of func(row int) float64, tells ...int) {
		if !open {
			return
		}
		value := func(row int) float64 {
			if v := of(row); !math.IsInf(v, 0) {
				return v
			}
			return math.NaN()
		}
		if s.nearer(value, few, false) && s.nearer(value, some, false) {
			s.takeWhere(value, false, tells...)
			open = dot(s.left, s.left) > 1e-18*s.total
		}
	}
	var at []int
	for _, w := range s.Frame.features {
		if w.whole && w.column != s.own {
			at = append(at, w.column)
		}
	}
	z := func(c, row int) float64 { return s.columns[c].numbers[row] }
	for _, a := range at {
		for _, of := range bent {
			try(func(i int) float64 { return of(z(a, i)) }, a)
		}
		for _, power := range []float64{-1, -2, -0.5, 0.5, 2} {
			k := s.scaleOf(func(i int) float64 { return math.Pow(z(a, i), power) }, few)
			try(func(i int) float64 { return k * math.Pow(z(a, i), power) }, a)
		}
	}
	if len(at) > 24 {
		at = at[:24]
	}
	for i, a := range at {
		for _, b := range at[:i] {
			for _, of := range multiplied {
				try(func(i int) float64 { return of(z(a, i), z(b, i)) }, b, a)
				try(func(i int) float64 { return of(z(b, i), z(a, i)) }, b, a)
			}
		}
	}
}

// scaleOf returns the median of the factors that make a value x, at places in rows; NaN if there are few.
func (s *sought) scaleOf(value func(row int) float64, places []int) float64 {
	var factors []float64
	for _, k := range places {
		i := s.rows[k]
		if f := s.x[i] / value(i); f == f && !math.IsInf(f, 0) && f != 0 {
			factors = append(factors, f)
		}
	}
	if len(factors) < leastRows {
		return math.NaN()
	}
	slices.Sort(factors)
	return factors[len(factors)/2]
}
