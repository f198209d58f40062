// Package estimate makes mean squared errors, and their standard errors, of the estimates of
// replicates.
package estimate

import "math"

// Risk is R = 1/E(τ−τ̂)² for a mean squared error; +Inf where the error is 0.
func Risk(mse float64) float64 {
	if mse == 0 {
		return math.Inf(1)
	}
	return 1 / mse
}

// Squares collects (τ − τ̂_m)² over replicates; estimates that are missing
// (NaN) are left out.
type Squares struct {
	n, sum float64
	each   []float64 // NaN where missing
}

// Add takes in τ − τ̂ of the next replicate.
func (s *Squares) Add(d float64) {
	s.each = append(s.each, d*d)
	if d == d {
		s.n++
		s.sum += d * d
	}
}

// Mean of the squares, NaN where there are none.
func (s *Squares) Mean() float64 { return s.sum / s.n }

// Noise is the Monte-Carlo variance of the mean over replicates that went round
// the subsets, NaN of fewer than two.
func (s *Squares) Noise(subsets int) float64 { return SpreadOf(s.each, subsets).Noise() }

// Spread is an estimator's mean over replicates and its variance within the
// subsets on which replicates were made, with that variance's degrees of freedom.
type Spread struct{ Mean, Variance, N, freedom float64 }

// Noise is the Monte-Carlo variance of the mean, NaN where one replicate shows
// none.
func (s Spread) Noise() float64 {
	if s.freedom == 0 {
		return math.NaN()
	}
	return s.Variance / s.N
}

// VarianceNoise is the Monte-Carlo variance of the variance, of estimates that are
// near normal; NaN where one replicate shows none.
func (s Spread) VarianceNoise() float64 {
	if s.freedom == 0 {
		return math.NaN()
	}
	return 2 * s.Variance * s.Variance / s.freedom
}

// VarianceOfSquare is that of the square of a normal variable, of which the square
// of the mean is estimated as square: 4·square·variance + 2·variance².
func VarianceOfSquare(square, variance float64) float64 {
	return 4*max(0, square)*variance + 2*variance*variance
}

// StandardError of 1/q by the delta method: (1/q)²·√variance of q; NaN where
// 1/q is infinite.
func StandardError(reciprocal, variance float64) float64 {
	if math.IsInf(reciprocal, 1) {
		return math.NaN()
	}
	return reciprocal * (reciprocal * math.Sqrt(variance))
}

// SpreadOf takes the estimates of replicates 1 …, which went round the subsets
// in turn. The mean gives every subset the same weight; the variance is that
// within subsets, as the differences between subsets cancel in the mean.
func SpreadOf(estimates []float64, subsets int) Spread {
	var out Spread
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
		out.N += n
		out.Mean += (mean - out.Mean) / used
		within += c
		out.freedom += n - 1
	}
	switch {
	case used == 0:
		out.Mean, out.Variance = math.NaN(), math.NaN()
	case out.freedom > 0:
		out.Variance = within / out.freedom
	case subsets > 1 && len(estimates) > 1:
		// With one replicate per subset, only the variance between subsets is available, which is
		// no smaller.
		return SpreadOf(estimates, 1)
	}
	return out
}

// MeanSquare is E(τ−τ̂)² = bias² + variance of an estimator on n records, from
// replicates on subsets of size records: the variance of a mean or a quantile
// falls as 1/n. The square of the observed bias is too large by the Monte-Carlo
// variance of the mean of the replicates, which is taken off. Both make R
// larger than the replicates alone would have it.
func (s Spread) MeanSquare(tau, share float64) float64 {
	bias := s.Mean - tau
	return max(0, bias*bias-s.Variance/s.N) + s.Variance*share
}

// MeanSquareNoise is the Monte-Carlo variance of meanSquare.
func (s Spread) MeanSquareNoise(tau, share float64) float64 {
	bias := s.Mean - tau
	return VarianceOfSquare(bias*bias-s.Noise(), s.Noise()) + s.VarianceNoise()*share*share
}
