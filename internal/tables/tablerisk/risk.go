// Package tablerisk measures the disclosure risk of a cell after the release of a
// table: the posterior distribution of its value for an intruder, and the risk
// 1/entropy of this distribution (Duncan, Fienberg, Krishnan, Padman and Roehrig 2001,
// §§2 and 5).
package tablerisk

import "math"

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
