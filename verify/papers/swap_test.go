package papers

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// Duncan and Keller-McNulty (2000), section 6.2: n₁ = 3, n₂ = 2, σ² = 1 give
// MSE = 5/6 + (25/36)π(μ₁−μ₂)² and U = 1.2 at π = 0.
func TestSwapOfThreeAndTwo(t *testing.T) {
	of := value(t)
	for _, d := range []float64{0, 0.5, 1, -3} {
		for _, rate := range []float64{0, 0.25, 1} {
			s := Swap{N1: 3, N2: 2, Difference: d, SD: 1, Rate: rate}
			near(t, "MSE", of(s.MSE()), 5.0/6+25.0/36*rate*d*d, exact)
			near(t, "U", of(s.Utility()), 1/(5.0/6+25.0/36*rate*d*d), exact)
			near(t, "E(L)", of(s.Loss()), rate*(2+d*d), exact)
			near(t, "R", of(s.Risk()), 1/(rate*(2+d*d)), exact)
			near(t, "identity loss", of(s.IdentityLoss()), 1-rate, exact)
		}
	}
	if s := (Swap{N1: 3, N2: 2, Difference: 1, SD: 1}); !(math.Abs(of(s.Utility())-1.2) <= exact) ||
		!math.IsInf(of(s.Risk()), 1) {
		t.Errorf("π = 0: U = %v, R = %v; want 1.2 and +Inf", of(s.Utility()), of(s.Risk()))
	}
}

// The closed forms compared with exchanges simulated on 100,000 draws of both areas.
func TestSwapAgainstMonteCarlo(t *testing.T) {
	const draws = 100_000
	s := Swap{N1: 3, N2: 2, Difference: 1.5, SD: 0.8, Rate: 0.3}
	rng := rand.New(rand.NewPCG(3, 2))
	var loss, loss2, mse, mse2 float64
	for range draws {
		var x [5]float64
		for i := range x {
			x[i] = s.SD * rng.NormFloat64()
			if i < 3 {
				x[i] += s.Difference // μ₁ = 1.5, μ₂ = 0
			}
		}
		target := x[0]
		if rng.Float64() < s.Rate {
			x[0], x[3] = x[3], x[0]
		}
		l := (target - x[0]) * (target - x[0])
		e := (x[0]+x[1]+x[2])/3 - (x[3]+x[4])/2 - s.Difference
		loss, loss2 = loss+l, loss2+l*l
		mse, mse2 = mse+e*e, mse2+e*e*e*e
	}
	of := value(t)
	for _, c := range []struct {
		what              string
		total, sq, wanted float64
	}{{"E(L)", loss, loss2, of(s.Loss())}, {"MSE", mse, mse2, of(s.MSE())}} {
		mean := c.total / draws
		se := math.Sqrt((c.sq/draws - mean*mean) / draws)
		if !(math.Abs(mean-c.wanted) <= 5*se) {
			t.Errorf("%s = %v, simulated %v ± %v", c.what, c.wanted, mean, 5*se)
		}
	}
}

func TestSmallestRate(t *testing.T) {
	of := value(t)
	s := Swap{N1: 3, N2: 2, Difference: 1, SD: 1}
	rate := of(s.SmallestRate(0.5)) // R = 1/(3π)
	near(t, "π", rate, 2.0/3, exact)
	s.Rate = rate
	near(t, "R at it", of(s.Risk()), 0.5, exact)
	if rate, err := s.SmallestRate(1.0 / 3); err != nil || rate != 1 {
		t.Errorf("π = %v, %v; want 1 where R must be 1/3", rate, err)
	}
	if rate, err := s.SmallestRate(math.Inf(1)); err != nil || rate != 0 {
		t.Errorf("π = %v, %v; want 0 where every risk is tolerable", rate, err)
	}
	if _, err := s.SmallestRate(0.33); !errors.Is(err, ErrNoRate) {
		t.Errorf("R below 1/3 is out of reach, got %v", err)
	}
	if _, err := (Swap{N1: 3, N2: 2}).SmallestRate(1e300); !errors.Is(err, ErrNoRate) {
		t.Errorf("all values alike: an exchange protects nothing, got %v", err)
	}
	for _, bad := range []float64{0, -1, math.NaN()} {
		if _, err := s.SmallestRate(bad); err == nil || errors.Is(err, ErrNoRate) {
			t.Errorf("max_risk %v: %v", bad, err)
		}
	}
	for _, bad := range []Swap{{}, {N1: 1, N2: 0, SD: 1}, {N1: 1, N2: 1, SD: -1}, {N1: 1, N2: 1, Rate: 1.1},
		{N1: 1, N2: 1, Rate: math.NaN()}, {N1: 1, N2: 1, Difference: math.Inf(1)}} {
		for name, f := range map[string]func() (float64, error){"U": bad.Utility, "R": bad.Risk, "E(L)": bad.Loss,
			"1−π": bad.IdentityLoss, "MSE": bad.MSE} {
			if v, err := f(); err == nil || v != 0 {
				t.Errorf("%s of %+v: %v, no error", name, bad, v)
			}
		}
	}
}
