package assess

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/estimate"
	"github.com/sdlfilter/sdlfilter/assess/internal/replicate"
)

// An intruder may have m releases of the same data, each with its own draws: the mean of the m
// estimates has the same bias and 1/m of the variance. Duncan and Keller-McNulty (2000), section
// 6.1, give it for the mean of m synthetic samples.

// copies returns the number of releases in which a column has draws of its own.
func (r *reckoning) copies(c int) int { return max(1, r.a.opts.Columns[c].Copies) }

// m returns the number of releases for the column of a table.
func (t *riskTable) m() float64 { return max(1, t.copies) }

// meansOf returns the released means of replicates.
func meansOf(answers []replicate.Answer) []float64 {
	list := make([]float64, len(answers))
	for m := range answers {
		list[m] = answers[m].Mean
	}
	return list
}

// targetOf returns for each replicate the released value of the record that holds a target, or,
// without record, that of the target's rank.
func targetOf(answers []replicate.Answer, target int, record bool) []float64 {
	list := make([]float64, len(answers))
	for m := range answers {
		if list[m] = answers[m].Position[target]; record {
			list[m] = answers[m].Linked[target]
		}
	}
	return list
}

// meanOfCopies returns E(τ−τ̂)² of the mean over all copies, computed from the estimates of one
// copy, and its Monte-Carlo variance.
func (t *riskTable) meanOfCopies(tau float64, estimates []float64) (square, noise float64) {
	s := estimate.SpreadOf(estimates, t.subsets)
	return s.MeanSquare(tau, 1/t.m()), s.MeanSquareNoise(tau, 1/t.m())
}

// ofMean returns the mean over records of E(x−ȳ)², where ȳ is the mean of a record's values in
// all copies, from the same figure for one copy. The mean effect of the masks over draws is the
// same in all copies and does not become smaller.
func (t *riskTable) ofMean(one float64) float64 {
	if t.m() == 1 {
		return one
	}
	var n, sum float64
	for i := range t.of.answers {
		if v := t.of.answers[i].Between; v == v {
			n++
			sum += v
		}
	}
	if n == 0 {
		return one / t.m() // at least
	}
	stays := min(one, max(0, sum/n))
	return stays + (one-stays)/t.m()
}

// atMost replaces R of one copy by the greatest R that all copies together can have: the squared
// error of a mean of m is at least 1/m of that of one.
func (t *riskTable) atMost(row *Risk) {
	if t.m() == 1 {
		return
	}
	row.R *= Float(t.m())
	row.SE *= Float(t.m())
	row.RMSE = Float(math.Sqrt(1 / float64(row.R)))
	if row.Approximate = true; row.Errs != ErrsEither {
		row.Errs = ErrsSafe
	}
}
