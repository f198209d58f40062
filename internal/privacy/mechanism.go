package privacy

import "math"

// Laplace returns ε of Laplace noise with standard deviation sd on values whose least and greatest are width apart:
// the scale is sd/√2, and ε is width over scale (Dwork, McSherry, Nissim and Smith 2006, TCC, proposition 1). It is
// +Inf where sd is 0 or width is infinite. With width 1 it is the ε for each unit of distance between two values
// (metric privacy: Chatzikokolakis et al. 2013, PETS, definition 1).
func Laplace(width, sd float64) (epsilon float64) { return over(math.Sqrt2*width, sd) }

// Gaussian returns ρ of normal noise, width²/2sd²: Bun and Steinke (2016), proposition 1.6.
func Gaussian(width, sd float64) (rho float64) {
	ratio := over(width, sd)
	return ratio * ratio / 2
}

// over is a/b, +Inf for b = 0 and for a that is no number.
func over(a, b float64) float64 {
	switch {
	case a == 0:
		return 0
	case !(b > 0) || math.IsNaN(a):
		return math.Inf(1)
	}
	return a / b
}

// Matrix returns ε of a randomised response by a transition matrix, whose rows are the laws of what is released for
// each original category: the logarithm of the greatest ratio within a column (Wang, Wu and Hu 2016, EDBT/ICDT
// workshops, theorem 1). It is +Inf where a category is released for some originals and never for others.
func Matrix(rows [][]float64) (epsilon float64) {
	if len(rows) == 0 {
		return math.Inf(1)
	}
	for j := range rows[0] {
		least, most := math.Inf(1), 0.0
		for _, row := range rows {
			least, most = min(least, row[j]), max(most, row[j])
		}
		switch {
		case most == 0: // never released
		case !(least > 0) || math.IsNaN(most):
			return math.Inf(1)
		default:
			epsilon = max(epsilon, math.Log(most)-math.Log(least))
		}
	}
	return epsilon
}

// Concentrated returns ρ of a mechanism with a pure ε: ε²/2, Bun and Steinke (2016), proposition 1.4.
func Concentrated(epsilon float64) (rho float64) { return epsilon * epsilon / 2 }

// Amplified returns ε of a mechanism on a random sample of the data, each record with the probability rate, for those
// who do not see which records were drawn, and records that are added or removed: ln(1 + rate(e^ε − 1)) (Balle, Barthe
// and Gaboardi 2018, "Privacy amplification by subsampling", NeurIPS, theorem 8). It is for statistics of a sample. A
// release of the records themselves shows which were drawn: see Drawn.
func Amplified(epsilon, rate float64) float64 {
	if epsilon > 700 { // beyond e^709 there is no float64
		return epsilon + math.Log(rate)
	}
	return math.Log1p(rate * math.Expm1(epsilon))
}

// Drawn returns δ of a mechanism whose result is released with the probability rate, whatever the value is, and else
// nothing, which shows: P and Q become rate·P and rate·Q beside one point of equal probability, so that δ is multiplied
// by the rate, and ε stays.
func Drawn(delta, rate float64) float64 { return rate * delta }
