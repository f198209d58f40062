package inversion

import (
	"math"
	"slices"
	"sort"
)

// prior is what an intruder believes of a value before the release: the frequencies of the
// original values, by absolute discounting (Ney, Essen & Kneser 1994, Computer Speech and
// Language 8, 1): a value that n records have counts n − 1, so that a record does not tell
// of itself, and the mass that this leaves, one for each distinct value, is spread evenly over the
// lattice points around it. All masses are numbers of records.
type prior struct {
	classes []class
	spikes  []spike // ascending
	low     float64
	high    float64
}

type spike struct{ value, mass float64 }

// class holds the values on a lattice and on none of the coarser ones.
type class struct {
	Lattice
	distinct []float64 // ascending
	records  []float64 // ascending, with repetition
}

// few is the number of values up to which they are known to be all that there are (codes, shares
// of work, numbers of children).
const few = 50

func newPrior(sorted []float64, grid float64, list []Lattice) *prior {
	p := &prior{low: sorted[0], high: sorted[len(sorted)-1]}
	for _, l := range list {
		p.classes = append(p.classes, class{Lattice: l})
	}
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to]-sorted[from] <= grid/2 {
			to++
		}
		v := sorted[from]
		c := &p.classes[0]
		for k := len(p.classes) - 1; k > 0; k-- {
			if p.classes[k].on(v, grid) {
				c = &p.classes[k]
				break
			}
		}
		c.distinct = append(c.distinct, v)
		c.records = append(c.records, sorted[from:to]...)
		if to-from > 1 {
			p.spikes = append(p.spikes, spike{v, float64(to - from - 1)})
		}
		from = to
	}
	return p
}

// around returns the number of values per unit among sorted ones, from the 2·each nearest v. The
// window is at least least wide. Beyond the ends it decreases with the distance.
func around(sorted []float64, v float64, each int, least float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := sort.SearchFloat64s(sorted, v)
	from, to := max(i-each, 0), min(i+each, len(sorted)-1)
	low, high := sorted[from], sorted[to]
	if high-low < least {
		low = max(sorted[0], min(v-least/2, sorted[len(sorted)-1]-least))
		from = sort.SearchFloat64s(sorted, low)
		to = sort.SearchFloat64s(sorted, low+least*(1+1e-9))
		return float64(to-from) / least
	}
	low, high = min(low, v), max(high, v)
	return float64(to-from) / (high - low)
}

// density returns the records of a class per unit around v that are spread evenly.
func (c *class) density(v float64) float64 {
	n := len(c.distinct)
	switch {
	case n == 0:
		return 0
	case n <= few && (v < c.distinct[0]-c.Step/4 || v > c.distinct[n-1]+c.Step/4):
		return 0
	case n <= few:
		points := (c.distinct[n-1]-c.distinct[0])/c.Step + 1
		return min(1, float64(n)/points) / c.Step
	}
	return min(1/c.Step, around(c.distinct, v, 16, c.Step))
}

// level returns the records of a class per unit around v, with no regard to the ends of the
// data and to frequent values.
func (c *class) level(v float64) float64 {
	n := len(c.records)
	if n == 0 {
		return 0
	}
	v = min(max(v, c.records[0]), c.records[n-1])
	return around(c.records, v, 16, 7*c.Step)
}

// usualGap returns the distance that masks of the column must blur: the step of the coarsest lattice
// with half of the values, or the usual distance of frequent values to the next one if
// half of the records have them.
func (p *prior) usualGap(n int) float64 {
	gap := p.classes[0].Step
	for _, c := range p.classes {
		if c.Share >= halfShare {
			gap = max(gap, c.Step)
		}
	}
	type distance struct{ d, weight float64 }
	var list []distance
	var total float64
	var heavy []spike
	for _, s := range p.spikes {
		if s.mass >= max(2, float64(n)/1000) {
			heavy = append(heavy, s)
		}
	}
	for i, s := range heavy {
		d := math.Inf(1)
		if i > 0 {
			d = s.value - heavy[i-1].value
		}
		if i+1 < len(heavy) {
			d = min(d, heavy[i+1].value-s.value)
		}
		if !math.IsInf(d, 1) {
			list = append(list, distance{d, s.mass})
			total += s.mass
		}
	}
	if total < float64(n)/2 {
		return gap
	}
	slices.SortFunc(list, func(a, b distance) int {
		switch {
		case a.d < b.d:
			return -1
		case a.d > b.d:
			return 1
		}
		return 0
	})
	var sum float64
	for _, d := range list {
		if sum += d.weight; sum >= total/2 {
			return max(gap, d.d)
		}
	}
	return gap
}
