package intruder

import "math"

// foldLimit is the distance of the mean from 0, in standard deviations, above which the
// sign of a normal variable is certain to the precision of a double.
const foldLimit = 8.3

// meanAbs returns E|θ| for θ ~ N(m, s²), the mean of a folded normal distribution. It returns m
// where P(θ < 0) is negligible, the case of the closed form of docs/methods.md, and is positive
// also where that form is negative.
func meanAbs(m, s float64) float64 {
	if m >= foldLimit*s {
		return m
	}
	if m <= -foldLimit*s {
		return -m
	}
	u := m / s
	return s*math.Sqrt(2/math.Pi)*math.Exp(-u*u/2) + m*math.Erf(u/math.Sqrt2)
}

// weightedMoments are the mean and the variance of θ under the density proportional to
// |θ|·N(θ; m, s²).
func weightedMoments(m, s float64) (mean, variance float64) {
	v := s * s
	if m > 0 && m >= foldLimit*s {
		return m + v/m, v * (1 - v/(m*m))
	}
	u := m / s
	erf, pdf := math.Erf(u/math.Sqrt2), math.Sqrt(2/math.Pi)*s*math.Exp(-u*u/2)
	abs := m*erf + pdf
	if abs == 0 || math.IsNaN(abs) {
		return m, v // no bias, or no density left
	}
	mean = ((m*m+v)*erf + m*pdf) / abs
	second := ((m*m*m+3*m*v)*erf + pdf*(m*m+2*v)) / abs
	return mean, math.Max(second-mean*mean, 0)
}
