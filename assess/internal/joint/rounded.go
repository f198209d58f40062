package joint

import (
	"math"
	"slices"
)

// A share of one decimal, or a reciprocal of two, gives a value up to its own rounding, and anybody can compute how far
// that goes in each record: a percentage near 100 tells little of an amount, one of 50 nearly all. So each record is
// estimated by the relation that leaves least there, and by the fitted estimate where none leaves less.

// within is a relation with what rounding of its columns leaves open.
type within struct {
	value  func(row int) float64
	widths []func(row int) float64 // greatest |x − value| by the rounding of one column, of another, of both
	tells  []int
}

// certain is the share of the records in which a relation must lie within its rounding.
const certain = 0.9

// roundings replaces the estimate, record by record, by relations that hold within the rounding of their columns.
func (s *sought) roundings() {
	spread := s.spread()
	rms := slices.Max(spread)
	if !(rms > 1e-9*math.Sqrt(s.total/float64(len(s.rows)))) {
		return
	}
	looks := [][]int{thinned(s.rows, fewest), thinned(s.rows, 128), s.rows}
	s.eachRounding(s.pairLooks(looks[:2], rms), func(w within) {
		open := w.widths
		for at, rows := range looks {
			if open = s.contained(w.value, open, rows, rms, at); len(open) == 0 {
				return
			}
		}
		s.takeRounding(w.value, open[0], spread, w.tells)
	})
}

// pairLooks returns the first looks of contained at the relations of two columns, which most do not pass: whether a
// width may by the rounding of a of the first column, of b of the second, or of both.
func (s *sought) pairLooks(looks [][]int, rms float64) func(r *relation, a, b float64) bool {
	var at []*look
	for _, rows := range looks {
		at = append(at, s.lookAt(rows))
	}
	passes := func(l *look, share float64, least int, r *relation, a, b float64) bool {
		var n, holds [3]int
		for k, v := range r.of(l.rows, l.values) {
			if v != v {
				continue
			}
			za, zb := r.z[0][l.rows[k]], r.z[1][l.rows[k]]
			first := farthest(r.two(za-a, zb), v, r.two(za+a, zb))
			second := farthest(r.two(za, zb-b), v, r.two(za, zb+b))
			off, more, far := math.Abs(v-l.x[k]), 0.5*s.step+l.tolerance[0][k], 0
			for w, width := range [3]float64{first, second, first + second} {
				if width < rms {
					if n[w]++; off <= width+more {
						holds[w]++
					}
				}
				if float64(n[w]-holds[w]) > (1-share)*float64(len(l.rows)) {
					far++
				}
			}
			if far == len(n) {
				return false // whatever the other rows are
			}
		}
		for w := range n {
			if n[w] < least || n[w] >= leastRows && float64(holds[w]) >= share*float64(n[w]) {
				return true
			}
		}
		return false
	}
	return func(r *relation, a, b float64) bool {
		return passes(at[0], 0.6, leastRows, r, a, b) && passes(at[1], 0.75, 0, r, a, b)
	}
}

// spread returns the SD of the present estimate by row: one of those that a relation gives, and one of the others.
func (s *sought) spread() []float64 {
	kind := func(i int) int {
		if s.related == nil {
			return 0
		}
		if v := s.related(i); v == v {
			return 1
		}
		return 0
	}
	var sums, n [2]float64
	for k, i := range s.rows {
		at := kind(i)
		sums[at] += s.left[k] * s.left[k]
		n[at]++
	}
	out := make([]float64, s.all)
	for i := range out {
		if at := kind(i); n[at] > 0 {
			out[i] = math.Sqrt(sums[at] / n[at])
		}
	}
	return out
}

// contained returns the widths within which the values lie in nearly all of the rows in which the width is less than an
// error, by more standard errors than the values of other records do. The first looks, at few rows, leave out what is
// far from it.
func (s *sought) contained(value func(row int) float64, widths []func(row int) float64, rows []int, rms float64,
	look int) (open []func(row int) float64) {
	values := make([]float64, len(rows))
	for k, i := range rows {
		values[k] = value(i)
	}
	for _, of := range widths {
		var n, holds, chance float64
		for k, i := range rows {
			width := of(i)
			if values[k] != values[k] || !(width < rms) {
				continue
			}
			n++
			width += 0.5*s.step + s.tolerance(s.x[i], false)
			if math.Abs(values[k]-s.x[i]) <= width {
				holds++
			} else if n >= leastRows && n-holds > 0.4*float64(len(rows)) {
				break // no look allows so many
			}
			if look == 2 && math.Abs(values[k]-s.x[rows[(k+len(rows)/2)%len(rows)]]) <= width {
				chance++
			}
		}
		p := max(chance, 1) / max(n, 1)
		switch {
		case look == 0 && (n < leastRows || holds >= 0.6*n):
			open = append(open, of)
		case look == 1 && n >= leastRows && holds >= 0.75*n:
			open = append(open, of)
		case look == 2 && n >= 2*leastRows && holds >= certain*n && holds-p*n > 4*math.Sqrt(n*p*(1-p)) && s.different(rows):
			open = append(open, of)
		}
	}
	return open
}

// takeRounding uses a relation in the records where it leaves less than the present estimate, if the mean square falls.
func (s *sought) takeRounding(value, width func(row int) float64, spread []float64, tells []int) {
	better := make([]bool, s.all)
	for i := range better {
		if v := value(i); v == v && !math.IsInf(v, 0) {
			better[i] = width(i) < math.Sqrt(3)*spread[i] // the SD of what is uniform
		}
	}
	left, changed := slices.Clone(s.left), false
	for k, i := range s.rows {
		if better[i] {
			left[k], changed = s.x[i]-value(i), true
		}
	}
	if !changed || !(dot(left, left) < dot(s.left, s.left)) {
		return
	}
	before := s.estimate
	s.left = left
	s.estimate = func(row int) float64 {
		if better[row] {
			return value(row)
		}
		return before(row)
	}
	for i, is := range better {
		if is {
			spread[i] = width(i) / math.Sqrt(3)
		}
	}
	for _, c := range tells {
		if c != s.own {
			s.tellers = append(s.tellers, c)
		}
	}
}

// eachRounding visits relations of one and of two columns that are no sums, each with the rounding of one column, of
// the other, and of both.
func (s *sought) eachRounding(first func(r *relation, a, b float64) bool, visit func(within)) {
	at := s.Frame.others(s.own)
	half := make([]float64, len(s.columns))
	for _, c := range at {
		var values []float64
		for _, i := range s.rows {
			if v := s.columns[c].numbers[i]; v == v {
				values = append(values, v)
			}
		}
		half[c] = stepOf(values) / 2
	}
	z := func(c, row int) float64 { return s.columns[c].numbers[row] }
	some, few := s.some(), thinned(s.places(), fewest)
	for _, a := range at {
		one := func(of func(v float64) float64) {
			visit(within{func(i int) float64 { return of(z(a, i)) },
				[]func(i int) float64{func(i int) float64 { return apart(of, z(a, i), half[a]) }}, []int{a}})
		}
		for _, of := range bent {
			one(of)
		}
		for _, power := range []float64{-1, -2, -0.5, 0.5, 1, 2} {
			to := func(i int) float64 { return math.Pow(z(a, i), power) }
			if !s.proportional(to, few) {
				continue
			}
			k := s.scaleOf(to, some)
			for _, k := range []float64{significant(k), k} {
				one(func(v float64) float64 { return k * math.Pow(v, power) })
			}
		}
	}
	at = at[:min(len(at), 24)]
	for i, a := range at {
		for _, b := range at[:i] {
			r, turned := s.byTwo(a, b), s.byTwo(b, a)
			for _, of := range multiplied {
				if r.two = of; first(&r, half[a], half[b]) {
					s.pairRounding(a, b, half, of, visit)
				}
				if turned.two = of; first(&turned, half[b], half[a]) {
					s.pairRounding(b, a, half, of, visit)
				}
			}
		}
	}
}

// proportional reports whether x is a multiple of a value, but for a third, in half of few places: a first look.
func (s *sought) proportional(value func(row int) float64, few []int) bool {
	k, near := s.scaleOf(value, few), 0
	for _, at := range few {
		if i := s.rows[at]; math.Abs(s.x[i]-k*value(i)) <= math.Abs(s.x[i])/3 {
			near++
		}
	}
	return 2*near >= len(few)
}

// significant rounds to two digits, as factors between units are: 12 months, 100 per cent.
func significant(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-1)
	return unit * math.Round(v/unit)
}

// pairRounding visits a relation of two columns with the rounding of the first, of the second, and of both.
func (s *sought) pairRounding(a, b int, half []float64, of func(a, b float64) float64, visit func(within)) {
	za, zb := s.columns[a].numbers, s.columns[b].numbers
	value := func(i int) float64 { return of(za[i], zb[i]) }
	first := func(i int) float64 {
		return farthest(of(za[i]-half[a], zb[i]), of(za[i], zb[i]), of(za[i]+half[a], zb[i]))
	}
	second := func(i int) float64 {
		return farthest(of(za[i], zb[i]-half[b]), of(za[i], zb[i]), of(za[i], zb[i]+half[b]))
	}
	widths := []func(i int) float64{first, second, func(i int) float64 { return first(i) + second(i) }}
	switch {
	case half[a] == 0:
		widths = widths[1:2]
	case half[b] == 0:
		widths = widths[:1]
	}
	visit(within{value, widths, []int{a, b}})
}

// apart returns how far a function's values lie from that of v at most if v was rounded by up to half.
func apart(of func(float64) float64, v, half float64) float64 {
	return farthest(of(v-half), of(v), of(v+half))
}

func farthest(below, at, above float64) float64 {
	d := max(math.Abs(below-at), math.Abs(above-at))
	if d != d {
		return math.Inf(1)
	}
	return d
}
