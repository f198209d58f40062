// Package estimate computes mean squared errors, and their standard errors, from the estimates of
// replicates.
package estimate

import "math"

// Risk returns R = 1/E(τ−τ̂)² for a mean squared error; +Inf if the error is 0.
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

// Add adds the square of d = τ − τ̂ of the next replicate.
func (s *Squares) Add(d float64) {
	s.each = append(s.each, d*d)
	if d == d {
		s.n++
		s.sum += d * d
	}
}

// Mean returns the mean of the squares; NaN if there are none.
func (s *Squares) Mean() float64 { return s.sum / s.n }

// Noise returns the Monte-Carlo variance of the mean over replicates that used the
// subsets in turn; NaN for fewer than two replicates.
func (s *Squares) Noise(subsets int) float64 { return SpreadOf(s.each, subsets).Noise() }

// Spread is an estimator's mean over replicates and its variance within the
// subsets on which replicates were made, with that variance's degrees of freedom.
type Spread struct{ Mean, Variance, N, freedom float64 }

// Noise returns the Monte-Carlo variance of the mean; NaN with one replicate.
func (s Spread) Noise() float64 {
	if s.freedom == 0 {
		return math.NaN()
	}
	return s.Variance / s.N
}

// VarianceNoise returns the Monte-Carlo variance of the variance, for estimates that are nearly
// normal; NaN with one replicate.
func (s Spread) VarianceNoise() float64 {
	if s.freedom == 0 {
		return math.NaN()
	}
	return 2 * s.Variance * s.Variance / s.freedom
}

// VarianceOfSquare returns the variance of the square of a normal variable, given its variance
// and square, an estimate of the square of its mean: 4·square·variance + 2·variance².
func VarianceOfSquare(square, variance float64) float64 {
	return 4*max(0, square)*variance + 2*variance*variance
}

// StandardError returns the standard error of reciprocal = 1/q by the delta method,
// (1/q)²·√variance, where variance is that of q; NaN if 1/q is infinite.
func StandardError(reciprocal, variance float64) float64 {
	if math.IsInf(reciprocal, 1) {
		return math.NaN()
	}
	return reciprocal * (reciprocal * math.Sqrt(variance))
}

// SpreadOf returns the spread of the estimates of replicates 1, 2, …, which used the
// subsets in turn. The mean gives every subset the same weight; the variance is that
// within subsets, since the differences between subsets cancel in the mean.
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

// MeanSquare returns E(τ−τ̂)² = bias² + variance of an estimator on n records, from
// replicates on subsets of share·n records: the variance of a mean or a quantile is
// proportional to 1/n. The square of the observed bias is too large by the Monte-Carlo
// variance of the mean of the replicates, which is subtracted. Both make R larger than
// the replicates alone would give.
func (s Spread) MeanSquare(tau, share float64) float64 {
	bias := s.Mean - tau
	return max(0, bias*bias-s.Variance/s.N) + s.Variance*share
}

// MeanSquareNoise returns the Monte-Carlo variance of MeanSquare.
func (s Spread) MeanSquareNoise(tau, share float64) float64 {
	bias := s.Mean - tau
	return VarianceOfSquare(bias*bias-s.Noise(), s.Noise()) + s.VarianceNoise()*share*share
}
