package assess

import "math"

// bias is E(ȳ − x̄) and what is known of it.
type bias struct {
	mean   float64
	noise  float64 // Monte-Carlo variance of mean
	square float64 // estimate of its square
	ofMean float64 // Var(ȳ) over the randomness of the mask, at the release's n
}

// biasOf estimates E(ȳ − x̄) of a sampled column. The release's own mean
// difference, exact over n records, counts as one more replicate. On n records
// S_y²/n is as small as the Monte-Carlo variance of the estimate, so that the
// square of a bias of 0 would pass for a loss of utility: the variance is taken
// off, and a bias within three standard errors of 0 counts as 0 unless that
// variance is below 2 % of S_y²/n and cannot mislead.
func (r *reckoning) biasOf(c int) bias {
	s, y := &r.a.columns[c], r.a.released.at(c, c)
	n := float64(s.pairs)
	weight, sum := n, s.diff
	perRecord := max(0, s.squareDiff/n-(s.diff/n)*(s.diff/n)) // Var(y−x)
	answers := r.answers[c]
	diffs := make([]float64, len(answers))
	for i, a := range answers {
		diffs[i] = a.diff
		if a.both > 0 {
			weight += a.both
			sum += a.both * a.diff
		}
	}
	b := bias{mean: sum / weight, noise: perRecord / weight}
	b.ofMean = spreadOf(diffs, r.subsets).variance * r.share
	b.square = max(0, b.mean*b.mean-b.noise)
	if b.mean*b.mean < 9*b.noise && b.noise > 0.02*y.variance()/y.N {
		b.square = 0
	}
	return b
}

// utility of column c: U by eq. 14 where there are replicates, else that of the
// release. METHODS §3.
func (r *reckoning) utility(c int) Utility {
	x, y := r.a.original.at(c, c), r.a.released.at(c, c)
	variance := y.variance() / y.N
	drift := y.above(x)
	u := Utility{
		RealisedU: Float(riskOf(variance + drift*drift)),
		U0:        Float(riskOf(x.variance() / x.N)),
	}
	u.U, u.Bias = u.RealisedU, Float(drift)
	answers, asked := r.answers[c]
	switch {
	case asked && r.partial:
		// S_y² of the release rests on more records than any replicate.
		u.U = Float(riskOf(variance + r.bias[c].square))
		u.Bias = Float(r.bias[c].mean)
	case asked:
		var n, mean, spread float64
		for _, a := range answers {
			if a.variance == a.variance {
				n++
				mean += a.mean
				spread += a.variance / a.n
			}
		}
		mean, spread = mean/n, spread/n
		u.U = Float(riskOf(spread + (mean-x.Mi)*(mean-x.Mi)))
		u.Bias = Float(mean - x.Mi)
	}
	u.Efficiency = u.U / u.U0
	if math.IsInf(float64(u.U), 1) && math.IsInf(float64(u.U0), 1) {
		u.Efficiency = 1 // a constant column, released as it is
	}
	return u
}
