package papers

import (
	"errors"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/check"
)

// Perturbation is Markov perturbation of an elementary data square, as an intruder sees
// it who knows the margins and θ: Duncan, Fienberg, Krishnan, Padman and Roehrig
// (2001), sections 3 and 4. Each count that is free to do so leaves the first cell
// with probability θ, and each of those below it that is free enters with probability
// θr/(1−r), r being the first cell's share of its column.
type Perturbation struct {
	Row    int     // total of the first cell's row
	Column int     // total of the first cell's column
	Total  int     // of the square
	Theta  float64 // θ, between 0 and 1
}

// Check reports parameters outside of their domains.
func (p Perturbation) Check() check.Problems {
	var ps check.Problems
	if p.Row < 0 || p.Column < 0 {
		ps.Addf("margins", "must be at least 0, got %d and %d", p.Row, p.Column)
	}
	if p.Total < max(p.Row, p.Column, 1) {
		ps.Addf("total", "must be at least 1 and either margin, got %d", p.Total)
	}
	ps.Between("theta", p.Theta, 0, 1)
	return ps
}

// Bounds returns the least and the greatest count that the margins leave to the
// first cell.
func (p Perturbation) Bounds() (lower, upper int) {
	return max(0, p.Row+p.Column-p.Total), min(p.Row, p.Column)
}

// Likelihood returns P(published | ω) for ω = 0, 1, …, the upper bound: L(ω) of
// Duncan et al. (2001), section 4. A true count ω under which θ is not admissible,
// θ > (1−r)/r with r = ω/Column, has likelihood 0: the agency would not have used it.
// The error says what Check does, or that the published count is outside of Bounds.
func (p Perturbation) Likelihood(published int) ([]float64, error) {
	ps := p.Check()
	lower, upper := p.Bounds()
	if len(ps) == 0 && (published < lower || published > upper) {
		ps.Addf("published", "must be between %d and %d, got %d", lower, upper, published)
	}
	if err := invalid(ps); err != nil {
		return nil, err
	}
	l := make([]float64, upper+1)
	for omega := lower; omega <= upper; omega++ {
		enter := 0.0
		if omega > 0 && p.Theta > 0 {
			enter = p.Theta * float64(omega) / float64(p.Column-omega)
		}
		if enter > 1+1e-12 { // rounding of a quotient that is 1
			continue
		}
		free, below := omega-lower, upper-omega
		for stay := max(0, published-lower-below); stay <= min(free, published-lower); stay++ {
			l[omega] += binomial(stay, free, 1-p.Theta) * binomial(published-lower-stay, below, min(enter, 1))
		}
	}
	return l, nil
}

// binomial is the probability of k successes in n trials, 0 ≤ k ≤ n.
func binomial(k, n int, p float64) float64 {
	switch {
	case p == 0 || p == 1:
		if (p == 0) == (k == 0) && (p == 1) == (k == n) || n == 0 {
			return 1
		}
		return 0
	}
	lnN, _ := math.Lgamma(float64(n + 1))
	lnK, _ := math.Lgamma(float64(k + 1))
	lnRest, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(lnN - lnK - lnRest + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// ErrImpossible says that a prior gives weight 0 to every count that is possible given
// the release.
var ErrImpossible = errors.New("the prior gives no weight to any possible count")

// CellPosterior returns P(ω | published), in proportion to prior[ω]·likelihood[ω]
// and summing to 1. Counts beyond the shorter of the two have probability 0. The
// error is ErrImpossible, or tells of an element that is negative or not finite.
func CellPosterior(prior, likelihood []float64) ([]float64, error) {
	post := make([]float64, min(len(prior), len(likelihood)))
	sum := 0.0
	for i := range post {
		for _, v := range []float64{prior[i], likelihood[i]} {
			if !(v >= 0) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("count %d: weights must be finite and at least 0, got %v", i, v)
			}
		}
		post[i] = prior[i] * likelihood[i]
		sum += post[i]
	}
	if sum == 0 {
		return nil, ErrImpossible
	}
	for i := range post {
		post[i] /= sum
	}
	return post, nil
}

// SuppressedLikelihood is that of a suppressed cell: every count up to the upper
// bound is as likely to be suppressed as any other, so a prior stays as it is.
func SuppressedLikelihood(lower, upper int) []float64 {
	l := make([]float64, upper+1)
	for i := max(lower, 0); i <= upper; i++ {
		l[i] = 1
	}
	return l
}

// RoundedLikelihood is that of a count rounded to a multiple of base, either
// neighbour allowed (controlled rounding): counts less than base off the published
// one, none below 0. For base 3 and published 3 these are 1 to 5.
func RoundedLikelihood(published, base int) ([]float64, error) {
	if base < 1 {
		return nil, fmt.Errorf("base: must be at least 1, got %d", base)
	}
	if published < 0 || published%base != 0 {
		return nil, fmt.Errorf("published: must be a multiple of base %d, got %d", base, published)
	}
	return SuppressedLikelihood(published-base+1, published+base-1), nil
}

// CellUtility is U = 1/E(ω−truth)² under a posterior, the mean squared precision
// of Duncan et al. (2001), section 5; +Inf where the posterior is sure of the truth.
func CellUtility(posterior []float64, truth int) float64 {
	mse := 0.0
	for omega, p := range posterior {
		d := float64(omega - truth)
		mse += p * d * d
	}
	return 1 / mse
}

// CellRisk is R = 1/(−Σ p log p), the reciprocal of the posterior's entropy in
// natural units, Duncan et al. (2001), section 5; +Inf where the posterior is sure of
// a count.
func CellRisk(posterior []float64) float64 {
	entropy := 0.0
	for _, p := range posterior {
		if p > 0 {
			entropy -= p * math.Log(p)
		}
	}
	return 1 / math.Abs(entropy) // −1·log 1 is −0
}
