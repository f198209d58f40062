package joint

import (
	"math"
	"slices"
)

// nearly uses relations that give x up to the rounding of what is released beside it: a share of one decimal, the
// reciprocal of a wage in any unit. They tell few values exactly, and all of them closely.
func (s *sought) nearly() {
	few, some := thinned(s.places(), 64), s.some()
	l := s.lookAt(s.rowsAt(few))
	var open bool
	var before float64 // the sum of squares in the few rows
	look := func() {
		open, before = dot(s.left, s.left) > 1e-18*s.total, 0
		for _, k := range few {
			before += s.left[k] * s.left[k]
		}
	}
	look()
	isNearer := func(r *relation) bool { // as nearer, in the few rows
		after := 0.0
		for at, v := range r.of(l.rows, l.values) {
			e := s.left[few[at]]
			if v == v && !math.IsInf(v, 0) {
				e = l.x[at] - v
			}
			if after += e * e; !(after < (1-betterBy)*before) {
				return false
			}
		}
		return true
	}
	try := func(r *relation) {
		if !open || !isNearer(r) {
			return
		}
		of := r.kept().at
		value := func(row int) float64 {
			if v := of(row); !math.IsInf(v, 0) {
				return v
			}
			return math.NaN()
		}
		if s.nearer(value, some, false) {
			s.takeWhere(value, false, r.columns()...)
			look()
		}
	}
	at := s.Frame.others(s.own)
	for _, a := range at {
		r := s.byOne(a)
		for _, r.one = range bent {
			try(&r)
		}
		for _, power := range []float64{-1, -2, -0.5, 0.5, 2} {
			k := s.scaleOf(func(i int) float64 { return math.Pow(r.z[0][i], power) }, few)
			r.one = func(v float64) float64 { return k * math.Pow(v, power) }
			try(&r)
		}
	}
	at = at[:min(len(at), 24)]
	for i, a := range at {
		for _, b := range at[:i] {
			r, turned := s.byTwo(a, b), s.byTwo(b, a)
			for _, r.two = range multiplied {
				try(&r)
				turned.two = r.two
				try(&turned)
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
