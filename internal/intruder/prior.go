package intruder

import "math"

// unlikely: a grid ends where the density is e^-100 times its maximum.
const unlikely = 100

// variance is the intruder's knowledge of φ² or σ²: a value, or a distribution of its
// logarithm.
type variance struct {
	fixed bool
	value float64
	// The log density of t = log of the variance is constant + shape·t − rate·e^t for a
	// gamma distribution, constant − shape·t − rate·e^−t for an inverse gamma one. The
	// second is the mirror image of the first.
	mirrored       bool
	shape, rate    float64
	constant       float64
	mode, low, top float64 // low and top: the t where the log density has fallen by unlikely
}

func newVariance(sd float64, prior *Prior, inverse bool) variance {
	if prior == nil {
		return variance{fixed: true, value: sd * sd}
	}
	v := variance{mirrored: inverse, shape: prior.Shape, rate: prior.Scale}
	lgamma, _ := math.Lgamma(v.shape)
	v.constant = v.shape*math.Log(v.rate) - lgamma
	// With u = t − mode (mirrored: mode − t) the log density falls by shape·(e^u − 1 −
	// u).
	below, above := fallBelow(v.shape), fallAbove(v.shape)
	v.mode = math.Log(v.shape / v.rate)
	if inverse {
		v.mode = -v.mode
		below, above = above, below
	}
	v.low, v.top = v.mode-below, v.mode+above
	return v
}

// fallAbove and fallBelow return the u > 0 with shape·(e^±u − 1 ∓ u) = unlikely.
func fallAbove(shape float64) float64 {
	return bisect(func(u float64) float64 { return shape*(math.Expm1(u)-u) - unlikely }, 300)
}

func fallBelow(shape float64) float64 {
	return bisect(func(u float64) float64 { return shape*(math.Expm1(-u)+u) - unlikely }, 300)
}

// bisect returns the zero of an increasing f between 0 and high, rounded up.
func bisect(f func(float64) float64, high float64) float64 {
	low := 0.0
	for range 60 {
		if mid := (low + high) / 2; f(mid) < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// logDensity is the log density of t.
func (v *variance) logDensity(t float64) float64 {
	return v.logDensityAt(t, math.Exp(t))
}

// logDensityAt is logDensity for a caller that has computed e^t.
func (v *variance) logDensityAt(t, expT float64) float64 {
	if v.mirrored {
		return v.constant - v.shape*t - v.rate/expT
	}
	return v.constant + v.shape*t - v.rate*expT
}

// typical is the variance at its known value or at the mode of its logarithm.
func (v *variance) typical() float64 {
	if v.fixed {
		return v.value
	}
	return math.Exp(v.mode)
}
