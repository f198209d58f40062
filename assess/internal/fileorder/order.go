// Package fileorder measures what the order of the records discloses about a column.
package fileorder

import (
	"cmp"
	"hash/fnv"
	"maps"
	"math/bits"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Order holds the data of a column that a snooper uses who has the records in the
// order of the source: means of original and released values over bins of
// consecutive records. Level l has bins of 8^l places, in stretches of 256 bins. The
// last level has the whole file. The levels before it are for shorter distances; only
// some of their stretches are kept, by a hash of their place, so that no level has
// more bins than the limit. Stretches are contiguous, so that the local density of
// records is that of the file, and smoothing within them is as good as in the whole.
//
// What is kept depends on the places alone, not on how the records were split.
type Order struct {
	limit  int // bins of a level
	levels []orderLevel
	marks  microdata.Bitmap // scratch
	free   [][]orderBin     // stretches that were dropped, for reuse
}

type orderLevel struct {
	thin      int // a stretch is kept if its hash has at least this number of trailing zeros
	bins      int // number of bins with a record
	stretches map[stretchKey][]orderBin
}

type stretchKey struct {
	of    place.Origin
	index int64 // of the stretch in its stream
}

// orderBin holds the pairs of one bin: their number, the means of original and
// released values, and Σ(x − x̄)² of the originals.
type orderBin struct{ n, x, y, square float64 }

const (
	DefaultBins   = 8192 // bins of a level, by default
	orderBits     = 3    // a bin of a level is eight of the one before
	stretchBits   = 8
	stretchLength = 1 << stretchBits
	orderLevels   = 16
)

// New returns an empty order of at most limit bins a level; 0: DefaultBins.
func New(limit int) *Order {
	if limit == 0 {
		limit = DefaultBins
	}
	return &Order{limit: limit, levels: []orderLevel{newOrderLevel(0)}}
}

func newOrderLevel(thin int) orderLevel {
	return orderLevel{thin: thin, stretches: map[stretchKey][]orderBin{}}
}

// hash returns a hash of a stretch, the same on every machine.
func (k stretchKey) hash() uint64 {
	state := place.Mix(uint64(k.of.Stream) + 1)
	if k.of.Scope != "" {
		h := fnv.New64a()
		h.Write([]byte(k.of.Scope))
		state += place.Mix(h.Sum64())
	}
	return place.Mix(state + uint64(k.index+1)*0x9e3779b97f4a7c15)
}

func (l *orderLevel) keeps(k stretchKey) bool {
	return l.thin == 0 || bits.TrailingZeros64(k.hash()) >= l.thin
}

// Add adds the pairs of a block that have both values, without rejected records.
func (o *Order) Add(of *place.Origin, b *microdata.Block, x, y microdata.Vector, keep microdata.Bitmap) {
	p := &blockPairs{Block: b, x: x, y: y, keep: keep}
	p.whole = cell.AllSet(keep, 0, b.N) && cell.AllSet(x.Valid, 0, b.N) && cell.AllSet(y.Valid, 0, b.N)
	for l := range o.levels {
		level := &o.levels[l]
		shift := l * orderBits
		for i := 0; i < b.N; {
			key := stretchKey{*of, b.Place(i) >> (shift + stretchBits)}
			end := placesBefore(b, i, (key.index+1)<<(shift+stretchBits))
			if !level.keeps(key) {
				i = end
				continue
			}
			bins, known := level.stretches[key]
			if !known {
				bins = o.stretch(int(min(stretchLength, (b.Place(end-1)>>shift)-(b.Place(i)>>shift)+1)))
			}
			if bins = o.fill(level, bins, p, i, end, shift); len(bins) > 0 {
				level.stretches[key] = bins
			}
			i = end
		}
	}
	o.settle()
}

// blockPairs is a block whose pairs are being added.
type blockPairs struct {
	*microdata.Block
	x, y   microdata.Vector
	keep   microdata.Bitmap
	whole  bool // all records have both values and are kept
	marked bool // marks has been computed
}

// fill adds the records from i on, up to end, to the bins of their stretch, and returns the bins.
func (o *Order) fill(level *orderLevel, bins []orderBin, p *blockPairs, i, end, shift int) []orderBin {
	for i < end {
		r := recordsOfBin(p.Block, i, end, shift)
		if p.whole && r.to < end && r.to-r.from > 1 {
			s := recordsOfBin(p.Block, r.to, end, shift)
			if one, two, ok := binsOfWhole(p.x.Values, p.y.Values, r, s); ok {
				bins = level.put(level.put(bins, r.bin, one), s.bin, two)
				i = s.to
				continue
			}
		}
		if one := o.bin(p, r); one.n > 0 {
			bins = level.put(bins, r.bin, one)
		}
		i = r.to
	}
	return bins
}

// bin sums the pairs of the records of one bin.
func (o *Order) bin(p *blockPairs, r records) orderBin {
	if p.whole {
		if one, ok := binOfWhole(p.x.Values[r.from:r.to], p.y.Values[r.from:r.to]); ok {
			return one
		}
	}
	if !p.marked {
		o.marks, p.marked = pairs(p.N, p.x, p.y, p.keep, o.marks), true
	}
	return binOf(p.x.Values, p.y.Values, o.marks, r.from, r.to)
}

// stretch returns an empty stretch, mostly with room for the given number of bins.
func (o *Order) stretch(bins int) []orderBin {
	if n := len(o.free); n > 0 {
		s := o.free[n-1]
		o.free = o.free[:n-1]
		return s[:0]
	}
	return make([]orderBin, 0, bins)
}

// placesBefore returns the index after the last record from i on whose place is
// below bound.
func placesBefore(b *microdata.Block, i int, bound int64) int {
	if b.Places == nil {
		return min(b.N, int(min(bound-b.First, int64(b.N))))
	}
	n, _ := slices.BinarySearch(b.Places[i:], bound)
	return i + n
}

// records is a range of records of a block that lie in one bin of a stretch.
type records struct{ from, to, bin int }

// recordsOfBin returns the records from i on, before end, that lie in the bin of record i.
func recordsOfBin(b *microdata.Block, i, end, shift int) records {
	at := b.Place(i) >> shift
	return records{i, min(end, placesBefore(b, i, (at+1)<<shift)), int(at & (stretchLength - 1))}
}

// binsOfWhole is binOfWhole for two bins at once, if they have the same number of records;
// otherwise ok is false. The sums of one bin depend on one another, those of two bins do not.
func binsOfWhole(x, y []float64, r, s records) (one, two orderBin, ok bool) {
	length := r.to - r.from
	if s.to-s.from != length {
		return one, two, false
	}
	x0, x1 := x[r.from:r.to], x[s.from:s.to]
	y0, y1 := y[r.from:r.to], y[s.from:s.to]
	x1, y0, y1 = x1[:len(x0)], y0[:len(x0)], y1[:len(x0)]
	var sx0, sy0, square0, sx1, sy1, square1 float64
	base0, base1, baseY0, baseY1 := x0[0], x1[0], y0[0], y1[0]
	for i, v := range x0 {
		d0, d1 := v-base0, x1[i]-base1
		sx0 += d0
		sx1 += d1
		sy0 += y0[i] - baseY0
		sy1 += y1[i] - baseY1
		square0 += d0 * d0
		square1 += d1 * d1
	}
	if !cell.Finite(square0 + sy0 + square1 + sy1) {
		return one, two, false
	}
	n := float64(length)
	return orderBin{n, base0 + sx0/n, baseY0 + sy0/n, max(0, square0-sx0*sx0/n)},
		orderBin{n, base1 + sx1/n, baseY1 + sy1/n, max(0, square1-sx1*sx1/n)}, true
}

// binOfWhole is binOf for records that are all kept and have both values; false if one of the
// values is not finite. Its sums are the same to the last bit. It is faster, because binOf tests
// every record.
func binOfWhole(x, y []float64) (orderBin, bool) {
	if len(x) == 1 {
		return orderBin{1, x[0], y[0], 0}, cell.Finite(x[0]) && cell.Finite(y[0])
	}
	n := float64(len(x))
	y = y[:len(x)]
	var sx, sy, square float64
	base, baseY := x[0], y[0]
	for i, v := range x {
		d := v - base
		sx += d
		sy += y[i] - baseY
		square += d * d
	}
	if !cell.Finite(square + sy) { // a value is not finite, or a sum overflows
		return orderBin{}, false
	}
	return orderBin{n, base + sx/n, baseY + sy/n, max(0, square-sx*sx/n)}, true
}

// binOf sums the marked records with from ≤ i < to.
func binOf(x, y []float64, marks microdata.Bitmap, from, to int) (one orderBin) {
	for from < to && !marks.Has(from) {
		from++
	}
	if from == to {
		return one
	}
	base, baseY := x[from], y[from]
	if to == from+1 {
		return orderBin{1, base, baseY, 0}
	}
	var sx, sy, square float64
	n := 0
	for i := from; i < to; i++ {
		mark := marks[i>>6] >> (i & 63)
		n += int(mark & 1)
		d := cell.Where(mark, x[i]-base)
		sx += d
		sy += cell.Where(mark, y[i]-baseY)
		square += d * d
	}
	count := float64(n)
	return orderBin{count, base + sx/count, baseY + sy/count, max(0, square-sx*sx/count)}
}

// pairs marks the records of a block that are kept and have both values.
func pairs(n int, x, y microdata.Vector, keep, buf microdata.Bitmap) microdata.Bitmap {
	marks := microdata.NewBitmap(n, buf)
	for w := range marks {
		at := w * 64
		marks[w] &= cell.Word(x.Valid, at) & cell.Word(y.Valid, at) & cell.Word(keep, at)
		odd := 0.0
		end := min(at+64, n)
		xs, ys := x.Values[at:end], y.Values[at:end]
		ys = ys[:len(xs)]
		for i, v := range xs {
			odd += (v - v) + (ys[i] - ys[i]) // NaN if one is not finite
		}
		if odd == 0 {
			continue
		}
		for i, v := range xs {
			if !cell.Finite(v) || !cell.Finite(ys[i]) {
				marks.Clear(at + i)
			}
		}
	}
	return marks
}

// put merges a bin into its place of a stretch.
func (l *orderLevel) put(bins []orderBin, at int, one orderBin) []orderBin {
	for len(bins) <= at {
		bins = append(bins, orderBin{})
	}
	if bins[at].n == 0 {
		l.bins++
	}
	bins[at].merge(one)
	return bins
}

// merge adds the pairs of another bin: Chan, Golub and LeVeque (1983).
func (b *orderBin) merge(o orderBin) {
	if o.n == 0 {
		return
	}
	n := b.n + o.n
	dx, dy := o.x-b.x, o.y-b.y
	b.square += o.square + dx*dx*b.n*o.n/n
	b.x += dx * o.n / n
	b.y += dy * o.n / n
	b.n = n
}

// settle reduces every level to its limit. The last one is made coarser first, because
// it must keep everything.
func (o *Order) settle() {
	for {
		last := &o.levels[len(o.levels)-1]
		if last.bins <= o.limit || last.thin > 0 || len(o.levels) == orderLevels {
			break
		}
		o.levels = append(o.levels, last.coarser())
	}
	for l := range o.levels {
		o.thin(&o.levels[l])
	}
}

// coarser returns the next level after l, which has everything.
func (l *orderLevel) coarser() orderLevel {
	next := newOrderLevel(l.thin)
	for _, k := range slices.SortedFunc(maps.Keys(l.stretches), stretchKey.compare) {
		key := stretchKey{k.of, k.index >> orderBits}
		bins := next.stretches[key]
		for i, one := range l.stretches[k] {
			if one.n > 0 {
				at := (k.index<<stretchBits + int64(i)) >> orderBits
				bins = next.put(bins, int(at&(stretchLength-1)), one)
			}
		}
		next.stretches[key] = bins
	}
	return next
}

func (k stretchKey) compare(o stretchKey) int {
	return cmp.Or(k.of.Compare(&o.of), cmp.Compare(k.index, o.index))
}

// thin drops stretches of a level until it has no more bins than the limit.
func (o *Order) thin(l *orderLevel) {
	for l.bins > o.limit {
		l.thin++
		o.drop(l)
	}
}

// spare is how many dropped stretches are held for reuse.
const spare = 8

// drop removes the stretches that a level no longer keeps.
func (o *Order) drop(l *orderLevel) {
	for k, bins := range l.stretches {
		if l.keeps(k) {
			continue
		}
		for _, b := range bins {
			if b.n > 0 {
				l.bins--
			}
		}
		delete(l.stretches, k)
		if cap(bins) >= stretchLength && len(o.free) < spare {
			o.free = append(o.free, bins)
		}
	}
}

// Merge adds the records of p, which it does not change.
func (o *Order) Merge(p *Order) {
	other := slices.Clone(p.levels)
	for len(o.levels) < len(other) {
		o.levels = append(o.levels, o.levels[len(o.levels)-1].coarser())
	}
	for len(other) < len(o.levels) {
		other = append(other, other[len(other)-1].coarser())
	}
	for l := range o.levels {
		level := &o.levels[l]
		if t := other[l].thin; t > level.thin {
			level.thin = t
			o.drop(level)
		}
		for k, from := range other[l].stretches {
			if !level.keeps(k) {
				continue
			}
			bins := level.stretches[k]
			for at, one := range from {
				if one.n > 0 {
					bins = level.put(bins, at, one)
				}
			}
			if len(bins) > 0 {
				level.stretches[k] = bins
			}
		}
	}
	o.settle()
}

// Inherit empties o and makes it keep only what p would keep.
func (o *Order) Inherit(p *Order) {
	o.limit, o.levels = p.limit, o.levels[:0]
	for _, l := range p.levels {
		o.levels = append(o.levels, newOrderLevel(l.thin))
	}
}
