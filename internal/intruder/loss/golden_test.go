package loss

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/golden"
)

// goldenMeasures are the members of *_measures.json whose definition is known.
type goldenMeasures struct {
	DRisk   map[string]float64
	IL1     float64
	IL1s    float64
	IL1old  float64
	PerCell float64 `json:"IL1s_per_cell"`
	Eigen   float64
	Orig    struct {
		Mean map[string]float64
		SD   map[string]float64
		NNA  map[string]float64 `json:"n_na"`
	}
	Masked struct {
		Mean map[string]float64
		SD   map[string]float64
		NNA  map[string]float64 `json:"n_na"`
	}
	CovOrig   [][]*float64 `json:"cov_orig"`
	CovMasked [][]*float64 `json:"cov_masked"`
}

var pairs = []string{
	"p01_casc_additive10", "p04_casc_restr", "p05_tarragona_mdav3", "p06_tarragona_mafast3",
	"p09_eia_multiplicative_formula", "p12_testdata_additive_NA", "p13_testdata_topbottom", "p14_testdata_identity",
}

func readPair(tb testing.TB, id string) (Pair, goldenMeasures) {
	tb.Helper()
	var p Pair
	p.Names, p.Original = golden.Columns(tb, "golden", id+"_orig.csv")
	_, p.Released = golden.Columns(tb, "golden", id+"_masked.csv")
	var m goldenMeasures
	golden.JSON(tb, &m, "golden", id+"_measures.json")
	return p, m
}

// near compares to 1e-9, relative to the golden value; scale is what the value
// was computed from, where that is greater.
func near(t *testing.T, what string, got, want, scale float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(math.Abs(want), scale)) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

// The measures agree with sdcMicro to 1e-9 on every golden pair, except for eigen
// on collinear columns (p01, p04), where sdcMicro divides by rounding.
func TestGoldenPairs(t *testing.T) {
	for _, id := range pairs {
		t.Run(id, func(t *testing.T) {
			p, want := readPair(t, id)
			u, err := Measure(t.Context(), p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "IL1", u.Change.IL1, want.IL1, 0)
			near(t, "IL1s", u.IL1s, want.IL1s, 0)
			near(t, "IL1s per cell", u.IL1sPerCell, want.IL1old, 0)
			near(t, "IL1s per cell", u.IL1sPerCell, want.PerCell, 0)
			var widths []float64
			for name := range want.DRisk {
				k, err := strconv.ParseFloat(strings.TrimPrefix(name, "k="), 64)
				if err != nil {
					t.Fatal(err)
				}
				widths = append(widths, k)
			}
			risk, err := IntervalOf(p, widths)
			if err != nil {
				t.Fatal(err)
			}
			for name, r := range want.DRisk {
				near(t, "dRisk "+name, risk.Risk[strings.TrimPrefix(name, "k=")], r, 0)
			}
			for j, name := range p.Names {
				c := u.Columns[j]
				near(t, "mean "+name, *c.Original.Mean, want.Orig.Mean[name], 0)
				near(t, "SD "+name, *c.Original.SD, want.Orig.SD[name], 0)
				near(t, "released mean "+name, *c.Released.Mean, want.Masked.Mean[name], 0)
				near(t, "released SD "+name, *c.Released.SD, want.Masked.SD[name], 0)
				near(t, "missing "+name, float64(c.Original.Missing), want.Orig.NNA[name], 0)
				near(t, "released missing "+name, float64(c.Released.Missing), want.Masked.NNA[name], 0)
			}
			matrix := func(what string, got [][]float64, want [][]*float64) {
				for j := range want {
					for l, v := range want[j] {
						// A covariance near 0 is a difference of greater numbers.
						near(t, what, got[j][l], *v, math.Sqrt(got[j][j]*got[l][l]))
					}
				}
			}
			matrix("covariance", u.Structure.CovarianceOriginal, want.CovOrig)
			matrix("released covariance", u.Structure.CovarianceReleased, want.CovMasked)
			switch id {
			case "p01_casc_additive10", "p04_casc_restr":
				if u.Structure.EigenLeftOut == 0 || *u.Eigen > 100 || *u.Eigen <= 0 {
					t.Errorf("eigen = %v, %d left out of a set with collinear columns", *u.Eigen, u.Structure.EigenLeftOut)
				}
			default:
				if u.Structure.EigenLeftOut != 0 {
					t.Errorf("%d eigenvalues left out", u.Structure.EigenLeftOut)
				}
				near(t, "eigen", *u.Eigen, want.Eigen, 0)
			}
		})
	}
}

// The blind spot of interval disclosure: on the CASC census set with 12 columns
// and 10 % noise it is 0 at k = 0.05, although the nearest released record in
// standardised distance is the true one for 1,007 of 1,080 when columns are scaled
// by the original's SDs (1,057 with another scaling; linkage has its own package).
func TestIntervalBlindSpot(t *testing.T) {
	p, _ := readPair(t, "p01_casc_additive10")
	risk, err := IntervalOf(p, []float64{0.05})
	if err != nil {
		t.Fatal(err)
	}
	if r := risk.Risk["0.05"]; r != 0 {
		t.Errorf("interval disclosure = %v, want 0", r)
	}
	scale := make([]float64, len(p.Names))
	for j := range scale {
		scale[j] = 1 / *MomentsOf(p.Original[j]).SD
	}
	found := 0
	for i := range p.Records() {
		best, at := math.Inf(1), -1
		for l := range p.Records() {
			var d float64
			for j := range scale {
				z := (p.Original[j][i] - p.Released[j][l]) * scale[j]
				d += z * z
			}
			if d < best {
				best, at = d, l
			}
		}
		if at == i {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("linkage finds %d of %d records", found, p.Records())
	}
	t.Logf("linkage finds %d of %d", found, p.Records())
	for j, name := range p.Names { // column by column the measure is not blind
		one, err := IntervalOf(Pair{p.Names[j : j+1], p.Original[j : j+1], p.Released[j : j+1]}, []float64{0.05})
		if err != nil {
			t.Fatal(err)
		}
		if r := one.Risk["0.05"]; !(r > 0.2) {
			t.Errorf("%s alone: %v", name, r)
		}
	}
}
