// Package tablerisk measures what a released table leaves of a cell: the distribution
// over its value that an intruder holds after the release, and the disclosure risk
// 1/entropy of it (Duncan, Fienberg, Krishnan, Padman and Roehrig 2001, §§2 and 5).
package tablerisk

import (
	"errors"
	"math"
)

// ErrImpossible says that no value with a prior above 0 agrees with what was released.
var ErrImpossible = errors.New("table risk: no value agrees with the release")

// Posterior is Bayes' theorem over the values 0, 1, 2, …: prior and likelihood by
// value, of the same length, not negative. ErrImpossible where nothing is left.
func Posterior(prior, likelihood []float64) ([]float64, error) {
	p := make([]float64, len(prior))
	sum := 0.0
	for v := range p {
		p[v] = prior[v] * likelihood[v]
		sum += p[v]
	}
	if !(sum > 0) {
		return nil, ErrImpossible
	}
	for v := range p {
		p[v] /= sum
	}
	return p, nil
}

// Risk is 1/entropy of a distribution, in natural logarithms (§2): +Inf where one
// value is certain.
func Risk(p []float64) float64 {
	entropy := 0.0
	for _, v := range p {
		if v > 0 {
			entropy -= v * math.Log(v)
		}
	}
	if entropy <= 0 {
		return math.Inf(1)
	}
	return 1 / entropy
}

// RangeRisk is the risk 1/entropy, and the expected squared error, of the belief that a
// value is any whole number from low to high with the same probability: 0 and +Inf where
// there is no end.
func RangeRisk(low, high, truth float64) (risk, square float64) {
	n := high - low + 1
	d := (low+high)/2 - truth
	switch {
	case math.IsInf(n, 1):
		return 0, math.Inf(1)
	case n <= 1:
		return math.Inf(1), d * d
	}
	return 1 / math.Log(n), (n*n-1)/12 + d*d
}
