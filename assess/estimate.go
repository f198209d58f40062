package assess

import "math"

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
