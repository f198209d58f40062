package papers

import (
	"errors"
	"fmt"

	"github.com/sdlfilter/sdlfilter/check"
)

// Swap is the exchange of one record between two areas, as Duncan and
// Keller-McNulty (2000) analyse it in section 6.2: the values of area k are
// independent with mean μ_k and variance σ², and with probability π the one record
// of area 1 that is unique there changes places with a record of area 2. R and U are
// in 1/(unit of x)².
type Swap struct {
	N1, N2     int     // records of the areas, at least 1 each
	Difference float64 // μ₁−μ₂, in the unit of x
	SD         float64 // σ, in the unit of x, at least 0
	Rate       float64 // π, between 0 and 1
}

// Check reports parameters outside of their domains.
func (s Swap) Check() check.Problems {
	var ps check.Problems
	if s.N1 < 1 {
		ps.Addf("n1", "must be at least 1, got %d", s.N1)
	}
	if s.N2 < 1 {
		ps.Addf("n2", "must be at least 1, got %d", s.N2)
	}
	checkFinite(&ps, "difference", s.Difference)
	ps.AtLeast("sd", s.SD, 0)
	ps.Between("rate", s.Rate, 0, 1)
	return ps
}

// exchanged is 2σ² + (μ₁−μ₂)², the snooper's expected squared error when the
// record was exchanged.
func (s Swap) exchanged() float64 { return 2*s.SD*s.SD + s.Difference*s.Difference }

// Loss is the snooper's expected squared error E(L) = π[2σ² + (μ₁−μ₂)²], in the
// squared unit of x, of taking the value that stands where the target's stood.
func (s Swap) Loss() (float64, error) {
	return checked(s.Rate*s.exchanged(), s.Check())
}

// Risk is R = 1/E(L), +Inf where nothing is exchanged.
func (s Swap) Risk() (float64, error) {
	return checked(1/(s.Rate*s.exchanged()), s.Check())
}

// IdentityLoss is the agency's expected loss of identity disclosure, 1 − π: one
// where the snooper names the right record, nothing where it was exchanged.
func (s Swap) IdentityLoss() (float64, error) {
	return checked(1-s.Rate, s.Check())
}

// MSE is the mean squared error of the difference of the areas' means as an
// estimate of μ₁−μ₂, hσ² + h²π(μ₁−μ₂)² with h = 1/n₁ + 1/n₂: an exchange moves the
// difference by −h(μ₁−μ₂).
func (s Swap) MSE() (float64, error) {
	h := 1/float64(s.N1) + 1/float64(s.N2)
	d := h * s.Difference
	return checked(h*s.SD*s.SD+s.Rate*d*d, s.Check())
}

// Utility is U = 1/MSE.
func (s Swap) Utility() (float64, error) {
	mse, err := s.MSE()
	if err != nil {
		return 0, err
	}
	return 1 / mse, nil
}

// ErrNoRate says that no swapping rate brings R down to what is tolerable.
var ErrNoRate = errors.New("no swapping rate is admissible")

// SmallestRate returns the smallest π at which R is at most maxRisk, in
// 1/(unit of x)², above 0; Rate of the receiver is not looked at. U falls with π, so
// it is also the admissible rate of greatest utility. The error is ErrNoRate where R
// is above maxRisk even if the exchange is always made.
func (s Swap) SmallestRate(maxRisk float64) (float64, error) {
	s.Rate = 0
	ps := s.Check()
	if !(maxRisk > 0) {
		ps.Addf("max_risk", "must be greater than 0, got %v", maxRisk)
	}
	if err := invalid(ps); err != nil {
		return 0, err
	}
	// 1/maxRisk is 0 where every risk is tolerable.
	tolerable := 1 / maxRisk
	if tolerable > s.exchanged() {
		return 0, fmt.Errorf("%w: R is %.4g at rate 1, above the tolerable %.4g", ErrNoRate, 1/s.exchanged(), maxRisk)
	}
	if tolerable == 0 {
		return 0, nil
	}
	return tolerable / s.exchanged(), nil
}
