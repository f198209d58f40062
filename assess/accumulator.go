package assess

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/fileorder"
	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Accumulator holds the running assessment of pairs (original, released). One
// goroutine at a time may use it.
type Accumulator struct {
	opts    Options
	targets []orderstat.Target
	layout  sample.Layout
	words   map[string]*keystream.Stream // by scope; not used without a key
	origins place.Origins

	records            int64 // pairs, without rejected records
	columns            []columnSums
	original, released comoment.Gram
	sample             sample.Sample
	found              map[int]map[string]found // by column and target, see Finder
	coded              [][]int64                // by column of Options.Coded and code: records
	watched            []residue                // by column of Options.Watched
	apart              []*place.Origin          // by number, for AddPiece

	work       kernel
	keep       microdata.Bitmap // scratch: records not rejected
	priorities place.Priorities // scratch
}

// kernel is scratch for one run of records.
type kernel struct {
	u, v               [][]float64 // centred original and released of the run
	bufU, bufV         [][]float64
	sums               []runSums
	su, sv             []float64
	has, hasOut        [][]float64 // runs with nulls only
	inX, inY           []cell.Bits // the same as bits, by column
	lowBound, topBound []float64   // bounds beyond which an original value can be an extreme
}

// New returns an empty accumulator.
func New(o Options) (*Accumulator, error) {
	o, targets, err := o.resolve()
	if err != nil {
		return nil, err
	}
	k := len(o.Columns)
	masked := 0
	for _, c := range o.Columns {
		if c.Masked {
			masked++
		}
	}
	a := &Accumulator{
		opts: o, targets: targets, layout: o.layout(),
		columns:  make([]columnSums, k),
		original: comoment.New(k), released: comoment.New(k),
		sample:  sample.New(o.Sample, o.layout().Width()),
		words:   map[string]*keystream.Stream{},
		coded:   newCoded(o.Coded),
		watched: make([]residue, len(o.Watched)),
	}
	for i := range a.columns {
		a.columns[i] = columnSums{low: math.Inf(1), high: math.Inf(-1), bottom: sample.NewEdge(o.Extremes, -1),
			top: sample.NewEdge(o.Extremes, +1)}
		if o.Columns[i].Masked && o.Sample >= 0 {
			a.columns[i].counts = tally.NewCounts(masked)
		}
		if o.Columns[i].Masked {
			a.columns[i].order = fileorder.New(o.OrderBins)
		}
	}
	w := &a.work
	w.bufU, w.bufV = comoment.Rows(k), comoment.Rows(k)
	w.u, w.v = make([][]float64, k), make([][]float64, k)
	w.sums, w.su, w.sv = make([]runSums, k), make([]float64, k), make([]float64, k)
	w.lowBound, w.topBound = make([]float64, k), make([]float64, k)
	return a, nil
}

// Records returns how many pairs have been added.
func (a *Accumulator) Records() int64 { return a.records }

// Add adds the pairs of a masked block; rejected records are skipped. A value that is null, NaN
// or infinite counts as null. Blocks may come in any order; ascending places are fastest.
func (a *Accumulator) Add(b *microdata.Block) { a.add(b, nil) }

// add also offers the records to a second sample with the same priorities. Its parts share nothing that
// changes, so that the figures are the same whatever runs beside what: assessment goes by the order of
// the blocks, and would otherwise keep one core busy while the others wait for it.
func (a *Accumulator) add(b *microdata.Block, also *sample.Sample) {
	if b.N == 0 {
		return
	}
	origin, keep := a.origins.Of(b.Scope, int32(b.Stream)), a.notRejected(b)
	p := &a.priorities
	p.Draw(b, a.keyedWords)
	a.sample.Take(b, origin, p, keep)
	parts := []func(){func() { a.addSums(b, origin, keep) }}
	if also != nil {
		parts = append(parts, func() { also.Offer(b, origin, p, keep, a.layout) })
	}
	for i := range a.sample.Parts(a.layout) {
		parts = append(parts, func() { a.sample.Extend(i, b, a.layout) })
	}
	for c := range a.columns {
		if s := &a.columns[c]; s.order != nil || s.counts != nil {
			col := &b.Columns[a.opts.Columns[c].Index]
			parts = append(parts, func() { s.count(b, col, origin, keep) })
		}
	}
	if b.N < fewRecords {
		for _, part := range parts {
			part()
		}
	} else {
		cores.Each(len(parts), func(i int) { parts[i]() })
	}
	a.sample.Bound()
}

// fewRecords is the number of records of a block below which its parts are added one after another.
const fewRecords = 2 * cell.Run

// notRejected returns which records of a block are not rejected; nil: all.
func (a *Accumulator) notRejected(b *microdata.Block) microdata.Bitmap {
	if b.Whole() {
		return nil
	}
	a.keep = microdata.NewBitmap(b.N, a.keep)
	for i := range b.N {
		if b.Rejected(i) {
			a.keep.Clear(i)
		}
	}
	return a.keep
}

// count adds what a column has by itself: the order and the counts of its values.
func (s *columnSums) count(b *microdata.Block, col *microdata.Column, origin *place.Origin, keep microdata.Bitmap) {
	if s.order != nil {
		s.order.Add(origin, b, col.Original, col.Out(), keep)
	}
	if s.counts != nil {
		s.counts.Add(b, col.Original, col.Out(), keep)
	}
}

// addSums adds what depends on all columns of a record together, and the ends of the columns.
func (a *Accumulator) addSums(b *microdata.Block, origin *place.Origin, keep microdata.Bitmap) {
	a.records += int64(b.Kept())
	a.countCodes(b)
	a.watch(b)
	w := &a.work
	for c := range a.columns {
		col := &b.Columns[a.opts.Columns[c].Index]
		a.original.Recentre(c, col.Original, keep)
		a.released.Recentre(c, col.Out(), keep)
		w.lowBound[c] = a.columns[c].bottom.Threshold(origin, b.First)
		w.topBound[c] = a.columns[c].top.Threshold(origin, b.First)
	}
	for from := 0; from < b.N; from += cell.Run {
		n := min(cell.Run, b.N-from)
		if !a.addClean(b, origin, from, n, keep) {
			a.addPart(b, origin, from, n, keep)
		}
	}
	a.original.Fold()
	a.released.Fold()
}

// addClean adds a run if every record in it is kept and has every value; otherwise it changes
// nothing and returns false.
func (a *Accumulator) addClean(b *microdata.Block, origin *place.Origin, from, n int, keep microdata.Bitmap) bool {
	if !cell.AllSet(keep, from, n) {
		return false
	}
	for c := range a.columns {
		col := &b.Columns[a.opts.Columns[c].Index]
		if !cell.AllSet(col.Original.Valid, from, n) || !cell.AllSet(col.Out().Valid, from, n) {
			return false
		}
	}
	w := &a.work
	for c := range a.columns {
		s := &a.columns[c]
		col := &b.Columns[a.opts.Columns[c].Index]
		x, y := col.Original.Values[from:from+n], col.Out().Values[from:from+n]
		var d runSums
		kx, ky := a.original.Centre[c], a.released.Centre[c]
		lo, hi := s.bounds(w.lowBound[c], w.topBound[c])
		if kx == 0 && ky == 0 {
			d = plain(x, y, lo, hi, s.low, s.high)
			w.u[c], w.v[c] = x, y
		} else {
			w.u[c], w.v[c] = w.bufU[c][:n], w.bufV[c][:n]
			d = centred(w.u[c], w.v[c], x, y, kx, ky, lo, hi, s.low, s.high)
		}
		if !cell.Finite(d.su + d.sv + d.sd) {
			return false
		}
		w.sums[c], w.su[c], w.sv[c] = d, d.su, d.sv
	}
	for c := range a.columns {
		s, d := &a.columns[c], &w.sums[c]
		s.pairs += int64(n)
		s.diff -= d.sd
		s.squareDiff += d.sdd
		if a.opts.Columns[c].Masked {
			s.unchanged += int64(d.same)
		}
		if d.beyond {
			a.addEnds(b, origin, c, from, n, d.pieces, keep)
		}
	}
	a.original.AddClean(n, w.u, w.su)
	a.released.AddClean(n, w.v, w.sv)
	return true
}

// bounds returns the bounds beyond which an original value is kept: lo and hi, beyond which its record
// is kept, or narrower bounds if the value alone is.
func (s *columnSums) bounds(lo, hi float64) (low, high float64) {
	if s.counts == nil {
		return lo, hi
	}
	least, most := s.counts.Bounds()
	return max(lo, least), min(hi, most)
}

// addEnds adds the extreme values of a clean run of one column. pieces marks the pieces of the run
// that have any.
func (a *Accumulator) addEnds(b *microdata.Block, origin *place.Origin, c, from, n int, pieces uint64,
	keep microdata.Bitmap) {
	s := &a.columns[c]
	col := &b.Columns[a.opts.Columns[c].Index]
	x, y := col.Original.Values[from:from+n], col.Out().Values[from:from+n]
	lo, hi := a.work.lowBound[c], a.work.topBound[c]
	beyond := false
	for ; pieces != 0; pieces &= pieces - 1 {
		at := bits.TrailingZeros64(pieces) * pieceLength
		end := min(at+pieceLength, n)
		if s.counts != nil {
			s.counts.AddEnds(x[at:end])
		}
		beyond = beyond || s.extreme(x[at:end], y[at:end], lo, hi)
	}
	if s.counts != nil {
		s.counts.BoundEnds()
	}
	if beyond {
		a.scanEnds(b, origin, c, from, n, keep)
	}
}

// extreme reports whether an original value is beyond [lo, hi], or a released one beyond those seen so
// far.
func (s *columnSums) extreme(x, y []float64, lo, hi float64) bool {
	for i, v := range x {
		if v < lo || v > hi || y[i] < s.low || y[i] > s.high {
			return true
		}
	}
	return false
}

// scanEnds adds the run's extremes of one column. Values that are null, not
// finite or of rejected records are ignored.
func (a *Accumulator) scanEnds(b *microdata.Block, origin *place.Origin, c, from, n int, keep microdata.Bitmap) {
	s, w := &a.columns[c], &a.work
	col := &b.Columns[a.opts.Columns[c].Index]
	x, y := col.Original, col.Out()
	row := 0
	fill := func(dst []float64) { a.layout.Fill(dst, b, row) }
	for i, v := range y.Values[from : from+n] {
		// −0 is less than 0 here.
		if (v <= s.low || v >= s.high) && cell.Finite(v) && keep.Has(from+i) && y.Valid.Has(from+i) {
			s.low, s.high = math.Min(s.low, v), math.Max(s.high, v)
		}
	}
	lo, hi := w.lowBound[c], w.topBound[c]
	for i, v := range x.Values[from : from+n] {
		if !(v < lo || v > hi) || !cell.Finite(v) || !keep.Has(from+i) || !x.Valid.Has(from+i) {
			continue
		}
		row = from + i
		if v < lo && s.bottom.Add(v, origin, b.Place(row), a.layout.Width(), fill) {
			lo = s.bottom.Threshold(origin, b.Place(row)+1)
		}
		if v > hi && s.top.Add(v, origin, b.Place(row), a.layout.Width(), fill) {
			hi = s.top.Threshold(origin, b.Place(row)+1)
		}
	}
	w.lowBound[c], w.topBound[c] = lo, hi
}

// addPart adds a run in which some values are null, not finite, or of rejected
// records.
func (a *Accumulator) addPart(b *microdata.Block, origin *place.Origin, from, n int, keep microdata.Bitmap) {
	w := &a.work
	if w.has == nil {
		k := len(a.columns)
		w.has, w.hasOut = comoment.Rows(k), comoment.Rows(k)
		w.inX, w.inY = make([]cell.Bits, k), make([]cell.Bits, k)
	}
	for c := range a.columns {
		s := &a.columns[c]
		col := &b.Columns[a.opts.Columns[c].Index]
		w.u[c], w.v[c] = w.bufU[c], w.bufV[c]
		comoment.Centre(col.Original, from, n, keep, a.original.Centre[c], w.u[c], w.has[c], &w.inX[c])
		comoment.Centre(col.Out(), from, n, keep, a.released.Centre[c], w.v[c], w.hasOut[c], &w.inY[c])
		x, y := col.Original.Values[from:from+n], col.Out().Values[from:from+n]
		lo, hi := s.bounds(w.lowBound[c], w.topBound[c])
		same, beyond := s.addPairs(x, y, &w.inX[c], &w.inY[c], lo, hi)
		if a.opts.Columns[c].Masked {
			s.unchanged += same
		}
		if s.counts != nil && beyond {
			s.counts.AddMarkedEnds(x, &w.inX[c])
		}
		if beyond && s.extreme(x, y, w.lowBound[c], w.topBound[c]) {
			a.scanEnds(b, origin, c, from, n, keep)
		}
	}
	a.original.AddPart(n, w.u, w.has, w.inX)
	a.released.AddPart(n, w.v, w.hasOut, w.inY)
}

// keyedWords draws from the sample's keystream. Its name has the scope in place of the column in
// the name of a mask's stream.
func (a *Accumulator) keyedWords(dst []uint64, scope string, r keystream.Records) {
	if a.opts.Key.IsZero() {
		place.UnkeyedWords(dst, scope, r)
		return
	}
	s := a.words[scope]
	if s == nil {
		s = a.opts.Key.Stream("assess/sample", scope, 0)
		a.words[scope] = s
	}
	s.Words(dst, r)
}

// Merge adds the pairs of o, which it does not change. Both must have been made with the same
// key, columns, sample and extremes.
func (a *Accumulator) Merge(o *Accumulator) error {
	if err := a.matches(o); err != nil {
		return err
	}
	cores.Each(2, func(part int) {
		if part == 0 {
			a.mergeExact(o)
		} else {
			a.sample.Merge(&o.sample)
		}
	})
	return nil
}

// mergeExact merges everything except the sample.
func (a *Accumulator) mergeExact(o *Accumulator) {
	a.records += o.records
	a.mergeCodes(o)
	a.mergeWatched(o)
	for i := range a.columns {
		s, t := &a.columns[i], &o.columns[i]
		s.pairs += t.pairs
		s.diff += t.diff
		s.squareDiff += t.squareDiff
		s.unchanged += t.unchanged
		s.low, s.high = math.Min(s.low, t.low), math.Max(s.high, t.high)
		s.bottom.Merge(&t.bottom)
		s.top.Merge(&t.top)
		if s.counts != nil {
			s.counts.Merge(t.counts)
		}
		if s.order != nil {
			s.order.Merge(t.order)
		}
	}
	a.original.Merge(&o.original)
	a.released.Merge(&o.released)
}

func (a *Accumulator) matches(o *Accumulator) error {
	switch {
	case a.opts.Key.ID() != o.opts.Key.ID():
		return fmt.Errorf("assess: merge: keys must be the same, got %s and %s", a.opts.Key.ID(), o.opts.Key.ID())
	case !slices.Equal(a.opts.Columns, o.opts.Columns) || !slices.Equal(a.opts.Carry, o.opts.Carry) ||
		!slices.Equal(a.opts.Released, o.opts.Released) || !slices.Equal(a.opts.Beside, o.opts.Beside) ||
		!sameCoded(a.opts.Coded, o.opts.Coded) || !slices.Equal(a.opts.Watched, o.opts.Watched):
		return fmt.Errorf("assess: merge: columns must be the same")
	case a.opts.Sample != o.opts.Sample || a.opts.Extremes != o.opts.Extremes || a.opts.OrderBins != o.opts.OrderBins:
		return fmt.Errorf("assess: merge: sample and extremes must be the same, got %d and %d, %d and %d",
			a.opts.Sample, o.opts.Sample, a.opts.Extremes, o.opts.Extremes)
	}
	return nil
}

// SetExchange makes Measure use x for records that are known by their index, and replicates of the
// masks without swaps for all figures that do not depend on the record; repeated is that of Options.Repeated.
func (a *Accumulator) SetExchange(x Exchange, replicate, repeated func(m int) Masker) {
	a.opts.Exchange, a.opts.Replicate, a.opts.Repeated, a.opts.Mixes = x, replicate, repeated, false
}

// Repeats reports whether respondents have several records with the same value.
func (a *Accumulator) Repeats() bool {
	a.sample.Settle()
	r := &reckoning{a: a, data: a.sampleData()}
	return r.repeated()
}
