package transform

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// linkedData returns three skewed, correlated columns, and a fourth that is exactly the sum of the
// first two.
func linkedData(n int) []testColumn {
	r := rand.New(rand.NewPCG(5, 9))
	columns := make([]testColumn, 4)
	for k := range columns {
		columns[k] = floats(2, make([]float64, n)...)
	}
	for i := range n {
		u := r.NormFloat64()
		a := math.Round(100*math.Exp(5+0.8*u)) / 100
		b := math.Round(100*(3*math.Exp(2+0.6*(0.8*u+0.6*r.NormFloat64()))))/100 + 7
		columns[0].Values[i], columns[1].Values[i] = a, b
		columns[2].Values[i] = math.Round(100*(500-0.7*a+90*r.NormFloat64())) / 100
		columns[3].Values[i] = a + b
	}
	return columns
}

func correlatedNoise(sd float64, columns ...string) *Noise {
	return &Noise{Columns: columns, SD: percent(sd), Correlated: true}
}

// noiseOf returns the noise that a chain adds to each column.
func noiseOf(t *testing.T, c *Chain, columns []testColumn, size int) [][]float64 {
	t.Helper()
	out := make([][]float64, len(columns))
	n := len(columns[0].Values)
	for from := 0; from < n; from += size {
		b := apply(t, c, block(from, min(n, from+size), columns...))
		for k := range columns {
			v := b.Columns[k].Out()
			for i, y := range v.Values {
				if !v.Valid.Has(i) {
					out[k] = append(out[k], math.NaN())
					continue
				}
				out[k] = append(out[k], y-columns[k].Values[from+i])
			}
		}
	}
	return out
}

// The noise of three columns has covariance f²Σ, and each column has its normal distribution. The
// standard error of a covariance of n normal pairs is λ₁λ₂√((1+r²)/n). The tolerance is five
// standard errors, which one of six covariances exceeds once in 300,000 seeds.
func TestCorrelatedNoiseHasTheCovarianceOfTheData(t *testing.T) {
	n := thin(200_000)
	columns := linkedData(n)[:3]
	setup := testSetup(t, columns...)
	e := noiseOf(t, chain(t, setup, mask(correlatedNoise(30, "a", "b", "c"))), columns, 1<<14)
	for i := range 3 {
		λ := 0.3 * setup.Columns[i].SD
		if d := kolmogorov(e[i], func(v float64) float64 { return math.Erfc(-v/(λ*math.Sqrt2)) / 2 }); d > 2.5 {
			t.Errorf("column %d: noise is not normal with λ = %v: √n·D = %v", i, λ, d)
		}
		for k := range i + 1 {
			r := 1.0
			if k < i {
				r = correlation(columns[i].Values, columns[k].Values)
			}
			scale := 0.09 * setup.Columns[i].SD * setup.Columns[k].SD
			want, got := r*scale, stat.Covariance(e[i], e[k], nil)
			if se := scale * math.Sqrt((1+r*r)/float64(n)); !(math.Abs(got-want) <= 5*se) {
				t.Errorf("covariance of noise %d, %d: %v, want %v ± %v", i, k, got, want, se)
			}
		}
	}
	// This release keeps the correlations; separate noise for each column does not.
	for i := range 3 {
		for k := range i {
			y := func(k int) []float64 {
				v := slices.Clone(columns[k].Values)
				for j := range v {
					v[j] += e[k][j]
				}
				return v
			}
			// The SE of a correlation due to the random noise is at most (f² + 2f)/√n.
			want, got := correlation(columns[i].Values, columns[k].Values), correlation(y(i), y(k))
			if !(math.Abs(got-want) <= 5*(0.09+0.6)/math.Sqrt(float64(n))) {
				t.Errorf("correlation of %d and %d: %v released, %v before", i, k, got, want)
			}
		}
	}
}

// If a column is the sum of two others, its release is the sum of their releases, up to rounding
// and the six digits of the correlations: noise of √(pivotal) of λ.
func TestCorrelatedNoiseKeepsSums(t *testing.T) {
	for _, order := range []string{"abd", "dab", "bda"} {
		columns := linkedData(2000)
		setup := testSetup(t, columns...)
		e := noiseOf(t, chain(t, setup, mask(correlatedNoise(50, strings.Split(order, "")...))), columns, 500)
		for i := range e[0] {
			if d := math.Abs(e[3][i] - e[0][i] - e[1][i]); d > 0.015+6*math.Sqrt(core.Pivotal)*0.5*setup.Columns[3].SD*2 {
				t.Fatalf("order %s: record %d: the noise of the sum is off by %v", order, i, d)
			}
		}
		if sd := stat.StdDev(e[3], nil); !(math.Abs(sd/(0.5*setup.Columns[3].SD)-1) <= 5/math.Sqrt(2*2000)) {
			t.Errorf("order %s: noise of SD %v, want %v", order, sd, 0.5*setup.Columns[3].SD)
		}
	}
}

// Other block limits, missing values, and a single column in replicates.
func TestCorrelatedNoiseOfARecord(t *testing.T) {
	columns := linkedData(3000)[:3]
	setup := testSetup(t, columns...)
	noise := mask(correlatedNoise(30, "c", "a", "b"))
	all := noiseOf(t, chain(t, setup, noise), columns, 3000)
	for _, size := range []int{1, 700, 2999} {
		if size == 1 && testing.Short() {
			continue
		}
		for k, e := range noiseOf(t, chain(t, setup, noise), columns, size) {
			if !slices.Equal(e, all[k]) {
				t.Errorf("blocks of %d records change the noise in column %d", size, k)
			}
		}
	}

	// A missing value gets no noise and does not change the noise of the others.
	missing := slices.Clone(columns)
	missing[1].Null = []int{0, 64, 2999}
	got := noiseOf(t, chain(t, setup, noise), missing, 1000)
	for i := range got[0] {
		gone := slices.Contains(missing[1].Null, i)
		if (got[1][i] != got[1][i]) != gone {
			t.Fatalf("record %d: noise %v where a value is missing: %v", i, got[1][i], gone)
		}
		if got[0][i] == 0 && got[2][i] == 0 {
			t.Fatalf("record %d: no noise next to a missing value", i)
		}
	}

	replicate := chain(t, setup, noise).Replicate(3)
	want := noiseOf(t, replicate, columns, 1000)
	for k, name := range []string{"a", "b", "c"} {
		only, ok := Alone([]Spec{noise}, name)
		if !ok {
			t.Fatal("the mask cannot be restricted to one column")
		}
		of := setup
		of.Columns = setup.Columns[k : k+1]
		of.Columns[0].Index = k
		e := noiseOf(t, chain(t, of, only...).Replicate(3), columns, 1000)
		if !slices.Equal(e[k], want[k]) {
			t.Errorf("column %s alone: the noise differs from that with all columns", name)
		}
		for other := range 3 {
			if other != k && slices.ContainsFunc(e[other], func(v float64) bool { return v != 0 }) {
				t.Errorf("column %s alone: column %d has noise", name, other)
			}
		}
		if _, ok := chain(t, of, only...).Law(name); !ok {
			t.Errorf("column %s: no law", name)
		}
	}
}

// If one value of a record changes, the record gets new noise in all columns. With the old noise,
// the difference of two releases would reveal the change up to λ√(1 − R²).
func TestCorrelatedNoiseIsBoundToAllValues(t *testing.T) {
	columns := linkedData(2000)[:3]
	setup := testSetup(t, columns...)
	noise := mask(correlatedNoise(30, "a", "b", "c"))
	before := noiseOf(t, chain(t, setup, noise), columns, 2000)
	for changed := range 3 {
		other := slices.Clone(columns)
		other[changed].Values = slices.Clone(columns[changed].Values)
		for i := range 1000 {
			other[changed].Values[i] += 1
		}
		after := noiseOf(t, chain(t, setup, noise), other, 2000)
		for k := range 3 {
			if !slices.Equal(after[k][1000:], before[k][1000:]) {
				t.Errorf("column %d: the noise of unchanged records differs", k)
			}
			// The correlation of 1,000 independent pairs exceeds 5/√1000 once in 1.7 million.
			if r := correlation(before[k][:1000], after[k][:1000]); !(math.Abs(r) <= 0.16) {
				t.Errorf("column %d changed: the noise of column %d has correlation %v with the earlier noise", changed, k, r)
			}
		}
	}
}

// Correlations computed from pairwise complete values may be impossible as a matrix. They are
// replaced by the nearest possible ones.
func TestFactorOfCorrelations(t *testing.T) {
	for name, r := range map[string][][]float64{
		"sound":                       {{1, 0.5, -0.2}, {0.5, 1, 0.1}, {-0.2, 0.1, 1}},
		"no such data":                {{1, 0.9, -0.9}, {0.9, 1, 0.9}, {-0.9, 0.9, 1}},
		"equal":                       {{1, 1, 0.5}, {1, 1, 0.5}, {0.5, 0.5, 1}},
		"opposite":                    {{1, -1}, {-1, 1}},
		"equal, and not to the third": {{1, 1, 0.9}, {1, 1, 0.1}, {0.9, 0.1, 1}},
	} {
		l := core.FactorOf(r)
		shrunk := 0.0
		for i := range r {
			length := 0.0
			for k := range r {
				length += l[i][k] * l[i][k]
				if k > i && l[i][k] != 0 {
					t.Errorf("%s: not a lower triangle", name)
				}
			}
			if !(math.Abs(length-1) <= 1e-12) {
				t.Errorf("%s: row %d has length² %v", name, i, length)
			}
			for k := range i {
				got := 0.0
				for m := range r {
					got += l[i][m] * l[k][m]
				}
				shrunk = max(shrunk, math.Abs(got-r[i][k]))
				if got*r[i][k] < 0 || !(math.Abs(got) <= math.Abs(r[i][k])+0.004) {
					t.Errorf("%s: correlation %v became %v", name, r[i][k], got)
				}
			}
		}
		if sound := name == "sound" || name == "equal" || name == "opposite"; sound && shrunk > 1e-6 || !sound &&
			shrunk < 0.01 {
			t.Errorf("%s: off by %v", name, shrunk)
		}
	}
}

func TestCorrelatedNoiseIsRefused(t *testing.T) {
	for want, m := range map[string]*Noise{
		"columns: must be 2 to 64 columns with correlated: true, got 1": correlatedNoise(10, "a"),
		"sd: must be a percentage with correlated: true": {Columns: []string{"a", "b"},
			SD: amount(3), Correlated: true},
		"distribution: must be normal with correlated: true: sums of laplace draws": {Columns: []string{"a", "b"},
			SD: percent(3), Distribution: "laplace", Correlated: true},
		"tiers: must be left out with correlated: true, whose noise has one covariance for all": {Columns: []string{"a", "b"},
			SD: percent(3), Tiers: []Tier{{Above: ptr(1.0), VarianceFactor: ptr(2.0)}}, Correlated: true},
	} {
		ps := m.Check()
		if len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), want) {
			t.Errorf("got %v, want %s", ps, want)
		}
	}
	columns := linkedData(10)[:3]
	setup := testSetup(t, columns...)
	noise := mask(correlatedNoise(30, "a", "b"))
	if _, err := NewChain([]Spec{noise, mask(&Truncate{Columns: []string{"b"}, Lower: ptr(0.0), Mode: "redraw"})},
		setup); err == nil || !strings.Contains(err.Error(), "correlated") {
		t.Errorf("redraw after correlated noise: %v", err)
	}
	unknown := setup
	unknown.Correlations = nil
	if _, err := NewChain([]Spec{noise}, unknown); err == nil ||
		!strings.Contains(err.Error(), `the correlation of "b" and "a" is not known`) {
		t.Errorf("no correlations: %v", err)
	}
	setup.Identity = []int{2}
	if _, err := NewChain([]Spec{noise}, setup); err == nil || !strings.Contains(err.Error(), "identity") {
		t.Errorf("identity: %v", err)
	}
}

// Noise that is much greater than the data is an integer in the unit of the column, odd as often as
// even, and never infinite. The share of odd values among n has an SD of 1/(2√n); the tolerance is
// five SDs.
func TestCorrelatedNoiseOfGreatScale(t *testing.T) {
	n := 4000
	columns := linkedData(n)[:2]
	for k := range columns {
		columns[k] = floats(0, columns[k].Values...)
		for i, v := range columns[k].Values {
			columns[k].Values[i] = math.Round(v)
		}
	}
	released := func(sd float64) [][]float64 {
		m := &Noise{Columns: []string{"a", "b"}, SD: percent(100), Correlated: true}
		setup := testSetup(t, columns...)
		for k := range setup.Columns {
			setup.Columns[k].SD = sd
		}
		return releasedOf(t, chain(t, setup, mask(m)), columns)
	}
	for k, values := range released(2e15) { // most are above 2^51 and below 2^53
		odd, of := 0, 0
		for _, v := range values {
			if v = math.Abs(v); v > 1<<52 && v < 1<<53 {
				of++
				odd += int(v) & 1
			}
		}
		if share := float64(odd) / float64(of); of < 10 || !(math.Abs(share-0.5) <= 2.5/math.Sqrt(float64(of))) {
			t.Errorf("column %d: %v of %d values beyond 2^52 are odd", k, share, of)
		}
	}
	for k, values := range released(1e308) {
		for i, v := range values {
			if math.IsInf(v, 0) || math.IsNaN(v) {
				t.Fatalf("column %d: record %d has become %v", k, i, v)
			}
		}
	}
}

// releasedOf returns what a chain releases of the columns of one block.
func releasedOf(t *testing.T, c *Chain, columns []testColumn) (out [][]float64) {
	t.Helper()
	b := apply(t, c, block(0, len(columns[0].Values), columns...))
	for k := range columns {
		out = append(out, slices.Clone(b.Columns[k].Out().Values))
	}
	return out
}
