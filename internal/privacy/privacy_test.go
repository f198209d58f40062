package privacy

import (
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// ε is the greatest logarithm of a ratio of densities, sought over a lattice of values and releases.
func TestLaplaceIsTheGreatestRatioOfDensities(t *testing.T) {
	for _, c := range []struct{ from, to, sd float64 }{{0, 10, 4}, {-3, 50, 90}, {2, 2.5, 0.25}} {
		worst := 0.0
		law := func(x float64) distuv.Laplace { return distuv.Laplace{Mu: x, Scale: c.sd / math.Sqrt2} }
		for i := range 21 {
			for j := range 21 {
				x := c.from + float64(i)/20*(c.to-c.from)
				other := c.from + float64(j)/20*(c.to-c.from)
				for y := c.from - 5*c.sd; y <= c.to+5*c.sd; y += c.sd / 7 {
					worst = max(worst, law(x).LogProb(y)-law(other).LogProb(y))
				}
			}
		}
		near(t, "Laplace", Laplace(c.to-c.from, c.sd), worst, 1e-12)
	}
	for _, c := range []struct{ width, sd, want float64 }{{0, 0, 0}, {0, 1, 0}, {1, 0, math.Inf(1)},
		{math.Inf(1), 1, math.Inf(1)}, {math.NaN(), 1, math.Inf(1)}, {1, math.NaN(), math.Inf(1)}} {
		if got := Laplace(c.width, c.sd); got != c.want {
			t.Errorf("Laplace(%v, %v) = %v, want %v", c.width, c.sd, got, c.want)
		}
	}
}

// The Rényi divergence of order α of two normal laws, by numeric integration, is at most ρα, and equal to it at the
// greatest distance.
func TestGaussianIsTheRenyiDivergence(t *testing.T) {
	const width, sd = 3.0, 2.0
	p, q := distuv.Normal{Mu: width, Sigma: sd}, distuv.Normal{Sigma: sd}
	for _, alpha := range []float64{1.5, 2, 4} {
		sum, step := 0.0, 1e-3
		for y := -60.0; y < 60; y += step {
			sum += math.Exp(alpha*p.LogProb(y)-(alpha-1)*q.LogProb(y)) * step
		}
		near(t, "ρα", Gaussian(width, sd)*alpha, math.Log(sum)/(alpha-1), 1e-9)
	}
	if !math.IsInf(Gaussian(1, 0), 1) || Gaussian(0, 0) != 0 {
		t.Error("without noise ρ must be infinite, and 0 for one value")
	}
}

func TestMatrixIsTheGreatestRatioWithinAColumn(t *testing.T) {
	for _, c := range []struct {
		rows [][]float64
		want float64
	}{
		{[][]float64{{.75, .25}, {.25, .75}}, math.Log(3)},
		{[][]float64{{.5, .3, .2}, {.1, .8, .1}, {.2, .2, .6}}, math.Log(6)},
		{[][]float64{{.5, .5, 0}, {.4, .6, 0}, {.45, .55, 0}}, math.Log(1.25)}, // one is never released
		{[][]float64{{.2, .8}, {.2, .8}}, 0},                                   // says nothing
		{[][]float64{{1, 0}, {.1, .9}}, math.Inf(1)},
		{[][]float64{{.9, .1}, {0, 1}}, math.Inf(1)},
		{[][]float64{{math.NaN(), 1}, {.5, .5}}, math.Inf(1)},
		{nil, math.Inf(1)},
	} {
		got := Matrix(c.rows)
		if got != c.want && !(math.Abs(got-c.want) < 1e-12) {
			t.Errorf("Matrix(%v) = %v, want %v", c.rows, got, c.want)
		}
	}
}

// δ is what is left of P − e^ε Q where that is positive, by numeric integration.
func TestGaussianDeltaIsTheIntegral(t *testing.T) {
	for _, c := range []struct{ width, sd, epsilon float64 }{{1, 1, 1}, {1, 1, 0}, {3, 1, 2}, {1, 5, 0.3}} {
		p, q := distuv.Normal{Mu: c.width, Sigma: c.sd}, distuv.Normal{Sigma: c.sd}
		sum, step := 0.0, c.sd/4000
		for y := -12 * c.sd; y < c.width+12*c.sd; y += step {
			sum += max(p.Prob(y)-math.Exp(c.epsilon)*q.Prob(y), 0) * step
		}
		near(t, "δ", GaussianDelta(Gaussian(c.width, c.sd), c.epsilon), sum, 1e-6)
	}
	if GaussianDelta(0, 0) != 0 || GaussianDelta(math.Inf(1), 3) != 1 || GaussianDelta(math.NaN(), 3) != 1 {
		t.Error("limits")
	}
	if d := GaussianDelta(0.5, 800); d != 0 {
		t.Errorf("δ at ε 800 is %v", d)
	}
}

func TestConversionsInvert(t *testing.T) {
	for _, rho := range []float64{1e-4, 0.02, 0.5, 10} {
		for _, delta := range []float64{1e-3, 1e-6, 1e-10} {
			exact, bound := GaussianEpsilon(rho, delta), ConcentratedEpsilon(rho, delta)
			near(t, "δ of ε", GaussianDelta(rho, exact), delta, 1e-9)
			near(t, "δ of ε of ρ", ConcentratedDelta(rho, bound), delta, 1e-9)
			if exact > bound {
				t.Errorf("ρ %v, δ %v: the exact ε %v is above the bound %v for every mechanism with that ρ", rho, delta, exact,
					bound)
			}
			if simple := rho + 2*math.Sqrt(rho*math.Log(1/delta)); bound > simple {
				t.Errorf("ρ %v, δ %v: %v is above ρ + 2√(ρ ln 1/δ) = %v, Bun and Steinke's proposition 1.3", rho, delta, bound,
					simple)
			}
		}
	}
	if !math.IsInf(GaussianEpsilon(1, 0), 1) || GaussianEpsilon(0.5, 1) != 0 ||
		!math.IsInf(ConcentratedEpsilon(math.Inf(1), 0.1), 1) {
		t.Error("limits")
	}
}

func TestAmplifiedAndDrawn(t *testing.T) {
	near(t, "rate 1", Amplified(2, 1), 2, 1e-15)
	near(t, "rate 0.1", Amplified(2, 0.1), math.Log(1+0.1*(math.Exp(2)-1)), 1e-15)
	near(t, "a great ε", Amplified(800, 0.5), 800+math.Log(0.5), 1e-15)
	// P and Q on two points, drawn with probability ¼, beside "not drawn": by the definition of δ.
	p, q, rate, epsilon := []float64{.8, .2}, []float64{.3, .7}, 0.25, 0.5
	of := func(p, q []float64) (delta float64) {
		for i := range p {
			delta += max(p[i]-math.Exp(epsilon)*q[i], 0)
		}
		return delta
	}
	all := of([]float64{rate * p[0], rate * p[1], 1 - rate}, []float64{rate * q[0], rate * q[1], 1 - rate})
	near(t, "Drawn", Drawn(of(p, q), rate), all, 1e-15)
}

// Losses add up in any order, and n records have n times the loss of one.
func TestLossesAddUp(t *testing.T) {
	a, b, c := OfPure(1.5, 1e-12), OfGaussian(0.25, 1e-13), OfPure(0.5, 0)
	one, other := a.And(b).And(c), c.And(a.And(b))
	if one != other || one.Pure != 2 || one.Rho != 0.25 || one.Squares != 1.25 || one.TotalRho() != 1.5 {
		t.Errorf("%+v, %+v", one, other)
	}
	if one.IsPure() || !a.And(c).IsPure() {
		t.Error("IsPure")
	}
	if a.Times(3) != a.And(a).And(a) || a.Times(0) != (Loss{}) {
		t.Error("Times")
	}
	near(t, "Extra", a.Extra, (1+math.Exp(1.5))*1e-12, 1e-15)
}

func TestEpsilonAtDelta(t *testing.T) {
	// Alone, each kind has its own conversion.
	near(t, "pure", OfPure(1.5, 0).Epsilon(1e-9, 1), 1.5, 1e-9)
	near(t, "normal", OfGaussian(0.5, 0).Epsilon(1e-6, 1), GaussianEpsilon(0.5, 1e-6), 1e-6)
	// 100 small ones together are better counted by ρ.
	many := OfPure(0.1, 0).Times(100)
	if got, want := many.Epsilon(1e-6, 1), ConcentratedEpsilon(0.5, 1e-6); !(math.Abs(got-want) < 1e-6) ||
		got > many.Pure {
		t.Errorf("100 of 0.1: %v, want %v", got, want)
	}
	// Both kinds: not more than ε beside the exact law.
	both := OfPure(0.3, 0).And(OfGaussian(0.02, 0))
	if got := both.Epsilon(1e-6, 1); !(got <= 0.3+GaussianEpsilon(0.02, 1e-6)+1e-9) {
		t.Errorf("both: %v", got)
	}
	// A sample of a tenth has a tenth of δ.
	near(t, "sampled", OfGaussian(0.5, 0).Epsilon(1e-7, 0.1), GaussianEpsilon(0.5, 1e-6), 1e-6)
	// What the draws' resolution leaves above δ is never reached.
	if got := OfPure(30, 1e-9).Epsilon(1e-6, 1); !math.IsInf(got, 1) {
		t.Errorf("beyond the draws: %v", got)
	}
	if got := OfGaussian(0.5, 1e-5).Epsilon(1e-6, 1); !math.IsInf(got, 1) {
		t.Errorf("draws that are coarser than δ: %v", got)
	}
	if got := (Loss{}).Epsilon(0, 1); got != 0 {
		t.Errorf("nothing: %v", got)
	}
}

// The constants of the resolution: the greatest draws, in exact arithmetic where that is cheap.
func TestReachOfTheDraws(t *testing.T) {
	if z := 52 * math.Ln2; !(z < laplaceReach) {
		t.Errorf("the greatest Laplace draw is %v", z)
	}
	u, _ := new(big.Float).SetMantExp(big.NewFloat(1.32e-4), -53).Float64()
	if z := -(distuv.Normal{Sigma: 1}).Quantile(u); !(z < normalReach) {
		t.Errorf("the greatest normal draw is %v", z)
	}
	if got := LaplaceApart(100); got != (2*2553+1)*0x1p-51 { // ⌈36.1·100/√2⌉ = 2,553
		t.Errorf("LaplaceApart(100) = %v", got/0x1p-51)
	}
	if got := GaussianApart(10); got != 189*0x1p-50 {
		t.Errorf("GaussianApart(10) = %v", got/0x1p-50)
	}
	if MatrixApart(3) != 12*0x1p-52 {
		t.Error("MatrixApart")
	}
}
