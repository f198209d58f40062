package rumap

import (
	"github.com/sdlfilter/sdlfilter/check"
)

// Synthetic is multiply imputed synthetic data, Duncan and Keller-McNulty (2000),
// section 6.1: m samples of k values each, those of sample i with mean μ_i and
// variance σ², μ_i drawn from the agency's posterior with mean μ and variance α². No
// record of the data is released. R and U are in 1/(unit of x)².
type Synthetic struct {
	Samples int     // m, at least 1
	Size    int     // k, at least 1
	SD      float64 // σ, in the unit of x, at least 0
	MeanSD  float64 // α, in the unit of x, at least 0
}

// Check reports parameters outside of their domains.
func (s Synthetic) Check() check.Problems {
	var ps check.Problems
	if s.Samples < 1 {
		ps.Addf("samples", "must be at least 1, got %d", s.Samples)
	}
	if s.Size < 1 {
		ps.Addf("size", "must be at least 1, got %d", s.Size)
	}
	ps.AtLeast("sd", s.SD, 0)
	ps.AtLeast("mean_sd", s.MeanSD, 0)
	return ps
}

// meanVariance is α²/m + σ²/(mk), of the mean of all released values.
func (s Synthetic) meanVariance() float64 {
	m := float64(s.Samples)
	return s.MeanSD*s.MeanSD/m + s.SD*s.SD/(m*float64(s.Size))
}

// Utility is U = 1/(α²/m + σ²/(mk)), of the mean of all released values.
func (s Synthetic) Utility() (float64, error) {
	return checked(1/s.meanVariance(), s.Check())
}

// RiskOfRecord is R of an intruder who takes one released value for the target, where the target is
// itself drawn from the population: 1/(2σ² + α²).
func (s Synthetic) RiskOfRecord() (float64, error) {
	return checked(1/(2*s.SD*s.SD+s.MeanSD*s.MeanSD), s.Check())
}

// RiskAroundCentre is R of the same intruder around a fixed centre, without the target's own
// scatter: 1/(σ² + α²), the formula printed in the paper.
func (s Synthetic) RiskAroundCentre() (float64, error) {
	return checked(1/(s.SD*s.SD+s.MeanSD*s.MeanSD), s.Check())
}

// RiskOfMean is R of an intruder who takes the mean of all released values for a target drawn from
// the population: 1/(σ² + α²/m + σ²/(mk)).
func (s Synthetic) RiskOfMean() (float64, error) {
	return checked(1/(s.SD*s.SD+s.meanVariance()), s.Check())
}
