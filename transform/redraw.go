package transform

import (
	"math"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// unlikely is the probability of the bounds below which no draw is made: the nearer bound is
// released instead.
const unlikely = 1e-300

// addWithin replaces the values x by y = (k_x + k_ε)/mult, where ε has the distribution of
// the noise given that y lies between the bounds, and marks those that changed. on are the
// values on the grid, u draws uniform on (0, 1).
//
// The result is distributed as if the noise were drawn again and again until y
// lands inside, rounding included: ε is drawn, by the inverse of its
// distribution function, within the bounds widened by half a step of the grid.
// Where the chance of landing inside is below 1e-300, or uniform noise cannot
// reach, the nearer bound is released.
func (c *noiseColumn) addWithin(x, on, u []float64, changed microdata.Bitmap) {
	mult := c.grid.mult
	for i, old := range x {
		kx := float64(old * mult)
		if k := math.RoundToEven(kx); exact(k) {
			kx = k
		}
		scale := c.scale
		if len(c.above) > 0 {
			scale = c.scaleAt(on[i])
		}
		scale = float64(scale * mult)
		var ke float64
		if scale > 0 {
			a := (c.lower - 0.5 - kx) / scale
			b := (c.upper + 0.5 - kx) / scale
			ke = math.RoundToEven(float64(c.draw.between(a, b, u[i]) * scale))
		}
		k := kx + ke
		if !(k >= c.lower) { // also where kx has left the range of a float64
			k = c.lower
		}
		if k > c.upper {
			k = c.upper
		}
		y := finite((k + 0) / mult)
		x[i] = y
		if y != old {
			changed.Set(i)
		}
	}
}

// between returns the point z of [a, b] below which (above which, for a > 0) the
// share u of the probability lies that the standard distribution gives to [a, b]; the bound
// nearer to 0 where that probability is below 1e-300 or the draw cannot reach.
// Either bound may be infinite; a ≤ b.
func (d draw) between(a, b, u float64) float64 {
	if a > 0 {
		// By symmetry in the left tail, where distribution functions are exact.
		return -d.leftBetween(-b, -a, u)
	}
	return d.leftBetween(a, b, u)
}

// leftBetween is between for a ≤ 0.
func (d draw) leftBetween(a, b, u float64) float64 {
	if d == uniform {
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
func (d draw) cdf(z float64) float64 {
	if math.IsInf(z, -1) {
		return 0
	}
	if d == laplace {
		return keystream.LaplaceCDF(z)
	}
	return keystream.NormalCDF(z)
}

func (d draw) quantile(p float64) float64 {
	if d == laplace {
		return keystream.LaplaceQuantile(p)
	}
	return keystream.NormalQuantile(p)
}
