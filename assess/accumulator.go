package assess

import (
	"fmt"
	"math"
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

	work       *work            // scratch
	keep       microdata.Bitmap // scratch: records not rejected
	priorities place.Priorities // scratch
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
	a.work = newWork(k)
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
	sums := a.begin(b, origin, keep)
	var parts []func() // the long ones first
	if len(a.opts.Coded)+len(a.opts.Watched) > 0 {
		parts = append(parts, func() { a.countCodes(b); a.watch(b) })
	}
	if also != nil {
		parts = append(parts, func() { also.Offer(b, origin, p, keep, a.layout) })
	}
	for i := range a.sample.Parts(a.layout) {
		parts = append(parts, func() { a.sample.Extend(i, b, a.layout) })
	}
	for c := range a.columns {
		s, col := &a.columns[c], &b.Columns[a.opts.Columns[c].Index]
		if s.order != nil {
			parts = append(parts, func() { s.order.Add(origin, b, col.Original, col.Out(), keep) })
		}
		if s.counts != nil {
			parts = append(parts, func() { s.counts.Add(b, col.Original, col.Out(), keep) })
		}
	}
	do := func(parts []func()) {
		if b.N < fewRecords {
			for _, part := range parts {
				part()
			}
		} else {
			cores.Each(len(parts), func(i int) { parts[i]() })
		}
	}
	do(append(parts, sums.parts()...))
	for do(sums.fold()); sums.from < b.N; do(sums.fold()) {
		do(sums.parts())
	}
	sums.end()
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
