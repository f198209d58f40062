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
	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// expect prepares the expectations under the laws of the masks, for columns that have one, if
// there are more records than a replicate has. law returns the law of a column; nil if there
// is none.
func (r *reckoning) expect(law func(column string) Law) {
	r.expected = map[int]*expectation.Expectation{}
	if law == nil {
		return
	}
	var columns []int
	var laws []Law
	for c, column := range r.a.opts.Columns {
		if !column.Masked {
			continue
		}
		if l := law(column.Name); l != nil {
			columns, laws = append(columns, c), append(laws, l)
		}
	}
	if r.spectra == nil {
		r.spectra = make([]*tally.Spectrum, len(r.a.opts.Columns))
	}
	found := make([]*expectation.Expectation, len(columns))
	onCores(len(columns), func(i int) {
		c := columns[i]
		unit := unitOf(r.data.Original(c))
		if s := r.spectrumOf(c, unit); s.Total >= 1 {
			found[i] = expectation.New(laws[i], s, *r.a.original.At(c, c))
			found[i].Unit = unit
		}
	})
	for i, c := range columns {
		if found[i] != nil {
			r.expected[c] = found[i]
		}
	}
}

// unitOf returns the last decimal that values show, 0 where they show none.
func unitOf(values []float64) float64 {
	if d := decimals.Of(values, 0); d >= 0 {
		return math.Pow10(-d)
	}
	return 0
}

// spectrumOf returns the spectrum of a column, which is made once. unit is that of its values.
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

// place finds the targets of every expectation and the distribution of their order statistics,
// on all cores.
func (r *reckoning) place(ctx context.Context) error {
	r.ranks = map[int][]ranks{}
	var columns []int
	for c := range r.a.opts.Columns {
		if r.expected[c] != nil {
			columns = append(columns, c)
			r.ranks[c] = make([]ranks, len(r.a.targets))
		}
	}
	onCores(len(columns), func(i int) { r.seek(columns[i]) })
	onCores(len(columns)*len(r.a.targets), func(i int) {
		if ctx.Err() != nil {
			return
		}
		c := columns[i/len(r.a.targets)]
		k := &r.ranks[c][i%len(r.a.targets)]
		k.square, k.spread, k.safe = r.expected[c].ByPosition(k.Target)
	})
	return ctx.Err()
}

// seek finds the targets of a column that has an expectation.
func (r *reckoning) seek(c int) {
	e := r.expected[c]
	x := cell.Present(r.data.Original(c))
	t := new(tally.Tally)
	if counts := r.a.columns[c].counts; counts != nil && !r.data.Complete {
		t = &counts.X // else the spectrum has every value
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

// expectedRisks makes the table of risks of a column of which the masks' law is known.
func (r *reckoning) expectedRisks(c int, e *expectation.Expectation) []Risk {
	s, y := &r.a.columns[c], r.a.released.At(c, c)
	population := e.X.Cii / e.X.N
	sampled := e.Of.Sampled()
	var list []Risk
	add := func(target, knowledge string, realised, square, noise float64, sampled, safe bool) {
		row := Risk{Target: target, Knowledge: knowledge, RealisedR: Float(estimate.Risk(realised)), R: Float(estimate.Risk(square)),
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
	add(TargetTypical, KnowledgeMean, population+drift*drift, population+e.Bias*e.Bias+e.OfMean, estimate.VarianceOfSquare(e.Bias*e.Bias, e.BiasNoise), sampled, false)
	own := s.squareDiff / float64(s.pairs)
	add(TargetTypical, KnowledgeIndex, own, e.Typical, e.TypicalNoise, sampled, false)
	if row := &list[len(list)-1]; r.exchanged(c) && !r.typicalExchanged(c, row) {
		r.typicalReleased(c, own, row)
	}
	for t, f := range r.targets[c] {
		k := r.ranks[c][t]
		linked := math.NaN() // x_t − y_t
		if f.record != nil {
			linked = f.record.X - f.record.Values[2*c+1]
		}
		square, noise := e.ByMean(k.Tau, k.Noise)
		add(f.target.Name, KnowledgeMean, squareOf(f.tau-y.Mi), square, noise, sampled || !k.Exact, false)
		square, safe := e.ByIndex(k.Target)
		add(f.target.Name, KnowledgeIndex, squareOf(linked), square, 0, !k.Exact, safe)
		if r.exchanged(c) {
			r.targetExchanged(c, &f, &list[len(list)-1])
		}
		add(f.target.Name, KnowledgePosition, squareOf(f.tau-f.position), k.square, k.spread, sampled || !k.Exact, k.safe)
	}
	return list
}
