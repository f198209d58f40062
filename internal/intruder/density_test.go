package intruder

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

// normal is the density of N(mean, sd²) at x.
func normal(x, mean, sd float64) float64 {
	u := (x - mean) / sd
	return math.Exp(-u*u/2) / (sd * math.Sqrt(2*math.Pi))
}

// integrated is ∫ |θ| N(θx₀; z, σ²) N(θ; 1, φ²) dθ by Gauss-Legendre panels.
func integrated(x0, z, phi, sigma float64) float64 {
	// The integrand is a normal density around θ̂ times |θ|; it has a corner at 0.
	v := x0*x0*phi*phi + sigma*sigma
	centre, sd := 1+(z-x0)*x0*phi*phi/v, phi*sigma/math.Sqrt(v)
	f := func(t float64) float64 { return math.Abs(t) * normal(t*x0, z, sigma) * normal(t, 1, phi) }
	sum := 0.0
	for i := -12; i < 12; i++ {
		lo, hi := centre+float64(i)*sd, centre+float64(i+1)*sd
		if lo < 0 && hi > 0 {
			sum += quad.Fixed(f, lo, 0, 40, nil, 0) + quad.Fixed(f, 0, hi, 40, nil, 0)
			continue
		}
		sum += quad.Fixed(f, lo, hi, 40, nil, 0)
	}
	return sum
}

// exactDensity is the closed form with its constant.
func exactDensity(x0, z, phi, sigma float64) float64 {
	k := newExactKey(x0, phi, sigma, 0)
	return math.Exp(k.density(z)) / math.Sqrt(2*math.Pi*k.variance)
}

func TestClosedFormIsTheIntegralOverTheta(t *testing.T) {
	for _, c := range []struct{ x0, z, phi, sigma float64 }{
		{92, 93, 0.01 / 6, 0.035}, {92, 90, 1.0 / 6, 3.5}, {-4, -5, 0.3, 1}, {2, -1, 1.0 / 3, 1.5}, {0.01, 3, 0.2, 2},
		{92, 60, 0.2 / 6, 0.5}, {1, -1, 1, 1},
	} {
		got, want := exactDensity(c.x0, c.z, c.phi, c.sigma), integrated(c.x0, c.z, c.phi, c.sigma)
		// 24 panels of 40 points on an analytic integrand: 1e-12 is far above their error
		// and the part outside ±12 SD.
		if !(math.Abs(got/want-1) <= 1e-10) {
			t.Errorf("%+v: closed form %g, integral %g", c, got, want)
		}
	}
}

// The form in docs/methods.md, section 6, ignores the sign of θ; where the sign is certain the
// two forms agree.
func TestClosedFormIsMethods(t *testing.T) {
	x0, z, phi, sigma := 92.0, 95.0, 0.2/6, 0.6
	v := x0*x0*phi*phi + sigma*sigma
	want := normal(z, x0, math.Sqrt(v)) * (1/(phi*phi) + z*x0/(sigma*sigma)) / (1/(phi*phi) + x0*x0/(sigma*sigma))
	if got := exactDensity(x0, z, phi, sigma); !(math.Abs(got/want-1) <= 1e-12) {
		t.Errorf("density %g, docs/methods.md has %g", got, want)
	}
}

// One draw of θ gives |θ|·N(θx₀; z, σ²) (Trottini et al. eq. 5). The mean of k draws
// must be within 4.5 standard errors (false-reject rate 7e-6 a case).
func TestClosedFormAgainstMonteCarlo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ x0, z, phi, sigma float64 }{
		{92, 93, 0.2 / 6, 3.5}, {2, -1, 1.0 / 3, 1.5}, {50, 40, 1.0 / 6, 10},
	} {
		const k = 200_000
		var sum, squares float64
		for range k {
			theta := 1 + c.phi*rng.NormFloat64()
			f := math.Abs(theta) * normal(theta*c.x0, c.z, c.sigma)
			sum += f
			squares += f * f
		}
		mean := sum / k
		se := math.Sqrt((squares/k - mean*mean) / k)
		if got := exactDensity(c.x0, c.z, c.phi, c.sigma); !(math.Abs(got-mean) <= 4.5*se) {
			t.Errorf("%+v: closed form %g, Monte Carlo %g ± %g", c, got, mean, se)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, z := range []float64{90, 92, 97} {
		// φ → 0: N(z; x₀, σ²). The relative difference at φ is of order φ²x₀²/σ² times
		// (z−x₀)²/σ²: below 1e-6 at φ = 1e-7.
		if got, want := exactDensity(92, z, 0, 2), normal(z, 92, 2); !(math.Abs(got/want-1) <= 1e-13) {
			t.Errorf("φ = 0: %g, want %g", got, want)
		}
		if got, want := exactDensity(92, z, 1e-7, 2), exactDensity(92, z, 0, 2); !(math.Abs(got/want-1) <= 1e-6) {
			t.Errorf("φ near 0: %g, want %g", got, want)
		}
		// σ → 0: θ = z/x₀, the density of x₀ is N(z/x₀; 1, φ²)·|z|/x₀².
		want := normal(z/92, 1, 0.03) * z / (92 * 92)
		if got := exactDensity(92, z, 0.03, 0); !(math.Abs(got/want-1) <= 1e-12) {
			t.Errorf("σ = 0: %g, want %g", got, want)
		}
		if got := exactDensity(92, z, 0.03, 1e-6); !(math.Abs(got/want-1) <= 1e-6) {
			t.Errorf("σ near 0: %g, want %g", got, want)
		}
	}
}

func mixtureDensity(t *testing.T, key Key, x0, z float64, inverse bool) (density, difference float64) {
	t.Helper()
	phi2, sigma2 := newVariance(key.Phi, key.PhiPrior, inverse), newVariance(key.Sigma, key.SigmaPrior, inverse)
	x := x0
	if !inverse {
		x = z
	}
	m, err := newMixture(&phi2, &sigma2, x, math.Abs(z-x0), 0, inverse)
	if err != nil {
		t.Fatal(err)
	}
	l, d := m.logDensity(z - x0)
	return math.Exp(l) / math.Sqrt(2*math.Pi), d
}

// priorGrid integrates over both priors in the logarithms of the variances with a fine
// rectangle rule, a different rule in different coordinates.
func priorGrid(phi2, sigma2 variance, f func(phi2, sigma2 float64) float64) float64 {
	const n = 500
	sum := 0.0
	axis := func(v variance) (low, step float64, points int) {
		if v.fixed {
			return math.Log(v.value), 1, 1
		}
		return v.low, (v.top - v.low) / float64(n), n
	}
	weight := func(v variance, t, step float64) float64 {
		if v.fixed {
			return 1
		}
		return math.Exp(v.logDensity(t)) * step
	}
	a, ha, na := axis(phi2)
	b, hb, nb := axis(sigma2)
	for i := range na {
		t := a + float64(i)*ha
		w := weight(phi2, t, ha)
		if w < 1e-25 {
			continue
		}
		for j := range nb {
			s := b + float64(j)*hb
			sum += w * weight(sigma2, s, hb) * f(math.Exp(t), math.Exp(s))
		}
	}
	return sum
}

func TestQuadratureAgainstAFineGrid(t *testing.T) {
	for _, c := range []struct {
		name    string
		key     Key
		x0, z   float64
		inverse bool
	}{
		{"the paper's prior", Key{PhiPrior: InverseGammaAround(0.5 / 6), SigmaPrior: InverseGammaAround(3)}, 92, 95, true},
		{"far away", Key{PhiPrior: InverseGammaAround(0.5 / 6), SigmaPrior: InverseGammaAround(3)}, 92, 50, true},
		{"wide", Key{PhiPrior: &Prior{2, 0.01}, SigmaPrior: &Prior{3, 8}}, 12, 15, true},
		{"wide and far", Key{PhiPrior: &Prior{2, 0.01}, SigmaPrior: &Prior{3, 8}}, 12, 40, true},
		{"noise unknown", Key{Phi: 0.02, SigmaPrior: &Prior{5, 20}}, 50, 53, true},
		{"bias unknown", Key{Sigma: 2, PhiPrior: &Prior{5, 0.02}}, 50, 45, true},
		{"sign uncertain", Key{PhiPrior: &Prior{6, 1}, SigmaPrior: &Prior{4, 3}}, 2, -1, true},
		{"no bias at 0", Key{PhiPrior: InverseGammaAround(0.5 / 6), SigmaPrior: &Prior{4, 3}}, 0, 1.5, true},
		{"table 4.2", Key{PhiPrior: &Prior{400, 5000}, SigmaPrior: &Prior{400, 3.5}}, 44, 31, false},
		{"wide gamma", Key{PhiPrior: &Prior{2, 40}, SigmaPrior: &Prior{1.5, 0.2}}, 12, 9, false},
	} {
		phi2, sigma2 := newVariance(c.key.Phi, c.key.PhiPrior, c.inverse),
			newVariance(c.key.Sigma, c.key.SigmaPrior, c.inverse)
		want := priorGrid(phi2, sigma2, func(p, s float64) float64 {
			if !c.inverse {
				return normal(c.x0, c.z, math.Sqrt(s+c.z*c.z*p))
			}
			return exactDensity(c.x0, c.z, math.Sqrt(p), math.Sqrt(s))
		})
		got, difference := mixtureDensity(t, c.key, c.x0, c.z, c.inverse)
		// The stated error bound must hold and must be small.
		if err := math.Abs(math.Log(got / want)); err > math.Max(difference, 2e-9) || difference > 1e-5 {
			t.Errorf("%s: density %g, fine grid %g: error %g, stated %g", c.name, got, want, err, difference)
		}
	}
}

// Trottini et al. evaluate d.2 by draws from the priors (eq. 5). 4.5 standard errors.
func TestQuadratureAgainstMonteCarlo(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	key := Key{PhiPrior: &Prior{6, 0.03}, SigmaPrior: &Prior{5, 30}}
	const k = 200_000
	x0, z := 30.0, 34.0
	var sum, squares float64
	for range k {
		phi := math.Sqrt(0.03 / gammaDraw(rng, 6))
		sigma := math.Sqrt(30 / gammaDraw(rng, 5))
		theta := 1 + phi*rng.NormFloat64()
		f := math.Abs(theta) * normal(theta*x0, z, sigma)
		sum += f
		squares += f * f
	}
	mean := sum / k
	se := math.Sqrt((squares/k - mean*mean) / k)
	if got, _ := mixtureDensity(t, key, x0, z, true); !(math.Abs(got-mean) <= 4.5*se) {
		t.Errorf("quadrature %g, Monte Carlo %g ± %g", got, mean, se)
	}
}

// gammaDraw is a draw of Gamma(shape, 1) for a whole shape: a sum of exponentials.
func gammaDraw(rng *rand.Rand, shape int) float64 {
	s := 0.0
	for range shape {
		s += rng.ExpFloat64()
	}
	return s
}

func TestTableHoldsTheDensity(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, key := range []Key{
		{PhiPrior: InverseGammaAround(0.5 / 6), SigmaPrior: InverseGammaAround(3)},
		{PhiPrior: &Prior{2, 0.01}, SigmaPrior: &Prior{3, 8}},
	} {
		phi2, sigma2 := newVariance(0, key.PhiPrior, true), newVariance(0, key.SigmaPrior, true)
		m, err := newMixture(&phi2, &sigma2, 92, 40, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		table, stated := newTable(m, -40, 30)
		if stated > 1e-5 {
			t.Errorf("stated error of the table is %g", stated)
		}
		for range 500 {
			e := -40 + 70*rng.Float64()
			want, _ := m.logDensity(e)
			if got := table.at(e); !(math.Abs(got-want) <= stated) {
				t.Fatalf("table at %g: %g, want %g within %g", e, got, want, stated)
			}
		}
	}
}

func TestExpWithinItsStatedError(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200_000 {
		x := -700 + 1400*rng.Float64()
		if got, want := exp(x), math.Exp(x); !(math.Abs(got/want-1) <= 2e-15) {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	if exp(0) != 1 {
		t.Errorf("exp(0) = %v", exp(0))
	}
}

// E|θ|, and the moments under |θ|·N, against Gauss-Legendre panels.
func TestFoldedMoments(t *testing.T) {
	for _, c := range [][2]float64{{1, 0.05}, {1, 0.5}, {-0.3, 0.4}, {0, 1}, {2, 0.25}} {
		m, s := c[0], c[1]
		moment := func(power float64) float64 {
			f := func(x float64) float64 { return math.Pow(x, power) * math.Abs(x) * normal(x, m, s) }
			sum := 0.0
			edges := []float64{math.Min(m-12*s, 0), math.Min(math.Max(m-12*s, 0), 0), math.Max(m+12*s, 0)}
			for e := range 2 {
				for i := range 40 {
					w := (edges[e+1] - edges[e]) / 40
					sum += quad.Fixed(f, edges[e]+float64(i)*w, edges[e]+float64(i+1)*w, 20, nil, 0)
				}
			}
			return sum
		}
		abs := moment(0)
		if got := meanAbs(m, s); !(math.Abs(got/abs-1) <= 1e-10) {
			t.Errorf("E|θ| of N(%g, %g²) = %g, want %g", m, s, got, abs)
		}
		mean, variance := weightedMoments(m, s)
		wantMean := moment(1) / abs
		wantVariance := moment(2)/abs - wantMean*wantMean
		if !(math.Abs(mean-wantMean) <= 1e-9) || math.Abs(variance/wantVariance-1) > 1e-7 {
			t.Errorf("N(%g, %g²): mean %g and variance %g, want %g and %g", m, s, mean, variance, wantMean, wantVariance)
		}
	}
}
