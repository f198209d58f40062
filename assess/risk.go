package assess

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
)

// exchangedShare returns the release's mean of (x−y)² over all records, divided by that of
// replicates of a sample, for masks that swap: keys that several records of the data share may
// be unique in a sample, so that records become candidates for an exchange there that are
// none in the data. It is at most 1, so that R is not understated.
func exchangedShare(release, replicates float64) float64 {
	if !(replicates > 0) {
		return 1
	}
	return min(1, release/replicates)
}

// view is the data for which risks are computed: a column of all records or of a group.
type view struct {
	x, y       *comoment.Pair // original and released
	own        float64        // mean of (x−y)² of the release
	targets    []located
	answers    []replicate.Answer
	replicated bool // whether there are replicates
	column     int
}

// risks returns the table of risks of masked column c: R from replicates if there are any,
// otherwise that of the release.
func (r *reckoning) risks(c int) []Risk {
	if e := r.expected[c]; e != nil {
		return r.expectedRisks(c, e)
	}
	s := &r.a.columns[c]
	v := view{x: r.a.original.At(c, c), y: r.a.released.At(c, c), own: s.squareDiff / float64(s.pairs), targets: r.targets[c], column: c}
	v.answers, v.replicated = r.answers[c]
	list := r.risksOf(v)
	if r.candidate {
		for i := range list {
			list[i].RealisedR = Float(math.NaN())
		}
	}
	return list
}

// risksOf computes the table of risks of a view: for the typical record, and for each target.
func (r *reckoning) risksOf(v view) []Risk {
	t := &riskTable{reckoning: r, of: v, factor: 1, copies: float64(r.copies(v.column))}
	x := v.x
	population := x.Cii / x.N // (1/n) Σ(x_i − x̄)²
	drift := v.y.Above(x)
	var means, squareDiff estimate.Squares
	for i := range v.answers {
		// Add squares its argument, and ignores NaN from replicates without values.
		squareDiff.Add(math.Sqrt(v.answers[i].SquareDiff))
		means.Add(v.answers[i].Mean - x.Mi)
	}
	typical, typicalNoise := population+means.Mean(), means.Noise(r.subsets)
	b := r.bias[v.column]
	if t.m() > 1 {
		of := estimate.SpreadOf(meansOf(v.answers), r.subsets)
		typical, typicalNoise = population+of.MeanSquare(x.Mi, 1/t.m()), of.MeanSquareNoise(x.Mi, 1/t.m())
	}
	if r.partial {
		typical = population + b.square + b.ofMean/t.m()
		typicalNoise = b.squareNoise + b.ofMeanNoise/(t.m()*t.m())
	}
	t.add(TargetTypical, KnowledgeMean, population+drift*drift, typical, typicalNoise, r.partial && v.replicated)
	if r.partial && r.a.opts.Mixes {
		t.factor = exchangedShare(v.own, squareDiff.Mean())
	}
	one := squareDiff.Mean()
	t.add(TargetTypical, KnowledgeIndex, v.own, t.factor*t.ofMean(one), t.factor*t.factor*squareDiff.Noise(r.subsets), r.partial && v.replicated)
	if r.exchanged(v.column) {
		r.typicalExchanged(v.column, t.last())
		t.atMost(t.last())
	}
	t.undo(-1, t.last())
	for i := range v.targets {
		t.target(i, b)
	}
	return t.list
}

// riskTable is the risks of a view, row by row.
type riskTable struct {
	*reckoning
	of     view
	factor float64 // factor for a replicate's mean of (x−y)²
	copies float64 // number of releases that a snooper has, each with draws of its own
	list   []Risk

	correlation float64 // of original and released values, where a snooper undoes moves of the whole column
}

func (t *riskTable) last() *Risk { return &t.list[len(t.list)-1] }

// add adds a row; noise is the Monte-Carlo variance of expected.
func (t *riskTable) add(target, knowledge string, realised, expected, noise float64, sampled bool) {
	row := Risk{Target: target, Knowledge: knowledge, RealisedR: Float(estimate.Risk(realised)), Sampled: sampled, SE: Float(math.NaN())}
	row.R = row.RealisedR
	if t.of.replicated {
		row.R, row.Replicates = Float(estimate.Risk(expected)), len(t.of.answers)
		row.SE = Float(estimate.StandardError(float64(row.R), noise))
	}
	if !t.of.replicated {
		t.atMost(&row)
	}
	row.RMSE = Float(math.Sqrt(1 / float64(row.R)))
	if t.single {
		row.Approximate, row.Errs = true, ErrsEither // the release is one draw
	}
	if t.partial && t.of.replicated {
		// The error does not include the choice of the records in a replicate's part of the sample.
		row.Approximate, row.Errs = true, ErrsEither
	}
	t.list = append(t.list, row)
}

// target adds the rows of the i-th target; b is the bias of the column's mean.
func (t *riskTable) target(i int, b bias) {
	f, x, c, answers := t.of.targets[i], t.of.x, t.of.column, t.of.answers
	var mean, index, position estimate.Squares
	for m := range answers {
		mean.Add(f.tau - answers[m].Mean)
		if f.record != nil {
			index.Add(f.record.X - answers[m].Linked[i])
		}
		position.Add(f.tau - answers[m].Position[i])
	}
	byMean, byPosition := mean.Mean(), position.Mean()
	meanNoise, positionNoise := mean.Noise(t.subsets), position.Noise(t.subsets)
	byIndex, indexNoise := index.Mean(), index.Noise(t.subsets)
	if t.m() > 1 {
		byMean, meanNoise = t.meanOfCopies(f.tau, meansOf(answers))
		byPosition, positionNoise = t.meanOfCopies(f.tau, targetOf(answers, i, false))
		if f.record != nil {
			byIndex, indexNoise = t.meanOfCopies(f.record.X, targetOf(answers, i, true))
		}
	}
	if t.partial && t.of.replicated {
		d := x.Mi + b.mean - f.tau
		byMean = max(0, d*d-b.noise) + b.ofMean/t.m()
		meanNoise = estimate.VarianceOfSquare(d*d-b.noise, b.noise) + b.ofMeanNoise/(t.m()*t.m())
		if !f.target.Extremal() {
			byPosition, positionNoise = t.positionOnParts(i, &f)
		}
	}
	linked := math.NaN() // x_t − y_t
	if f.record != nil {
		linked = f.record.X - f.record.Values[2*c+1]
	}
	square := func(d float64) float64 { return d * d }
	t.add(f.target.Name, KnowledgeMean, square(f.tau-t.of.y.Mi), byMean, meanNoise, t.partial && t.of.replicated || f.sampled)
	t.add(f.target.Name, KnowledgeIndex, square(linked), t.factor*byIndex, t.factor*t.factor*indexNoise, f.sampled)
	if t.exchanged(c) {
		t.targetExchanged(c, &f, t.last())
		t.atMost(t.last())
	}
	t.undo(i, t.last())
	t.add(f.target.Name, KnowledgePosition, square(f.tau-f.position), byPosition, positionNoise, t.partial && t.of.replicated || f.sampled)
}

// positionOnParts returns E(τ−τ̂)² of the i-th target known by its position, and the variance
// of that, if replicates are made on parts of the records.
func (t *riskTable) positionOnParts(i int, f *located) (square, noise float64) {
	s := estimate.SpreadOf(targetOf(t.of.answers, i, false), t.subsets)
	if f.counted {
		own := s.Variance * t.share
		return f.positionSquare(own) - own + own/t.m(), f.positionSquareNoise(s.Noise() * s.N * t.share)
	}
	return s.MeanSquare(f.tau, t.share/t.m()), s.MeanSquareNoise(f.tau, t.share/t.m())
}
