// Package tablerisk measures what a released table leaves of a cell: the distribution
// over its value that an intruder, or a user, holds after the release, the disclosure
// risk 1/entropy of it and the data utility 1/mean squared error (Duncan, Fienberg,
// Krishnan, Padman and Roehrig 2001, §§2, 4 and 5).
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

// Within is the likelihood of a release that says no more than that the value lies
// between low and high: a suppressed cell with its audited range, or a rounded one.
func Within(values, low, high int) []float64 {
	l := make([]float64, values)
	for v := max(low, 0); v <= high && v < values; v++ {
		l[v] = 1
	}
	return l
}

// Markov is the likelihood of each true value ω = 0 … row of a cell, given its released
// value, under the Markov perturbation of a square with parameter theta (§4). row and
// column are the totals of the cell's row and column, row ≤ column: of the ω that are
// there each stays with probability 1 − θ, of the row − ω others each comes with
// probability rθ/(1 − r), r = ω/column. That is the paper's formula; it keeps the
// expectation of the cell at ω only where row = column, since of column − ω others no
// more than row − ω can come. Values for which that is no probability have the likelihood 0, and so has ω = 0 unless 0 was
// released: nobody comes to an empty cell.
func Markov(released, row, column int, theta float64) []float64 {
	l := make([]float64, row+1)
	for w := range l {
		come := 0.0 // nobody is left to come where ω = row
		if w < row {
			r := float64(w) / float64(column)
			come = r / (1 - r) * theta
		}
		if !(come >= 0 && come <= 1) {
			continue
		}
		for stay := max(0, released-(row-w)); stay <= min(w, released); stay++ {
			l[w] += binomial(w, stay, 1-theta) * binomial(row-w, released-stay, come)
		}
	}
	return l
}

// binomial is the probability of k successes in n trials.
func binomial(n, k int, p float64) float64 {
	ways := 1.0
	for i := range k {
		ways *= float64(n-i) / float64(i+1)
	}
	return ways * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
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

// Utility is 1/E(ω − truth)² under a distribution over the values 0, 1, 2, … (§5): +Inf
// where the truth is certain.
func Utility(p []float64, truth int) float64 {
	square := 0.0
	for v, q := range p {
		d := float64(v - truth)
		square += q * d * d
	}
	return 1 / square
}
