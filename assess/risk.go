package assess

import (
	"math"
	"slices"

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
	e := r.expected[c]
	if e != nil && len(r.answers[c]) == 0 {
		list := r.expectedRisks(c, e)
		stateErrors(list)
		return list
	}
	s := &r.a.columns[c]
	v := view{x: r.a.original.At(c, c), y: r.a.released.At(c, c), own: s.squareDiff / float64(s.pairs),
		targets: r.targets[c], column: c}
	v.answers, v.replicated = r.answers[c]
	list := r.risksOf(v)
	if e != nil { // of masks that move values of the whole column, only what is known by index takes replicates
		for i, row := range r.expectedRisks(c, e) {
			if row.Knowledge != KnowledgeIndex {
				list[i] = row
			}
		}
	}
	if r.candidate {
		for i := range list {
			list[i].RealisedR = Float(math.NaN())
		}
	}
	stateErrors(list)
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
	one, oneNoise := r.squareOf(v, &squareDiff)
	if r.partial && r.a.opts.Mixes {
		t.factor = exchangedShare(one, squareDiff.Mean())
	}
	t.add(TargetTypical, KnowledgeIndex, v.own, t.ofMean(one), oneNoise, r.partial && v.replicated)
	if r.exchanged(v.column) {
		r.typicalExchanged(v.column, t.last())
		t.atMost(t.last())
	}
	t.undo(-1, t.last())
	for i := range v.targets {
		t.target(i, b)
	}
	t.settle()
	return t.list
}

// squareOf returns the mean of (x−y)² over records, and the variance of that. If replicates are made on some of the
// records, the release is one draw of it over all of them.
func (r *reckoning) squareOf(v view, squareDiff *estimate.Squares) (square, noise float64) {
	square, noise = squareDiff.Mean(), squareDiff.Noise(r.subsets)
	if !r.partial || !v.replicated || r.candidate || r.group != nil {
		return square, noise
	}
	drawn := squareDiff.Noise(r.subsets) * float64(len(v.answers)) * r.share
	noise += r.choice(v.column, func(d float64) float64 { return d * d }) * r.unsampled()
	if r.a.opts.Mixes && v.own < square {
		return v.own, drawn
	}
	return together(v.own, drawn, square, noise)
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
	row := Risk{Target: target, Knowledge: knowledge, RealisedR: Float(estimate.Risk(realised)), Sampled: sampled,
		SE: Float(math.NaN())}
	row.R = row.RealisedR
	if t.of.replicated {
		row.R, row.Replicates = Float(estimate.Risk(expected)), len(t.of.answers)
		row.SE = Float(estimate.StandardError(float64(row.R), noise))
	}
	if !t.of.replicated {
		t.atMost(&row)
	}
	row.RMSE = Float(math.Sqrt(1 / float64(row.R)))
	if t.single && t.draws() {
		row.Approximate, row.Errs = true, ErrsEither // the release is one draw
		if target == TargetTypical || knowledge == KnowledgeMean {
			row.SE = Float(estimate.StandardError(float64(row.R), t.ofOneDraw(knowledge, realised)))
		}
	}
	if t.partial && t.of.replicated {
		// The error does not include the choice of the records in a replicate's part of the sample.
		row.Approximate, row.Errs = true, ErrsEither
	}
	t.list = append(t.list, row)
}

// ofOneDraw returns the variance over the masks of a mean squared error that one release shows: of the mean over all
// records of the squared change, or of the squared error of a mean that moves with a variance of at most that mean / n.
func (t *riskTable) ofOneDraw(knowledge string, square float64) float64 {
	n := t.of.x.N
	if knowledge == KnowledgeIndex {
		return varianceOfChange(t.data.Original(t.of.column), t.data.Released(t.of.column)) / n
	}
	return estimate.VarianceOfSquare(square, t.of.own/n)
}

// varianceOfChange returns the variance of (x − y)² over records.
func varianceOfChange(x, y []float64) float64 {
	var n, mean, square float64
	for i, v := range x {
		if d := v - y[i]; d == d {
			n++
			v := d*d - mean
			mean += v / n
			square += v * (d*d - mean)
		}
	}
	return square / (n - 1)
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
		d := max(0, math.Abs(x.Mi+b.mean-f.tau)-f.slack)
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
	t.add(f.target.Name, KnowledgeMean, square(f.tau-t.of.y.Mi), byMean, meanNoise, t.partial && t.of.replicated ||
		f.sampled)
	t.released(&f, math.Abs(f.tau-t.of.y.Mi), f.slack)
	t.add(f.target.Name, KnowledgeIndex, square(linked), t.factor*byIndex, t.factor*t.factor*indexNoise, f.sampled)
	t.released(&f, 0, math.Inf(1))
	if t.exchanged(c) {
		t.targetExchanged(c, &f, t.last())
		t.atMost(t.last())
	}
	part := t.partial && t.of.replicated && !t.brief && t.group == nil
	if of := &t.a.opts.Columns[c]; part && (of.Undoing.moves() || of.Fitted) {
		t.last().bound(0) // which values the record may get depends on the ranks of all records, or on a model of them
	} else if of.Elsewhere && f.sampled && !f.exact && !t.exchanged(c) && !t.brief && !t.candidate && t.group == nil {
		t.last().bound(0) // the record of the sample that is nearest says nothing of what a mask does to the target's
	} else {
		t.undo(i, t.last())
	}
	t.add(f.target.Name, KnowledgePosition, square(f.tau-f.position), byPosition, positionNoise, t.partial &&
		t.of.replicated || f.sampled)
	t.released(&f, math.Abs(f.tau-f.position), f.slack+f.slackOut)
	if part && f.target.Extremal() && t.a.opts.Columns[c].Fitted {
		t.last().bound(0) // a model of a part does not draw the extremes of that of all records
	}
}

// released corrects the last row where this release does not tell its figures: it shows |τ − τ̂| as apart, which may be
// wrong by slack, and is one draw if masks draw. R is then no less than the one stated, or infinite.
func (t *riskTable) released(f *located, apart, slack float64) {
	if t.group != nil || t.candidate || t.of.x.N == 0 {
		return
	}
	row := t.last()
	unknown := !f.exact && slack > 0 || row.Knowledge == KnowledgePosition && f.slackOut > 0
	if unknown {
		row.realise(f, apart, slack)
	}
	switch {
	case t.of.replicated:
		return
	case t.single && !t.brief && row.Knowledge != KnowledgeMean && t.draws(): // one draw bounds no expectation
		row.bound(0)
	case unknown && slack > 0:
		row.bound(max(0, apart-slack))
		t.atMost(row)
	}
}

// bound sets R to the greatest that it can be if the snooper's error is at least a distance.
func (row *Risk) bound(distance float64) {
	row.set(distance*distance, 0)
	row.SE = Float(math.NaN()) // of a bound there is none
	row.Approximate, row.Errs = true, ErrsSafe
}

// draws reports whether masks draw for the column.
func (t *riskTable) draws() bool {
	of := t.a.opts.Draws
	return of == nil || of(t.a.opts.Columns[t.of.column].Name)
}

// settle makes an upper bound of what replicates of some of the records do not show to vary: these figures have no
// standard error, and are not exact. The released value of the target's record, or of its rank, may vary too rarely to
// be seen: R is infinite. The extreme of fewer records lies no farther from that of the originals.
func (t *riskTable) settle() {
	for i := range t.list {
		row := &t.list[i]
		known := row.SE > 0 || math.IsInf(float64(row.R), 1) || row.R == 0 || row.R != row.R
		if row.Errs != ErrsEither || known || t.brief || row.Target == TargetTypical || row.Knowledge == KnowledgeMean {
			continue
		}
		f := t.targetNamed(row.Target)
		switch {
		case row.Knowledge == KnowledgePosition && (f.target.Extremal() || f.counted && !t.draws()):
			row.SE, row.Errs = Float(math.NaN()), ErrsSafe
		case f.exact && !t.draws():
			row.Approximate, row.Errs = false, ""
		default:
			row.bound(0)
		}
	}
}

func (t *riskTable) targetNamed(name string) *located {
	i := slices.IndexFunc(t.of.targets, func(f located) bool { return f.target.Name == name })
	return &t.of.targets[i]
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
