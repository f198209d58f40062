package assess

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// drawValues returns n values with two decimals.
func drawValues(n int, seed uint64, draw func(r *rand.Rand) float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Round(100*draw(r)) / 100
	}
	return x
}

func lognormals(r *rand.Rand) float64 { return math.Exp(8 + 1.2*r.NormFloat64()) }
func paretos(r *rand.Rand) float64    { return 100 * (math.Pow(1-r.Float64(), -1/1.5) + 1) }

func chainOf(tb testing.TB, key keystream.Key, masks ...transform.Params) *transform.Chain {
	tb.Helper()
	var specs []transform.Spec
	for _, m := range masks {
		specs = append(specs, transform.Spec{Params: m})
	}
	chain, err := transform.NewChain(specs, transform.Setup{Key: key, Columns: []transform.ColumnInfo{
		{Name: "x", Field: microdata.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64}, Decimals: 2, SD: 100, Mean: 500},
	}})
	must(tb, err)
	return chain
}

func ofSample(tb testing.TB, key keystream.Key, sample, replicates int, chain *transform.Chain,
	x []float64) *ColumnMeasures {
	tb.Helper()
	a := newAccumulator(tb,
		Options{Columns: []Column{{Name: "x", Masked: true}},
			Targets: []string{"min", "p01", "p10", "p50", "p90", "p99", "max"},
			Sample:  sample, Key: key, Replicates: replicates, Replicate: func(m int) Masker {
				return chain.Replicate(m)
			}, Law: lawOf(chain)})
	a.Add(release(tb, x, chain))
	return measured(tb, a).Column("x")
}

// A clip draws nothing, so the release shows the expected values. On skewed data R of the typical
// record, U and the bias must equal those of the release, whichever records the sample drew. A
// smaller variance is not a gain in precision.
func TestClipOfSkewedData(t *testing.T) {
	const n = 60_000
	x := drawValues(n, 5, paretos)
	for seed := range byte(5) {
		secret := make([]byte, 32)
		for i := range secret {
			secret[i] = seed + byte(i)*7
		}
		key, err := keystream.NewKey(secret)
		must(t, err)
		c := ofSample(t, key, 2_000, 2, chainOf(t, key, &transform.Truncate{Columns: []string{"x"}, Upper: ptr(1500)}), x)
		// The values beyond 1,500 are kept singly: only rounding errors remain.
		r := risk(t, c, TargetTypical, KnowledgeIndex)
		if !(math.Abs(float64(r.R/r.RealisedR)-1) <= 1e-9) {
			t.Errorf("key %d: R %v, of the release %v", seed, r.R, r.RealisedR)
		}
		if u := c.Utility; !(math.Abs(float64(u.U/u.RealisedU)-1) <= 1e-9) || !(u.EfficiencyGate < 1) ||
			!(u.Efficiency > u.EfficiencyGate) {
			t.Errorf("key %d: %+v", seed, u)
		}
		sorted := slices.Clone(x)
		slices.Sort(sorted)
		for target, k := range map[string]int{"min": 1, "p01": 600, "p99": 59_400, "max": n} {
			d := sorted[k-1] - min(sorted[k-1], 1500)
			for _, knowledge := range []string{KnowledgeIndex, KnowledgePosition} {
				if r := risk(t, c, target, knowledge); float64(r.R) != 1/(d*d) && !(math.Abs(float64(r.R)*d*d-1) < 1e-9) {
					t.Errorf("key %d, %s by %s: R %v, want %v", seed, target, knowledge, r.R, 1/(d*d))
				}
			}
		}
	}
}

// With more records than the sample, R and U equal those of replicates of all records, within four
// of both standard errors. For an R from m replicates of one value, that error is estimated from
// the same squares; a tenth of R is added, two thirds of √(2/m).
func TestBeyondTheSample(t *testing.T) {
	if testing.Short() {
		t.Skip("40,000 records, 100 replicates of each of several masks")
	}
	const n, m = 40_000, 100
	key := testKey(t)
	columns := []string{"x"}
	noise := func(sd float64, d string) transform.Params {
		return &transform.Noise{Columns: columns, SD: &transform.Amount{Value: sd}, Distribution: d}
	}
	clip := func(mode string) transform.Params {
		return &transform.Truncate{Columns: columns, Lower: ptr(300), Upper: ptr(20_000), Mode: mode}
	}
	bias := &transform.Bias{Columns: columns, Phi: ptr(0.1)}
	tiers := &transform.Noise{Columns: columns, SD: &transform.Amount{Value: 300},
		Tiers: []transform.Tier{{Above: ptr(2_000), VarianceFactor: ptr(4)}, {Above: ptr(9_000), VarianceFactor: ptr(0)}}}
	shapes := map[string]func(*rand.Rand) float64{"lognormal": lognormals, "pareto": paretos}
	for name, masks := range map[string][]transform.Params{
		"little noise": {noise(40, "")}, "noise": {noise(900, "")}, "laplace": {noise(900, "laplace")},
		"uniform":           {noise(900, "uniform")},
		"bias, tiers, clip": {bias, tiers, clip("")}, "noise, bias": {noise(900, ""), bias},
		"laplace, clip, noise": {noise(900, "laplace"), clip(""), noise(400, "")},
		"bias":                 {bias}, "noise, clip": {noise(900, ""), clip("")}, "redraw": {noise(900, ""), clip("redraw")},
	} {
		for shape, draw := range shapes {
			x := drawValues(n, 3, draw)
			chain := chainOf(t, key, masks...)
			full, part := ofSample(t, key, -1, m, chain, x), ofSample(t, key, 2_000, m, chain, x)
			see := func(what string, got, want, se, slack float64) {
				if math.IsNaN(se) {
					se = 0
				}
				if got != want && !(math.Abs(got-want) < 4*(se+slack*want)) {
					t.Errorf("%s of %s: %s is %v, of all records %v ± %v", name, shape, what, got, want, se)
				}
			}
			number := func(v Float) float64 {
				if v != v {
					return 0
				}
				return float64(v)
			}
			see("U", float64(part.Utility.U), float64(full.Utility.U),
				math.Hypot(number(full.Utility.SE), number(part.Utility.SE)), 1e-6)
			for i, f := range full.Risk {
				p := part.Risk[i]
				if p.Approximate {
					continue
				}
				slack := 0.1
				if f.Knowledge == KnowledgeMean {
					slack = 1e-3
				}
				see(fmt.Sprintf("R of %s by %s", f.Target, f.Knowledge), float64(p.R), float64(f.R),
					math.Hypot(number(f.SE), number(p.SE)), slack)
			}
		}
	}
}
