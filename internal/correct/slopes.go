package correct

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// ErrTooNoisy is returned where the noise hides all that a regression would rest
// on: the corrected covariance matrix is not positive definite.
var ErrTooNoisy = errors.New("the masks add more variance than the released values leave room for")

// Slopes returns the slopes of the regression of one column on p others, some or
// all of them masked: (S − D)⁻¹ s, Fuller (1987), section 2.2, with known error
// variances.
//
//   - covariance is S, p×p, of the released regressors
//   - added is the diagonal of D, p: Var(y) − Var(x) of each regressor, 0 of one
//     that is not masked
//   - with is s, p: covariances of the released regressors and the response
//
// It returns ErrTooNoisy where S − D is not positive definite, and an error where
// the sizes do not agree.
func Slopes(covariance mat.Symmetric, added, with []float64) ([]float64, error) {
	p := covariance.SymmetricDim()
	if len(added) != p || len(with) != p {
		return nil,
			fmt.Errorf("slopes: must have %d added variances and covariances, got %d and %d", p, len(added), len(with))
	}
	s := mat.NewSymDense(p, nil)
	s.CopySym(covariance)
	for i, d := range added {
		s.SetSym(i, i, s.At(i, i)-d)
	}
	var c mat.Cholesky
	if !c.Factorize(s) {
		return nil, ErrTooNoisy
	}
	var b mat.VecDense
	if err := c.SolveVecTo(&b, mat.NewVecDense(p, with)); err != nil {
		return nil, ErrTooNoisy
	}
	return b.RawVector().Data, nil
}
