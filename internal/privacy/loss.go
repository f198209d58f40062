package privacy

import "math"

// Loss is what one or several mechanisms give away of values that are masked by independent draws. The zero value is
// that of nothing released.
type Loss struct {
	Pure  float64 // sum of ε of the mechanisms that have one
	Extra float64 // sum of their δ, which comes from the resolution of the draws
	Rho   float64 // sum of ρ of the normal ones
	// Squares is the sum of ε²/2 of those with a pure ε, which is their ρ.
	Squares float64
	// Apart are bounds on the total variation distance between the law of what is released and the law that ε or ρ is
	// of, summed: of the normal mechanisms, and of the others.
	Apart, ApartPure float64
}

// OfPure returns the loss of a mechanism with a pure ε, whose draws are apart from its law by at most apart in total
// variation: (ε, (1 + e^ε)·apart).
func OfPure(epsilon, apart float64) Loss {
	return Loss{Pure: epsilon, Extra: widened(apart, epsilon), Squares: Concentrated(epsilon), ApartPure: apart}
}

// OfGaussian returns the loss of normal noise.
func OfGaussian(rho, apart float64) Loss { return Loss{Rho: rho, Apart: apart} }

// widened is (1 + e^ε)·apart, by which δ grows if both laws are apart from those of which ε is known.
func widened(apart, epsilon float64) float64 {
	if apart == 0 {
		return 0
	}
	return (1 + math.Exp(epsilon)) * apart
}

// And returns the loss of two mechanisms together, each with draws of its own: ε, ρ and δ add up (Dwork and Roth 2014,
// "The algorithmic foundations of differential privacy", theorem 3.16; Bun and Steinke 2016, lemma 1.7).
func (l Loss) And(other Loss) Loss {
	return Loss{l.Pure + other.Pure, l.Extra + other.Extra, l.Rho + other.Rho, l.Squares + other.Squares,
		l.Apart + other.Apart, l.ApartPure + other.ApartPure}
}

// Times returns the loss of n mechanisms like l, each on a value of its own and with draws of its own: n records of one
// person or household. (Where one draw has n times the range, ρ grows by n².)
func (l Loss) Times(n int) Loss {
	k := float64(n)
	if n == 0 {
		return Loss{}
	}
	return Loss{k * l.Pure, k * l.Extra, k * l.Rho, k * l.Squares, k * l.Apart, k * l.ApartPure}
}

// IsPure reports whether there is an ε without a δ, but for that of the resolution of the draws.
func (l Loss) IsPure() bool { return l.Rho == 0 }

// TotalRho is ρ of all of them together.
func (l Loss) TotalRho() float64 { return l.Rho + l.Squares }

// Epsilon returns the least ε that is known of a loss at δ, if what is masked is released with the probability rate: of
// the sum of the pure ε beside the exact law of the normal mechanisms, and of ρ of all together, the smaller one. It is
// +Inf where δ is not reached.
func (l Loss) Epsilon(delta, rate float64) float64 {
	delta /= rate
	if l.Rho == 0 && l.Extra <= delta && l.Squares == 0 {
		return l.Pure // exactly 0
	}
	beside := l.Pure + falling(func(e float64) float64 { return GaussianDelta(l.Rho, e) + widened(l.Apart, e) + l.Extra },
		delta)
	together := falling(func(e float64) float64 {
		return ConcentratedDelta(l.TotalRho(), e) + widened(l.Apart+l.ApartPure, e)
	}, delta)
	return min(beside, together)
}

// falling is least for a function that falls at first, and may grow again behind: the resolution of the draws shows in
// events that are rarer than 1 in e^ε times as many.
func falling(delta func(epsilon float64) float64, limit float64) float64 {
	if delta(0) <= limit {
		return 0
	}
	const steps = 2000
	for i := 1; i <= steps; i++ { // up to e^40: beyond, no draw of 52 bits shows anything
		high := 40 * float64(i) / steps
		if !(delta(high) <= limit) {
			continue
		}
		low := 40 * float64(i-1) / steps
		for range 60 {
			if mid := (low + high) / 2; delta(mid) <= limit {
				high = mid
			} else {
				low = mid
			}
		}
		return high
	}
	return math.Inf(1)
}

// The draws are made of 52 uniform bits. A released value is an interval of draws, and its probability differs from
// that of the law by at most one draw at either end, and by the rounding of the draw: below 2⁻⁵¹ for Laplace draws;
// below 2⁻⁵⁰ for normal ones, which are made of 256 layers of 52 bits (docs/methods.md, section 10).
const (
	laplaceError  = 0x1p-51
	normalError   = 0x1p-50
	laplaceReach  = 36.1 // the greatest standard draw, 52 ln 2, in scales
	normalReach   = 9.4  // the same, −Φ⁻¹(2⁻⁵³·P(beyond the layers)), in standard deviations
	laplaceScales = 1 / math.Sqrt2
)

// LaplaceApart returns a bound on the total variation distance between the draws of Laplace noise, with standard
// deviation sd in steps of the grid that released values lie on, and their law: the number of values that can be
// reached times the error of each.
func LaplaceApart(sd float64) float64 {
	return (2*math.Ceil(laplaceReach*laplaceScales*sd) + 1) * laplaceError
}

// GaussianApart is LaplaceApart for normal noise.
func GaussianApart(sd float64) float64 { return (2*math.Ceil(normalReach*sd) + 1) * normalError }

// MatrixApart is LaplaceApart for categories that are drawn from rows of a matrix. The bounds of a category's draws are
// sums of up to k probabilities, each rounded to 2⁻⁵³: with the draw at either end, the error of each of k categories
// is below (k + 1)2⁻⁵².
func MatrixApart(categories int) float64 {
	k := float64(categories)
	return k * (k + 1) * 0x1p-52
}

// Unresolved is δ of the draws' resolution at the ε that the loss has without it: the sum of the pure ones, beside
// normal ones that have no ε of their own.
func (l Loss) Unresolved() float64 { return l.Extra + widened(l.Apart, l.Pure) }

// Resolution is the greatest δ of the draws' resolution beside which an ε is stated that names no δ.
const Resolution = 1e-6
