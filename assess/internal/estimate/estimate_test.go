package estimate

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRisk(t *testing.T) {
	if r := Risk(0.25); r != 4 {
		t.Errorf("R of 0.25 is %v", r)
	}
	if r := Risk(0); !math.IsInf(r, 1) {
		t.Errorf("R of no error is %v", r)
	}
	if se := StandardError(4, 0.01); !(math.Abs(se-1.6) <= 1e-12) {
		t.Errorf("SE %v", se)
	}
	if se := StandardError(math.Inf(1), 0.01); !math.IsNaN(se) {
		t.Errorf("SE of an infinite value: %v", se)
	}
}

// Var(Z²) of a normal Z with mean μ and variance v is 4μ²v + 2v², checked by simulation.
func TestVarianceOfSquare(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const n, mu, v = 200_000, 1.5, 0.6
	var sum, square float64
	for range n {
		z := mu + math.Sqrt(v)*rng.NormFloat64()
		sum += z * z
		square += z * z * z * z
	}
	got := square/n - sum/n*sum/n
	// The fourth moments of Z² are below 40 times its squared variance, so the relative standard
	// error of the estimate is below √(40/n) = 1.4 %. The tolerance is five times that.
	if want := VarianceOfSquare(mu*mu, v); !(math.Abs(got/want-1) <= 5*0.014) {
		t.Errorf("simulated %v, formula %v", got, want)
	}
	if got := VarianceOfSquare(-1, 2); got != 8 {
		t.Errorf("of a square estimated below 0: %v, want 8", got)
	}
}

func TestSquares(t *testing.T) {
	var s Squares
	if !math.IsNaN(s.Mean()) {
		t.Error("the mean of no estimates is not NaN")
	}
	for _, d := range []float64{1, math.NaN(), -3, 2} {
		s.Add(d)
	}
	if m := s.Mean(); !(math.Abs(m-14.0/3) <= 1e-12) {
		t.Errorf("mean %v", m)
	}
	// Squares 1, 9, 4: the variance is 49/3, and that of the mean a third of it.
	if v := s.Noise(1); !(math.Abs(v-49.0/9) <= 1e-12) {
		t.Errorf("noise %v", v)
	}
	var one Squares
	one.Add(2)
	if v := one.Noise(1); !math.IsNaN(v) {
		t.Errorf("noise of one %v", v)
	}
}

// Subsets have equal weight, and differences between subsets are not noise of the mean.
func TestSpreadWithinSubsets(t *testing.T) {
	// Two subsets in turn: 1, 3, 5 and 10, 14 with a gap.
	s := SpreadOf([]float64{1, 10, 3, math.NaN(), 5, 14}, 2)
	if s.Mean != (3+12)/2.0 || s.N != 5 {
		t.Errorf("mean %v of %v", s.Mean, s.N)
	}
	// Squares about the subsets' means: 4+0+4 and 4+4, over 2+1 degrees of freedom.
	if !(math.Abs(s.Variance-16.0/3) <= 1e-12) {
		t.Errorf("variance %v", s.Variance)
	}
	if got, want := s.Noise(), 16.0/15; !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("noise %v, want %v", got, want)
	}
	if got, want := s.VarianceNoise(), 2*(16.0/3)*(16.0/3)/3; !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("noise of the variance %v, want %v", got, want)
	}
	// E(τ−τ̂)²: the variance is divided by ten, and the square of the bias is reduced by the bias's
	// own noise.
	if got, want := s.MeanSquare(5, 0.1), 2.5*2.5-16.0/15+0.1*16/3; !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("mean square %v, want %v", got, want)
	}
	if got, want := s.MeanSquare(7.5, 0.1), 0.1*16/3; !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("mean square without bias %v, want %v", got, want)
	}
	noise := VarianceOfSquare(2.5*2.5-16.0/15, 16.0/15) + 2*(16.0/3)*(16.0/3)/3*0.01
	if got := s.MeanSquareNoise(5, 0.1); !(math.Abs(got-noise) <= 1e-9) {
		t.Errorf("its noise %v, want %v", got, noise)
	}
	// With one replicate per subset, only the variance between subsets is available.
	if s := SpreadOf([]float64{1, 2, 6}, 3); s.Mean != 3 || !(math.Abs(s.Variance-7) <= 1e-12) {
		t.Errorf("of one a subset: %+v", s)
	}
	if s := SpreadOf([]float64{1, 2}, 2); s.Mean != 1.5 || s.Variance != 0.5 {
		t.Errorf("of one in either of two subsets: %+v", s)
	}
	if s := SpreadOf([]float64{math.NaN()}, 1); !math.IsNaN(s.Mean) || !math.IsNaN(s.Variance) || !math.IsNaN(s.Noise()) ||
		!math.IsNaN(s.VarianceNoise()) {
		t.Errorf("without values: %+v", s)
	}
}
