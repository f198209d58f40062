package assess

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Finder looks in a second pass over the masked records for what an accumulator whose sample does not hold them all
// cannot know of percentiles: which record holds one, and the released value of the same rank. One goroutine at a
// time may use it.
type Finder struct {
	a       *Accumulator
	origins place.Origins
	columns []*searched
}

// searched is one column of a Finder.
type searched struct {
	column int
	n, m   int64 // original and released values seen
	of     []*sought
}

// sought is a percentile that is searched for: the original values in one interval, and the released ones in another.
type sought struct {
	target    orderstat.Target
	low, high float64 // of the originals
	below     int64   // number of originals below low
	pairs     []pairAt
	lost      bool // there are more than are kept

	lowOut, highOut float64 // of the released values
	belowOut        int64
	released        []float64
	lostOut         bool
}

// pairAt is a record; y is NaN where there is no released value.
type pairAt struct {
	x, y float64
	from *place.Origin
	row  int64
	// carried are the codes of the columns that masks read: replicates need them, such as for a condition that a mask has.
	carried []float64
}

// keptOfInterval is the number of values that a Finder keeps of one interval. A bin of a million records on a smooth
// distribution has some hundreds.
const keptOfInterval = 1 << 16

// found is what a Finder has found of a percentile.
type found struct {
	pairAt
	position  float64 // y_(k)
	holds     bool    // the record is known
	positions bool    // position is known
}

// Finder returns a Finder; nil if the accumulator knows all that it could find. It is not needed for columns with a
// law, of which R is an expectation over all records.
func (a *Accumulator) Finder() *Finder {
	if a.kept() {
		return nil
	}
	f := &Finder{a: a}
	for c, column := range a.opts.Columns {
		counts := a.columns[c].counts
		if !column.Masked || counts == nil || a.lawful(c) && !column.Undoing.moves() {
			continue
		}
		s := &searched{column: c}
		n, m := int64(a.original.At(c, c).N), int64(a.released.At(c, c).N)
		for _, t := range a.targets {
			if t.Extremal() || n == 0 {
				continue
			}
			k := &sought{target: t}
			k.low, k.high = counts.X.Around(int64(t.Rank(int(n))), n)
			k.lowOut, k.highOut = counts.Y.Around(int64(t.Rank(int(m))), m)
			s.of = append(s.of, k)
		}
		if s.of != nil {
			f.columns = append(f.columns, s)
		}
	}
	if f.columns == nil {
		return nil
	}
	return f
}

// kept reports whether the sample holds all records. Until it is settled it may also hold records that it will drop.
func (a *Accumulator) kept() bool {
	a.sample.Settle()
	return int64(a.sample.Len()) == a.records
}

// lawful reports whether the masks have a law for a column.
func (a *Accumulator) lawful(c int) bool {
	return a.opts.Law != nil && a.opts.Law(a.opts.Columns[c].Name) != nil
}

// Add looks at a masked block. Blocks must come in the order of their records.
func (f *Finder) Add(b *microdata.Block) {
	origin := f.origins.Of(b.Scope, int32(b.Stream))
	for _, s := range f.columns {
		col := &b.Columns[f.a.opts.Columns[s.column].Index]
		x, y := col.Original, col.Out()
		for i := range b.N {
			if b.Rejected(i) {
				continue
			}
			v, w := math.NaN(), math.NaN()
			if x.Valid.Has(i) && cell.Finite(x.Values[i]) {
				v = x.Values[i]
				s.n++
			}
			if y.Valid.Has(i) && cell.Finite(y.Values[i]) {
				w = y.Values[i]
				s.m++
			}
			for _, k := range s.of {
				k.take(v, w, origin, b, i, f.a.layout.Carry)
			}
		}
	}
}

func (k *sought) take(x, y float64, from *place.Origin, b *microdata.Block, i int, carry []int) {
	switch {
	case x < k.low:
		k.below++
	case x <= k.high && !k.lost:
		var carried []float64
		for _, index := range carry {
			carried = append(carried, cell.Code(&b.Columns[index], i))
		}
		if k.pairs = append(k.pairs, pairAt{x, y, from, b.Place(i), carried}); len(k.pairs) > keptOfInterval {
			k.pairs, k.lost = nil, true
		}
	}
	switch {
	case y < k.lowOut:
		k.belowOut++
	case y <= k.highOut && !k.lostOut:
		if k.released = append(k.released, y); len(k.released) > keptOfInterval {
			k.released, k.lostOut = nil, true
		}
	}
}

// found returns what was found of a target. If the records are not those of the accumulator, that is nothing.
func (s *searched) found(k *sought, n, m int64) (out found) {
	if s.n != n || s.m != m {
		return out
	}
	at := int64(k.target.Rank(int(n))) - k.below - 1
	if out.holds = !k.lost && at >= 0 && at < int64(len(k.pairs)); out.holds {
		slices.SortStableFunc(k.pairs, func(a, b pairAt) int { return cmp.Compare(a.x, b.x) })
		out.pairAt = k.pairs[at]
	}
	at = int64(k.target.Rank(int(m))) - k.belowOut - 1
	if out.positions = !k.lostOut && at >= 0 && at < int64(len(k.released)); out.positions {
		slices.Sort(k.released)
		out.position = k.released[at]
	}
	return out
}

// SetFound makes Measure use what a Finder has found; nil: nothing.
func (a *Accumulator) SetFound(f *Finder) {
	if f == nil {
		return
	}
	a.found = map[int]map[string]found{}
	for _, s := range f.columns {
		of := map[string]found{}
		for _, k := range s.of {
			of[k.target.Name] = s.found(k, int64(a.original.At(s.column, s.column).N),
				int64(a.released.At(s.column, s.column).N))
		}
		a.found[s.column] = of
	}
}

// holding sets the record with a target, and the released value of its rank, where they were found.
// carryFrom is where the values of a record have the codes of carried columns.
func (f *located) holding(of found, c, carryFrom int) {
	if of.positions {
		f.position, f.slackOut = of.position, 0
	}
	if of.holds && f.record != nil {
		values := slices.Clone(f.record.Values) // of the nearest record of the sample, in other columns
		values[2*c], values[2*c+1] = of.x, of.y
		copy(values[carryFrom:], of.carried)
		f.tau, f.slack, f.exact, f.sampled = of.x, 0, true, false
		f.record = &sample.Extreme{X: of.x, From: of.from, Row: of.row, Values: values}
	}
	f.counted = f.counted || of.holds && of.positions
}

// doubt sets how far τ and y_(k) may be from those of all records, for a column of which the sample does not hold all:
// x and y are the sample's values.
func (f *located) doubt(s *columnSums, x, y []float64) {
	f.slack, f.slackOut = math.Inf(1), math.Inf(1)
	if f.counted {
		f.slack = s.counts.X.Width(f.target.Rank(int(s.counts.X.N)), x)
		f.slackOut = s.counts.Y.Width(f.target.Rank(int(s.counts.Y.N)), y)
		if s.counts.Y.N != s.counts.Y.Seen {
			f.slackOut += slackOf(f.target, y) // not all of them were counted
		}
		return
	}
	f.slack, f.slackOut = slackOf(f.target, x), slackOf(f.target, y)
}

// slackOf returns how far an order statistic that the sample shows may be from that of all values: the distance between
// the sample's values four standard errors of its rank to either side.
func slackOf(t orderstat.Target, values []float64) float64 {
	n := len(values)
	p := float64(t.Place) / 100_000
	d := int(math.Ceil(4*math.Sqrt(float64(n)*p*(1-p)))) + 1
	k := t.Rank(n)
	if k-d < 1 || k+d > n {
		return math.Inf(1)
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[k+d-1] - sorted[k-d-1]
}
