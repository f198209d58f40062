// Package sampling computes what is known of a count of which a sample was published.
// Each record was drawn with the same probability, independently of the others (Duncan,
// Fienberg, Krishnan, Padman and Roehrig 2001, section 3).
package sampling

import (
	"math"

	"github.com/sdlfilter/sdlfilter/check"
)

// MostOneIn is the greatest oneIn: one record in oneIn is drawn.
const MostOneIn = 1000

// Check returns a problem unless oneIn is between 2 and MostOneIn: at least 2, so that
// no belief in a count can exceed ½.
func Check(oneIn int) (problems check.Problems) {
	if oneIn < 2 || oneIn > MostOneIn {
		problems.Addf("one_in", "must be between 2 and %d, got %d", MostOneIn, oneIn)
	}
	return problems
}

// Drawn reports whether a record with the given draw, uniform over 64 bits, is in the sample
// of one in oneIn. A record in a smaller sample is also in every larger one.
func Drawn(draw uint64, oneIn int) bool { return draw < math.MaxUint64/uint64(oneIn) }

// Belief returns the posterior distribution of a count given the number of its drawn
// records and a uniform prior: p[0] is the probability of the count first. Counts with a
// negligible probability are omitted. It is a negative binomial distribution,
//
//	P(n) = C(n, drawn) f^(drawn+1) (1−f)^(n−drawn),  f = 1/oneIn.
//
// No count has a probability above f. This also holds for somebody who knows a lower bound of
// the count, because the hazard of the distribution grows up to f, and for somebody who knows of
// some records whether they were drawn, because the number of the other records has a
// distribution of the same form.
func Belief(drawn int64, oneIn int) (first int64, p []float64) {
	f := 1 / float64(oneIn)
	mode := drawn * int64(oneIn) // of equals the greater one
	logP := func(n int64) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(drawn + 1))
		c, _ := math.Lgamma(float64(n - drawn + 1))
		return a - b - c + float64(drawn+1)*math.Log(f) + float64(n-drawn)*math.Log1p(-f)
	}
	least := math.Log(1e-14) + logP(mode)
	first = mode
	for first > drawn && logP(first-1) >= least {
		first--
	}
	for n := first; n <= mode || logP(n) >= least; n++ {
		p = append(p, math.Exp(logP(n)-logP(mode)))
	}
	sum := 0.0
	for _, q := range p {
		sum += q
	}
	for k := range p {
		p[k] /= sum
	}
	return first, p
}
