// Package sampling says what is known of a count of which a sample was published: each
// record was drawn with the same probability, whatever the others (Duncan, Fienberg,
// Krishnan, Padman and Roehrig 2001, section 3).
package sampling

import (
	"math"

	"github.com/sdlfilter/sdlfilter/check"
)

// MostOneIn is the greatest number of records of which one is drawn.
const MostOneIn = 1000

// Check says what is wrong with how many records one is drawn of: at least 2, so that
// nobody can be sure of more than half of what she believes.
func Check(oneIn int) (problems check.Problems) {
	if oneIn < 2 || oneIn > MostOneIn {
		problems.Addf("one_in", "must be between 2 and %d, got %d", MostOneIn, oneIn)
	}
	return problems
}

// Drawn reports whether a record with a draw, uniform over 64 bits, is in the sample of one in
// so many. Who is in a smaller sample is in every larger one.
func Drawn(draw uint64, oneIn int) bool { return draw < math.MaxUint64/uint64(oneIn) }

// Belief is what is believed of a count by who knows how many of its records were drawn and
// takes every count for as likely as any other beforehand: p[0] is the probability of the
// count first; counts that have next to none are left out.
// It is a negative binomial distribution,
//
//	P(n) = C(n, drawn) f^(drawn+1) (1−f)^(n−drawn),  f = 1/oneIn.
//
// No count has more than f of it, nor of what is left of it to who knows that there are at least
// as many as she knows of: its hazard grows up to f. Nor is a count more probable to who
// knows of some records whether they were drawn, since the others have such a distribution.
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
