package correct_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/internal/correct"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*math.Max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestFormulas(t *testing.T) {
	// λ = 3, x of variance 16 and mean 10.
	noise := correct.Masking{}.WithNoise(3, 1)
	near(t, "Var(y) of noise", noise.Released(10, 16), 25)
	near(t, "Var(x) of noise", noise.Variance(10, 25), 16)
	near(t, "ρ", noise.Reliability(10, 25), 0.64)
	near(t, "r", correct.Correlation(0.4, 0.64, 1), 0.5)
	near(t, "r of two", correct.Correlation(0.32, 0.64, 0.25), 0.8)
	near(t, "b", correct.Slope(1.28, 0.64), 2)
	near(t, "a", correct.Intercept(7, 2, 3), 1)

	// φ = 1/2: Var(y) = 16·5/4 + 100/4 + 9, with the noise after the bias; before
	// it the noise is multiplied too.
	near(t, "bias, then noise", correct.Masking{}.WithBias(0.5).WithNoise(3, 1).Released(10, 16), 54)
	near(t, "noise, then bias", noise.WithBias(0.5).Released(10, 16), 56.25)
	near(t, "rounding", correct.Masking{}.WithRounding(6).Noise, 3)
	near(t, "tiers", correct.Masking{}.WithNoise(3, 2.5).Noise, 22.5)
	for _, m := range []correct.Masking{{}, noise, noise.WithBias(0.3).WithRounding(2).WithBias(0.1)} {
		near(t, "there and back", m.Variance(-7, m.Released(-7, 12)), 12)
	}
	if got := noise.Variance(10, 4); got != -5 {
		t.Errorf("variance below that of the noise: %v, want −5", got)
	}
	if got := noise.Reliability(10, 4); !math.IsNaN(got) {
		t.Errorf("reliability of nothing: %v, want NaN", got)
	}
	if got := (correct.Masking{}).Reliability(10, 0); !math.IsNaN(got) {
		t.Errorf("reliability of a constant: %v, want NaN", got)
	}
}

func TestTierFactors(t *testing.T) {
	tiers := []correct.Tier{{Above: 10, Factor: 4}, {Above: 20, Factor: 0.5}}
	near(t, "mean factor", correct.MeanFactor([]float64{5, 10, math.NaN(), 15, 25}, tiers), (1+1+4+0.5)/4)
	near(t, "no tiers", correct.MeanFactor([]float64{5, 10}, nil), 1)
	if got := correct.MeanFactor([]float64{math.NaN()}, tiers); !math.IsNaN(got) {
		t.Errorf("mean factor of nothing: %v", got)
	}
	if least, greatest := correct.FactorRange(tiers); least != 0.5 || greatest != 4 {
		t.Errorf("range %v to %v", least, greatest)
	}
}

func TestSlopes(t *testing.T) {
	s := mat.NewSymDense(2, []float64{25, 4, 0, 9})
	b, err := correct.Slopes(s, []float64{9, 0}, []float64{16*2 + 4*3, 4*2 + 9*3})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "first slope", b[0], 2)
	near(t, "second slope", b[1], 3)
	if s.At(0, 0) != 25 {
		t.Error("the covariance matrix that was given changed")
	}
	if _, err := correct.Slopes(s, []float64{25, 0}, []float64{1, 1}); !errors.Is(err, correct.ErrTooNoisy) {
		t.Errorf("nothing left of a regressor: %v", err)
	}
	if _, err := correct.Slopes(s, []float64{9}, []float64{1, 1}); err == nil {
		t.Error("sizes that do not agree")
	}
}
