package assess

// biasOf estimates E(ȳ − x̄) of a sampled column. The release's own mean
// difference, exact over n records, counts as one more replicate. On n records
// S_y²/n is as small as the Monte-Carlo variance of the estimate, so that the
// square of a bias of 0 would pass for a loss of utility: the variance is taken
// off, and a bias within three standard errors of 0 counts as 0 unless that
// variance is below 2 % of S_y²/n and cannot mislead.
func (r *reckoning) biasOf(c int) bias {
	s := &r.a.columns[c]
	n := float64(s.pairs)
	weight, sum := n, s.diff
	perRecord := max(0, s.squareDiff/n-(s.diff/n)*(s.diff/n)) // Var(y−x)
	answers := r.answers[c]
	if r.tried {
		weight, sum, perRecord = 0, 0, 0
		for _, a := range answers {
			if a.both > 0 {
				perRecord += max(0, a.squareDiff-a.diff*a.diff) / float64(len(answers))
			}
		}
	}
	diffs := make([]float64, len(answers))
	for i, a := range answers {
		diffs[i] = a.diff
		if a.both > 0 {
			weight += a.both
			sum += a.both * a.diff
		}
	}
	b := bias{mean: sum / weight, noise: perRecord / weight}
	of := spreadOf(diffs, r.subsets)
	b.ofMean, b.ofMeanNoise = of.variance*r.share, of.varianceNoise()*r.share*r.share
	b.squareNoise = varianceOfSquare(b.mean*b.mean-b.noise, b.noise)
	b.square = max(0, b.mean*b.mean-b.noise)
	if b.mean*b.mean < 9*b.noise && b.noise > 0.02*r.releasedVariance(c)/n {
		b.square = 0
	}
	return b
}

// releasedVariance is S_y² of the release. Of masks that are only tried it is
// S_x² and the mean over replicates of by how much masking a subset has changed
// its variance, in which the difference of the subset from the data cancels.
func (r *reckoning) releasedVariance(c int) float64 {
	answers, asked := r.answers[c]
	if !r.tried || !asked {
		return r.a.released.at(c, c).variance()
	}
	changes := make([]float64, len(answers))
	for i, a := range answers {
		changes[i] = a.variance - r.before[c][i%r.subsets]
	}
	return r.a.original.at(c, c).variance() + spreadOf(changes, r.subsets).mean
}

// varianceNoise is the variance over the randomness of the mask of S_y² of the
// release, from replicates on subsets: it falls as 1/n.
func (r *reckoning) varianceNoise(answers []answer) float64 {
	variances := make([]float64, len(answers))
	for i, a := range answers {
		variances[i] = a.variance
	}
	s := spreadOf(variances, r.subsets)
	return s.noise() * s.n * r.share
}
