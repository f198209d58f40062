package correct

import "math"

// Masking is what the masks of a numeric column do to its first two moments:
// E(y | x) = x and Var(y | x) = Phi2·x² + Noise. The zero value is no masking.
// Masks are added in the order in which they apply:
//
//	correct.Masking{}.WithBias(0.05 / 3).WithNoise(90, 1)
type Masking struct {
	Phi2  float64 // φ², without unit
	Noise float64 // λ², in the square of the column's unit
}

// WithBias adds a mask that multiplies by θ ~ N(1, φ²), phi ≥ 0: Trottini et al.
// (2004), A2.1 and A2.2. What earlier masks added is multiplied too.
func (m Masking) WithBias(phi float64) Masking {
	phi2 := phi * phi
	return Masking{Phi2: m.Phi2 + phi2 + m.Phi2*phi2, Noise: m.Noise * (1 + phi2)}
}

// WithNoise adds a mask that adds ε of mean 0 and standard deviation lambda ≥ 0,
// in the column's unit, whatever its distribution: Duncan et al. (2004), section
// 4. factor is the mean over the records of the factor of λ², which is 1 without
// tiers; see MeanFactor.
func (m Masking) WithNoise(lambda, factor float64) Masking {
	m.Noise += lambda * lambda * factor
	return m
}

// WithRounding adds a mask that rounds to multiples of step ≥ 0, in the column's
// unit: step²/12 of variance, Sheppard's correction. It is close where values
// spread smoothly over several steps, which noise beforehand sees to, and wrong
// where they sit on a few.
func (m Masking) WithRounding(step float64) Masking {
	m.Noise += step * step / 12
	return m
}

// Mean returns the mean of the respondents' values from that of the released
// ones: the same, without bias. Its standard error S_y/√n is that of the released
// values and needs no correction either.
func (m Masking) Mean(released float64) float64 { return released }

// Variance returns the variance of the respondents' values from mean and variance
// (divisor n−1) of the released ones, Var(x) = (Var(y) − φ²·E(y)² − λ²)/(1 + φ²).
// Without bias in the expectation over the masks, but for terms of order φ²/n. On
// few records it may come out at or below 0, which says that the noise hides all
// of the variance.
func (m Masking) Variance(mean, variance float64) float64 {
	return (variance - m.Phi2*mean*mean - m.Noise) / (1 + m.Phi2)
}

// Released is the inverse of Variance: the variance that the released values of a
// column with this mean and variance are expected to have.
func (m Masking) Released(mean, variance float64) float64 {
	return (1+m.Phi2)*variance + m.Phi2*mean*mean + m.Noise
}

// Reliability returns ρ = Var(x)/Var(y), between 0 and 1, from mean and variance
// of the released values: Fuller (1987), section 1.1. NaN where no variance is left
// of x, and where the released values have none.
func (m Masking) Reliability(mean, variance float64) float64 {
	rho := m.Variance(mean, variance) / variance
	if !(rho > 0) {
		return math.NaN()
	}
	return rho
}

// Covariance returns that of the respondents' values from that of the released
// ones: the same, as the masks of two columns draw apart and have no mean.
func Covariance(released float64) float64 { return released }

// CovarianceFollowed is Covariance of two columns whose noise follows their covariances:
// that of variance λ² on a column is λ²/Var(x) of the variance, and so of every covariance
// with the other columns of its mask. Kim (1986).
func CovarianceFollowed(released, variance, lambda2 float64) float64 {
	return released * variance / (variance + lambda2)
}

// Correlation returns that of the respondents' values from that of the released
// ones and the reliabilities of the two columns, r/√(ρ₁ρ₂), 1 for a column that is
// not masked: Spearman's (1904) correction for attenuation. Sampling error may
// carry it beyond ±1. NaN where a reliability is.
func Correlation(released, reliability, other float64) float64 {
	return released / math.Sqrt(reliability*other)
}

// Slope returns the slope of the regression on the respondents' values of one
// masked column from that on the released ones and the column's reliability, b/ρ:
// Fuller (1987), section 1.1. A masked response needs no correction. NaN where the
// reliability is.
func Slope(released, reliability float64) float64 { return released / reliability }

// Intercept returns the intercept that belongs to a corrected slope.
func Intercept(responseMean, slope, regressorMean float64) float64 {
	return responseMean - slope*regressorMean
}
