package joint

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// A rank swap gives each record's value to one of similar rank, and that one's to it: each column has partners of its
// own. Which value within reach was a record's own, the other columns tell: those that stay, and those that are moved
// themselves, as they are released. So does what the others of the record that has it now are like, whose own value the
// released one then is.

const (
	mostRivals = 2000 // values with which each record's own is compared

	bands    = 16 // of differences of rank, as parts of the reach, whose shares are counted
	likelyBy = 5  // standard deviations about what the other columns make expect within which values are compared
)

// byRank is how far and how often a rank swap moves values, by places in the order of what is released.
type byRank struct {
	order  []int32     // rows of the sample, by what is released
	place  []int32     // by row
	reach  int         // the greatest difference of places
	sorted []float64   // what is released, in order
	shares []float64   // the probability of each difference in a band, by band
	logs   []float64   // its logarithm
	upTo   []float64   // that of all differences to one side up to one
	scaled [][]float64 // by part, the numbers of the law in order
}

// ranked notes how values moved; nil if they did not.
func (m *matching) ranked() *byRank {
	column := m.e.Moved[0]
	y := m.f.columns[column].Values
	r := &byRank{place: make([]int32, m.f.all)}
	for i := range m.f.rows {
		if v := y[i]; v == v {
			r.order = append(r.order, int32(i))
		}
	}
	rank.Order(r.order, y, nil)
	r.sorted = make([]float64, len(r.order))
	for k, i := range r.order {
		r.sorted[k] = y[i]
		r.place[i] = int32(k)
	}
	for i := m.f.rows; i < m.f.all; i++ {
		at, _ := slices.BinarySearch(r.sorted, y[i])
		r.place[i] = int32(min(at, len(r.order)-1)) // it may be beyond all of the sample
	}
	moved := make([]int, 0, len(r.order))
	for _, i := range r.order {
		if x := m.originals[column][i]; x == x && x != y[i] {
			d := r.nearest(x, int(r.place[i])) - int(r.place[i])
			moved = append(moved, max(d, -d))
		}
	}
	if len(moved) < leastModel {
		return nil
	}
	r.reach = max(1, slices.Max(moved))
	r.count(moved)
	for part := range parts {
		of := make([]float64, len(r.order))
		for k, i := range r.order {
			of[k] = m.moved[part][i]
		}
		r.scaled = append(r.scaled, of)
	}
	return r
}

// nearest is the place of a value in the order: of those that are equal to it the one nearest to a place.
func (r *byRank) nearest(value float64, place int) int {
	from, there := slices.BinarySearch(r.sorted, value)
	if !there {
		return from
	}
	to, _ := slices.BinarySearch(r.sorted, math.Nextafter(value, math.Inf(1)))
	return min(max(from, place), to-1)
}

// count sets the shares of differences, of each in a band alike.
func (r *byRank) count(moved []int) {
	r.shares = make([]float64, bands)
	sizes := make([]float64, bands)
	for d := 1; d <= r.reach; d++ {
		sizes[r.band(d)] += 2
	}
	for _, d := range moved {
		r.shares[r.band(d)]++
	}
	for b := range r.shares {
		if r.shares[b] = (r.shares[b] + 0.5) / float64(len(moved)+bands/2); sizes[b] > 0 {
			r.shares[b] /= sizes[b]
		}
	}
	for _, share := range r.shares {
		r.logs = append(r.logs, math.Log(share))
	}
	r.upTo = make([]float64, 1+r.reach)
	for d := 1; d <= r.reach; d++ {
		r.upTo[d] = r.upTo[d-1] + r.shares[r.band(d)]
	}
}

func (r *byRank) band(d int) int {
	return min(bands-1, max(0, (max(d, -d)-1)*bands/r.reach))
}

// within returns the places of the values that are near what other columns make expect of a row, and within reach; at
// least some, so that those are compared which are nearest.
func (m *matching) within(row int) (from, to int) {
	r, part := m.byRank, m.part(row)
	low, high := max(0, int(r.place[row])-r.reach), min(len(r.order), int(r.place[row])+r.reach+1)
	of := r.scaled[part][low:high]
	a, _ := slices.BinarySearch(of, m.expected[row]-likelyBy)
	b, _ := slices.BinarySearch(of, m.expected[row]+likelyBy)
	if more := min(len(of), leastRivals) - (b - a); more > 0 {
		a = max(0, a-(more+1)/2)
		b = min(len(of), a+max(b-a, leastRivals))
		a = max(0, min(a, b-leastRivals))
	}
	return low + a, low + b
}

// open is the logarithm of the share of differences that the ends of the order leave at a place.
func (r *byRank) open(at, n int) float64 {
	return math.Log(max(r.upTo[min(at, r.reach)]+r.upTo[min(n-1-at, r.reach)], 1e-9))
}

// matchByRank is match for a rank swap.
func (m *matching) matchByRank(row, most int, out []*Matched) float64 {
	m.logs, m.near = m.logs[:0], m.near[:0]
	if v := m.f.columns[m.e.Moved[0]].Values[row]; v != v {
		return 0
	}
	m.logs, m.near = append(m.logs, math.Log(m.stay)+m.ratio(row, row)), append(m.near, int32(row))
	r, at := m.byRank, int(m.byRank.place[row])
	gone := math.Log(1-m.stay) - r.open(at, len(r.order))
	add := func(of, place int, more float64) {
		log := gone + r.logs[r.band(place-at)] + more
		switch {
		case of < 0:
			if log += m.original(row); m.couples {
				log += m.others[row%len(m.others)]
			}
		case m.couples:
			log += m.ratio(row, of) + m.other(row, of)
		default:
			log += m.ratio(row, of)
		}
		m.logs, m.near = append(m.logs, log), append(m.near, int32(of))
	}
	holder, there := m.holderOf(row)
	there = there && holder != row
	from, to := m.within(row)
	looked := min(to-from, most)
	each := math.Log(float64(to-from) / float64(max(1, looked)))
	for k := range looked {
		place := from + k*(to-from)/looked
		if of := int(r.order[place]); of != row && !(there && of == holder) {
			add(of, place, each)
		}
	}
	switch {
	case there:
		add(holder, int(r.place[holder]), m.seldom)
	case !m.f.complete && !m.holds(row): // the record that has the row's own value may be outside the sample
		add(-1, r.nearest(m.originals[m.e.Moved[0]][row], at), m.seldom)
	}
	return m.take(row, out)
}
