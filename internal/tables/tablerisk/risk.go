// Package tablerisk measures the disclosure risk of a cell after the release of a
// table: the posterior distribution of its value for an intruder, and the risk
// 1/entropy of this distribution (Duncan, Fienberg, Krishnan, Padman and Roehrig 2001,
// §§2 and 5).
package tablerisk

import (
	"errors"
	"math"
)

// ErrImpossible reports that no value with a prior above 0 agrees with the release.
var ErrImpossible = errors.New("table risk: no value agrees with the release")

// Posterior applies Bayes' theorem over the values 0, 1, 2, …: prior and likelihood are
// by value, of the same length, and not negative. It returns ErrImpossible if all
// products are 0.
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

// Risk returns 1/entropy of a distribution, in natural logarithms (§2): +Inf if one
// value is certain.
func Risk(p []float64) float64 {
	h := entropy(p)
	if h <= 0 {
		return math.Inf(1)
	}
	return 1 / h
}

func entropy(p []float64) (h float64) {
	for _, v := range p {
		if v > 0 {
			h -= v * math.Log(v)
		}
	}
	return h
}

// RangeRisk returns the risk 1/entropy and the expected squared error of the uniform
// distribution over the whole numbers from low to high: 0 and +Inf if an end is
// infinite.
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
