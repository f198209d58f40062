package loss

import (
	"context"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// stretches is the number of parts in which records are summed. It is fixed, so that
// sums do not depend on the number of processors.
const stretches = 64

// rowsAtOnce is the number of rows of a design matrix that are computed at a time.
const rowsAtOnce = 256

// inStretches calls f for each of up to stretches parts of n records, on all
// processors. It returns the first error of f or the context's error.
func inStretches(ctx context.Context, n int, f func(part, from, to int) error) error {
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for part := range stretches {
		from, to := part*n/stretches, (part+1)*n/stretches
		if from == to {
			continue
		}
		g.Go(func() error {
			defer bug.Guard()
			if err := within.Err(); err != nil {
				return err
			}
			return f(part, from, to)
		})
	}
	return g.Wait()
}

// addGram adds the upper triangle of RᵀR to gram, where R has rows of k numbers.
func addGram(gram []float64, rows []float64, k int) {
	blas64.Syrk(blas.Trans, 1, blas64.General{Rows: len(rows) / k, Cols: k, Stride: k, Data: rows},
		1, blas64.Symmetric{Uplo: blas.Upper, N: k, Stride: k, Data: gram})
}

// collinear is a limit for the residual sum of squares of a term after regression on
// the terms before it, as a share of its sum of squares. At or below the limit the term
// counts as a linear combination of them.
const collinear = 1e-9

// symmetric copies the kept rows and columns of the upper triangle of a k×k
// matrix.
func symmetric(upper []float64, k int, keep []int) *mat.SymDense {
	s := mat.NewSymDense(len(keep), nil)
	for i, a := range keep {
		for j := i; j < len(keep); j++ {
			s.SetSym(i, j, upper[a*k+keep[j]])
		}
	}
	return s
}

// logistic returns 1/(1+e^−η).
func logistic(eta float64) float64 { return 1 / (1 + math.Exp(-eta)) }

// softplus returns ln(1+e^η) without overflow.
func softplus(eta float64) float64 {
	return max(eta, 0) + math.Log1p(math.Exp(-math.Abs(eta)))
}
