package core

import "math"

// reach returns the magnitude that a draw of the standard form exceeds with a probability
// below 1e-15.
func (d Draw) reach() float64 {
	switch d {
	case Laplace:
		return 36
	case Uniform:
		return 1
	}
	return 8
}

// mass is the probability of [a, b] under the standard form.
func (d Draw) mass(a, b float64) float64 {
	switch {
	case !(a < b):
		return 0
	case d == Uniform:
		return max(0, min(b, 1)-max(a, -1)) / 2
	case a > 0:
		return d.cdf(-a) - d.cdf(-b)
	case b < 0:
		return d.cdf(b) - d.cdf(a)
	}
	return max(0, 1-d.cdf(a)-d.cdf(-b))
}

// partial returns ∫ z and ∫ z² of the standard form over [a, b].
func (d Draw) partial(a, b float64) (first, second float64) {
	if !(a < b) {
		return 0, 0
	}
	switch d {
	case Uniform:
		a, b = max(a, -1), min(b, 1)
		if a >= b {
			return 0, 0
		}
		return (b*b - a*a) / 4, (b*b*b - a*a*a) / 6
	case Laplace:
		// ∫₀^t z e^−z/2 and ∫₀^t z² e^−z/2.
		one := func(t float64) float64 {
			if math.IsInf(t, 0) {
				return 0.5
			}
			t = math.Abs(t)
			return 0.5 - 0.5*(1+t)*math.Exp(-t)
		}
		two := func(t float64) float64 {
			if math.IsInf(t, 0) {
				return math.Copysign(1, t)
			}
			return math.Copysign(1-0.5*(2+2*math.Abs(t)+t*t)*math.Exp(-math.Abs(t)), t)
		}
		return one(b) - one(a), two(b) - two(a)
	}
	density := func(t float64) (value, times float64) {
		if math.Abs(t) > 38 {
			return 0, 0
		}
		value = math.Exp(-t*t/2) / math.Sqrt(2*math.Pi)
		return value, t * value
	}
	fa, ta := density(a)
	fb, tb := density(b)
	return fa - fb, d.mass(a, b) + ta - tb
}

// variance of the standard form.
func (d Draw) variance() float64 {
	switch d {
	case Laplace:
		return 2
	case Uniform:
		return 1.0 / 3
	}
	return 1
}

// smooth returns the SD, in steps, from which on rounding adds a twelfth of the square of
// the step to the second moment and changes nothing else. The error of this is exp(−2π²·9) for
// a normal variable, and a few thousandths of that twelfth for the others.
func (d Draw) smooth() float64 {
	if d == Normal {
		return 3
	}
	return 16
}

// rounded returns the variance of h times K, the integer nearest to s·z/h: h² times the sum of
// (2j−1)·P(|K| ≥ j) over j ≥ 1, in closed form where that is a geometric or an
// arithmetic series.
func rounded(d Draw, s, h float64) float64 {
	if s == 0 || h == 0 {
		return s * s * d.variance()
	}
	r := h / s
	switch d {
	case Laplace: // P(|K| ≥ j) = exp(−(j−½)r)
		if r < 1e-3 {
			return 2*s*s + h*h/12
		}
		q := math.Exp(-r)
		return h * h * math.Exp(r/2) * (2*q/((1-q)*(1-q)) - q/(1-q))
	case Uniform: // P(|K| ≥ j) = 1 − (j−½)r
		j := math.Floor(1/r + 0.5)
		if j > 1e4 {
			return s*s/3 + h*h/12
		}
		return h * h * (j*j - r*j*(4*j*j-1)/6)
	}
	if s >= d.smooth()*h {
		return s*s + h*h/12
	}
	sum := 0.0
	for j := 1.0; (j-0.5)*r <= d.reach(); j++ {
		sum += (2*j - 1) * 2 * d.mass((j-0.5)*r, math.Inf(1))
	}
	return sum * h * h
}
