package assess

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/decimals"
	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/expectation"
	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
)

// expect prepares the expectations under the laws of the masks, for columns that have one, if
// there are more records than a replicate has. law returns the law of a column; nil if there
// is none.
func (r *reckoning) expect(law func(column string) Law) {
	r.expected = map[int]*expectation.Expectation{}
	if law == nil {
		return
	}
	for c, column := range r.a.opts.Columns {
		if !column.Masked {
			continue
		}
		if l := law(column.Name); l != nil {
			if s := r.spectrumOf(c); s.Total >= 1 {
				r.expected[c] = expectation.New(l, s, *r.a.original.At(c, c))
				r.expected[c].Unit = unitOf(r.data.Original(c))
			}
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

// spectrumOf returns the spectrum of a column, which is made once.
func (r *reckoning) spectrumOf(c int) *tally.Spectrum {
	if s := r.spectra[c]; s != nil {
		return s
	}
	x := cell.Present(r.data.Original(c))
	var s *tally.Spectrum
	if r.data.Complete || r.a.columns[c].counts == nil {
		x = slices.Clone(x)
		slices.Sort(x)
		s = tally.ExactSpectrum(x)
	} else {
		s = r.a.columns[c].counts.Spectrum(x, unitOf(x))
	}
	if r.spectra == nil {
		r.spectra = map[int]*tally.Spectrum{}
	}
	r.spectra[c] = s
	return s
}

// place finds the targets of every expectation and the distribution of their order statistics,
// on all cores.
func (r *reckoning) place(ctx context.Context) error {
	type task struct{ column, target int }
	var tasks []task
	r.ranks = map[int][]ranks{}
	for c, e := range r.expected {
		r.ranks[c] = make([]ranks, len(r.a.targets))
		x := r.data.Original(c)
		if slices.ContainsFunc(x, math.IsNaN) {
			x = cell.Present(x)
		}
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
			tasks = append(tasks, task{c, i})
		}
		e.Prepare()
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(tasks)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(tasks) {
					return
				}
				k := &r.ranks[tasks[i].column][tasks[i].target]
				k.square, k.spread, k.safe = r.expected[tasks[i].column].ByPosition(k.Target)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
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
