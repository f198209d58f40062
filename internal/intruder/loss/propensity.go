package loss

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/internal/intruder/internal/independent"
)

// PropensityOptions are the terms and the penalty of the propensity model.
type PropensityOptions struct {
	Columns      []string // nil: all of the pair
	Interactions bool     // also the products of every two columns
	Ridge        float64  // penalty on squared standardised coefficients; 0: none unless the sides are separated
}

// separationRidge is the penalty that is used if the two sides are separated, or nearly
// so. It corresponds to a standard normal prior on standardised coefficients.
const separationRidge = 1

// Propensity measures how well a logistic regression distinguishes original and
// released records (Woo, Reiter, Oganian & Karr 2009; Snoke, Raab, Nowok, Dibben &
// Slavkovic 2018).
type Propensity struct {
	// PMSE is Σ (p̂_i − c)²/N over the N original and released records, where c is the
	// share of released records: 0 if the model cannot distinguish them, c(1−c) = 1/4
	// if it distinguishes them with certainty.
	PMSE float64 `json:"pmse"`
	// Expected is the mean of PMSE if the released values are independent draws from
	// the distribution of the original: (k−1)(1−c)²c/N, with k terms including the
	// intercept (Snoke et al. 2018, section 3.1). The formula holds without a penalty.
	Expected float64 `json:"expected"`
	// Ratio is PMSE/Expected; 1 is the value of independent draws. Masked records are
	// more similar to their originals than independent draws are, so that small noise
	// gives less than 1. nil if there is no term besides the intercept.
	Ratio *float64 `json:"ratio" doc:"pmse divided by its expectation for independent draws from the same distribution"`

	Terms        int     `json:"terms"`          // k
	TermsLeftOut int     `json:"terms_left_out"` // constant, or combinations of others
	Records      int     `json:"records"`        // N
	Ridge        float64 `json:"ridge"`          // the penalty that was used
	Separated    bool    `json:"separated"`      // the likelihood had no maximum without a penalty
	Iterations   int     `json:"iterations"`
}

// PropensityOf fits a logistic regression of "is released" on the columns' main effects and, if requested,
// their pairwise interactions, by iteratively reweighted least squares. Columns are centred and scaled by
// both sides together. A missing value counts as the mean and has an additional term that indicates missing
// values, so that the model detects suppression. It does not detect a change of spread alone; the distances
// of distributions (KS) do. Terms that are linear combinations of others are omitted. If a hyperplane
// separates the sides, the coefficients would diverge; the regression then uses a ridge penalty, and
// Separated is true. PropensityOf returns an error if the pair or an option is not valid, if the regression
// does not converge, or if the context ends.
func PropensityOf(ctx context.Context, p Pair, o PropensityOptions) (*Propensity, error) {
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("propensity: %w", err)
	}
	if !(o.Ridge >= 0) || math.IsInf(o.Ridge, 1) {
		return nil, fmt.Errorf("propensity.ridge: must be at least 0 and finite, got %v", o.Ridge)
	}
	names := o.Columns
	if names == nil {
		names = p.Names
	}
	js, err := p.indexes(names)
	if err != nil {
		return nil, fmt.Errorf("propensity.columns: %w", err)
	}
	d := newDesign(p, js, o.Interactions)
	gram := make([]float64, d.k*d.k)
	if err := d.sums(ctx, nil, gram, nil, nil); err != nil {
		return nil, err
	}
	keep := independent.Columns(gram, d.k, collinear)
	r := &Propensity{Terms: len(keep), TermsLeftOut: d.k - len(keep), Records: 2 * d.n, Ridge: o.Ridge}
	fit, err := d.fit(ctx, keep, o.Ridge)
	if err != nil {
		return nil, err
	}
	if !fit.converged && o.Ridge == 0 {
		r.Separated, r.Ridge = true, separationRidge
		if fit, err = d.fit(ctx, keep, separationRidge); err != nil {
			return nil, err
		}
	}
	if !fit.converged {
		return nil, fmt.Errorf("propensity: the regression did not converge in %d iterations with ridge %v", fit.iterations,
			r.Ridge)
	}
	r.Iterations = fit.iterations
	const c = 0.5
	r.PMSE = fit.square / float64(r.Records)
	r.Expected = float64(r.Terms-1) * (1 - c) * (1 - c) * c / float64(r.Records)
	if r.Terms > 1 {
		ratio := r.PMSE / r.Expected
		r.Ratio = &ratio
	}
	return r, nil
}

// design computes the rows of the regression: intercept, columns, terms for missing
// values, interactions. Record 2i is original record i, record 2i+1 its released
// record.
type design struct {
	n, k          int
	x, y          [][]float64
	centre, scale []float64
	missing       []int // columns that have a term for missing values
	interactions  bool
}

func newDesign(p Pair, js []int, interactions bool) *design {
	d := &design{n: p.Records(), k: 1 + len(js), interactions: interactions}
	for c, j := range js {
		x, y := p.Original[j], p.Released[j]
		d.x, d.y = append(d.x, x), append(d.y, y)
		a, b := MomentsOf(x), MomentsOf(y)
		var centre, square float64
		n := float64(a.N + b.N)
		for _, m := range [2]Moments{a, b} {
			if m.N > 0 {
				centre += *m.Mean * float64(m.N) / n
			}
		}
		for _, m := range [2]Moments{a, b} {
			if m.N > 0 {
				off := *m.Mean - centre
				square += float64(m.N) * off * off
			}
			if m.N > 1 {
				square += float64(m.N-1) * *m.SD * *m.SD
			}
		}
		scale := 0.0 // a column without variance is a term without variance
		if square > 0 {
			scale = 1 / math.Sqrt(square/n)
		}
		d.centre, d.scale = append(d.centre, centre), append(d.scale, scale)
		if a.Missing+b.Missing > 0 {
			d.missing = append(d.missing, c)
			d.k++
		}
	}
	if interactions {
		d.k += len(js) * (len(js) - 1) / 2
	}
	return d
}

// row writes the k terms of a record to dst.
func (d *design) row(dst []float64, record int) {
	columns := d.x
	if record&1 == 1 {
		columns = d.y
	}
	i := record >> 1
	dst[0] = 1
	main := dst[1 : 1+len(columns)]
	for c, v := range columns {
		z := (v[i] - d.centre[c]) * d.scale[c]
		if z != z {
			z = 0
		}
		main[c] = z
	}
	at := 1 + len(columns)
	for _, c := range d.missing {
		dst[at] = 0
		if v := columns[c][i]; v != v {
			dst[at] = 1
		}
		at++
	}
	if d.interactions {
		for c := range main {
			for _, z := range main[:c] {
				dst[at] = z * main[c]
				at++
			}
		}
	}
}

// totals holds sums and a maximum over the records at given coefficients.
type totals struct {
	likelihood float64 // log-likelihood
	square     float64 // Σ (p̂ − 1/2)²
	steepest   float64 // greatest |η|
}

// sums adds XᵀWX to gram, Xᵀ(t − p̂) to score and the totals to t, at the coefficients
// beta of all k terms. If beta is nil, all weights are 1 and only gram is computed, to
// determine the rank.
func (d *design) sums(ctx context.Context, beta, gram, score []float64, t *totals) error {
	k := d.k
	grams, scores := make([][]float64, stretches), make([][]float64, stretches)
	parts := make([]totals, stretches)
	err := inStretches(ctx, 2*d.n, func(part, from, to int) error {
		g, s := make([]float64, k*k), make([]float64, k)
		rows := make([]float64, rowsAtOnce*k)
		var local totals
		for at := from; at < to; at += rowsAtOnce {
			if err := ctx.Err(); err != nil {
				return err
			}
			m := min(rowsAtOnce, to-at)
			for r := range m {
				row := rows[r*k : (r+1)*k]
				d.row(row, at+r)
				if beta == nil {
					continue
				}
				var eta float64
				for c, b := range beta {
					eta += b * row[c]
				}
				target := float64((at + r) & 1)
				prob := logistic(eta)
				local.likelihood += target*eta - softplus(eta)
				local.square += (prob - 0.5) * (prob - 0.5)
				local.steepest = max(local.steepest, math.Abs(eta))
				root := math.Sqrt(prob * (1 - prob))
				for c, v := range row {
					s[c] += v * (target - prob)
					row[c] = v * root
				}
			}
			addGram(g, rows[:m*k], k)
		}
		grams[part], scores[part], parts[part] = g, s, local
		return nil
	})
	if err != nil {
		return err
	}
	for part, g := range grams {
		for i, v := range g {
			gram[i] += v
		}
		if beta == nil {
			continue
		}
		for i, v := range scores[part] {
			score[i] += v
		}
		t.likelihood += parts[part].likelihood
		t.square += parts[part].square
		t.steepest = max(t.steepest, parts[part].steepest)
	}
	return nil
}

// fitted is the result of a regression.
type fitted struct {
	converged  bool
	iterations int
	square     float64
}

// Beyond these limits the likelihood has no maximum, or none that can be found: for |η|
// > 30 the probability of a record's side is 1 up to the precision of the regression.
const (
	steepest      = 30
	maxIterations = 100
)

// ascent is the state of a fit at the coefficients beta. The objective is the
// log-likelihood minus ridge/2·Σβ², without a penalty on the intercept.
type ascent struct {
	*design
	ridge       float64
	beta, trial []float64
	gram, score []float64
	now         totals
	objective   float64
}

// at returns the totals and the objective at the coefficients b and fills in gram and
// score.
func (a *ascent) at(ctx context.Context, b []float64) (t totals, objective float64, err error) {
	clear(a.gram)
	clear(a.score)
	if err = a.sums(ctx, b, a.gram, a.score, &t); err != nil {
		return t, 0, err
	}
	objective = t.likelihood
	for _, v := range b[1:] {
		objective -= a.ridge / 2 * v * v
	}
	return t, objective, nil
}

// newton returns the step of Newton's method for the kept coefficients and the Newton
// decrement, twice the gain that a quadratic approximation predicts. It returns false if
// the matrix is singular up to rounding.
func (a *ascent) newton(keep []int) (step *mat.VecDense, decrement float64, ok bool) {
	h := symmetric(a.gram, a.k, keep)
	g := mat.NewVecDense(len(keep), nil)
	for i, c := range keep {
		v := a.score[c]
		if c > 0 {
			v -= a.ridge * a.beta[c]
			h.SetSym(i, i, h.At(i, i)+a.ridge)
		}
		g.SetVec(i, v)
	}
	var chol mat.Cholesky
	step = new(mat.VecDense)
	if !chol.Factorize(h) || chol.SolveVecTo(step, g) != nil {
		return nil, 0, false
	}
	return step, mat.Dot(step, g), true
}

// climb moves along a step, which it halves until the objective does not fall. It returns
// false if no length above 1e-6 meets this, because what remains is rounding.
func (a *ascent) climb(ctx context.Context, keep []int, step *mat.VecDense, decrement float64) (bool, error) {
	for length := 1.0; ; length /= 2 {
		copy(a.trial, a.beta)
		for i, c := range keep {
			a.trial[c] += length * step.AtVec(i)
		}
		t, o, err := a.at(ctx, a.trial)
		if err != nil {
			return false, err
		}
		if length < 1e-6 {
			return false, nil
		}
		// With so small a decrement the gain of the objective is less than its rounding
		// error.
		if o >= a.objective || decrement < 1e-6 {
			a.beta, a.trial = a.trial, a.beta
			a.now, a.objective = t, o
			return true, nil
		}
	}
}

// fit maximises the log-likelihood minus ridge/2·Σβ² by Newton's method. It returns
// ctx's error if ctx ends.
func (d *design) fit(ctx context.Context, keep []int, ridge float64) (fitted, error) {
	a := &ascent{design: d, ridge: ridge, beta: make([]float64, d.k), trial: make([]float64, d.k),
		gram: make([]float64, d.k*d.k), score: make([]float64, d.k)}
	var err error
	if a.now, a.objective, err = a.at(ctx, a.beta); err != nil {
		return fitted{}, err
	}
	for it := 1; it <= maxIterations; it++ {
		if ridge == 0 && a.now.steepest > steepest {
			return fitted{iterations: it}, nil
		}
		step, decrement, ok := a.newton(keep)
		if !ok {
			return fitted{iterations: it}, nil
		}
		// The decrement is the square of the step in units of the coefficients' standard
		// errors.
		if decrement < 1e-20 {
			return fitted{true, it, a.now.square}, nil
		}
		if up, err := a.climb(ctx, keep, step, decrement); err != nil {
			return fitted{}, err
		} else if !up {
			return fitted{true, it, a.now.square}, nil
		}
	}
	return fitted{iterations: maxIterations}, nil
}
