package core

import (
	"math"

	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Draw is a distribution with its standard form: N(0, 1), Laplace of scale 1,
// uniform on (−1, 1).
type Draw uint8

// Scale returns the factor that gives the standard form the SD λ.
func (d Draw) Scale(lambda float64) float64 {
	switch d {
	case Laplace:
		return lambda / math.Sqrt2
	case Uniform:
		return float64(lambda * 1.7320508075688772) // √3
	}
	return lambda
}

// unlikely is the probability of the bounds below which no draw is made: the nearer bound is
// released instead.
const unlikely = 1e-300

// Between returns the point z of [a, b] below which (above which, for a > 0) the
// share u of the probability lies that the standard distribution gives to [a, b]; the bound
// nearer to 0 where that probability is below 1e-300 or the draw cannot reach.
// Either bound may be infinite; a ≤ b.
func (d Draw) Between(a, b, u float64) float64 {
	if a > 0 {
		// By symmetry in the left tail, where distribution functions are exact.
		return -d.leftBetween(-b, -a, u)
	}
	return d.leftBetween(a, b, u)
}

// leftBetween is between for a ≤ 0.
func (d Draw) leftBetween(a, b, u float64) float64 {
	if d == Uniform {
		lo, hi := max(a, -1), min(b, 1)
		if lo > hi {
			return b
		}
		return min(max(lo+float64(u*(hi-lo)), lo), hi)
	}
	var z float64
	pa := d.cdf(a)
	if b <= 0 {
		p := d.cdf(b) - pa
		if p < unlikely {
			return b
		}
		z = d.quantile(pa + float64(u*p))
	} else {
		qb := d.cdf(-b) // above b
		p := 1 - pa - qb
		if p < unlikely {
			return a // of no width
		}
		if below := pa + float64(u*p); below <= 0.5 {
			z = d.quantile(below)
		} else {
			z = -d.quantile(qb + float64(max(1-u, 0x1p-54)*p))
		}
	}
	return min(max(z, a), b)
}

// cdf is the distribution function of the standard form, with full relative
// accuracy for z ≤ 0.
func (d Draw) cdf(z float64) float64 {
	if math.IsInf(z, -1) {
		return 0
	}
	if d == Laplace {
		return keystream.LaplaceCDF(z)
	}
	return keystream.NormalCDF(z)
}

func (d Draw) quantile(p float64) float64 {
	if d == Laplace {
		return keystream.LaplaceQuantile(p)
	}
	return keystream.NormalQuantile(p)
}

// Deviation returns the SD of the distribution with a scale.
func (d Draw) Deviation(scale float64) float64 {
	switch d {
	case Laplace:
		return scale * math.Sqrt2
	case Uniform:
		return scale / math.Sqrt(3)
	}
	return scale
}

// Within returns P(lo < ε < hi) for the distribution with a scale.
func (d Draw) Within(lo, hi, scale float64) float64 {
	return d.below(hi/scale) - d.below(lo/scale)
}

// below is the distribution function of the standard form.
func (d Draw) below(z float64) float64 {
	switch d {
	case Laplace:
		if z < 0 {
			return math.Exp(z) / 2
		}
		return 1 - math.Exp(-z)/2
	case Uniform:
		return max(0, min(1, (z+1)/2))
	}
	return math.Erfc(-z/math.Sqrt2) / 2
}

func (d Draw) fill(dst []float64, s *keystream.Stream, r keystream.Records) {
	switch d {
	case Normal:
		s.Normals(dst, r)
	case Laplace:
		s.Laplaces(dst, r)
	case Uniform:
		s.Uniforms(dst, r)
	}
}

const (
	Normal Draw = iota
	Laplace
	Uniform
)
