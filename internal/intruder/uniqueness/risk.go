package uniqueness

import (
	"fmt"
	"math"
)

// Estimator is a method to evaluate the individual risk E(1/F_k | f_k).
type Estimator int

const (
	// Exact is the expectation itself.
	Exact Estimator = iota
	// Approximate is sdcMicro's formula p/(f_k − (1 − p)) for f_k > 2, and the exact
	// value for f_k ≤ 2.
	Approximate
)

// String returns the estimator's name: exact or approx.
func (e Estimator) String() string {
	switch e {
	case Exact:
		return "exact"
	case Approximate:
		return "approx"
	}
	return fmt.Sprintf("Estimator(%d)", int(e))
}

// Risk returns the individual risk, from 0 to 1/f, of a record whose keys f sample
// records and F population records have, itself included. f is at least 1. F is an
// estimate; if it is below f, it is taken as F = f.
func (e Estimator) Risk(f, F float64) float64 {
	if F <= f {
		return 1 / f
	}
	p := f / F
	if e == Approximate && f > 2 {
		return p / (f - (1 - p))
	}
	return IndividualRisk(f, p)
}

// IndividualRisk returns E(1/F | f), where F given f is negative binomial with f
// successes of probability p (Benedetti and Franconi 1998; Franconi and Polettini
// 2004), for every f ≥ 1, whole or not, and 0 ≤ p ≤ 1, to a relative error of about
// 1e-14.
//
// The published forms, p^f/f · ₂F₁(f, f; f+1; q) with q = 1 − p and its alternating
// expansion, cancel or overflow. Substituting u = p·e^−t/(1 − q·e^−t) in
// E(1/F) = ∫ (p·e^−t/(1 − q·e^−t))^f dt gives
//
//	r = p·I(f), I(f) = ∫₀¹ u^(f−1)/(p + q·u) du = ₂F₁(1, 1; f+1; q)/f.
//
// The series of this ₂F₁ has positive terms with ratios q·m/(f+m): it converges fast
// for large f or moderate q. Otherwise the recurrence q·I(f+1) + p·I(f) = 1/f is
// applied upwards from f in [½, 1½]; since p/q ≤ ¼, every step reduces the errors of
// the previous ones.
func IndividualRisk(f, p float64) float64 {
	switch {
	case p >= 1:
		return 1 / f
	case p <= 0:
		return 0
	}
	q := 1 - p
	if p > 0.2 || f > 24 {
		sum, term := 1.0, 1.0
		for m := 1.0; term > 1e-18*sum; m++ {
			term *= q * m / (f + m)
			sum += term
		}
		return p * sum / f
	}
	steps := math.Round(f) - 1
	at := f - steps
	integral := firstIntegral(at-1, p, q)
	for range int(steps) {
		integral = (1/at - p*integral) / q
		at++
	}
	return p * integral
}

// firstIntegral returns I(1+δ) for |δ| ≤ ½ and p/q ≤ ¼, as ∫₀^∞ − ∫₁^∞. The first
// integral is −(p/q)^δ·π/(q·sin πδ); the second is expanded in powers of p/q. Its
// leading term 1/(qδ) cancels the pole of the first integral as δ → 0, and −ln p/q
// remains.
func firstIntegral(δ, p, q float64) float64 {
	ratio := p / q
	tail, power := 0.0, ratio
	for k := 1.0; math.Abs(power) > 1e-18; k++ {
		tail += power / (k - δ)
		power *= -ratio
	}
	if δ == 0 {
		return (tail - math.Log(ratio)) / q
	}
	x := math.Pi * δ
	var logInverseSinc float64 // ln(x/sin x), by its series if the quotient is near 1
	if math.Abs(x) < 0.03 {
		s := x * x
		logInverseSinc = s * (1./6 + s*(1./180+s*(1./2835+s/37800)))
	} else {
		logInverseSinc = math.Log(x / math.Sin(x))
	}
	return (tail - math.Expm1(δ*math.Log(ratio)+logInverseSinc)/δ) / q
}

// householdRisk returns for each record the risk that at least one member of its
// household is found, 1 − Π(1 − r).
func householdRisk(household []int32, risk []float64) []float64 {
	column := []field{newField(household)}
	var g grouper
	ids := make([]int32, len(household))
	survival := make([]float64, g.group(column, nil, ids))
	for i, id := range ids {
		survival[id] += math.Log1p(-risk[i])
	}
	found := make([]float64, len(risk))
	for i, id := range ids {
		found[i] = risk[i]
		if household[i] >= 0 {
			found[i] = -math.Expm1(survival[id])
		}
	}
	return found
}
