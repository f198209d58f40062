package keystream

import "math"

// NormalQuantile is the inverse of the standard normal distribution function:
// Wichura (1988), Algorithm AS 241, routine PPND16. Its relative error is below
// 1e-12 for p in (1e-300, 1−1e-16), in fact about 1e-15; the bits are the same
// on every platform. NormalQuantile(0) is −Inf, NormalQuantile(1) +Inf, and
// outside [0, 1] it is NaN.
func NormalQuantile(p float64) float64 {
	switch {
	case !(p >= 0 && p <= 1):
		return math.NaN()
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	}
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return float64(q*ratio(r, &central.num)) / ratio(r, &central.den)
	}
	r := p
	if q > 0 {
		r = 1 - p
	}
	r = math.Sqrt(-log(r))
	c := &middle
	if r <= 5 {
		r -= 1.6
	} else {
		r -= 5
		c = &far
	}
	x := ratio(r, &c.num) / ratio(r, &c.den)
	if q < 0 {
		return -x
	}
	return x
}

// rational is a quotient of two polynomials of degree 7, coefficients from the
// constant upwards.
type rational struct{ num, den [8]float64 }

// ratio evaluates a polynomial, numerator or denominator, by Horner's scheme.
func ratio(r float64, c *[8]float64) float64 {
	v := float64(c[7]*r) + c[6]
	v = float64(v*r) + c[5]
	v = float64(v*r) + c[4]
	v = float64(v*r) + c[3]
	v = float64(v*r) + c[2]
	v = float64(v*r) + c[1]
	return float64(v*r) + c[0]
}

var (
	central = rational{ // |p − 1/2| ≤ 0.425
		[8]float64{3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
			4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3},
		[8]float64{1, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
			2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3},
	}
	middle = rational{ // √(−ln min(p, 1−p)) ≤ 5
		[8]float64{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
			1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
		[8]float64{1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
			1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9},
	}
	far = rational{
		[8]float64{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
			2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
		[8]float64{1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
			7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15},
	}
)

// LaplaceQuantile is the inverse of the standard Laplace distribution function
// (scale 1, variance 2): ln 2p below the median, −ln 2(1−p) above it.
// LaplaceQuantile(0) is −Inf, LaplaceQuantile(1) +Inf; outside [0, 1] it is NaN.
func LaplaceQuantile(p float64) float64 {
	switch {
	case !(p >= 0 && p <= 1):
		return math.NaN()
	case p == 0.5:
		return 0
	case p < 0.5:
		return log(2 * p)
	}
	return -log(2 * (1 - p))
}
