package population

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/internal/intruder/internal/independent"
)

// counts is what a model is fitted to: a count and an offset for each occupied cell, and the offset
// of the empty ones, whose count is 0.
type counts struct {
	y, offset []float64 // by occupied cell; offset nil: 0
	empty     float64
	extra     []float64 // a further variable, 0 in empty cells; nil: none
}

func (c *counts) of(occupied int) (y, offset, extra float64) {
	if occupied < 0 {
		return 0, c.empty, 0
	}
	if c.offset != nil {
		offset = c.offset[occupied]
	}
	if c.extra != nil {
		extra = c.extra[occupied]
	}
	return c.y[occupied], offset, extra
}

// fit is a fitted Poisson regression with logarithmic link.
type fit struct {
	m          *design
	c          *counts
	keep       []int     // columns that are not linear combinations of those before them
	beta       []float64 // coefficients of all columns, 0 for those that are not kept
	deviance   float64
	gram       []float64 // upper triangle of XᵀWX at the coefficients: the information
	with       []float64 // XᵀWz
	iterations int
	converged  bool
}

// The iterations of R's glm: until the deviance changes by less than a share of itself.
const (
	mostIterations = 25
	tolerance      = 1e-8
	leastMean      = 0x1p-52 // of a fitted count
	mostHalvings   = 25
	every          = 1 << 16 // cells after which the context is asked
)

// fitCounts fits the model by iteratively reweighted least squares, from the same start, by the same
// steps and with the same end as glm of R (family poisson), so that the fits agree even where the
// likelihood has no maximum (margins of 0) and the coefficients diverge.
func fitCounts(ctx context.Context, m *design, c *counts) (*fit, error) {
	f := &fit{m: m, c: c, beta: make([]float64, m.k)}
	if err := f.pass(ctx, true); err != nil {
		return nil, err
	}
	f.keep = independent.Columns(f.gram, m.k, collinear)
	for f.iterations = 1; ; f.iterations++ {
		last, before := slices.Clone(f.beta), f.deviance
		if err := f.solve(); err != nil {
			return nil, err
		}
		if err := f.step(ctx, last); err != nil {
			return nil, err
		}
		f.converged = math.Abs(f.deviance-before)/(math.Abs(f.deviance)+0.1) < tolerance
		if f.converged || f.iterations == mostIterations {
			return f, nil
		}
	}
}

// step goes through the cells with the new coefficients, or with the middle between them and the last
// ones, as often as the deviance is not finite.
func (f *fit) step(ctx context.Context, last []float64) error {
	for halvings := 0; ; halvings++ {
		if err := f.pass(ctx, false); err != nil {
			return err
		}
		if !math.IsInf(f.deviance, 0) && !math.IsNaN(f.deviance) {
			return nil
		}
		if halvings == mostHalvings || f.iterations == 1 {
			return refusef("the log-linear model does not converge; list fewer interactions, or join categories (recode)")
		}
		for j := range f.beta {
			f.beta[j] = (f.beta[j] + last[j]) / 2
		}
	}
}

// each calls visit for every cell with its row, its count and its linear predictor.
func (f *fit) each(ctx context.Context,
	visit func(columns []int, values []float64, y, offset, eta float64, occupied int)) error {
	var columns []int
	var values []float64
	since := 0
	return f.m.t.each(func(at []int32, occupied int) error {
		if since++; since%every == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		y, offset, extra := f.c.of(occupied)
		columns, values = f.m.row(at, extra, columns, values)
		visit(columns, values, y, offset, offset+f.predictor(columns, values), occupied)
		return nil
	})
}

// predictor returns xᵀβ.
func (f *fit) predictor(columns []int, values []float64) (eta float64) {
	for i, j := range columns {
		eta += values[i] * f.beta[j]
	}
	return eta
}

func meanOf(eta float64) float64 { return max(math.Exp(eta), leastMean) }

// startMean is the fitted count with which R begins.
func startMean(y float64) float64 { return y + 0.1 }

// pass sets XᵀWX, XᵀWz and the deviance: of the coefficients, or of the start.
func (f *fit) pass(ctx context.Context, start bool) error {
	k := f.m.k
	f.gram, f.with, f.deviance = make([]float64, k*k), make([]float64, k), 0
	return f.each(ctx, func(columns []int, values []float64, y, offset, eta float64, _ int) {
		mu := meanOf(eta)
		if start {
			mu = startMean(y)
			eta = math.Log(mu)
		}
		f.deviance += deviance(y, mu)
		z := mu*(eta-offset) + y - mu
		addRow(f.gram, k, columns, values, mu)
		for i, a := range columns {
			f.with[a] += values[i] * z
		}
	})
}

// addRow adds w·xxᵀ to the upper triangle of a matrix.
func addRow(gram []float64, k int, columns []int, values []float64, w float64) {
	for i, a := range columns {
		of, row := w*values[i], gram[a*k:(a+1)*k]
		for l, b := range columns[i:] {
			row[b] += of * values[i+l]
		}
	}
}

func deviance(y, mu float64) float64 {
	if y == 0 {
		return 2 * mu
	}
	return 2 * (y*math.Log(y/mu) - (y - mu))
}

// solve sets the coefficients to those of the weighted regression.
func (f *fit) solve() error {
	x, err := f.solved(f.with)
	if err != nil {
		return err
	}
	for i, j := range f.keep {
		f.beta[j] = x.AtVec(i)
	}
	return nil
}

// solved returns A⁻¹b for the kept columns, with A = XᵀWX.
func (f *fit) solved(with []float64) (*mat.VecDense, error) {
	k := f.m.k
	a, b := mat.NewSymDense(len(f.keep), nil), mat.NewVecDense(len(f.keep), nil)
	for i, r := range f.keep {
		b.SetVec(i, with[r])
		for l := i; l < len(f.keep); l++ {
			a.SetSym(i, l, f.gram[r*k+f.keep[l]])
		}
	}
	// A is scaled to a diagonal of 1: counts of 1e-9 and of 1e6 stand side by side.
	scale := make([]float64, len(f.keep))
	for i := range scale {
		scale[i] = 1 / math.Sqrt(a.At(i, i))
	}
	for i := range scale {
		b.SetVec(i, b.AtVec(i)*scale[i])
		for l := i; l < len(scale); l++ {
			a.SetSym(i, l, a.At(i, l)*scale[i]*scale[l])
		}
	}
	var c mat.Cholesky
	if !c.Factorize(a) {
		return nil,
			refusef(
				"the log-linear model has effects that the data do not tell apart; list fewer interactions, or join categories (recode)")
	}
	x := mat.NewVecDense(len(f.keep), nil)
	if err := c.SolveVecTo(x, b); err != nil {
		if _, inexact := errors.AsType[mat.Condition](err); !inexact {
			return nil, err
		}
	}
	for i := range scale {
		x.SetVec(i, x.AtVec(i)*scale[i])
	}
	return x, nil
}

// collinear is the share of a column's sum of squares that columns before it must leave.
const collinear = 1e-12

// variance returns gᵀCg, with C the covariance matrix of the coefficients: the inverse A⁻¹ of the
// information, or the sandwich A⁻¹JA⁻¹ with J = Σ scatter_k·x_k x_kᵀ over the occupied cells.
func (f *fit) variance(g []float64, scatter []float64) (float64, error) {
	x, err := f.solved(g)
	if err != nil {
		return 0, err
	}
	along := make([]float64, f.m.k) // A⁻¹g
	v := 0.0
	for i, j := range f.keep {
		along[j] = x.AtVec(i)
		v += g[j] * along[j]
	}
	if scatter == nil {
		return max(v, 0), nil
	}
	v = 0
	f.occupied(func(columns []int, values []float64, _ float64, cell int) {
		s := 0.0
		for i, j := range columns {
			s += values[i] * along[j]
		}
		v += scatter[cell] * s * s
	})
	return v, nil
}

// occupied calls visit for every occupied cell with its row and its linear predictor.
func (f *fit) occupied(visit func(columns []int, values []float64, eta float64, cell int)) {
	var columns []int
	var values []float64
	at := make([]int32, len(f.m.t.levels))
	for i := range f.m.t.cells {
		f.m.t.place(f.m.t.cells[i].number, at)
		_, offset, extra := f.c.of(i)
		columns, values = f.m.row(at, extra, columns, values)
		visit(columns, values, offset+f.predictor(columns, values), i)
	}
}
