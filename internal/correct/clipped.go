package correct

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// ErrShape is returned if values do not look like a normal column with its ends moved to bounds, so
// that there is no correction for them.
var ErrShape = errors.New("the values within the bounds do not look like those of a normal distribution")

// Normal is a normal column before its ends were moved to bounds.
type Normal struct {
	Mean, SD float64
	// Inside is the share of records within the bounds. It is also the factor by
	// which clipping lowers the covariance with any column whose mean is linear in
	// this one: Stein's (1981) lemma, Cov(g(z), w) = Cov(z, w)·E g′(z).
	Inside float64
}

// shapeBins is in how many parts of equal probability the values within the
// bounds are counted, to see whether they are normal, and shapeLimit the value of
// χ² with shapeBins−1 degrees of freedom that chance passes once in 20 times:
// the two parameters and the heaps at the bounds leave it no more of them.
const (
	shapeBins  = 20
	shapeLimit = 30.14
	leastShape = 5000 // records; fewer would not tell a normal column from others
	leastSeen  = 0.75 // of them within the bounds; of what lies beyond, fewer tell too little
)

// ClippedNormal fits a normal column to values that were moved to a bound where
// they lay outside (infinite: no bound), by greatest likelihood: the values at a
// bound are censored (Tobin 1958), and the moments of what lies beyond a bound are
// those of a truncated normal. NaN values are missing and left out. It returns
// ErrShape where the counts within the bounds depart from the fit, and where there
// are too few values (5,000) to see that.
//
// Only released values are looked at. With x and the noise normal, Var(x) is the
// square of SD less λ².
func ClippedNormal(released []float64, lower, upper float64) (Normal, error) {
	var low, high, n, sum, squares float64
	origin := math.NaN()
	var inside []float64
	for _, y := range released {
		switch {
		case y != y:
		case y <= lower:
			low++
		case y >= upper:
			high++
		default:
			if n == 0 {
				origin = y
			}
			n++
			sum += y - origin
			squares += (y - origin) * (y - origin)
			inside = append(inside, y)
		}
	}
	if total := n + low + high; total < leastShape || n < leastSeen*total {
		return Normal{}, ErrShape
	}
	total := n + low + high
	mean, sd := origin+sum/n, math.Sqrt(squares/n-sum/n*sum/n)
	if !(sd > 0) {
		return Normal{}, ErrShape
	}
	// EM: what is censored is replaced by its expectation under the last fit.
	for range 10_000 {
		m, s := sum, squares
		tail := func(count, bound, sign float64) {
			if count == 0 {
				return
			}
			z := sign * (bound - mean) / sd
			hazard := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / (math.Erfc(z/math.Sqrt2) / 2)
			e := mean - origin + sign*sd*hazard
			m += count * e
			s += count * (sd*sd*(1+z*hazard-hazard*hazard) + e*e)
		}
		tail(low, lower, -1)
		tail(high, upper, 1)
		was, wasSD := mean, sd
		mean, sd = origin+m/total, math.Sqrt(s/total-m/total*m/total)
		if math.Abs(mean-was)+math.Abs(sd-wasSD) < 1e-9*sd {
			break
		}
	}
	if !(sd > 0) || !normalWithin(inside, low, high, lower, upper, mean, sd) {
		return Normal{}, ErrShape
	}
	return Normal{mean, sd * math.Sqrt(total/(total-1)), n / total}, nil
}

// normalWithin says whether counts within the bounds, and at them, agree with a
// normal distribution, by χ².
func normalWithin(inside []float64, low, high, lower, upper, mean, sd float64) bool {
	fit := distuv.Normal{Mu: mean, Sigma: sd}
	below, above := fit.CDF(lower), fit.CDF(upper)
	if !(above-below > 0) {
		return false
	}
	var counts [shapeBins]float64
	for _, y := range inside {
		k := int(float64(shapeBins) * (fit.CDF(y) - below) / (above - below))
		counts[min(max(k, 0), shapeBins-1)]++
	}
	total := float64(len(inside)) + low + high
	chi2 := 0.0
	add := func(count, share float64) {
		if expected := total * share; expected > 0 {
			chi2 += (count - expected) * (count - expected) / expected
		} else if count > 0 {
			chi2 = math.Inf(1)
		}
	}
	for _, n := range counts {
		add(n, (above-below)/shapeBins)
	}
	add(low, below)
	add(high, 1-above)
	return chi2 < shapeLimit
}
