package rumap

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Duncan, Keller-McNulty and Stokes (2004), section 4.

func value(tb testing.TB) func(v float64, err error) float64 {
	return func(v float64, err error) float64 {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func near(tb testing.TB, what string, got, want, relative float64) {
	tb.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) && got != want {
		tb.Errorf("%s = %v, want %v", what, got, want)
	}
}

const exact = 1e-12 // relative, for a few operations

// Every equation is compared with an independent form, for other numbers than those of the figures.
func TestAdditiveNoise(t *testing.T) {
	of := value(t)
	m := Noise{N: 50, SD: 3, Lambda: 4} // √(σ²+λ²) = 5
	z, phi := 1.2815515655446004, 0.17549833193248685
	l := math.Log(50)
	k1 := math.Sqrt(2*l) - (math.Log(l)+math.Log(4*math.Pi)-2*0.5772156649015329)/(2*math.Sqrt(2*l))
	k2 := math.Pi * math.Pi / (12 * l)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"U", of(m.Utility()), 50.0 / 25},
		{"U0", of(m.UnmaskedUtility()), 50.0 / 9},
		{"efficiency", of(m.Efficiency()), 9.0 / 25},
		{"eq. 1", of(m.RiskOfMean(-2)), 50.0 / (25 + 50*4)},
		{"eq. 2", of(m.RiskOfTypical()), 50.0 / (51*9 + 16)},
		{"eq. 3", of(m.RiskOfTypicalInSample(433)), 50.0 / (25 + 433)},
		{"eq. 4", of(m.RiskOfRecord()), 1.0 / 16},
		{"eq. 5", of(m.RiskOfPercentile(0.2, PercentilePoint{-1, -0.5, 0.1})), 1 / (0.16/(50*0.01) + 0.25)},
		{"eq. 8", of(m.RiskOfNormalPercentile(0.9)), 1 / (0.09/(50*phi*phi)*25 + z*z*4)},
		{"eq. 9", of(m.RiskOfExtreme(7)), 1 / (k2*25 + (7-k1*5)*(7-k1*5))},
		{"eq. 10", of(m.RiskOfExpectedExtreme()), 1 / (k2*25 + k1*k1*4)},
	} {
		near(t, c.what, c.got, c.want, 1e-9) // z and φ above have ten digits and more
	}
	// (10) is (9) at x_(n) = μ + K₁σ, and (1) averaged as in the paper is (2), (3).
	near(t, "eq. 9 at the expected place", of(m.RiskOfExtreme(3*k1)), of(m.RiskOfExpectedExtreme()), exact)
	near(t, "eq. 1 at μ−τ = σ", of(m.RiskOfMean(3)), of(m.RiskOfTypical()), exact)
	near(t, "eq. 3 at Σ(μ−x)² = nσ²", of(m.RiskOfTypicalInSample(50*9)), of(m.RiskOfTypical()), exact)
}

// Figure 2: σ = 1, n = 200; λ² = 0.21 gives U = 165 and R(4) = 4.76, within a tolerable risk of 5;
// without knowledge of the index no noise is necessary.
func TestFigure2(t *testing.T) {
	of := value(t)
	m := Noise{N: 200, SD: 1, Lambda: math.Sqrt(0.21)}
	if u := of(m.Utility()); math.Round(u) != 165 {
		t.Errorf("U = %v, the paper reads 165", u)
	}
	if r := of(m.RiskOfRecord()); !(math.Abs(r-4.76) <= 0.005) || r > 5 {
		t.Errorf("R = %v, want 4.76, at most 5", r)
	}
	if r := of(Noise{N: 200, SD: 1}.RiskOfTypical()); r > 5 || !(math.Abs(r-200.0/201) <= exact) {
		t.Errorf("R of the mean without noise = %v, want 200/201", r)
	}
	// Exactly, 0.20 is enough; the paper reads its optimum from a grid.
	m.Lambda = math.Sqrt(0.2)
	if r := of(m.RiskOfRecord()); !(math.Abs(r-5) <= 1e-12) {
		t.Errorf("R = %v at λ² = 0.2, want 5", r)
	}
	if u := of(m.Utility()); !(math.Abs(u-200/1.2) <= 1e-9) {
		t.Errorf("U = %v at λ² = 0.2, want 166.7", u)
	}
}

// Equations 2 and 4 are equal at σ²(n+1)/(n−1). The paper prints the reciprocal, σ²(n−1)/(n+1),
// where y_t is still the better guess.
func TestSwitchOver(t *testing.T) {
	of := value(t)
	for _, n := range []int{2, 3, 10, 200, 1_000_000} {
		for _, sd := range []float64{0.01, 1, 13_300} {
			over, printed := of(SwitchOver(n, sd)), sd*sd*float64(n-1)/float64(n+1)
			at := Noise{N: n, SD: sd, Lambda: math.Sqrt(over)}
			near(t, "R(2) at the switch-over", of(at.RiskOfTypical()), of(at.RiskOfRecord()), 1e-9)
			gain := func(variance float64) bool { // is ȳ the better guess?
				m := Noise{N: n, SD: sd, Lambda: math.Sqrt(variance)}
				return of(m.RiskOfTypical()) > of(m.RiskOfRecord())
			}
			if !gain(over*1.000001) || gain(over*0.999999) || gain(printed) {
				t.Errorf("n = %d, σ = %v: ȳ is to serve better from %v on, and not at %v", n, sd, over, printed)
			}
		}
	}
	if over := of(SwitchOver(1, 1)); !math.IsInf(over, 1) {
		t.Errorf("one record: %v; its y is ȳ, and R(2) is never above R(4)", over)
	}
}

// Equation 5 for normal values and normal noise is equation 8.
func TestNormalCaseOfPercentile(t *testing.T) {
	of := value(t)
	for p, z := range map[float64]float64{
		0.01: -2.3263478740408408, 0.1: -1.2815515655446004, 0.5: 0, 0.9: 1.2815515655446004, 0.99: 2.3263478740408408,
	} {
		for _, lambda := range []float64{0, 1e-8, 0.3, 1, 50} {
			m := Noise{N: 177, SD: 2.5, Lambda: lambda}
			density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / math.Hypot(2.5, lambda)
			near(t, "eq. 8", of(m.RiskOfNormalPercentile(p)), of(m.RiskOfPercentile(p, PercentilePoint{z, z, density})), 1e-9)
		}
	}
}

// Equation 5 for a population that is not normal: values uniform on ±√3 (σ = 1), normal noise, the
// 90th percentile. F_Y is the mean of Φ over the range of the uniform; its percentile is computed
// by bisection.
func TestPercentileOfUniformPopulation(t *testing.T) {
	const n, p, lambda, m = 1000, 0.9, 0.5, 1500
	normal := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	// ∫Φ = zΦ(z) + φ(z)
	integral := func(z float64) float64 { return z*normal(z) + math.Exp(-z*z/2)/math.Sqrt(2*math.Pi) }
	half := math.Sqrt(3)
	cdf := func(y float64) float64 {
		return lambda / (2 * half) * (integral((y+half)/lambda) - integral((y-half)/lambda))
	}
	xi := bisect(0, 10, func(y float64) bool { return cdf(y) > p })
	at := PercentilePoint{
		Original: half * (2*p - 1), Masked: xi / math.Hypot(1, lambda),
		Density: (normal((xi+half)/lambda) - normal((xi-half)/lambda)) / (2 * half),
	}
	want := 1 / value(t)(Noise{N: n, SD: 1, Lambda: lambda}.RiskOfPercentile(p, at))

	rng := rand.New(rand.NewPCG(1, 2))
	y := make([]float64, n)
	var total, squares float64
	for range m {
		for i := range y {
			y[i] = half*(2*rng.Float64()-1) + lambda*rng.NormFloat64()
		}
		slices.Sort(y)
		d := y[int(n*p)-1] - at.Original
		total, squares = total+d*d, squares+d*d*d*d
	}
	mean := total / m
	se := math.Sqrt((squares/m - mean*mean) / m)
	// Five standard errors, plus the error of order 1/n of the large-sample formula: the bias of
	// the order statistic is below 1/(n·density), times twice the difference.
	tolerance := 5*se + 2*math.Sqrt(mean)/(n*at.Density)
	if !(math.Abs(mean-want) <= tolerance) {
		t.Errorf("eq. 5: 1/R = %v, simulated %v ± %v", want, mean, tolerance)
	}
}

// bisect returns the point between lo and hi where above becomes true.
func bisect(lo, hi float64, above func(float64) bool) float64 {
	for range 200 {
		if mid := (lo + hi) / 2; above(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// Figures 3 and 4 (σ = 1, n = 200, p = 0.99): knowledge of the percentile gives a greater risk than
// the mean under little noise and a smaller one from λ² = 0.965 on; it gives a greater risk than a
// linked record between λ² = 0.085 and 0.887. Knowledge that the target is an extreme gives a
// smaller risk than the percentile or the index, for any noise.
func TestCrossingsOfFigures3And4(t *testing.T) {
	of := value(t)
	at := func(variance float64) Noise { return Noise{N: 200, SD: 1, Lambda: math.Sqrt(variance)} }
	type risk func(Noise) float64
	typical := risk(func(m Noise) float64 { return of(m.RiskOfTypical()) })
	record := risk(func(m Noise) float64 { return of(m.RiskOfRecord()) })
	percentile := risk(func(m Noise) float64 { return of(m.RiskOfNormalPercentile(0.99)) })
	extreme := risk(func(m Noise) float64 { return of(m.RiskOfExpectedExtreme()) })

	for _, c := range []struct {
		what        string
		first, then risk    // the greater one before the crossing, the greater one after it
		from, to    float64 // λ² between which they cross once
		want        float64 // λ²
	}{
		{"percentile, mean", percentile, typical, 0.01, 100, 0.96453},
		{"record, percentile", record, percentile, 0.01, 0.3, 0.084985},
		{"percentile, record", percentile, record, 0.3, 100, 0.88663},
		{"extreme, mean", extreme, typical, 0.01, 100, 0.71377},
		{"record, mean", record, typical, 0.01, 100, 201.0 / 199},
	} {
		got := bisect(c.from, c.to, func(v float64) bool { return c.then(at(v)) > c.first(at(v)) })
		near(t, "crossing of "+c.what, got, c.want, 2e-5)
	}
	for v := 0.001; v < 100; v *= 1.1 {
		if e := extreme(at(v)); e >= percentile(at(v)) || e >= record(at(v)) {
			t.Errorf("λ² = %v: R of the extreme is %v, of the percentile %v, of the record %v", v, e, percentile(at(v)),
				record(at(v)))
		}
	}
	// "For large samples (10) goes to zero, (8) to a positive value", according to the paper. Both
	// bias terms grow or stay, and at λ² = 1 they are K₁²(√2−1)² and z²(√2−1)².
	large := Noise{N: 1 << 50, SD: 1, Lambda: 1}
	near(t, "eq. 8, n = 2⁵⁰", of(large.RiskOfNormalPercentile(0.99)), 1/math.Pow(2.3263478740408408*(math.Sqrt2-1), 2),
		1e-6)
	if r := of(large.RiskOfExpectedExtreme()); r > of(Noise{N: 200, SD: 1, Lambda: 1}.RiskOfExpectedExtreme())/5 {
		t.Errorf("eq. 10, n = 2⁵⁰: %v", r)
	}
}

// (10) compared with a Monte Carlo simulation of the maximum of n normal values: the intruder takes
// √(σ²+λ²)·Z_(n) for its expected place, E Z_(n)·σ.
func TestExtremeAgainstMonteCarlo(t *testing.T) {
	const draws, sd = 60_000, 2.0
	for _, n := range []int{200, 10_000, 1_000_000} {
		rng := rand.New(rand.NewPCG(uint64(n), 7))
		z := make([]float64, draws)
		var mean float64
		for i := range z {
			// The largest of n uniform values is u^(1/n); 1 minus that, without cancellation.
			z[i] = math.Sqrt2 * math.Erfcinv(-2*math.Expm1(math.Log(rng.Float64())/float64(n)))
			mean += z[i] / draws
		}
		// Convergence to the limit is of order 1/ln n (Hall 1979, J. Appl. Prob. 16) in units of
		// the scale 1/√(2 ln n), of which K₁ is a location; the standard errors of the means are at
		// most 0.4/√draws = 0.0016, of which three are allowed.
		l := math.Log(float64(n))
		k1, k2 := normalExtreme(n)
		if d := math.Abs(k1 - mean); d > 1/(l*math.Sqrt(2*l))+0.005 {
			t.Errorf("n = %d: K₁ = %v, simulated %v", n, k1, mean)
		}
		var variance float64
		for _, v := range z {
			variance += (v - mean) * (v - mean) / draws
		}
		if d := math.Abs(k2/variance - 1); d > 1/l {
			t.Errorf("n = %d: K₂ = %v, simulated %v", n, k2, variance)
		}
		for _, lambda := range []float64{0, 0.5, 2, 6} {
			var total, squares float64
			for _, v := range z {
				d := math.Hypot(sd, lambda)*v - sd*mean
				total, squares = total+d*d, squares+d*d*d*d
			}
			mse := total / draws
			se := math.Sqrt((squares/draws - mse*mse) / draws)
			got := 1 / value(t)(Noise{N: n, SD: sd, Lambda: lambda}.RiskOfExpectedExtreme())
			// The same order of error, for K₂ and K₁² alike, and five standard errors.
			if !(math.Abs(got-mse) <= mse/l+5*se) {
				t.Errorf("n = %d, λ = %v: 1/R = %v, simulated %v ± %v", n, lambda, got, mse, mse/l+5*se)
			}
		}
	}
}

func risksOf(m Noise) map[string]func() (float64, error) {
	return map[string]func() (float64, error){
		"1": func() (float64, error) { return m.RiskOfMean(m.SD) }, "2": m.RiskOfTypical,
		"3": func() (float64, error) { return m.RiskOfTypicalInSample(float64(m.N) * m.SD * m.SD) }, "4": m.RiskOfRecord,
		"8": func() (float64, error) { return m.RiskOfNormalPercentile(0.99) }, "8, median": func() (float64, error) {
			return m.RiskOfNormalPercentile(0.5)
		},
		"9": func() (float64, error) { return m.RiskOfExtreme(3 * m.SD) }, "10": m.RiskOfExpectedExtreme,
		"U": m.Utility, "efficiency": m.Efficiency,
	}
}

// λ → 0 and λ → ∞: the limits are attained without NaN, and R and U decrease in between.
func TestLimits(t *testing.T) {
	of := value(t)
	inf := math.Inf(1)
	for name, f := range risksOf(Noise{N: 200, SD: 3, Lambda: inf}) {
		if v := of(f()); v != 0 {
			t.Errorf("%s at λ = ∞: %v, want 0", name, v)
		}
	}
	if v := of(Noise{N: 200, SD: 3, Lambda: inf}.RiskOfPercentile(0.5, PercentilePoint{})); v != 0 {
		t.Errorf("5 at λ = ∞: %v, want 0", v)
	}
	if v := of(Noise{N: 200, SD: 3}.RiskOfRecord()); v != inf {
		t.Errorf("4 at λ = 0: %v, want +Inf", v)
	}
	near(t, "8 at λ = 0", of(Noise{N: 200, SD: 1}.RiskOfNormalPercentile(0.99)),
		200*0.02665214220345808*0.02665214220345808/(0.99*0.01), 1e-9)
	near(t, "10 at λ = 0", of(Noise{N: 200, SD: 1}.RiskOfExpectedExtreme()), 12*math.Log(200)/(math.Pi*math.Pi), exact)
	near(t, "efficiency at λ = 0", of(Noise{N: 200, SD: 3}.Efficiency()), 1, 0)

	for _, name := range []string{"1", "2", "3", "4", "8", "8, median", "10", "U", "efficiency"} {
		previous := inf
		for e := -320.0; e < 308; e += 0.5 {
			v := of(risksOf(Noise{N: 200, SD: 3, Lambda: math.Pow(10, e)})[name]())
			if math.IsNaN(v) || v < 0 || v > previous {
				t.Fatalf("%s at λ = 1e%v: %v, after %v", name, e, v, previous)
			}
			previous = v
		}
	}
	// Small λ: a naive √(σ²+λ²)−σ becomes 0 much too early.
	near(t, "widening", Noise{N: 1, SD: 1, Lambda: 1e-9}.widening(), 5e-19, 1e-9)
}

func TestDomains(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := Noise{N: 10, SD: 1, Lambda: 1}
	for _, m := range []Noise{{0, 1, 1}, {-3, 1, 1}, {10, 0, 1}, {10, -1, 1}, {10, nan, 1}, {10, inf, 1}, {10, 1, -1},
		{10, 1, nan}} {
		for name, f := range risksOf(m) {
			if v, err := f(); err == nil || v != 0 {
				t.Errorf("%s of %+v: %v, no error", name, m, v)
			}
		}
		if v, err := m.RiskOfPercentile(0.9, PercentilePoint{1, 1, 1}); err == nil {
			t.Errorf("5 of %+v: %v, no error", m, v)
		}
	}
	for name, f := range map[string]func() (float64, error){
		"1, NaN":         func() (float64, error) { return good.RiskOfMean(nan) },
		"1, ∞":           func() (float64, error) { return good.RiskOfMean(inf) },
		"3, negative":    func() (float64, error) { return good.RiskOfTypicalInSample(-1) },
		"5, p = 1":       func() (float64, error) { return good.RiskOfPercentile(1, PercentilePoint{1, 1, 1}) },
		"5, density 0":   func() (float64, error) { return good.RiskOfPercentile(0.5, PercentilePoint{1, 1, 0}) },
		"5, l NaN":       func() (float64, error) { return good.RiskOfPercentile(0.5, PercentilePoint{nan, 1, 1}) },
		"8, p = 0":       func() (float64, error) { return good.RiskOfNormalPercentile(0) },
		"8, p = NaN":     func() (float64, error) { return good.RiskOfNormalPercentile(nan) },
		"9, NaN":         func() (float64, error) { return good.RiskOfExtreme(nan) },
		"9, n = 1":       func() (float64, error) { return Noise{1, 1, 1}.RiskOfExtreme(1) },
		"10, n = 1":      Noise{1, 1, 1}.RiskOfExpectedExtreme,
		"switch-over":    func() (float64, error) { return SwitchOver(0, 1) },
		"switch-over, σ": func() (float64, error) { return SwitchOver(2, 0) },
	} {
		if v, err := f(); err == nil {
			t.Errorf("%s: %v, no error", name, v)
		}
	}
	if _, err := (Noise{N: 0, SD: -1, Lambda: nan}).Utility(); err == nil || err.Error() !=
		"n: must be at least 1, got 0\nsd: must be greater than 0, got -1\nlambda: must be at least 0, got NaN" {
		t.Errorf("error reads %q", err)
	}
}

func given(v float64) *float64 { return &v }

func TestCurves(t *testing.T) {
	of := value(t)
	a := Analytic{N: 200, SD: 2, MeanDistance: given(1), MeanSquare: given(3.9), Percentile: given(0.99),
		Extreme: given(5),
		Ratios:  []assess.Float{0, 0.21, 1, assess.Float(math.Inf(1))}}
	m, err := Curves(a)
	if err != nil {
		t.Fatal(err)
	}
	var equations []int
	for _, c := range m.Curves {
		equations = append(equations, c.Equation)
		if len(c.R) != 4 {
			t.Fatalf("eq. %d: %d values for 4 ratios", c.Equation, len(c.R))
		}
	}
	if !slices.Equal(equations, []int{1, 2, 3, 4, 8, 9, 10}) {
		t.Errorf("equations %v", equations)
	}
	n := Noise{N: 200, SD: 2, Lambda: 2 * math.Sqrt(0.21)}
	for i, want := range []float64{
		of(n.RiskOfMean(1)), of(n.RiskOfTypical()), of(n.RiskOfTypicalInSample(200 * 3.9)), of(n.RiskOfRecord()),
		of(n.RiskOfNormalPercentile(0.99)), of(n.RiskOfExtreme(5)), of(n.RiskOfExpectedExtreme()),
	} {
		near(t, m.Curves[i].Target, float64(m.Curves[i].R[1]), want, exact)
		if m.Curves[i].R[3] != 0 {
			t.Errorf("eq. %d at λ = ∞: %v", equations[i], m.Curves[i].R[3])
		}
	}
	near(t, "U", float64(m.U[1]), of(n.Utility()), exact)
	near(t, "U0", float64(m.U0), 50, exact)
	near(t, "λ²", float64(m.Variance[1]), 0.84, exact)
	near(t, "efficiency", float64(m.Efficiency[2]), 0.5, exact)
	near(t, "switch-over", float64(m.SwitchOver), 4*201.0/199, exact)
	if m.Curves[4].Target != "p99" || percentileName(0.01) != "p01" || percentileName(0.999) != "p99.9" {
		t.Errorf("percentiles are named %q, %q, %q", m.Curves[4].Target, percentileName(0.01), percentileName(0.999))
	}
	if _, err := json.Marshal(m); err != nil { // R(4) at λ = 0 is infinite
		t.Error(err)
	}

	least, err := Curves(Analytic{N: 1, SD: 1})
	if err != nil || len(least.Curves) != 2 || len(least.Ratios) != 21 {
		t.Errorf("one record: %+v, %v; want equations 2 and 4 on the default grid", least, err)
	}
	for _, bad := range []Analytic{{}, {N: 1, SD: 1, Extreme: given(1)}, {N: 5, SD: 1, Percentile: given(99)},
		{N: 5, SD: 1, MeanSquare: given(-1)},
		{N: 5, SD: 1, MeanDistance: given(math.NaN())}, {N: 5, SD: 1, Ratios: []assess.Float{-1}}, {N: 5, SD: math.NaN()}} {
		if _, err := Curves(bad); err == nil || len(bad.Check()) == 0 {
			t.Errorf("%+v: no error", bad)
		}
	}
}
