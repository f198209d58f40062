package synthesis

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
	"github.com/sdlfilter/sdlfilter/transform/internal/models"
)

func synthesise(m Synthesise) core.Spec { return mask(&m) }

// Means, SDs and slopes of the draws equal those of the data within five standard errors. No
// original value is among the draws, and they do not depend on the record's own value.
func TestSynthesiseKeepsTheModel(t *testing.T) {
	n := thin(60_000)
	columns := tiedData(n, 2)
	root := math.Sqrt(float64(n))
	for _, m := range []Synthesise{
		{Columns: []string{"a", "b", "c"}, By: []string{"d"}},
		{Columns: []string{"c", "b"}, On: []string{"a"}, By: []string{"d"}},
	} {
		out := whole(t, chain(t, testSetup(t, columns...), synthesise(m)), 5000, columns...)
		for k := range 3 {
			x, y := columns[k].Values, out[k]
			if !slices.Contains(m.Columns, string(rune('a'+k))) {
				if !slices.Equal(x, y) {
					t.Errorf("%v: column %d has changed", m.Columns, k)
				}
				continue
			}
			mean, sd := meanSD(x)
			got, gotSD := meanSD(y)
			if !(math.Abs(got-mean) <= 5*sd/root) || math.Abs(gotSD/sd-1) > 5*3/root { // kurtosis of these columns: below 20
				t.Errorf("%v: column %d has mean %v and SD %v, want %v and %v", m.Columns, k, got, gotSD, mean, sd)
			}
			there := map[float64]bool{}
			for _, v := range x {
				there[v] = true
			}
			for i, v := range y {
				if there[v] {
					t.Fatalf("%v: column %d, record %d: an original value", m.Columns, k, i)
				}
			}
			if len(m.On) == 0 {
				// Within a stratum the draw of a record is not correlated with its value.
				for s := range 2 {
					var u, v []float64
					for i := s; i < n; i += 2 {
						u, v = append(u, x[i]), append(v, y[i])
					}
					if r := correlation(u, v); !(math.Abs(r) <= 5*math.Sqrt(2)/root) {
						t.Errorf("column %d: correlation %v of the release with the original", k, r)
					}
				}
			}
		}
		for s := range 2 { // the slopes differ between strata
			var x, y [3][]float64
			for i := s; i < n; i += 2 {
				for k := range 3 {
					x[k], y[k] = append(x[k], columns[k].Values[i]), append(y[k], out[k][i])
				}
			}
			before, after := slopesOf(x[2], x[0], x[1]), slopesOf(y[2], y[0], y[1])
			for k := range before {
				// SE of a coefficient: .7/√(n/2)/SD of the column's part that the others do not
				// explain, above .5; that of the constant is 12 times as large.
				if tolerance := 5 * 2 * 0.7 * math.Sqrt2 / root * map[bool]float64{
					true: 12, false: 1}[k == 0]; !(math.Abs(before[k]-after[k]) <= tolerance) {
					t.Errorf("%v, stratum %d: coefficient %d is %v, want %v ± %v", m.Columns, s, k, after[k], before[k], tolerance)
				}
			}
		}
	}
}

// The closed forms of Duncan and Keller-McNulty (2000), section 6.1, with one copy of n records and
// no uncertainty of the mean beyond the data's (α = 0): E(ȳ − x̄)² = σ²/n, so U = n/σ². For an
// intruder who uses a record's own release, E(x − y)² = 2σ², which gives R for a target drawn from
// the population. Over 300 replicates the relative SE of the first is √(2/300).
func TestSynthesiseHasTheClosedFormsOfThePaper(t *testing.T) {
	const n, replicates = 400, 300
	columns := tiedData(n, 3)[:1]
	c := chain(t, testSetup(t, columns...), synthesise(Synthesise{Columns: []string{"a"}}))
	x := columns[0].Values
	mean, sd := meanSD(x)
	σ2 := sd * sd * (n - 1) / n
	var between, index float64
	for m := 1; m <= replicates; m++ {
		y := whole(t, c.Replicate(m), n, columns...)[0]
		got, _ := meanSD(y)
		between += (got - mean) * (got - mean) / replicates
		for i := range y {
			index += (y[i] - x[i]) * (y[i] - x[i]) / (n * replicates)
		}
	}
	if ratio := between / (σ2 / n); !(math.Abs(ratio-1) <= 5*math.Sqrt(2.0/replicates)) {
		t.Errorf("E(ȳ − x̄)² is %v of σ²/n", ratio)
	}
	if ratio := index / (2 * σ2); math.Abs(ratio-1) > 0.05 { // 120,000 pairs
		t.Errorf("E(x − y)² is %v of 2σ²", ratio)
	}
}

// The normal method, without bounds, satisfies them with α² = σ²/n, because the mean is drawn from its posterior.
// E(ȳ − x̄)² is α² + σ²/n for one copy, and a fourth of that for the mean of four; E(x − y)² = 2σ²
// + α² for a record and its own release. Over 300 replicates of 4 copies the relative SEs of the
// first two are √(2/1200) and √(2/300).
func TestSynthesiseByNormalsHasTheClosedFormsOfThePaper(t *testing.T) {
	const n, replicates, copies = 100, 300, 4
	columns := tiedData(n, 3)[:1]
	x := columns[0].Values
	mean, sd := meanSD(x)
	σ2 := sd * sd * (n - 1) / n
	α2 := σ2 / n
	var one, grand, index, spread, third float64
	var chains []*core.Chain
	for number := 1; number <= copies; number++ {
		chains = append(chains,
			chain(t, testSetup(t, columns...),
				synthesise(Synthesise{Columns: []string{"a"}, Method: "normal", Bounds: "none", Copy: ptr(number)})))
	}
	for m := 1; m <= replicates; m++ {
		together := 0.0
		for number, c := range chains {
			// A replicate of one copy has the same draws as that of another, so each uses its own
			// replicates.
			y := whole(t, c.Replicate(m+number*replicates), n, columns...)[0]
			got, own := meanSD(y)
			one += (got - mean) * (got - mean) / (replicates * copies)
			together += got / copies
			spread += own * own / (replicates * copies)
			for i := range y {
				index += (y[i] - x[i]) * (y[i] - x[i]) / (n * replicates * copies)
				third += math.Pow((y[i]-got)/own, 3) / (n * replicates * copies)
			}
		}
		grand += (together - mean) * (together - mean) / replicates
	}
	if ratio := one / (α2 + σ2/n); !(math.Abs(ratio-1) <= 5*math.Sqrt(2.0/replicates/copies)) {
		t.Errorf("E(ȳ − x̄)² is %v of α² + σ²/n", ratio)
	}
	if ratio := grand / ((α2 + σ2/n) / copies); !(math.Abs(ratio-1) <= 5*math.Sqrt(2.0/replicates)) {
		t.Errorf("of the mean of copies it is %v of the expected value", ratio)
	}
	if ratio := index / (2*σ2 + α2); !(math.Abs(ratio-1) <= 0.03) { // 120,000 pairs
		t.Errorf("E(x − y)² is %v of 2σ² + α²", ratio)
	}
	if ratio := spread / σ2; !(math.Abs(ratio-1) <= 5*math.Sqrt(2.0/n/replicates/copies)+0.001) {
		t.Errorf("the variance is %v of the data's", ratio)
	}
	if !(math.Abs(third) <= 5*math.Sqrt(6.0/n/replicates/copies)) { // that of the data is above 1
		t.Errorf("skewness %v", third)
	}
}

// Copies have their own draws. Missing values stay missing, and a record with a missing predictor
// is drawn all the same.
func TestSynthesiseCopiesAndMissingValues(t *testing.T) {
	columns := tiedData(2000, 4)
	columns[0].Null = []int{3, 900}
	columns[2].Null = []int{3, 77, 1999}
	of := func(number int) [][]float64 {
		return whole(t,
			chain(t, testSetup(t, columns...),
				synthesise(Synthesise{Columns: []string{"b", "c"}, On: []string{"a"}, Copy: &number})), 300, columns...)
	}
	first, again, second := of(1), of(1), of(2)
	for k := 1; k < 3; k++ {
		for i := range first[k] {
			if missing := slices.Contains(columns[k].Null, i); (first[k][i] != first[k][i]) != missing {
				t.Fatalf("column %d, record %d: %v", k, i, first[k][i])
			} else if !missing && (first[k][i] != again[k][i] || first[k][i] == second[k][i]) {
				t.Fatalf("column %d, record %d: copies 1, 1 and 2 have %v, %v, %v", k, i, first[k][i], again[k][i], second[k][i])
			}
		}
	}
	var u, v []float64
	for i := range first[1] {
		fit := 5 - 2*columns[0].Values[i] + 1
		u, v = append(u, first[1][i]-fit), append(v, second[1][i]-fit)
	}
	for _, i := range columns[0].Null {
		u[i], v[i] = 0, 0 // drawn at the mean of the missing predictor
	}
	if r := correlation(u, v); !(math.Abs(r) <= 5/math.Sqrt(2000)) {
		t.Errorf("the residuals of two copies have correlation %v", r)
	}
}

func TestSynthesiseIsRefused(t *testing.T) {
	for want, m := range map[string]*Synthesise{
		"columns: must": {},
		`on[0]: must not be one of the columns that are synthesised, got "a"`: {Columns: []string{"a"}, On: []string{"a"}},
		`by[0]: must not be one of the columns that are masked, got "a"`:      {Columns: []string{"a"}, By: []string{"a"}},
		`on[0]: must not be a stratum too, got "b", which is by[0]`: {Columns: []string{"a"}, On: []string{"b"},
			By: []string{"b"}},
		"copy: must be at least 1 and at most 100, got 0": {Columns: []string{"a"}, Copy: ptr(0)},
	} {
		if ps := m.Check(); len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), want) {
			t.Errorf("got %v, want %s", ps, want)
		}
	}
	columns := tiedData(200, 5)
	for i := range columns[1].Values { // determined by the column that stays
		columns[1].Values[i] = 7 - 3*columns[0].Values[i]
	}
	for i := range columns[2].Values { // one value in the second stratum
		if i%2 == 1 {
			columns[2].Values[i] = 4
		}
	}
	for want, m := range map[string]Synthesise{
		"masks[0].synthesise.columns[1]: must not be determined by on": {Columns: []string{"c", "b"},
			On: []string{"a"}},
		"masks[0].synthesise.columns[0]: must not be determined by on, nor be one value alone": {Columns: []string{"c"},
			By: []string{"d"}},
		"masks[0].synthesise.columns[0]: must have at least 11 records, in each stratum": {Columns: []string{"c"},
			By: []string{"a"}},
	} {
		c := chain(t, testSetup(t, columns...), synthesise(m))
		if err := c.Survey(block(0, 200, columns...)); err != nil {
			t.Fatal(err)
		}
		if err := c.EndSurvey(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", m, err, want)
		}
	}
}

// The normal method for a column without predictors, computed from the draws of the records: the
// mean and the SD of the data, one draw for the mean, by the first record's word, and one draw for
// each value.
func TestSynthesiseByNormalsFollowsTheDraws(t *testing.T) {
	const n = 40
	r := rand.New(rand.NewPCG(5, 15))
	g := &gathered.Data{N: n, Values: [][]float64{make([]float64, n)}, Words: [][]uint64{make([]uint64, n)},
		Normals: [][]float64{make([]float64, n)}, Strata: make([]int32, n), Columns: []*core.Column{{}}}
	for i := range n {
		g.Values[0][i] = 50 + 7*r.NormFloat64()
		g.Words[0][i], g.Normals[0][i] = r.Uint64(), r.NormFloat64()
	}
	original := [][]float64{slices.Clone(g.Values[0])}
	mean, sd := 0.0, models.Deviation(original[0])
	for _, x := range original[0] {
		mean += x / n
	}
	s := &synthesis{normal: true, categories: []bool{false}, shape: []shape{{all: everywhere}}}
	if err := s.column(g, original, rowsUpTo(n), 0); err != nil {
		t.Fatal(err)
	}
	shift := normalOf(g.Words[0][0]) / math.Sqrt(n)
	for i, got := range g.Values[0] {
		if want := mean + sd*(shift+g.Normals[0][i]); !(math.Abs(got-want) <= 1e-9) {
			t.Fatalf("record %d: %v, want %v", i, got, want)
		}
	}
}
