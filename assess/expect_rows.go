package assess

import (
	"context"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/decimals"
	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/expectation"
	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// columnsInMemory is the number of columns whose expectations are in memory at once, with a value for
// every record of the sample.
const columnsInMemory = 8

// columnLaw is the law of a masked column.
type columnLaw struct {
	column int
	law    Law
}

// laws returns the laws of the masked columns that have one; law returns that of a column, nil if
// there is none.
func (r *reckoning) laws(law func(column string) Law) (list []columnLaw) {
	for c, column := range r.a.opts.Columns {
		if !column.Masked || law == nil {
			continue
		}
		if l := law(column.Name); l != nil {
			list = append(list, columnLaw{c, l})
		}
	}
	return list
}

// foresee computes the expectations under the laws of the masks and finds the targets, some columns
// at a time, on all cores. It is for columns with more records than a replicate has.
func (r *reckoning) foresee(ctx context.Context, laws []columnLaw) error {
	r.expected, r.ranks = map[int]*expectation.Expectation{}, map[int][]ranks{}
	if r.spectra == nil {
		r.spectra = make([]*tally.Spectrum, len(r.a.opts.Columns))
	}
	for part := range slices.Chunk(laws, columnsInMemory) {
		if err := r.place(ctx, r.expect(part)); err != nil {
			return err
		}
		for _, l := range part {
			if e := r.expected[l.column]; e != nil {
				e.Settle()
			}
			if !r.candidate { // for a candidate, other masks will be tried on the same columns
				r.spectra[l.column] = nil
			}
		}
	}
	return nil
}

// expect computes the expectations of some columns, and returns the columns that have values.
func (r *reckoning) expect(laws []columnLaw) (columns []int) {
	found := make([]*expectation.Expectation, len(laws))
	cores.Each(len(laws), func(i int) {
		c := laws[i].column
		unit := unitOf(r.data.Original(c))
		if s := r.spectrumOf(c, unit); s.Total >= 1 {
			found[i] = expectation.New(laws[i].law, s, *r.a.original.At(c, c))
			found[i].Unit = unit
			found[i].Shared = r.a.opts.Columns[c].Shared || r.repeats
		}
	})
	for i, e := range found {
		if e != nil {
			columns = append(columns, laws[i].column)
			r.expected[laws[i].column] = e
		}
	}
	return columns
}

// unitOf returns the unit of the last decimal of values; 0 if they are not on a decimal grid.
func unitOf(values []float64) float64 {
	if d := decimals.Of(values, 0); d >= 0 {
		return math.Pow10(-d)
	}
	return 0
}

// spectrumOf returns the spectrum of a column, which is computed once. unit is that of its values.
func (r *reckoning) spectrumOf(c int, unit float64) *tally.Spectrum {
	if s := r.spectra[c]; s != nil {
		return s
	}
	x := cell.Present(r.data.Original(c))
	var s *tally.Spectrum
	if r.data.Complete || r.a.columns[c].counts == nil {
		x = slices.Clone(x)
		rank.Sort(x)
		s = tally.ExactSpectrum(x)
	} else {
		s = r.a.columns[c].counts.Spectrum(x, unit)
	}
	r.spectra[c] = s
	return s
}

// place finds the targets of the expectations of columns, and the distribution of their order
// statistics.
func (r *reckoning) place(ctx context.Context, columns []int) error {
	for _, c := range columns {
		r.ranks[c] = make([]ranks, len(r.a.targets))
	}
	cores.Each(len(columns), func(i int) { r.seek(columns[i]) })
	cores.Each(len(columns)*len(r.a.targets), func(i int) {
		if ctx.Err() != nil {
			return
		}
		c := columns[i/len(r.a.targets)]
		k := &r.ranks[c][i%len(r.a.targets)]
		k.square, k.spread, k.safe = r.expected[c].ByPosition(k.Target)
	})
	return ctx.Err()
}

// seek finds the targets of a column with an expectation.
func (r *reckoning) seek(c int) {
	e := r.expected[c]
	x := cell.Present(r.data.Original(c))
	t := new(tally.Tally)
	if counts := r.a.columns[c].counts; counts != nil && !r.data.Complete {
		t = &counts.X // without counts the spectrum has every value
	}
	for i, target := range r.a.targets {
		k := target.Rank(int(e.Of.Total))
		if target.Maximum() {
			k = int(e.Of.Total)
		}
		r.ranks[c][i].Target = e.Seek(k, t, x)
	}
	e.Prepare()
}

// expectedRisks returns the table of risks of a column whose masks have a known law.
func (r *reckoning) expectedRisks(c int, e *expectation.Expectation) []Risk {
	s, y := &r.a.columns[c], r.a.released.At(c, c)
	population := e.X.Cii / e.X.N
	sampled := e.Sampled
	var list []Risk
	add := func(target, knowledge string, realised, square, noise float64, sampled, safe bool) {
		row := Risk{Target: target, Knowledge: knowledge, RealisedR: Float(estimate.Risk(realised)),
			R:          Float(estimate.Risk(square)),
			Replicates: r.a.opts.Replicates, Sampled: sampled, Approximate: safe}
		if r.candidate {
			row.RealisedR = Float(math.NaN())
		}
		if safe {
			row.Errs = ErrsSafe
		}
		row.SE = Float(estimate.StandardError(float64(row.R), noise))
		row.RMSE = Float(math.Sqrt(1 / float64(row.R)))
		list = append(list, row)
	}
	squareOf := func(d float64) float64 { return d * d }
	drift := y.Above(&e.X)
	add(TargetTypical, KnowledgeMean, population+drift*drift, population+e.Bias*e.Bias+e.OfMean,
		estimate.VarianceOfSquare(e.Bias*e.Bias, e.BiasNoise), sampled, false)
	own := s.squareDiff / float64(s.pairs)
	add(TargetTypical, KnowledgeIndex, own, e.Typical, e.TypicalNoise, sampled, false)
	if row := &list[len(list)-1]; r.exchanged(c) && !r.typicalExchanged(c, row) {
		r.typicalReleased(c, own, row)
	}
	for t, f := range r.targets[c] {
		k := r.ranks[c][t]
		square, noise := e.ByMean(k.Tau, k.Noise)
		add(f.target.Name, KnowledgeMean, squareOf(f.tau-y.Mi), square, noise, sampled || !k.Exact, false)
		list[len(list)-1].realise(&f, math.Abs(f.tau-y.Mi), f.slack)
		square, safe := e.ByIndex(k.Target)
		linked := math.NaN() // (x_t − y_t)²
		switch {
		case f.exact && f.record != nil:
			linked = squareOf(f.record.X - f.record.Values[2*c+1])
		case e.Fixed() && !r.exchanged(c) && !safe:
			linked = square
		}
		add(f.target.Name, KnowledgeIndex, linked, square, 0, !k.Exact, safe)
		if r.exchanged(c) {
			r.targetExchanged(c, &f, &list[len(list)-1])
		}
		add(f.target.Name, KnowledgePosition, squareOf(f.tau-f.position), k.square, k.spread, sampled || !k.Exact, k.safe)
		row := &list[len(list)-1]
		if row.realise(&f, math.Abs(f.tau-f.position), f.slack+f.slackOut); e.Fixed() && !k.safe {
			row.RealisedR = row.R // nothing is drawn
		}
	}
	return list
}

// realise leaves out the realised R where it is not known: |τ − τ̂| is apart, and may be wrong by slack.
func (row *Risk) realise(f *located, apart, slack float64) {
	if (!f.exact || slack > 0) && slack > 0.02*apart {
		row.RealisedR = Float(math.NaN())
	}
}
