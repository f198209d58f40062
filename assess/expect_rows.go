package assess

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// expect prepares what the laws of the masks make of the columns that have one, where
// there are more records than a replicate is made of. law gives the law of a
// column, nil where there is none.
func (r *reckoning) expect(law func(column string) Law) {
	r.expected = map[int]*expectation{}
	if law == nil {
		return
	}
	for c, column := range r.a.opts.Columns {
		if !column.Masked {
			continue
		}
		if l := law(column.Name); l != nil {
			if s := r.spectrumOf(c); s.total >= 1 {
				r.expected[c] = newExpectation(l, s, *r.a.original.at(c, c))
				r.expected[c].unit = unitOf(r.data.original(c))
			}
		}
	}
}

// unitOf returns the last decimal that values show, 0 where they show none.
func unitOf(values []float64) float64 {
	if d := decimalsOf(values, 0); d >= 0 {
		return math.Pow10(-d)
	}
	return 0
}

// spectrumOf returns the spectrum of a column, which is made once.
func (r *reckoning) spectrumOf(c int) *spectrum {
	if s := r.spectra[c]; s != nil {
		return s
	}
	x := withValue(r.data.original(c))
	var s *spectrum
	if r.data.complete || r.a.columns[c].x == nil {
		x = slices.Clone(x)
		slices.Sort(x)
		s = exactSpectrum(x)
	} else {
		of := &r.a.columns[c]
		s = spectrumOf(of.x, &of.least, &of.most, x, unitOf(x))
	}
	if r.spectra == nil {
		r.spectra = map[int]*spectrum{}
	}
	r.spectra[c] = s
	return s
}

// place finds the targets of every expectation and what becomes of their order
// statistics, on all cores.
func (r *reckoning) place(ctx context.Context) error {
	type task struct{ column, target int }
	var tasks []task
	r.ranks = map[int][]ranks{}
	for c, e := range r.expected {
		r.ranks[c] = make([]ranks, len(r.a.targets))
		x := r.data.original(c)
		if slices.ContainsFunc(x, math.IsNaN) {
			x = withValue(x)
		}
		t := r.a.columns[c].x
		if t == nil || r.data.complete {
			t = new(tally) // the spectrum has every value
		}
		for i, target := range r.a.targets {
			k := target.rank(int(e.of.total))
			if target.maximum() {
				k = int(e.of.total)
			}
			r.ranks[c][i].sought = e.seek(k, t, x)
			tasks = append(tasks, task{c, i})
		}
		e.prepare()
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
				k.square, k.spread, k.safe = r.expected[tasks[i].column].byPosition(k.sought)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// expectedRisks makes the table of risks of a column of which the masks' law is known.
func (r *reckoning) expectedRisks(c int, e *expectation) []Risk {
	s, y := &r.a.columns[c], r.a.released.at(c, c)
	population := e.x.Cii / e.x.N
	sampled := e.of.sampled()
	var list []Risk
	add := func(target, knowledge string, realised, square, noise float64, sampled, safe bool) {
		row := Risk{Target: target, Knowledge: knowledge, RealisedR: Float(riskOf(realised)), R: Float(riskOf(square)),
			Replicates: r.a.opts.Replicates, Sampled: sampled, Approximate: safe}
		if r.tried {
			row.RealisedR = Float(math.NaN())
		}
		if safe {
			row.Errs = ErrsSafe
		}
		row.SE = Float(standardError(float64(row.R), noise))
		row.RMSE = Float(math.Sqrt(1 / float64(row.R)))
		list = append(list, row)
	}
	squareOf := func(d float64) float64 { return d * d }
	drift := y.above(&e.x)
	add(TargetTypical, KnowledgeMean, population+drift*drift, population+e.bias*e.bias+e.ofMean, varianceOfSquare(e.bias*e.bias, e.biasNoise), sampled, false)
	own := s.squareDiff / float64(s.pairs)
	add(TargetTypical, KnowledgeIndex, own, e.typical, e.typicalNoise, sampled, false)
	if row := &list[len(list)-1]; r.exchanged(c) && !r.typicalExchanged(c, row) {
		r.typicalReleased(c, own, row)
	}
	for t, f := range r.targets[c] {
		k := r.ranks[c][t]
		linked := math.NaN() // x_t − y_t
		if f.record != nil {
			linked = f.record.x - f.record.values[2*c+1]
		}
		square, noise := e.byMean(k.tau, k.noise)
		add(f.target.name, KnowledgeMean, squareOf(f.tau-y.Mi), square, noise, sampled || !k.exact, false)
		square, safe := e.byIndex(k.sought)
		add(f.target.name, KnowledgeIndex, squareOf(linked), square, 0, !k.exact, safe)
		if r.exchanged(c) {
			r.targetExchanged(c, &f, &list[len(list)-1])
		}
		add(f.target.name, KnowledgePosition, squareOf(f.tau-f.position), k.square, k.spread, sampled || !k.exact, k.safe)
	}
	return list
}
