package core

import (
	"math"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
)

// The defaults of least and share: the threshold and the dominance that output checking commonly
// asks of a mean (Hundepool et al. 2012, Statistical Disclosure Control, sections 4.2.1 and 4.2.2).
const (
	leastOfMean = 3
	shareOfMean = 0.8
)

// Contributors is what a mask demands of the records behind a figure that it releases in place of
// theirs: how many they are, and the greatest share that one of them may have in it.
type Contributors struct {
	Least int
	Share float64
}

// ContributorsOf returns the demand of the parameters least and share.
func ContributorsOf(least *int, share *float64) Contributors {
	c := Contributors{leastOfMean, shareOfMean}
	if least != nil {
		c.Least = *least
	}
	if share != nil {
		c.Share = *share
	}
	return c
}

// CheckContributors checks the parameters least and share.
func CheckContributors(ps *check.Problems, least *int, share *float64) {
	if least != nil && (*least < 2 || *least > GreatestK) {
		ps.Addf("least", "must be at least 2 and at most %d, got %d: the mean of one value is that value", GreatestK, *least)
	}
	if share != nil && !(*share > 0 && *share <= 1) {
		ps.Addf("share", "must be above 0 and at most 1, got %v", *share)
	}
}

// WithContributors adds the parameters least and share, where they are given.
func WithContributors(list []Parameter, least *int, share *float64) []Parameter {
	if least != nil {
		list = append(list, Parameter{"least", float64(*least)})
	}
	return WithNumber(list, "share", share)
}

// The demands that an aggregate may miss, by the parameter that an error names.
const (
	TooFewValues = "least"
	OneRules     = "share"
)

// OfTail judges the mean of the values beyond a bound, and returns what it misses, "" for nothing.
// A snooper who knows the bound and the number n of values knows of each that it lies beyond, so
// n·mean − (n−1)·bound is an estimate of the one farthest out that is wrong by the distances of
// the others. So the share of a value is the greater of that of its amount and that of its
// distance from the bound. Equal values are each their mean, and pass: the assessment sees that they
// are unchanged.
func (c Contributors) OfTail(values []float64, bound float64) string {
	switch {
	case len(values) == 0:
		return ""
	case len(values) < c.Least:
		return TooFewValues
	case c.Dominated(values, 0), c.Dominated(values, bound):
		return OneRules
	}
	return ""
}

// Dominated reports whether one value has more than the greatest share of the sum of all
// distances from an origin.
func (c Contributors) Dominated(values []float64, origin float64) bool {
	most, sum := 0.0, 0.0
	for _, v := range values {
		most = max(most, math.Abs(v-origin))
	}
	if most == 0 {
		return false
	}
	for _, v := range values {
		sum += math.Abs(v-origin) / most // relative, as sums of great values are infinite
	}
	const rounding = 1e-12
	return 1 > c.Share*sum*(1+rounding)
}

// ShareText writes a share in percent, to three digits.
func ShareText(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) }

// GreatestK bounds k, so that a number of records given by mistake is refused.
const GreatestK = 1_000_000
