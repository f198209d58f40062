package assess

import (
	"context"
	"math"
	"slices"
)

// reckoning is one evaluation of an accumulator.
type reckoning struct {
	a       *Accumulator
	data    *data
	targets map[int][]found // by masked column

	exchange Exchange // nil where nothing tells of exchanged records
	group    *group   // that it is about; nil: all records

	tried bool // the masks were not applied to the data: there is no release, and what is found as one is the original

	// Of the replicates:
	answers map[int][]answer // by masked column; no entry where there are none
	partial bool             // whether replicates were made on less than all pairs
	subsets int
	share   float64 // records of a replicate over records of the release
	bias    map[int]bias
	before  map[int][]float64 // by column: s² of the original in each subset, for masks that are tried

	// Of the masks' laws:
	expected map[int]*expectation // by masked column that has one
	ranks    map[int][]ranks      // and by target
	spectra  map[int]*spectrum
}

// Measure evaluates what has been added so far. Replicates run on all cores;
// the result does not depend on their number. It returns the context's error,
// or that of a mask.
//
// Where the sample holds all pairs, replicates are made on the whole data, as
// docs/methods.md, section 3, says. Where it does not, they are made on the sample, or on parts
// of it in turn where no mask mixes records, and the variance of an estimator
// is scaled to the size of the release. The bias of an order statistic, on which
// R of a percentile known by its position rests, is that of the release itself,
// counted over all records. The targets min and max stay exact:
// their records are kept. Their estimate by position is the extreme of the
// replicate's part of the sample together with the r most extreme records; as
// the other records are missing from it, it strays less than the release's
// extreme does, which errs on the side of too high a risk.
func (a *Accumulator) Measure(ctx context.Context) (*Measures, error) {
	return a.measure(ctx, 0)
}

// MeasureQuick is Measure with replicates of a few thousand records each: some
// tens of milliseconds of each core, whatever has been added, for the snapshots
// of a stream and for a gate that judges every commit.
func (a *Accumulator) MeasureQuick(ctx context.Context) (*Measures, error) {
	return a.measure(ctx, snapshotSubset)
}

// measure with limit > 0 makes replicates of at most about that many records.
func (a *Accumulator) measure(ctx context.Context, limit int) (*Measures, error) {
	r := a.reckon(false)
	if err := r.replicate(ctx, limit); err != nil {
		return nil, err
	}
	m := &Measures{Records: a.records, Sample: a.sample.len(), Gated: a.opts.Gated, AllowUnchanged: a.opts.AllowUnchanged}
	for c, column := range a.opts.Columns {
		m.Columns = append(m.Columns, r.column(c, column))
	}
	m.Correlation = a.correlation()
	return m, nil
}

// reckon begins an evaluation: it finds the targets.
func (a *Accumulator) reckon(tried bool) *reckoning {
	a.sample.settle()
	s := &a.sample
	r := &reckoning{a: a, exchange: a.opts.Exchange, tried: tried, targets: map[int][]found{}, answers: map[int][]answer{}, bias: map[int]bias{}}
	r.data = &data{n: s.len(), records: a.records, complete: int64(s.len()) == a.records,
		values: s.values, priority: s.priority, from: s.from, row: s.row}
	for c, column := range a.opts.Columns {
		if column.Masked {
			r.targets[c] = r.locate(c)
		}
	}
	return r
}

// locate finds the targets of a column: τ, the record that holds it, and the
// same order statistic of the release.
func (r *reckoning) locate(c int) []found {
	x, y := withValue(r.data.original(c)), withValue(r.data.released(c))
	taus, positions := percentiles(x, r.a.targets), percentiles(y, r.a.targets)
	list := make([]found, len(r.a.targets))
	for i, t := range r.a.targets {
		f := found{target: t, tau: math.NaN(), position: math.NaN()}
		s := &r.a.columns[c]
		switch {
		case t.minimum():
			f.record, f.position = s.bottom.first(), s.low
		case t.maximum():
			f.record, f.position = s.top.first(), s.high
		case len(x) > 0:
			f.record = r.holder(c, taus[i], t.rank(len(x)))
			f.sampled = !r.data.complete
			f.tau, f.position = taus[i], positions[i]
			f.counted = r.data.complete && !r.tried
			if s.x != nil && !f.counted && !r.tried {
				tau, known := s.x.orderStatistic(t.rank(int(s.x.n)), x)
				position, knownToo := s.y.orderStatistic(t.rank(int(s.y.n)), y)
				if f.counted = known && knownToo; f.counted {
					f.tau, f.position = tau, position
				}
			}
		}
		if f.record != nil && t.extremal() {
			f.tau = f.record.x
		}
		list[i] = f
	}
	return list
}

// percentiles returns the order statistics of x that are the targets', NaN for
// extremes and where x is empty.
func percentiles(x []float64, targets []target) []float64 {
	out := make([]float64, len(targets))
	var ranks []int
	for i, t := range targets {
		out[i] = math.NaN()
		if !t.extremal() && len(x) > 0 {
			ranks = append(ranks, t.rank(len(x))-1)
		}
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	values := make([]float64, len(ranks))
	var s selector
	s.fit(x)
	s.ranks(x, ranks, values)
	for i, t := range targets {
		if !t.extremal() && len(x) > 0 {
			at, _ := slices.BinarySearch(ranks, t.rank(len(x))-1)
			out[i] = values[at]
		}
	}
	return out
}

// holder returns the record with the k-th smallest value tau, in the order of
// place among equals.
func (r *reckoning) holder(c int, tau float64, k int) *extreme {
	x := r.data.original(c)
	below := 0
	for _, v := range x {
		if v < tau {
			below++
		}
	}
	for i, v := range x {
		if v != tau {
			continue
		}
		if below++; below < k {
			continue
		}
		e := &extreme{x: v, from: r.data.from[i], row: r.data.row[i], values: make([]float64, len(r.data.values))}
		for j := range e.values {
			e.values[j] = r.data.values[j][i]
		}
		return e
	}
	return nil
}

func withValue(v []float64) []float64 {
	if !slices.ContainsFunc(v, math.IsNaN) {
		return v
	}
	return slices.DeleteFunc(slices.Clone(v), math.IsNaN)
}

// replicate plans the replicates, runs them and sorts the answers by column.
func (r *reckoning) replicate(ctx context.Context, limit int) error {
	o := &r.a.opts
	if o.Replicate == nil || o.Replicates == 0 || len(r.targets) == 0 || r.data.n == 0 {
		return ctx.Err()
	}
	if r.partial = !r.data.complete || limit > 0 && r.data.n > limit; r.partial {
		r.expect(o.Law)
		if err := r.place(ctx); err != nil {
			return err
		}
	}
	questions, p := r.questions()
	if len(questions) == 0 {
		return ctx.Err()
	}
	subsets := r.split(p, limit, o.Replicates)
	answers, err := replicates(ctx, o, &Exploration{
		Points: 1, From: 1, Replicates: o.Replicates,
		Replicate: func(m int) []Masker { return []Masker{o.Replicate(m)} },
	}, subsets, questions)
	if err != nil {
		return err
	}
	r.sort(answers[0], questions)
	return nil
}

// questions says what is to be learnt from every replicate, and of which records
// all of them must have.
func (r *reckoning) questions() ([]question, *planner) {
	o := &r.a.opts
	p := &planner{opts: o, data: r.data}
	var questions []question
	for c := range o.Columns {
		targets, masked := r.targets[c]
		if !masked || r.expected[c] != nil {
			continue
		}
		q := question{column: c, targets: r.a.targets}
		n := len(withValue(r.data.original(c)))
		for _, f := range targets {
			q.index = append(q.index, f.record)
			if f.record != nil {
				p.tracked = append(p.tracked, f.record)
			}
			if r.partial {
				q.quantile = append(q.quantile, (float64(f.target.rank(n))-0.5)/float64(max(n, 1)))
			}
		}
		if r.partial {
			for _, e := range []*edge{&r.a.columns[c].bottom, &r.a.columns[c].top} {
				e.prune()
				for i := range e.entries {
					p.tracked = append(p.tracked, &e.entries[i])
				}
			}
		}
		q.fitted.fit(r.data.released(c))
		questions = append(questions, q)
	}
	return questions, p
}

// split plans the subsets for so many replicates.
func (r *reckoning) split(p *planner, limit, replicates int) []*subset {
	o := &r.a.opts
	size := PartOf
	if limit > 0 {
		size = limit
	}
	var subsets []*subset
	switch {
	case !r.partial, o.Mixes && (limit == 0 || r.data.n <= limit):
		subsets = p.whole()
	case o.Mixes:
		subsets = p.random(limit)
	default:
		subsets = p.systematic(max(1, min((r.data.n+size-1)/size, replicates)))
	}
	r.setSubsets(subsets)
	return subsets
}

func (r *reckoning) setSubsets(subsets []*subset) {
	r.subsets = len(subsets)
	records := 0
	for _, s := range subsets {
		records += s.size
	}
	r.share = float64(records) / float64(len(subsets)) / float64(r.data.records)
}

// sort keeps the answers by column.
func (r *reckoning) sort(answers [][]answer, questions []question) {
	for k, q := range questions {
		if q.group != nil {
			continue
		}
		list := make([]answer, len(answers))
		for m := range answers {
			list[m] = answers[m][k]
		}
		r.answers[q.column] = list
		if r.partial {
			r.bias[q.column] = r.biasOf(q.column)
		}
	}
}

func (r *reckoning) column(c int, column Column) ColumnMeasures {
	s := &r.a.columns[c]
	m := ColumnMeasures{
		Name: column.Name, Unit: column.Unit, Masked: column.Masked,
		Original:              r.a.original.moments(c, r.a.records),
		Released:              r.a.released.moments(c, r.a.records),
		MeanSquaredDifference: Float(s.squareDiff / float64(s.pairs)),
		Utility:               r.utility(c),
	}
	m.Original.Min, m.Original.Max = Float(math.NaN()), Float(math.NaN())
	if e := s.bottom.first(); e != nil {
		m.Original.Min, m.Original.Max = Float(e.x), Float(s.top.first().x)
	}
	m.Released.Min, m.Released.Max = Float(s.low), Float(s.high)
	if m.Released.N == 0 {
		m.Released.Min, m.Released.Max = Float(math.NaN()), Float(math.NaN())
	}
	r.unchanged(c, &m)
	if column.Masked {
		m.Risk = r.risks(c)
		r.order(c, &m)
	}
	m.Histogram = histogram(r.data.original(c), r.data.released(c))
	return m
}

// moments of column i out of the given number of records, without extremes.
func (g *gram) moments(i int, records int64) Moments {
	c := g.at(i, i)
	m := Moments{N: int64(c.N), Nulls: records - int64(c.N), Mean: Float(math.NaN()), SD: Float(math.Sqrt(c.variance()))}
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
	square := func(g *gram) [][]Float {
		rows := make([][]Float, g.k)
		for i := range rows {
			rows[i] = make([]Float, g.k)
			for j := range rows[i] {
				c := g.between(i, j)
				rows[i][j] = Float(c.correlation())
			}
		}
		return rows
	}
	out.Original, out.Released = square(&a.original), square(&a.released)
	return out
}
