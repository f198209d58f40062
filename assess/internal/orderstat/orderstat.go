// Package orderstat finds order statistics of values by selection, and parses the names of
// those that are sought of a column, its targets.
package orderstat

import (
	"cmp"
	"math"
	"slices"
)

// Nth returns the value at index n of sorted v. It reorders v. Values must not be
// NaN.
func Nth[T cmp.Ordered](v []T, n int) T {
	for len(v) > 24 {
		// Median of three at fixed places: the inputs are samples and bins, not chosen
		// by an adversary. With the three-way partition, many equal values take linear time.
		a, b, c := v[len(v)/4], v[len(v)/2], v[3*len(v)/4]
		if a > b {
			a, b = b, a
		}
		if b > c {
			b = c
		}
		pivot := max(a, b)
		lo, hi := partition(v, pivot)
		switch {
		case n < lo:
			v = v[:lo]
		case n >= hi:
			v, n = v[hi:], n-hi
		default:
			return pivot
		}
	}
	slices.Sort(v)
	return v[n]
}

// partition puts values below pivot first, equal ones in [lo, hi), and greater ones
// after these.
func partition[T cmp.Ordered](v []T, pivot T) (lo, hi int) {
	hi = len(v)
	for i := 0; i < hi; {
		switch x := v[i]; {
		case x < pivot:
			v[i], v[lo] = v[lo], x
			lo++
			i++
		case x > pivot:
			hi--
			v[i], v[hi] = v[hi], x
		default:
			i++
		}
	}
	return lo, hi
}

// few is the number of values up to which sorting is fastest.
const few = 1024

// Bins is the number of bins of a selector over the middle of the distribution.
const Bins = 2048

// maxRefits bounds how often bins are placed anew: if many values are equal, no placing
// makes the bins smaller.
const maxRefits = 8

// Placing is the place and scale of a selector's bins.
type Placing struct {
	Lo, Scale float64
	refits    int
}

// Selector finds several order statistics of one set of values at once: one
// pass counts values in bins, a second gathers the values of the few bins that hold a
// wanted rank, and then a selection within each finds it. That takes about two
// nanoseconds per value, whatever the number of ranks.
type Selector struct {
	Placing

	count  []uint32
	place  []uint16 // bin of each value
	list   []uint8  // per bin: 1 + the list that gathers it, 0 for none
	wanted [][]float64
	sorted []float64
}

// Fit places the bins over the bulk of a typical set of values. The results are right
// for any placing; with a poor one, more values are gathered.
func (s *Selector) Fit(values []float64) {
	probe := make([]float64, 0, 1024)
	for i := 0; i < len(values); i += max(1, len(values)/1024) {
		if v := values[i]; v == v {
			probe = append(probe, v)
		}
	}
	s.Lo, s.Scale = 0, 0
	if len(probe) == 0 {
		return
	}
	slices.Sort(probe)
	cut := len(probe) / 500
	lo, hi := probe[cut], probe[len(probe)-1-cut]
	if scale := Bins / (hi - lo); hi > lo && scale < 1e300 {
		s.Lo, s.Scale = lo, scale
	}
}

// Ranks writes the values of the given ranks (from 0, ascending) to out. v must
// hold no NaN; it is not changed.
func (s *Selector) Ranks(v []float64, ranks []int, out []float64) {
	switch {
	case len(ranks) == 0:
		return
	case len(v) < few || len(ranks) > 200:
		s.sorted = append(s.sorted[:0], v...)
		slices.Sort(s.sorted)
		for i, r := range ranks {
			out[i] = s.sorted[r]
		}
		return
	case s.Scale == 0:
		s.sorted = append(s.sorted[:0], v...)
		selectAscending(s.sorted, ranks, 0, out)
		return
	}
	place := s.countInBins(v)
	at, gathered := s.spans(ranks)
	if gathered > len(v)/16 && s.refits < maxRefits {
		// Noise has spread the values beyond the bins: the next set is likely to have the
		// same spread.
		s.refits++
		defer s.Fit(v)
	}
	list := s.list
	for i, p := range place {
		if l := list[p]; l != 0 {
			s.wanted[l-1] = append(s.wanted[l-1], v[i])
		}
	}
	for i := 0; i < len(ranks); {
		j := i
		for j < len(ranks) && at[j].bin == at[i].bin {
			j++
		}
		selectAscending(s.wanted[at[i].list], ranks[i:j], at[i].before, out[i:j])
		i = j
	}
}

// countInBins counts the values in bins and returns the bin of each.
func (s *Selector) countInBins(v []float64) []uint16 {
	if s.count == nil {
		s.count, s.list = make([]uint32, Bins+2), make([]uint8, Bins+2)
	}
	if cap(s.place) < len(v) {
		s.place = make([]uint16, len(v))
	}
	clear(s.count)
	clear(s.list)
	place, count := s.place[:len(v)], s.count
	lo, scale := s.Lo, s.Scale
	for i, x := range v {
		t := (x - lo) * scale
		b := Bins + 1
		if t < Bins {
			b = 0
			if t >= 0 {
				b = int(t) + 1
			}
		}
		place[i] = uint16(b)
		count[b]++
	}
	return place
}

// span is the place of a rank: its bin, the number of values below the bin, and the list that
// gathers the bin's values.
type span struct{ bin, before, list int }

// spans goes through the ranks and the counts of bins together. It gives each bin that holds a
// rank an empty list, and returns the number of values that these will gather.
func (s *Selector) spans(ranks []int) (at []span, gathered int) {
	lists, before, b := 0, 0, 0
	at = make([]span, len(ranks))
	for i, r := range ranks {
		for before+int(s.count[b]) <= r {
			before += int(s.count[b])
			b++
		}
		if s.list[b] == 0 {
			lists++
			s.list[b] = uint8(lists)
			if len(s.wanted) < lists {
				s.wanted = append(s.wanted, nil)
			}
			s.wanted[lists-1] = s.wanted[lists-1][:0]
			gathered += int(s.count[b])
		}
		at[i] = span{b, before, int(s.list[b]) - 1}
	}
	return at, gathered
}

// selectAscending writes the values of several ascending ranks, counted from
// base, reordering v.
func selectAscending(v []float64, ranks []int, base int, out []float64) {
	done := 0
	for i, r := range ranks {
		n := r - base - done
		if n < 0 { // the same rank again
			out[i] = out[i-1]
			continue
		}
		out[i] = Nth(v, n)
		// Nth leaves the values before index n no greater than those after it.
		v, done = v[n+1:], done+n+1
	}
}

// Percentiles returns the order statistics of x for the targets; NaN for the extremes,
// and if x is empty.
func Percentiles(x []float64, targets []Target) []float64 {
	out := make([]float64, len(targets))
	var ranks []int
	for i, t := range targets {
		out[i] = math.NaN()
		if !t.Extremal() && len(x) > 0 {
			ranks = append(ranks, t.Rank(len(x))-1)
		}
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	values := make([]float64, len(ranks))
	var s Selector
	s.Fit(x)
	s.Ranks(x, ranks, values)
	for i, t := range targets {
		if !t.Extremal() && len(x) > 0 {
			at, _ := slices.BinarySearch(ranks, t.Rank(len(x))-1)
			out[i] = values[at]
		}
	}
	return out
}
