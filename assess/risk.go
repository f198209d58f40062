package assess

import (
	"math"
)

// riskOf is R = 1/E(τ−τ̂)² for a mean squared error; +Inf where the error is 0.
func riskOf(mse float64) float64 {
	if mse == 0 {
		return math.Inf(1)
	}
	return 1 / mse
}

// squares collects (τ − τ̂_m)² over replicates; estimates that are missing
// (NaN) are left out.
type squares struct {
	n, sum float64
	each   []float64 // NaN where missing
}

func (s *squares) add(d float64) {
	s.each = append(s.each, d*d)
	if d == d {
		s.n++
		s.sum += d * d
	}
}

func (s *squares) mean() float64 { return s.sum / s.n } // NaN where there are none

// noise is the Monte-Carlo variance of the mean over replicates that went round
// the subsets, NaN of fewer than two.
func (s *squares) noise(subsets int) float64 { return spreadOf(s.each, subsets).noise() }

// spread is an estimator's mean over replicates and its variance within the
// subsets on which replicates were made, with that variance's degrees of freedom.
type spread struct{ mean, variance, n, freedom float64 }

// noise is the Monte-Carlo variance of the mean, NaN where one replicate shows
// none.
func (s spread) noise() float64 {
	if s.freedom == 0 {
		return math.NaN()
	}
	return s.variance / s.n
}

// varianceNoise is the Monte-Carlo variance of the variance, of estimates that are
// near normal; NaN where one replicate shows none.
func (s spread) varianceNoise() float64 {
	if s.freedom == 0 {
		return math.NaN()
	}
	return 2 * s.variance * s.variance / s.freedom
}

// varianceOfSquare is that of the square of a normal variable, of which the square
// of the mean is estimated as square: 4·square·variance + 2·variance².
func varianceOfSquare(square, variance float64) float64 {
	return 4*max(0, square)*variance + 2*variance*variance
}

// standardError of 1/q by the delta method: (1/q)²·√variance of q; NaN where
// 1/q is infinite.
func standardError(reciprocal, variance float64) float64 {
	if math.IsInf(reciprocal, 1) {
		return math.NaN()
	}
	return reciprocal * (reciprocal * math.Sqrt(variance))
}

// spreadOf takes the estimates of replicates 1 …, which went round the subsets
// in turn. The mean gives every subset the same weight; the variance is that
// within subsets, as the differences between subsets cancel in the mean.
func spreadOf(estimates []float64, subsets int) spread {
	var out spread
	var within, used float64
	for o := range min(subsets, len(estimates)) {
		n, mean, c := 0.0, 0.0, 0.0
		for i := o; i < len(estimates); i += subsets {
			v := estimates[i]
			if v != v {
				continue
			}
			n++
			d := v - mean
			mean += d / n
			c += d * (v - mean)
		}
		if n == 0 {
			continue
		}
		used++
		out.n += n
		out.mean += (mean - out.mean) / used
		within += c
		out.freedom += n - 1
	}
	switch {
	case used == 0:
		out.mean, out.variance = math.NaN(), math.NaN()
	case out.freedom > 0:
		out.variance = within / out.freedom
	case subsets > 1 && len(estimates) > 1:
		// One replicate a subset: the variance between subsets is all there is, and
		// is no smaller.
		return spreadOf(estimates, 1)
	}
	return out
}

// meanSquare is E(τ−τ̂)² = bias² + variance of an estimator on n records, from
// replicates on subsets of size records: the variance of a mean or a quantile
// falls as 1/n. The square of the observed bias is too large by the Monte-Carlo
// variance of the mean of the replicates, which is taken off. Both make R
// larger than the replicates alone would have it.
func (s spread) meanSquare(tau, share float64) float64 {
	bias := s.mean - tau
	return max(0, bias*bias-s.variance/s.n) + s.variance*share
}

// meanSquareNoise is the Monte-Carlo variance of meanSquare.
func (s spread) meanSquareNoise(tau, share float64) float64 {
	bias := s.mean - tau
	return varianceOfSquare(bias*bias-s.noise(), s.noise()) + s.varianceNoise()*share*share
}

// found is what is known of a target before any replicate.
type found struct {
	target target
	tau    float64
	record *extreme // holds it, or of the sample what is nearest; nil where the column has no values
	// position is y_(k) of the release, sampled whether the record that holds τ is
	// one of the sample, counted whether τ and y_(k) are those of all records.
	position float64
	sampled  bool
	counted  bool
}

// positionSquare is E(τ−τ̂)² of a target known by its position, Duncan et al.
// (2004) eq. 6, from the release's own order statistic and its variance over the
// randomness of the mask: over all records the square of their difference is
// the square of the bias, and that variance, which is all but nothing beside it
// unless the bias is.
func (f *found) positionSquare(variance float64) float64 {
	d := f.position - f.tau
	return max(0, d*d-variance) + variance
}

// positionSquareNoise is the variance of positionSquare over the randomness of the
// mask: the release is one draw.
func (f *found) positionSquareNoise(variance float64) float64 {
	d := f.position - f.tau
	return varianceOfSquare(d*d-variance, variance)
}

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
	x, y    *comoment // original and released
	own     float64   // mean of (x−y)² of the release
	targets []found
	answers []answer
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
	v := view{x: r.a.original.at(c, c), y: r.a.released.at(c, c), own: s.squareDiff / float64(s.pairs), targets: r.targets[c], column: c}
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
		row := Risk{Target: target, Knowledge: knowledge, RealisedR: Float(riskOf(realised)), Sampled: sampled, SE: Float(math.NaN())}
		row.R = row.RealisedR
		if asked {
			row.R, row.Replicates = Float(riskOf(expected)), len(answers)
			row.SE = Float(standardError(float64(row.R), noise))
		}
		row.RMSE = Float(math.Sqrt(1 / float64(row.R)))
		if r.partial && asked {
			// Which records a replicate's part of the sample holds is not in the error.
			row.Approximate, row.Errs = true, ErrsEither
		}
		list = append(list, row)
	}

	drift := y.above(x)
	var means, squareDiff squares
	for i := range answers {
		// Squares of roots, so that replicates without values drop out as elsewhere.
		squareDiff.add(math.Sqrt(answers[i].squareDiff))
		means.add(answers[i].mean - x.Mi)
	}
	typical, typicalNoise := population+means.mean(), means.noise(r.subsets)
	b := r.bias[c]
	if r.partial {
		typical = population + b.square + b.ofMean
		typicalNoise = b.squareNoise + b.ofMeanNoise
	}
	add(TargetTypical, KnowledgeMean, population+drift*drift, typical, typicalNoise, r.partial && asked)
	exchanged := 1.0 // what a replicate's mean of (x−y)² is to be multiplied by
	if r.partial && r.a.opts.Mixes {
		exchanged = exchangedShare(v.own, squareDiff.mean())
	}
	add(TargetTypical, KnowledgeIndex, v.own, exchanged*squareDiff.mean(), exchanged*exchanged*squareDiff.noise(r.subsets), r.partial && asked)
	if r.exchanged(c) {
		r.typicalExchanged(c, &list[len(list)-1])
	}

	for t, f := range v.targets {
		var mean, index, position squares
		for i := range answers {
			mean.add(f.tau - answers[i].mean)
			if f.record != nil {
				index.add(f.record.x - answers[i].linked[t])
			}
			position.add(f.tau - answers[i].position[t])
		}
		byMean, byPosition := mean.mean(), position.mean()
		meanNoise, positionNoise := mean.noise(r.subsets), position.noise(r.subsets)
		if r.partial && asked {
			d := x.Mi + b.mean - f.tau
			byMean = max(0, d*d-b.noise) + b.ofMean
			meanNoise = varianceOfSquare(d*d-b.noise, b.noise) + b.ofMeanNoise
			if !f.target.extremal() {
				estimates := make([]float64, len(answers))
				for i := range answers {
					estimates[i] = answers[i].position[t]
				}
				s := spreadOf(estimates, r.subsets)
				if f.counted {
					byPosition = f.positionSquare(s.variance * r.share)
					positionNoise = f.positionSquareNoise(s.noise() * s.n * r.share)
				} else {
					byPosition = s.meanSquare(f.tau, r.share)
					positionNoise = s.meanSquareNoise(f.tau, r.share)
				}
			}
		}
		linked := math.NaN() // x_t − y_t
		if f.record != nil {
			linked = f.record.x - f.record.values[2*c+1]
		}
		square := func(d float64) float64 { return d * d }
		add(f.target.name, KnowledgeMean, square(f.tau-y.Mi), byMean, meanNoise, r.partial && asked || f.sampled)
		add(f.target.name, KnowledgeIndex, square(linked), exchanged*index.mean(), exchanged*exchanged*index.noise(r.subsets), f.sampled)
		if r.exchanged(c) {
			r.targetExchanged(c, &f, &list[len(list)-1])
		}
		add(f.target.name, KnowledgePosition, square(f.tau-f.position), byPosition, positionNoise, r.partial && asked || f.sampled)
	}
	return list
}
