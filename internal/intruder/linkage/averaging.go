package linkage

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Averaging measures what an intruder gains from the means of several releases of the
// same respondents, if the intruder knows which records belong together. The mean of k
// releases reduces independent noise of variance V to V/k. It does not reduce a bias
// that is the same in all releases, or masks whose draws depend on the respondent's
// identity.
type Averaging struct {
	Releases int               `json:"releases"`
	Columns  []AveragedColumn  `json:"columns"`
	Linkage  *AveragingLinkage `json:"linkage,omitempty"`
}

// AveragedColumn compares the mean of releases of one column with the original.
type AveragedColumn struct {
	// Compared is the number of records that have a value in the original and in
	// every release; the other figures are over these records.
	Compared int `json:"compared" doc:"number of records with a value in the original and in every release"`
	// MSE[j] is the mean squared error of the mean of the first j+1 releases, in
	// the column's unit squared, and R[j] its reciprocal, the disclosure risk if the
	// intruder uses the mean as the estimate: Duncan, Keller-McNulty and Stokes (2004).
	// MSE is NaN if no record is compared.
	MSE []assess.Float `json:"mse" doc:"mean squared error of the mean of the first 1, 2, … releases"`
	R   []assess.Float `json:"R" doc:"disclosure risk 1/mse"`
	// Within is the mean over the records of the variance among releases, divisor
	// k−1; NaN for a single release.
	Within assess.Float `json:"within" doc:"mean over the records of the variance between releases"`
	// Limit estimates the MSE of the mean of infinitely many releases of this kind: the
	// MSE of k releases minus Within/k, at least 0.
	Limit assess.Float `json:"limit" doc:"estimated mse of the mean of infinitely many releases"`
	// Equal is true if every compared record has the same value in all releases. The
	// mean then discloses no more than a single release.
	Equal bool `json:"equal" doc:"whether all releases have the same values, so that their mean discloses nothing more than one release"`
}

// AveragingLinkage is the linkage of the originals to the first release and to
// the means.
type AveragingLinkage struct {
	Single   *Result `json:"single" doc:"linkage to this release"`
	Averaged *Result `json:"averaged" doc:"linkage to the means of the releases"`
}

// Average measures the averaging attack on the numeric keys. Record i is the same
// respondent in every release. Original record i is record Truth[i] of the releases, or
// record i if Truth is nil. A respondent who is not in a release has missing values
// there.
//
// If link is true, Average also links the originals to the first release and to the
// means. Each mean is over the releases that have a value; categorical keys are those
// of the first release. Average returns an error if there is no release, if the keys do
// not fit each other, or if Link returns one.
func Average(ctx context.Context, original Keys, releases []Keys, o Options, link bool) (*Averaging, error) {
	if len(releases) == 0 {
		return nil, errors.New("releases: must be at least one, got none")
	}
	for k, release := range releases {
		if err := check(original, release, &o); err != nil {
			return nil, fmt.Errorf("releases[%d]: %w", k, err)
		}
		if n := releases[0].Len(); release.Len() != n {
			return nil, fmt.Errorf("releases[%d]: must have the %d records of the first, got %d", k, n, release.Len())
		}
	}
	a := &Averaging{Releases: len(releases), Columns: make([]AveragedColumn, len(original.Numeric))}
	mean := Keys{Numeric: make([][]float64, len(original.Numeric)), Categorical: releases[0].Categorical}
	columns := make([][]float64, len(releases))
	for j, x := range original.Numeric {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for k := range releases {
			columns[k] = releases[k].Numeric[j]
		}
		a.Columns[j] = averaged(x, columns, &o)
		if link {
			mean.Numeric[j] = means(columns)
		}
	}
	if !link {
		return a, nil
	}
	a.Linkage = new(AveragingLinkage)
	var err error
	if a.Linkage.Single, err = Link(ctx, original, releases[0], o); err != nil {
		return nil, err
	}
	a.Linkage.Averaged, err = Link(ctx, original, mean, o)
	return a, err
}

func averaged(original []float64, releases [][]float64, o *Options) AveragedColumn {
	k := len(releases)
	c := AveragedColumn{MSE: make([]assess.Float, k), R: make([]assess.Float, k), Equal: true}
	scale := scaleOf(append([][]float64{original}, releases...)...)
	squares := make([]exactSum, k)
	var within exactSum
	values := make([]float64, k)
next:
	for i, x := range original {
		t := o.truth(i)
		if t < 0 || math.IsNaN(x) {
			continue
		}
		for j, release := range releases {
			if values[j] = release[t] * scale; math.IsNaN(values[j]) {
				continue next
			}
		}
		c.Compared++
		x *= scale
		mean, spread := values[0], 0.0
		for j, v := range values {
			// Welford's recurrence: the mean of equal values is exactly their value.
			d := v - mean
			mean += d / float64(j+1)
			spread += float64(d * (v - mean))
			squares[j].add(float64((mean - x) * (mean - x)))
			c.Equal = c.Equal && v == values[0]
		}
		if k > 1 {
			within.add(spread / float64(k-1))
		}
	}
	n := float64(c.Compared)
	for j := range squares {
		mse := squares[j].total() / n / scale / scale
		c.MSE[j], c.R[j] = assess.Float(mse), assess.Float(1/mse)
	}
	c.Within, c.Limit = assess.Float(math.NaN()), c.MSE[k-1]
	if k > 1 {
		c.Within = assess.Float(within.total() / n / scale / scale)
		c.Limit = max(0, c.Limit-c.Within/assess.Float(k))
	}
	return c
}

// means returns for each record the mean over the releases that have a value, NaN if
// none has one.
func means(releases [][]float64) []float64 {
	m := make([]float64, len(releases[0]))
	for i := range m {
		mean, n := math.NaN(), 0
		for _, release := range releases {
			if v := release[i]; !math.IsNaN(v) {
				if n++; n == 1 {
					mean = v
				} else {
					mean += (v - mean) / float64(n)
				}
			}
		}
		m[i] = mean
	}
	return m
}
