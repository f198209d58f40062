package tablerisk

import (
	"errors"
	"math"
	"testing"
)

// Table 4: what the snooper believes of the cell beforehand.
var prior = []float64{0, .3, .3, .15, .1, .05, .04, .03, .02, .01, 0, 0, 0, 0, 0, 0}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Table 3: likelihoods of ω given a released 3 in the square [1 14; 17 83]. The paper
// prints .001, .515, .380, 008 and .002 with a slipped decimal point for θ=.05 ω=7,
// θ=.1 ω=5 and θ=.2 ω=6, 9, 10.
func TestLikelihoodsOfTheSquare(t *testing.T) {
	for theta, want := range map[float64][]float64{
		0.05: {.0007, .0683, .7746, .1482, .0178, .0017, .0001},
		0.1:  {.0026, .1151, .6193, .2235, .0515, .0096, .0016, .0002},
		0.2:  {.0088, .1655, .4382, .2708, .1121, .0380, .0114, .0032, .0008, .0002},
	} {
		l := Markov(3, 15, 18, theta)
		near(t, "ω=0", l[0], 0, 0)
		for i, w := range want {
			near(t, "likelihood", l[i+1], w, 0.00005)
		}
	}
}

// The probabilities of what is released add up to 1; the expectation is ω where the
// row is as long as the column, and less by the formula where it is not.
func TestMarkovExpectation(t *testing.T) {
	for w := range 8 {
		sum, mean := 0.0, 0.0
		for released := range 16 {
			p := Markov(released, 15, 18, 0.3)[w]
			sum += p
			mean += p * float64(released)
		}
		near(t, "sum", sum, 1, 1e-12)
		r := float64(w) / 18
		near(t, "mean", mean, float64(w)*0.7+float64(15-w)*r/(1-r)*0.3, 1e-12)
	}
	for w := range 16 { // all of ω = 0 … 15, with a row of 15 and a column of 15
		sum, mean := 0.0, 0.0
		for released := range 16 {
			p := Markov(released, 15, 15, 0.05)[w]
			sum += p
			mean += p * float64(released)
		}
		near(t, "sum", sum, 1, 1e-12)
		if w < 15 {
			near(t, "mean", mean, float64(w), 1e-12)
		} else {
			near(t, "mean of a full cell", mean, 15*0.95, 1e-12)
		}
	}
}

// Table 5 by Bayes from tables 3 and 4 (the paper prints others, which do not follow
// from them), and §5: the utilities follow from these; the risks are those of the
// paper's own formula, of which it prints 1.263, .969, .713, .255 and .919.
func TestRiskAndUtilityOfTheSquare(t *testing.T) {
	for _, k := range []struct {
		name          string
		likelihood    []float64
		posterior     []float64
		utility, risk float64
	}{
		{"θ=.05", Markov(3, 15, 18, 0.05), []float64{.001, .134, .761, .097, .006}, .2405, 1.339},
		{"θ=.1", Markov(3, 15, 18, 0.1), []float64{.005, .225, .605, .146, .017}, .2327, .967},
		{"θ=.2", Markov(3, 15, 18, 0.2), []float64{.017, .325, .431, .177, .037}, .2181, .775},
		{"suppression", Within(16, 0, 15), prior[1:], .1587, .573},
		{"rounding to 3", Within(16, 1, 5), []float64{1. / 3, 1. / 3, 1. / 6, 1. / 9, 1. / 18}, .3462, .697},
	} {
		p, err := Posterior(prior, k.likelihood)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range k.posterior {
			near(t, k.name+" posterior", p[i+1], w, 0.0006)
		}
		near(t, k.name+" utility", Utility(p, 1), k.utility, 0.00006)
		near(t, k.name+" risk", Risk(p), k.risk, 0.0006)
	}
}

func TestCertaintyAndImpossibility(t *testing.T) {
	p, err := Posterior(prior, Within(16, 2, 2))
	if err != nil || !math.IsInf(Risk(p), 1) || !math.IsInf(Utility(p, 2), 1) || Utility(p, 1) != 1 {
		t.Errorf("one value left: %v (%v), risk %v", p, err, Risk(p))
	}
	if _, err := Posterior(prior, Within(16, 10, 15)); !errors.Is(err, ErrImpossible) {
		t.Errorf("no value left: %v", err)
	}
	if l := Markov(0, 15, 18, 0.1); l[0] != 1 {
		t.Errorf("an empty cell stays empty with likelihood %v", l[0])
	}
}
