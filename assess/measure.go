package assess

import (
	"context"
	"errors"
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
	"github.com/sdlfilter/sdlfilter/internal/cores"
)

// Measure computes the measures of all pairs added so far. Replicates run on all cores; the
// result does not depend on the number of cores. The error is that of the context or of a mask.
//
// If the sample holds all pairs, replicates are made on the whole data, as
// docs/methods.md, section 3, says. Otherwise they are made on the sample, or on parts
// of it in turn if no mask mixes records, and the variance of an estimator
// is scaled to the size of the release. The bias of an order statistic, which
// determines R of a percentile known by its position, is that of the release itself,
// counted over all records. The targets min and max stay exact:
// their records are kept. Their estimate by position is the extreme of the
// replicate's part of the sample together with the r most extreme records. Since it
// lacks the other records, it varies less than the extreme of the release, and the
// risk is overstated rather than understated.
func (a *Accumulator) Measure(ctx context.Context) (*Measures, error) {
	return a.measure(ctx, 0)
}

// snapshotSubset is the number of records of one replicate of a snapshot. The replicates then take
// some tens of milliseconds of each core, however many records have been added.
const snapshotSubset = 5_000

// MeasureQuick is Measure with replicates of a few thousand records each. It takes some tens of
// milliseconds of each core, however many records have been added, for the snapshots of a stream
// and for a gate that judges every commit.
func (a *Accumulator) MeasureQuick(ctx context.Context) (*Measures, error) {
	return a.measure(ctx, snapshotSubset)
}

// measure with limit > 0 makes replicates of at most about that many records.
func (a *Accumulator) measure(ctx context.Context, limit int) (*Measures, error) {
	r := a.reckon(false)
	if err := r.replicate(ctx, limit); err != nil {
		return nil, err
	}
	m := &Measures{Records: a.records, Sample: a.sample.Len(), Gated: a.opts.Gated, Earlier: a.opts.Earlier,
		AllowUnchanged: a.opts.AllowUnchanged}
	m.Columns = make([]ColumnMeasures, len(a.opts.Columns))
	one := func(c int) { m.Columns[c] = r.column(c, a.opts.Columns[c]) }
	if r.exchange == nil {
		cores.Each(len(m.Columns), one)
	} else {
		for c := range m.Columns { // an Exchange need not be safe for concurrent use
			one(c)
		}
	}
	part := 0
	if limit > 0 {
		part = quickRecords
	}
	r.byRecord(m.Columns, part)
	for c := range m.Columns {
		m.Columns[c].Together = r.together(c, &m.Columns[c])
	}
	m.Known = r.known
	m.Unseen, m.MissingCodes = a.opts.Unseen, a.missingCodes()
	a.takeWatched(m)
	m.Correlation = a.correlation()
	return m, nil
}

// replicate plans the replicates, runs them and sorts the answers by column.
func (r *reckoning) replicate(ctx context.Context, limit int) error {
	o := &r.a.opts
	if o.Replicates == 0 || len(r.targets) == 0 || r.data.N == 0 {
		return ctx.Err()
	}
	r.partial, r.brief = !r.data.Complete || limit > 0 && r.data.N > limit, limit > 0
	masker := o.Replicate
	if r.repeats = r.repeated(); r.repeats && o.Repeated != nil {
		masker = o.Repeated
	}
	if r.partial {
		if err := r.foresee(ctx, r.laws(o.Law)); err != nil {
			return err
		}
	}
	if o.Replicate == nil || o.Entire && r.partial {
		r.single = r.partial && o.Replicate != nil
		r.partial = false
		return ctx.Err()
	}
	questions, p := r.questions()
	if len(questions) == 0 {
		return ctx.Err()
	}
	subsets := r.split(p, limit, o.Replicates)
	answers, err := replicate.Run(ctx, replicate.Trial{
		Of: r.a.layout, Mixes: o.Mixes,
		Points: 1, From: 1, Replicates: o.Replicates,
		Each: func(m int) []replicate.Masker { return []replicate.Masker{masker(m)} },
	}, subsets, questions)
	if refused := Unfit(nil); r.partial || limit > 0 {
		if errors.As(err, &refused) {
			r.partial, r.single = false, true // a part has too few records for the masks; all records are enough
			return ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	r.sort(answers[0], questions)
	return nil
}

func (r *reckoning) column(c int, column Column) ColumnMeasures {
	s := &r.a.columns[c]
	m := ColumnMeasures{
		Name: column.Name, Unit: column.Unit, Masked: column.Masked, Key: column.Key,
		Original:              columnMoments(&r.a.original, c, r.a.records),
		Released:              columnMoments(&r.a.released, c, r.a.records),
		MeanSquaredDifference: Float(s.squareDiff / float64(s.pairs)),
		Utility:               r.utility(c),
	}
	m.Original.Min, m.Original.Max = Float(math.NaN()), Float(math.NaN())
	if e := s.bottom.First(); e != nil {
		m.Original.Min, m.Original.Max = Float(e.X), Float(s.top.First().X)
	}
	m.Released.Min, m.Released.Max = Float(s.low), Float(s.high)
	if m.Released.N == 0 {
		m.Released.Min, m.Released.Max = Float(math.NaN()), Float(math.NaN())
	}
	r.unchanged(c, &m)
	if column.Masked {
		m.Risk = r.risks(c)
		r.order(c, &m)
		if m.Spikes = spikesOf(r.data.Original(c), r.data.Released(c)); m.Spikes != nil {
			m.Spikes.Sampled = !r.data.Complete
		}
	}
	m.Histogram = histogram(r.data.Original(c), r.data.Released(c))
	return m
}

// columnMoments returns the moments of column i, without extremes; records is the number of all
// records.
func columnMoments(g *comoment.Gram, i int, records int64) Moments {
	c := g.At(i, i)
	m := Moments{N: int64(c.N), Nulls: records - int64(c.N), Mean: Float(math.NaN()), SD: Float(math.Sqrt(c.Variance()))}
	if c.N > 0 {
		m.Mean = Float(c.Mi)
	}
	return m
}

func (a *Accumulator) correlation() Correlation {
	out := Correlation{}
	for _, c := range a.opts.Columns {
		out.Columns = append(out.Columns, c.Name)
	}
	square := func(g *comoment.Gram) [][]Float {
		rows := make([][]Float, g.K)
		for i := range rows {
			rows[i] = make([]Float, g.K)
			for j := range rows[i] {
				c := g.Between(i, j)
				rows[i][j] = Float(c.Correlation())
			}
		}
		return rows
	}
	out.Original, out.Released = square(&a.original), square(&a.released)
	return out
}
