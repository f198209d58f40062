package rumap

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/sdlfilter/sdlfilter/check"
)

// Noise is additive noise on a sample: n values x_i of a population with mean μ
// and standard deviation σ are released as Y_i = x_i + ε_i, ε_i independent with
// mean 0 and variance λ² (Duncan, Keller-McNulty and Stokes 2004, section 4). Its
// methods are the closed forms of disclosure risk R = 1/E(τ − τ̂)² and data utility
// U = 1/E(ȳ − μ)², both in 1/(unit of x)². A method returns an error if
// Check does, or if its own parameters are outside of their domains. If the snooper's
// expected squared error is 0, R is +Inf.
type Noise struct {
	N      int     // n, at least 1
	SD     float64 // σ, in the unit of x, above 0
	Lambda float64 // λ, in the unit of x, at least 0; +Inf gives the limits
}

// Check reports parameters outside of their domains.
func (m Noise) Check() check.Problems {
	var ps check.Problems
	checkSample(&ps, m.N, m.SD)
	if !(m.Lambda >= 0) {
		ps.Addf("lambda", "must be at least 0, got %v", m.Lambda)
	}
	return ps
}

func checkSample(ps *check.Problems, n int, sd float64) {
	if n < 1 {
		ps.Addf("n", "must be at least 1, got %d", n)
	}
	ps.Above("sd", sd, 0)
}

func checkFinite(ps *check.Problems, path string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		ps.Addf(path, "must be a finite number, got %v", v)
	}
}

// invalid makes one error of problems; it is nil if there are none.
func invalid(ps check.Problems) error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// checked returns v, or 0 and an error if there are problems.
func checked(v float64, ps check.Problems) (float64, error) {
	if len(ps) > 0 {
		return 0, invalid(ps)
	}
	return v, nil
}

// variance is that of a masked value, σ² + λ².
func (m Noise) variance() float64 { return m.SD*m.SD + m.Lambda*m.Lambda }

// widening is √(σ²+λ²) − σ, without the cancellation that the difference suffers
// where λ is small.
func (m Noise) widening() float64 {
	if math.IsInf(m.Lambda, 1) {
		return m.Lambda
	}
	return m.Lambda * (m.Lambda / (math.Hypot(m.SD, m.Lambda) + m.SD))
}

// Utility is U = n/(σ²+λ²), of the mean: Duncan et al. (2004), section 4.1.
func (m Noise) Utility() (float64, error) {
	return checked(float64(m.N)/m.variance(), m.Check())
}

// UnmaskedUtility is U₀ = n/σ².
func (m Noise) UnmaskedUtility() (float64, error) {
	m.Lambda = 0
	return m.Utility()
}

// Efficiency is U/U₀ = 1/(1 + λ²/σ²), without unit.
func (m Noise) Efficiency() (float64, error) {
	ratio := m.Lambda / m.SD
	return checked(1/(1+ratio*ratio), m.Check())
}

// RiskOfMean is R = n/(σ²+λ²+n(μ−τ)²) of a snooper who takes ȳ for a target that
// lies distance = μ−τ off the mean, in the unit of x: Duncan et al. (2004), eq. 1.
func (m Noise) RiskOfMean(distance float64) (float64, error) {
	ps := m.Check()
	checkFinite(&ps, "mean_distance", distance)
	return checked(1/(m.variance()/float64(m.N)+distance*distance), ps)
}

// RiskOfTypical is R = n/((n+1)σ²+λ²): ȳ for a target whose squared distance from
// the mean is the population's average, σ². Duncan et al. (2004), eq. 2.
func (m Noise) RiskOfTypical() (float64, error) {
	n := float64(m.N)
	return checked(n/((n+1)*m.SD*m.SD+m.Lambda*m.Lambda), m.Check())
}

// RiskOfTypicalInSample is R = n/(σ²+λ²+Σ(μ−x_i)²): ȳ for a target whose squared
// distance from the mean is the sample's average. squares is Σ(μ−x_i)², in the
// squared unit of x, at least 0. Duncan et al. (2004), eq. 3.
func (m Noise) RiskOfTypicalInSample(squares float64) (float64, error) {
	ps := m.Check()
	ps.AtLeast("squares", squares, 0)
	return checked(float64(m.N)/(m.variance()+squares), ps)
}

// RiskOfRecord is R = 1/λ² of an intruder who has linked the target's record and takes y_t; +Inf
// without noise. Duncan et al. (2004), eq. 4.
func (m Noise) RiskOfRecord() (float64, error) {
	return checked(1/(m.Lambda*m.Lambda), m.Check())
}

// PercentilePoint is where a percentile of the population lies before and after
// masking: ξ_Xp = μ + l_Xp σ and ξ_Yp = μ + l_Yp √(σ²+λ²).
type PercentilePoint struct {
	Original float64 // l_Xp, without unit
	Masked   float64 // l_Yp, without unit
	Density  float64 // f_Y(ξ_Yp), of a masked value at its percentile, in 1/(unit of x), above 0
}

// RiskOfPercentile is the large-sample risk of a snooper who takes y_(np) for the
// p-th percentile of the population, 0 < p < 1, whatever the distributions:
//
//	1/R = p(1−p)/(n f_Y(ξ_Yp)²) + (l_Yp √(σ²+λ²) − l_Xp σ)²
//
// Duncan et al. (2004), eq. 5.
func (m Noise) RiskOfPercentile(p float64, at PercentilePoint) (float64, error) {
	ps := m.Check()
	checkShare(&ps, "percentile", p)
	checkFinite(&ps, "original", at.Original)
	checkFinite(&ps, "masked", at.Masked)
	unbounded := math.IsInf(m.Lambda, 1)
	if !unbounded { // where it is, the density has gone to 0
		ps.Above("density", at.Density, 0)
	}
	if err := invalid(ps); err != nil || unbounded {
		return 0, err
	}
	bias := at.Masked*math.Hypot(m.SD, m.Lambda) - at.Original*m.SD
	return 1 / (p/at.Density*(1-p)/at.Density/float64(m.N) + bias*bias), nil
}

func checkShare(ps *check.Problems, path string, p float64) {
	if !(p > 0 && p < 1) {
		ps.Addf(path, "must be above 0 and below 1, got %v", p)
	}
}

// RiskOfNormalPercentile is eq. 5 where values and noise are normal:
//
//	1/R = [p(1−p)/(n φ(z_p)²)](σ²+λ²) + z_p²(√(σ²+λ²) − σ)²
//
// Duncan et al. (2004), eq. 8.
func (m Noise) RiskOfNormalPercentile(p float64) (float64, error) {
	ps := m.Check()
	checkShare(&ps, "percentile", p)
	if err := invalid(ps); err != nil {
		return 0, err
	}
	z := mathext.NormalQuantile(p)
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	bias := 0.0
	if z != 0 { // the median is not moved, however wide the noise
		bias = z * m.widening()
	}
	return 1 / (p/density*(1-p)/density/float64(m.N)*m.variance() + bias*bias), nil
}

// RiskOfExtreme is the large-sample risk of a snooper who takes y_(n) for the
// sample's maximum, or y_(1) for its minimum, values and noise normal:
//
//	1/R = K₂(σ²+λ²) + (x_(n) − μ − K₁ √(σ²+λ²))²
//
// distance is x_(n)−μ, or μ−x_(1), in the unit of x; n at least 2. Duncan et al.
// (2004), eq. 9.
func (m Noise) RiskOfExtreme(distance float64) (float64, error) {
	ps := m.Check()
	m.checkExtreme(&ps)
	checkFinite(&ps, "extreme", distance)
	if err := invalid(ps); err != nil {
		return 0, err
	}
	k1, k2 := normalExtreme(m.N)
	bias := distance - k1*math.Hypot(m.SD, m.Lambda)
	return 1 / (k2*m.variance() + bias*bias), nil
}

// RiskOfExpectedExtreme is eq. 9 where the extreme lies where it is expected to,
// x_(n) = μ + K₁σ:
//
//	1/R = K₂(σ²+λ²) + K₁²(√(σ²+λ²) − σ)²
//
// n is at least 2. Duncan et al. (2004), eq. 10.
func (m Noise) RiskOfExpectedExtreme() (float64, error) {
	ps := m.Check()
	m.checkExtreme(&ps)
	if err := invalid(ps); err != nil {
		return 0, err
	}
	k1, k2 := normalExtreme(m.N)
	bias := k1 * m.widening()
	return 1 / (k2*m.variance() + bias*bias), nil
}

func (m Noise) checkExtreme(ps *check.Problems) {
	if m.N == 1 {
		ps.Addf("n", "must be at least 2 for an extreme, got 1")
	}
}

// normalExtreme returns K₁ and K₂, the large-sample mean and variance of the
// maximum of n standard normal values, n ≥ 2 (Fisher and Tippett 1928; Cramér 1946,
// p. 376). Convergence is slow: their errors are of the order 1/ln n.
func normalExtreme(n int) (k1, k2 float64) {
	const eulerGamma = 0.57721566490153286
	log := math.Log(float64(n))
	s := math.Sqrt(2 * log)
	k1 = s - (math.Log(log)+math.Log(4*math.Pi)-2*eulerGamma)/(2*s)
	return k1, math.Pi * math.Pi / (12 * log)
}

// SwitchOver returns the λ² above which ȳ is nearer to a typical target than the
// linked record's y_t, so that a snooper takes ȳ: where eq. 2 and eq. 4 of Duncan
// et al. (2004) meet, σ²(n+1)/(n−1), in the squared unit of x; +Inf for n = 1. The
// paper prints the fraction the other way up, σ²(n−1)/(n+1), at which the two do not meet.
func SwitchOver(n int, sd float64) (float64, error) {
	var ps check.Problems
	checkSample(&ps, n, sd)
	return checked(sd*sd*(float64(n+1)/float64(n-1)), ps)
}
