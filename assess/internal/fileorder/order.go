// Package fileorder keeps and judges what the order of the records tells of a column.
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

// Order keeps of a column what a snooper sees who has the records in the order of
// the source: means of original and released values over bins of consecutive
// records. Level l has bins of 8^l places, in stretches of 256 bins. The last
// level holds all of the file; of those before it, which tell what happens over
// shorter distances, stretches are thinned, by a hash of their place, so that each
// level has no more bins than the limit. Stretches are contiguous, so that the
// local density of records is that of the file: whoever smooths over them does as
// well as with the whole.
//
// What is kept depends on the places alone, not on how the records were split.
type Order struct {
	limit  int // bins of a level
	levels []orderLevel
	marks  microdata.Bitmap // scratch
}

type orderLevel struct {
	thin      int // a stretch is kept where its hash has so many trailing zeros
	bins      int // that hold a record
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

// New returns an empty order of at most so many bins a level; 0: DefaultBins.
func New(limit int) *Order {
	if limit == 0 {
		limit = DefaultBins
	}
	return &Order{limit: limit, levels: []orderLevel{newOrderLevel(0)}}
}

func newOrderLevel(thin int) orderLevel {
	return orderLevel{thin: thin, stretches: map[stretchKey][]orderBin{}}
}

// hash of a stretch, the same on every machine.
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

// Add takes in the pairs of a block that have both values, rejected records left
// out.
func (o *Order) Add(of *place.Origin, b *microdata.Block, x, y microdata.Vector, keep microdata.Bitmap) {
	whole := cell.AllSet(keep, 0, b.N) && cell.AllSet(x.Valid, 0, b.N) && cell.AllSet(y.Valid, 0, b.N)
	marked := false // the block's pairs, once they are asked for
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
			bins := level.stretches[key]
			for i < end {
				at := b.Place(i) >> shift
				next := min(end, placesBefore(b, i, (at+1)<<shift))
				one, ok := orderBin{}, false
				if whole {
					one, ok = binOfWhole(x.Values[i:next], y.Values[i:next])
				}
				if !ok {
					if !marked {
						o.marks, marked = pairs(b.N, x, y, keep, o.marks), true
					}
					one = binOf(x.Values, y.Values, o.marks, i, next)
				}
				i = next
				if one.n > 0 {
					bins = level.put(bins, int(at&(stretchLength-1)), one)
				}
			}
			if len(bins) > 0 {
				level.stretches[key] = bins
			}
		}
	}
	o.settle()
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

// binOfWhole is binOf of records that are all kept and have both values, false where
// one of these is not finite. Its sums are the same to the last bit: every record goes
// through here, so that what binOf asks of each is worth asking once.
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
	if !cell.Finite(square + sy) { // or a sum is beyond what a float64 holds
		return orderBin{}, false
	}
	return orderBin{n, base + sx/n, baseY + sy/n, max(0, square-sx*sx/n)}, true
}

// binOf sums up those of the records from ≤ i < to that are marked.
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

// settle brings every level back to its limit. The last one is made coarser
// first, as it is to hold everything.
func (o *Order) settle() {
	for {
		last := &o.levels[len(o.levels)-1]
		if last.bins <= o.limit || last.thin > 0 || len(o.levels) == orderLevels {
			break
		}
		o.levels = append(o.levels, last.coarser())
	}
	for l := range o.levels {
		o.levels[l].thinTo(o.limit)
	}
}

// coarser returns the next level of one that holds everything.
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

// thinTo drops stretches until a level has no more bins than the limit.
func (l *orderLevel) thinTo(limit int) {
	for l.bins > limit {
		l.thin++
		l.drop()
	}
}

func (l *orderLevel) drop() {
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
	}
}

// Merge adds what p has seen, which stays as it is.
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
			level.drop()
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

// Inherit empties o and makes it admit only what p would keep.
func (o *Order) Inherit(p *Order) {
	o.limit, o.levels = p.limit, o.levels[:0]
	for _, l := range p.levels {
		o.levels = append(o.levels, newOrderLevel(l.thin))
	}
}
