package tablerisk

import (
	"math"
	"testing"
)

// Table 4: the snooper's prior distribution of the cell.
var prior = []float64{0, .3, .3, .15, .1, .05, .04, .03, .02, .01, 0, 0, 0, 0, 0, 0}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// table3 contains the likelihoods of ω = 0, 1, … given a released 3 in the square [1 14; 17 83], by θ;
// verify/papers compares them with the formula. The paper prints .001, .515, .380, 008 and .002 with
// a misplaced decimal point for θ=.05 ω=7, θ=.1 ω=5 and θ=.2 ω=6, 9, 10.
var table3 = map[float64][16]float64{
	0.05: {0, .0007, .0683, .7746, .1482, .0178, .0017, .0001},
	0.1:  {0, .0026, .1151, .6193, .2235, .0515, .0096, .0016, .0002},
	0.2:  {0, .0088, .1655, .4382, .2708, .1121, .0380, .0114, .0032, .0008, .0002},
}

// between returns the likelihood of a release that says that the value lies between low and high.
func between(low, high int) []float64 {
	l := make([]float64, len(prior))
	for v := low; v <= high; v++ {
		l[v] = 1
	}
	return l
}

// posterior is Bayes' theorem.
func posterior(likelihood []float64) []float64 {
	p, sum := make([]float64, len(prior)), 0.0
	for v := range p {
		p[v] = prior[v] * likelihood[v]
		sum += p[v]
	}
	for v := range p {
		p[v] /= sum
	}
	return p
}

// Table 5 by Bayes' theorem from tables 3 and 4 (the paper prints other values, which do not follow
// from these tables), and §5: the risks follow from the paper's own formula; the paper prints 1.263,
// .969, .713, .255 and .919. Table 3 has four decimals, so the risks are correct to two or three
// digits.
func TestRiskOfTheSquare(t *testing.T) {
	markov := func(theta float64) []float64 {
		l := table3[theta]
		return l[:]
	}
	for _, k := range []struct {
		name            string
		likelihood      []float64
		posterior       []float64
		risk, tolerance float64
	}{
		{"θ=.05", markov(0.05), []float64{.001, .134, .761, .097, .006}, 1.339, 0.002},
		{"θ=.1", markov(0.1), []float64{.005, .225, .605, .146, .017}, .967, 0.002},
		{"θ=.2", markov(0.2), []float64{.017, .325, .431, .177, .037}, .775, 0.002},
		{"suppression", between(0, 15), prior[1:], .573, 0.0006},
		{"rounding to 3", between(1, 5), []float64{1. / 3, 1. / 3, 1. / 6, 1. / 9, 1. / 18}, .697, 0.0006},
	} {
		p := posterior(k.likelihood)
		for i, w := range k.posterior {
			near(t, k.name+" posterior", p[i+1], w, 0.0006)
		}
		near(t, k.name+" risk", Risk(p), k.risk, k.tolerance)
	}
}

func TestCertainty(t *testing.T) {
	if p := posterior(between(2, 2)); !math.IsInf(Risk(p), 1) || p[2] != 1 {
		t.Errorf("one value left: %v, risk %v", p, Risk(p))
	}
}
