package assess

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
)

// exchangedShare is what the mean of (x−y)² of a release is of that of replicates
// of a sample, where a mask swaps: keys that several records of the data share may
// be unique in a sample, which makes candidates for exchange of records that are
// none. Both are means of (x−y)², the release's over all its records. Never
// above 1, so that R is not understated.
func exchangedShare(release, replicates float64) float64 {
	if !(replicates > 0) {
		return 1
	}
	return min(1, release/replicates)
}

// view is what risks are reckoned of: a column of all records or of a group.
type view struct {
	x, y    *comoment.Pair // original and released
	own     float64        // mean of (x−y)² of the release
	targets []found
	answers []replicate.Answer
	asked   bool // whether there are replicates
	column  int
}

// risks makes the table of risks of masked column c: R from replicates where
// there are any, else that of the release.
func (r *reckoning) risks(c int) []Risk {
	if e := r.expected[c]; e != nil {
		return r.expectedRisks(c, e)
	}
	s := &r.a.columns[c]
	v := view{x: r.a.original.At(c, c), y: r.a.released.At(c, c), own: s.squareDiff / float64(s.pairs), targets: r.targets[c], column: c}
	v.answers, v.asked = r.answers[c]
	list := r.risksOf(v)
	if r.tried {
		for i := range list {
			list[i].RealisedR = Float(math.NaN())
		}
	}
	return list
}

func (r *reckoning) risksOf(v view) []Risk {
	x, y, c, answers, asked := v.x, v.y, v.column, v.answers, v.asked
	population := x.Cii / x.N // (1/n) Σ(x_i − x̄)²
	var list []Risk
	// noise is the Monte-Carlo variance of expected.
	add := func(target, knowledge string, realised, expected, noise float64, sampled bool) {
		row := Risk{Target: target, Knowledge: knowledge, RealisedR: Float(estimate.Risk(realised)), Sampled: sampled, SE: Float(math.NaN())}
		row.R = row.RealisedR
		if asked {
			row.R, row.Replicates = Float(estimate.Risk(expected)), len(answers)
			row.SE = Float(estimate.StandardError(float64(row.R), noise))
		}
		row.RMSE = Float(math.Sqrt(1 / float64(row.R)))
		if r.partial && asked {
			// Which records a replicate's part of the sample holds is not in the error.
			row.Approximate, row.Errs = true, ErrsEither
		}
		list = append(list, row)
	}

	drift := y.Above(x)
	var means, squareDiff estimate.Squares
	for i := range answers {
		// Squares of roots, so that replicates without values drop out as elsewhere.
		squareDiff.Add(math.Sqrt(answers[i].SquareDiff))
		means.Add(answers[i].Mean - x.Mi)
	}
	typical, typicalNoise := population+means.Mean(), means.Noise(r.subsets)
	b := r.bias[c]
	if r.partial {
		typical = population + b.square + b.ofMean
		typicalNoise = b.squareNoise + b.ofMeanNoise
	}
	add(TargetTypical, KnowledgeMean, population+drift*drift, typical, typicalNoise, r.partial && asked)
	exchanged := 1.0 // what a replicate's mean of (x−y)² is to be multiplied by
	if r.partial && r.a.opts.Mixes {
		exchanged = exchangedShare(v.own, squareDiff.Mean())
	}
	add(TargetTypical, KnowledgeIndex, v.own, exchanged*squareDiff.Mean(), exchanged*exchanged*squareDiff.Noise(r.subsets), r.partial && asked)
	if r.exchanged(c) {
		r.typicalExchanged(c, &list[len(list)-1])
	}

	for t, f := range v.targets {
		var mean, index, position estimate.Squares
		for i := range answers {
			mean.Add(f.tau - answers[i].Mean)
			if f.record != nil {
				index.Add(f.record.X - answers[i].Linked[t])
			}
			position.Add(f.tau - answers[i].Position[t])
		}
		byMean, byPosition := mean.Mean(), position.Mean()
		meanNoise, positionNoise := mean.Noise(r.subsets), position.Noise(r.subsets)
		if r.partial && asked {
			d := x.Mi + b.mean - f.tau
			byMean = max(0, d*d-b.noise) + b.ofMean
			meanNoise = estimate.VarianceOfSquare(d*d-b.noise, b.noise) + b.ofMeanNoise
			if !f.target.Extremal() {
				estimates := make([]float64, len(answers))
				for i := range answers {
					estimates[i] = answers[i].Position[t]
				}
				s := estimate.SpreadOf(estimates, r.subsets)
				if f.counted {
					byPosition = f.positionSquare(s.Variance * r.share)
					positionNoise = f.positionSquareNoise(s.Noise() * s.N * r.share)
				} else {
					byPosition = s.MeanSquare(f.tau, r.share)
					positionNoise = s.MeanSquareNoise(f.tau, r.share)
				}
			}
		}
		linked := math.NaN() // x_t − y_t
		if f.record != nil {
			linked = f.record.X - f.record.Values[2*c+1]
		}
		square := func(d float64) float64 { return d * d }
		add(f.target.Name, KnowledgeMean, square(f.tau-y.Mi), byMean, meanNoise, r.partial && asked || f.sampled)
		add(f.target.Name, KnowledgeIndex, square(linked), exchanged*index.Mean(), exchanged*exchanged*index.Noise(r.subsets), f.sampled)
		if r.exchanged(c) {
			r.targetExchanged(c, &f, &list[len(list)-1])
		}
		add(f.target.Name, KnowledgePosition, square(f.tau-f.position), byPosition, positionNoise, r.partial && asked || f.sampled)
	}
	return list
}
