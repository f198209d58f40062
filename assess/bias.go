package assess

import (
	"cmp"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
)

// biasOf estimates E(ȳ − x̄) of a sampled column. The release's own mean
// difference, exact over n records, counts as one more replicate. On n records
// S_y²/n is as small as the Monte-Carlo variance of the estimate, so that the
// estimated square of a bias of 0 would look like a loss of utility: the variance
// is subtracted, and a bias within three standard errors of 0 counts as 0 unless
// that variance is negligible, below 2 % of S_y²/n.
func (r *reckoning) biasOf(c int) bias {
	s := &r.a.columns[c]
	n := float64(s.pairs)
	weight, sum := n, s.diff
	perRecord := max(0, s.squareDiff/n-(s.diff/n)*(s.diff/n)) // Var(y−x)
	answers := r.answers[c]
	if r.candidate {
		weight, sum, perRecord = 0, 0, 0
		for _, a := range answers {
			if a.Both > 0 {
				perRecord += max(0, a.SquareDiff-a.Diff*a.Diff) / float64(len(answers))
			}
		}
	}
	diffs := make([]float64, len(answers))
	for i, a := range answers {
		diffs[i] = a.Diff
		if a.Both > 0 {
			weight += a.Both
			sum += a.Both * a.Diff
		}
	}
	b := bias{mean: sum / weight, noise: perRecord / weight}
	of := estimate.SpreadOf(diffs, r.subsets)
	b.ofMean, b.ofMeanNoise = of.Variance*r.share, of.VarianceNoise()*r.share*r.share
	if chosen := r.choice(c, func(d float64) float64 { return d }); chosen > 0 && !r.candidate && weight > n {
		drawn := max(0, perRecord-chosen)
		if r.a.opts.Columns[c].Fitted {
			chosen = perRecord // what a model makes of a record's value is not at the record: at most all that it may have moved
		} else if b.ofMean == b.ofMean {
			chosen = max(chosen, perRecord-n*b.ofMean) // over all records, where the sample may lack those that change most
		}
		b.mean, b.noise = together(s.diff/n, drawn/n, (sum-s.diff)/(weight-n), perRecord/(weight-n)+chosen*r.unsampled())
	}
	b.squareNoise = estimate.VarianceOfSquare(b.mean*b.mean-b.noise, b.noise)
	b.square = max(0, b.mean*b.mean-b.noise)
	if b.mean*b.mean < 9*b.noise && b.noise > 0.02*r.releasedVariance(c)/n {
		b.square = 0
	}
	return b
}

// together combines two estimates of an expectation with the least variance: the release's, with the variance of its
// draws, and that of replicates, with the variance of theirs and of the choice of the sample. Where they are two
// standard errors apart, these are those of a sample that lacks the few records which the rest comes from, and the
// variance is as many times greater (Birge's ratio).
func together(release, drawn, replicates, noise float64) (mean, variance float64) {
	if !(drawn > 0) {
		return release, drawn
	}
	total := 1/drawn + 1/noise
	mean, variance = (release/drawn+replicates/noise)/total, 1/total
	if apart := (release - replicates) * (release - replicates) / (drawn + noise); apart > 4 {
		variance *= apart
	}
	return mean, variance
}

// unsampled is the factor of a variance over records for the mean over those in replicates, instead of all: 1/m − 1/n.
func (r *reckoning) unsampled() float64 {
	m := min(float64(r.data.N), r.share*float64(r.subsets)*float64(r.data.Records))
	return max(0, 1/m-1/float64(r.data.Records))
}

// choice estimates the variance over records of E(f(y − x) | x), which a sample adds to the error of a mean: the
// covariance of sampled records that are neighbours in x, whose draws are independent.
func (r *reckoning) choice(c int, f func(d float64) float64) float64 {
	x, y := r.data.Original(c), r.data.Released(c)
	var order []int
	mean := 0.0
	for i, v := range x {
		if d := v - y[i]; d == d {
			order = append(order, i)
			mean += (f(y[i]-v) - mean) / float64(len(order))
		}
	}
	if len(order) < 2 {
		return 0
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	sum, before := 0.0, 0.0
	for k, i := range order {
		d := f(y[i]-x[i]) - mean
		if k > 0 {
			sum += before * d
		}
		before = d
	}
	return max(0, sum/float64(len(order)-1))
}

// releasedVariance is S_y² of the release. For the points of a map, which release nothing, it
// is S_x² plus the mean over replicates of the change that masking makes to the variance of a
// subset. The difference of the subset from the data cancels in that change.
func (r *reckoning) releasedVariance(c int) float64 {
	answers, replicated := r.answers[c]
	if !r.candidate || !replicated {
		return r.a.released.At(c, c).Variance()
	}
	changes := make([]float64, len(answers))
	for i, a := range answers {
		changes[i] = a.Variance - r.before[c][i%r.subsets]
	}
	return r.a.original.At(c, c).Variance() + estimate.SpreadOf(changes, r.subsets).Mean
}

// varianceNoise returns the variance, over the randomness of the mask, of S_y² of the
// release, from replicates on subsets: it is proportional to 1/n.
func (r *reckoning) varianceNoise(answers []replicate.Answer) float64 {
	variances := make([]float64, len(answers))
	for i, a := range answers {
		variances[i] = a.Variance
	}
	s := estimate.SpreadOf(variances, r.subsets)
	return s.Noise() * s.N * r.share
}
