package truth

import (
	"math"
	"path/filepath"
	"testing"
)

// Cases in which reports were wrong, each with the property that must hold. They use files of
// 300,000 records, and samples of a third of them.

// caseOf makes a file of one shape and the job for it.
func caseOf(t *testing.T, s shape, c chain, keys func(f *file)) (*file, job) {
	t.Helper()
	if formOf(t) == small {
		t.Skip("in make test-truth-short")
	}
	f := s.make(300_000)
	if keys != nil {
		keys(f)
	}
	path := filepath.Join(tempDir(t), "x.csv")
	f.write(t, path)
	return f, job{f: f, masks: c.yaml(), path: path, sample: 100_000, replicates: 200, window: windowOf(c)}
}

// A swap keeps every value in its column: an intruder who knows a rank knows the value.
func TestSwapByPosition(t *testing.T) {
	c := chain{swap{key: "many", rate: 0.3, random: true}}
	f, j := caseOf(t, shapeNamed("lognormal"), c, func(f *file) {
		g := generator("k and a")
		for i := range f.many {
			f.many[i], f.attribute[i] = int32(g.IntN(2000)), int32(g.IntN(4))
		}
	})
	truth := (&bruteForce{f: f, c: c, seed: "swap", m: 100}).replicates()
	j.gate = "{column: x, target: p99, knowledge: position, min_rmse: 10}"
	for key := range 3 {
		j.key = key
		r := j.run(t)
		for _, k := range r.Columns["x"].Risk {
			if k.Knowledge == "position" && !math.IsInf(float64(k.R), 1) {
				t.Errorf("key %d: R of %s by position is %g ± %g, and the value is in the release", key, k.Target, k.R, k.SE)
			}
		}
		if r.Gate.Passed {
			t.Errorf("key %d: passes a gate that requires ± 10 of exactly known values", key)
		}
		if u := r.Columns["x"].Utility; !(math.Abs(float64(u.Efficiency)-1) <= 1e-9) {
			t.Errorf("key %d: efficiency %v of a permutation", key, u.Efficiency)
		}
		judge(t, f, r, truth)
	}
}

// On a tail with infinite variance, R and U of a truncation and of a bias are closed sums over all
// records.
func TestSkewedByIndex(t *testing.T) {
	upper := 3000.0
	f, j := caseOf(t, shapeNamed("pareto1.5"), chain{clip{bounds{inf(-1), upper}}}, nil)
	var cut, squares float64
	for _, x := range f.sorted {
		if x > upper {
			cut += (x - upper) * (x - upper)
		}
		squares += x * x
	}
	n := f.n()
	near := func(key int, name string, got reported, want float64, z float64) {
		t.Helper()
		if !(math.Abs(got.value-want) <= exact*want+z*got.se) {
			t.Errorf("key %d: %s: mean square %g ± %g, is %g", key, name, got.value, got.se, want)
		}
	}
	for key := range 3 {
		j.key = key
		near(key, "typical by index of a truncation", j.run(t).figures()[typicalIndex], cut/n, 0)
	}
	c := chain{bias{0.1}}
	j.masks = c.yaml()
	j.gate = "{column: x, min_efficiency: 0.98}"
	// E s_y² = s_x² + φ²Σx²/n, and ȳ has no bias: the efficiency is 1/(1 + φ²Σx²/(n·s_x²)).
	efficiency := 1 / (1 + 0.01*squares/n/f.s2)
	for key := range 3 {
		j.key = key
		r := j.run(t)
		got := r.figures()
		near(key, "typical by index of a bias", got[typicalIndex], 0.01*squares/n, 3)
		// The effect of rounding to cents, 10⁻⁴/12, is negligible compared with φ²x².
		if e := float64(r.Columns["x"].Utility.Efficiency); e > efficiency*(1+3*got[utility].se/got[utility].value)+1e-5 {
			t.Errorf("key %d: efficiency %g of a bias, is %g", key, e, efficiency)
		}
	}
}

// A map over the bound of a truncation recommends a bound that is right for the data.
func TestMapOverBound(t *testing.T) {
	c := chain{clip{bounds{inf(-1), 3000}}}
	f, j := caseOf(t, shapeNamed("pareto1.5"), c, nil)
	// A bound that leaves a root mean square of 2,000 lies within the axis of bounds if Σ(x−u)²
	// over it reaches n·2000²; this tail may be shorter.
	rms := func(upper float64) float64 {
		sum := 0.0
		for _, x := range f.sorted {
			if x > upper {
				sum += (x - upper) * (x - upper)
			}
		}
		return math.Sqrt(sum / f.n())
	}
	demanded := math.Round(rms(f.quantile(0.9999)))
	j.gate = "{column: x, target: typical, knowledge: index, record: alone, min_rmse: " + number(demanded) + "}"
	j.vary = "masks.0.truncate.upper: {from: " + number(f.grid(f.quantile(0.99))) + ", to: " +
		number(f.sorted[len(f.sorted)-1]) + ", steps: 30, scale: log}"
	for key := range 5 {
		j.key = key
		m := j.mapped(t)
		if m.Recommended == nil {
			t.Errorf("key %d: nothing is recommended: %s", key, m.Reason)
			continue
		}
		upper := m.Points[m.Recommended.Point].Parameters["masks.0.truncate.upper"]
		if is := rms(upper); is < demanded*(1-exact) {
			t.Errorf("key %d: recommends the bound %g, of root mean square error %g where %g is demanded", key, upper, is,
				demanded)
		}
	}
}

// Noise of 2 % of the interquartile range moves a percentile by about its standard error, which is
// much smaller than a sample can detect.
func TestPercentilesWithLittleNoise(t *testing.T) {
	f := shapeNamed("lognormal")
	var c chain
	made, j := caseOf(t, f, nil, nil)
	c = noised("normal", 0.02)(made)
	j.masks = c.yaml()
	truth := (&bruteForce{f: made, c: c, seed: "little", m: 200, draws: 20_000}).replicates()
	for key := range 3 {
		j.key = key
		judge(t, made, j.run(t), truth)
	}
}

// A smaller variance is not a gain in precision: the gate uses an efficiency of at most 1.
func TestEfficiencyOfTruncation(t *testing.T) {
	s := shape{name: "lognormal1.5", decimals: 2, draw: lognormal(8, 1.5)}
	f, j := caseOf(t, s, nil, nil)
	c := clipped(0, 0.98)(f)
	j.masks = c.yaml()
	j.gate = "{column: x, min_efficiency: 0.9}"
	truth := (&bruteForce{f: f, c: c, seed: "cut", m: 2, draws: 100}).replicates()
	r := j.run(t)
	judge(t, f, r, truth)
	u := r.Columns["x"].Utility
	if u.EfficiencyGate == nil {
		t.Fatal("the report has no efficiency_gate")
	}
	if want := f.s2 / f.n() / truth[gateUtility].value; !(math.Abs(float64(*u.EfficiencyGate)-want) <= exact*want) {
		t.Errorf("efficiency for the gate: %g, is %g", *u.EfficiencyGate, want)
	}
	if float64(*u.EfficiencyGate) > 1 || r.Gate.Passed {
		t.Errorf("efficiency %g, for the gate %g, passed: %v: a mean that is off by many standard errors", u.Efficiency,
			*u.EfficiencyGate, r.Gate.Passed)
	}
}
