package rumap

import (
	"math"
	"math/rand/v2"
	"testing"

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

// Section 6.1, compared with the two-stage draw.
func TestSynthetic(t *testing.T) {
	of := value(t)
	s := Synthetic{Samples: 4, Size: 5, SD: 2, MeanSD: 1}
	near(t, "U", of(s.Utility()), 1/(1.0/4+4.0/20), exact)
	near(t, "R of one record", of(s.RiskOfRecord()), 1.0/9, exact)
	near(t, "R around a centre", of(s.RiskAroundCentre()), 1.0/5, exact)
	near(t, "R of the mean", of(s.RiskOfMean()), 1/(4+1.0/4+4.0/20), exact)

	const draws = 50_000
	rng := rand.New(rand.NewPCG(6, 1))
	var sums, squares [4]float64
	for range draws {
		var mean, first float64
		for i := range s.Samples {
			centre := s.MeanSD * rng.NormFloat64() // μ = 0
			for j := range s.Size {
				y := centre + s.SD*rng.NormFloat64()
				mean += y / float64(s.Samples*s.Size)
				if i == 0 && j == 0 {
					first = y
				}
			}
		}
		target := s.SD * rng.NormFloat64()
		for i, d := range [4]float64{mean, target - first, first, target - mean} {
			sums[i] += d * d
			squares[i] += d * d * d * d
		}
	}
	for i, f := range []func() (float64, error){s.Utility, s.RiskOfRecord, s.RiskAroundCentre, s.RiskOfMean} {
		mse := sums[i] / draws
		se := math.Sqrt((squares[i]/draws - mse*mse) / draws)
		if !(math.Abs(1/of(f())-mse) <= 5*se) {
			t.Errorf("figure %d: squared error %v, simulated %v ± %v", i, 1/of(f()), mse, 5*se)
		}
	}
	if u := of(Synthetic{Samples: 1, Size: 1}.Utility()); !math.IsInf(u, 1) {
		t.Errorf("no variance at all: U = %v", u)
	}
	for _, bad := range []Synthetic{{}, {Samples: 1}, {Samples: 1, Size: 1, SD: -1},
		{Samples: 1, Size: 1, MeanSD: math.NaN()}} {
		for _, f := range []func() (float64, error){bad.Utility, bad.RiskOfRecord, bad.RiskAroundCentre, bad.RiskOfMean} {
			if v, err := f(); err == nil || v != 0 {
				t.Errorf("%+v: %v, no error", bad, v)
			}
		}
	}
}
