// Package papers has the models of papers that the program reproduces and does not run: exchanges between two areas,
// and what an intruder believes of the cells of a published table. The figures are drawn from them, and the tests hold
// them against what the papers print.
package papers

import (
	"errors"
	"math"

	"github.com/sdlfilter/sdlfilter/check"
)

func checkFinite(ps *check.Problems, path string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		ps.Addf(path, "must be a finite number, got %v", v)
	}
}

// invalid makes one error of problems; it is nil if there are none.
func invalid(ps check.Problems) error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// checked returns v, or 0 and an error if there are problems.
func checked(v float64, ps check.Problems) (float64, error) {
	if len(ps) > 0 {
		return 0, invalid(ps)
	}
	return v, nil
}
