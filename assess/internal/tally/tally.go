// Package tally counts the original and the released values of a column, so that ranks
// and sums of functions are known over all records.
package tally

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
)

// Tally counts the values of a column in bins of equal relative width, 2⁻¹¹ of
// the power of two below them, so that the rank of any value is known over all
// records, or over many more than the sample has. For a target known by its position,
// the sampling error of an order statistic can be as large as the effect of small noise.
// Tallies are merged by addition.
//
// A bin is a sign, an exponent and the first eleven bits of the significand: the
// upper bits of the float64, so that a bin is found without arithmetic. A page has
// the bins of one sign and exponent. Its counters are small, so that those of a
// column stay in the cache; counts that they cannot hold are moved to over.
type Tally struct {
	pages  [1 << 12]*[pageBins]uint32
	over   map[uint64]uint64 // by code: to be added to the counter of the bin; mostly nil
	recent uint64            // sum of all counters, and so an upper bound of each
	N      uint64            // sum of the weights of the values
	Seen   uint64            // number of values
}

const (
	pageBits = 11
	pageBins = 1 << pageBits
	binShift = 52 - pageBits
)

// All original values are counted. Released values are used for realised figures only:
// those of a stream's first `counted` places are all counted, and of later ones only one
// chunk in `rare`, with that weight. Counting takes a few nanoseconds per value, and with so
// many values the error is small.
const (
	counted = 1 << 20
	chunk   = cell.Run
	rare    = 8
)

// weight returns the weight of a record at a row, which is that of its chunk. It depends
// on the place alone, so that a total does not depend on how the records were split.
func weight(row int64) uint64 {
	switch {
	case row < counted:
		return 1
	case place.Mix(uint64(row/chunk))%rare == 0:
		return rare
	}
	return 0
}

// add counts values, which are finite.
func (t *Tally) add(values []float64, weight uint64) {
	t.N += uint64(len(values)) * weight
	t.Seen += uint64(len(values))
	for len(values) > 0 {
		n := min(uint64(len(values)), (math.MaxUint32-t.recent)/weight)
		if n == 0 {
			t.spill()
			continue
		}
		t.recent += n * weight
		t.count(values[:n], uint32(weight))
		values = values[n:]
	}
}

// count adds to the counters, which must have room.
func (t *Tally) count(values []float64, weight uint32) {
	for _, v := range values {
		b := math.Float64bits(v)
		page := t.pages[b>>52]
		if page == nil {
			page = t.page(b >> 52)
		}
		page[b>>binShift&(pageBins-1)] += weight
	}
}

// page returns a page; it creates it if there is none.
func (t *Tally) page(p uint64) *[pageBins]uint32 {
	if t.pages[p] == nil {
		t.pages[p] = new([pageBins]uint32)
	}
	return t.pages[p]
}

// spill moves the counts of all counters to over.
func (t *Tally) spill() {
	if t.over == nil {
		t.over = map[uint64]uint64{}
	}
	for p, page := range t.pages {
		if page == nil {
			continue
		}
		for i, count := range page {
			if count != 0 {
				t.over[uint64(p)<<pageBits|uint64(i)] += uint64(count)
			}
		}
		clear(page[:])
	}
	t.recent = 0
}

// put adds to the bin of a code.
func (t *Tally) put(code, count uint64) {
	page := t.page(code >> pageBits)
	if count <= math.MaxUint32-t.recent {
		t.recent += count
		page[code&(pageBins-1)] += uint32(count)
		return
	}
	if t.over == nil {
		t.over = map[uint64]uint64{}
	}
	t.over[code] += count
}

// of returns the count of the bin of a code, whose page must exist.
func (t *Tally) of(code uint64) uint64 {
	count := uint64(t.pages[code>>pageBits][code&(pageBins-1)])
	if t.over != nil {
		count += t.over[code]
	}
	return count
}

func (t *Tally) merge(o *Tally) {
	t.N += o.N
	t.Seen += o.Seen
	if o.over != nil || o.recent > math.MaxUint32-t.recent {
		o.scan(t.put)
		return
	}
	t.recent += o.recent
	for p, from := range o.pages {
		if from == nil {
			continue
		}
		to := t.page(uint64(p))
		for i, c := range from {
			to[i] += c
		}
	}
}

// scan calls f for the bins that hold values, by ascending code.
func (t *Tally) scan(f func(code, count uint64)) {
	for p, page := range t.pages {
		if page == nil {
			continue
		}
		for i := range page {
			code := uint64(p)<<pageBits | uint64(i)
			if count := t.of(code); count != 0 {
				f(code, count)
			}
		}
	}
}

// reset empties the tally. It keeps the memory of as many pages as usual data have, and
// frees further ones, which unusually widespread values have used.
func (t *Tally) reset() {
	kept := 0
	for p, page := range t.pages {
		if page == nil {
			continue
		}
		if kept++; kept > 64 {
			t.pages[p] = nil
			continue
		}
		clear(page[:])
	}
	t.over, t.recent, t.N, t.Seen = nil, 0, 0, 0
}

// Bin is a bin with values: those of its sign between lo and hi.
type Bin struct {
	lo, hi float64 // ascending
	Count  uint64
	Code   uint64 // sign, exponent and leading bits
}

// Each calls f for the bins that hold values, by ascending value, until it
// returns false.
func (t *Tally) Each(f func(Bin) bool) {
	visit := func(p, i int) bool {
		code := uint64(p)<<pageBits | uint64(i)
		c := t.of(code)
		if c == 0 {
			return true
		}
		b := Bin{Count: c, Code: code, lo: math.Float64frombits(code << binShift),
			hi: math.Float64frombits((code + 1) << binShift)}
		if p >= 1<<11 {
			b.lo, b.hi = b.hi, b.lo
		}
		return f(b)
	}
	for p := len(t.pages) - 1; p >= 1<<11; p-- { // negative, the greatest magnitude first
		if t.pages[p] != nil {
			for i := pageBins - 1; i >= 0; i-- {
				if !visit(p, i) {
					return
				}
			}
		}
	}
	for p := range 1 << 11 {
		if t.pages[p] != nil {
			for i := range pageBins {
				if !visit(p, i) {
					return
				}
			}
		}
	}
}

// BinCode returns the code of the bin that a value lies in.
func BinCode(x float64) uint64 { return math.Float64bits(x) >> binShift }

// OrderStatistic returns the k-th smallest value, k ≥ 1, estimated from the bin that
// it lies in and the values of a sample, and whether that is more accurate than the
// order statistic of the sample: more records must have been counted than the sample
// has, and the bin must have a smaller share of the data than the standard error of
// the share of the sample below it, or consist mostly of one value. If the sample has
// all values of the bin, the result is exact. If values of the sample in the bin repeat
// (frequent values, decimals), it is one of them; otherwise ranks are assumed to rise
// evenly within the bin.
func (t *Tally) OrderStatistic(k int, sample []float64) (float64, bool) {
	v, _, _, known := t.Located(k, sample, 0)
	return v, known
}

// Located is OrderStatistic, and also returns the width of the bin and the number of records
// in it. The width is 0 if only one value can lie in the bin, if most of its values are
// equal, or if the sample has all of them. If unit is above 0, the values are multiples of it.
func (t *Tally) Located(k int, sample []float64, unit float64) (value, width, count float64, known bool) {
	if k < 1 || uint64(k) > t.N || t.Seen <= uint64(len(sample)) {
		return math.NaN(), 0, 0, false
	}
	found, before := t.holding(uint64(k))
	var within []float64
	for _, v := range sample {
		if BinCode(v) == found.Code {
			within = append(within, v)
		}
	}
	slices.Sort(within)
	if t.N == t.Seen && uint64(len(within)) == found.Count { // the sample has all of the bin
		return within[uint64(k)-before-1], 0, float64(found.Count), true
	}
	at := (float64(uint64(k)-before) - 0.5) / float64(found.Count) // in (0, 1)
	v, repeat, heap := shown(within, at)
	p := float64(k) / float64(t.N)
	share := float64(found.Count) / float64(t.N)
	if !heap && share*share > p*(1-p)/float64(max(len(sample), 1)) {
		return math.NaN(), 0, 0, false
	}
	width, count = found.hi-found.lo, float64(found.Count)
	switch {
	case heap:
		return v, 0, count, true
	case repeat:
		return v, width, count, true
	}
	v, single := found.even(at, unit)
	if single {
		width = 0
	}
	return v, width, count, true
}

// holding returns the bin that holds the k-th smallest value, and the number of values in the
// bins before it.
func (t *Tally) holding(k uint64) (found Bin, before uint64) {
	t.Each(func(b Bin) bool {
		found = b
		if before+b.Count >= k {
			return false
		}
		before += b.Count
		return true
	})
	return found, before
}

// Width returns the width of the bin that holds the k-th smallest value; 0 if a sample has all of its values.
func (t *Tally) Width(k int, sample []float64) float64 {
	if k < 1 || uint64(k) > t.N {
		return math.Inf(1)
	}
	found, _ := t.holding(uint64(k))
	n := uint64(0)
	for _, v := range sample {
		if BinCode(v) == found.Code {
			n++
		}
	}
	if t.N == t.Seen && n == found.Count {
		return 0
	}
	return found.hi - found.lo
}

// Around returns an interval that holds the k-th smallest of all n values that were offered: its bin, or, if not all
// values were counted, the bins within four standard errors of its rank and a few chunks more. Both ends may be values
// of it.
func (t *Tally) Around(k, n int64) (low, high float64) {
	if t.N == 0 {
		return math.NaN(), math.NaN()
	}
	first, last := k, k
	if t.N != t.Seen || n != int64(t.N) {
		p := float64(k) / float64(n)
		d := int64(4*math.Sqrt(rare*float64(n)*p*(1-p))) + 4*rare*chunk
		scaled := func(k int64) int64 { return int64(float64(k) / float64(n) * float64(t.N)) }
		first, last = scaled(k-d), scaled(k+d)
	}
	within := func(k int64) uint64 { return uint64(max(1, min(k, int64(t.N)))) }
	from, _ := t.holding(within(first))
	to, _ := t.holding(within(last))
	return from.lo, to.hi
}

// heapLeast is how many equal values of a sample show that most of a bin is one value. If a bin
// contains several multiples of the unit, two of three sampled values are often equal by chance.
const heapLeast = 3

// shown returns the value at a share of the sorted sample values in a bin, 0 < at < 1, whether
// values repeat, and whether that value is most of the bin.
func shown(within []float64, at float64) (v float64, repeat, heap bool) {
	m := len(within)
	if m == 0 {
		return 0, false, false
	}
	distinct := 0
	for i, v := range within {
		if i == 0 || v != within[i-1] {
			distinct++
		}
	}
	v = within[min(int(at*float64(m)), m-1)]
	same := 0
	for _, w := range within {
		if w == v {
			same++
		}
	}
	return v, 2*distinct <= m, same >= heapLeast && 2*same > m
}

// even returns the value at a share of the bin if ranks rise evenly in it; if unit is above 0
// that is a multiple of unit. single says that the bin has only one such multiple.
func (b *Bin) even(at, unit float64) (v float64, single bool) {
	v = b.lo + at*(b.hi-b.lo)
	if !(unit > 0 && unit < math.Abs(v)) {
		return v, false
	}
	first, last := math.Ceil(b.lo/unit-1e-9), math.Ceil(b.hi/unit-1e-9)-1
	if b.hi <= 0 {
		first, last = math.Floor(b.lo/unit+1e-9)+1, math.Floor(b.hi/unit+1e-9)
	}
	points := last - first + 1
	if points >= 1 {
		v = (first + math.Floor(at*points)) * unit
	}
	return v, points == 1
}
