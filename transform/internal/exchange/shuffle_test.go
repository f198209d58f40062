package exchange

import (
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

func shuffled(columns string, on ...string) core.Spec {
	return mask(&Shuffle{Columns: strings.Split(columns, ""), On: on})
}

// spearman is the rank correlation, computed by counting, for each value, the values below and
// equal to it.
func spearman(x, y []float64) float64 {
	rank := func(v []float64) []float64 {
		s := slices.Sorted(slices.Values(v))
		out := make([]float64, len(v))
		for i, a := range v {
			below, upTo := sort.SearchFloat64s(s, a), sort.Search(len(s), func(k int) bool { return s[k] > a })
			out[i] = float64(below+upTo+1) / 2
		}
		return out
	}
	return stat.Correlation(rank(x), rank(y), nil)
}

// The columns keep their values and their rank correlations. The released value of a record is no
// more correlated with its own value than the conditioning columns imply.
func TestShuffleKeepsMarginalsAndRankCorrelations(t *testing.T) {
	n := thin(40_000)
	columns := shuffleData(n, 1)
	out := whole(t, chain(t, testSetup(t, columns...), shuffled("ab", "c", "d")), 1000, columns...)
	for k := range 2 {
		if !slices.Equal(slices.Sorted(slices.Values(out[k])), slices.Sorted(slices.Values(columns[k].Values))) {
			t.Fatalf("column %d: the set of values has changed", k)
		}
	}
	x := func(k int) []float64 { return columns[k].Values }
	// A rank correlation of n records has an SE of at most 1.1/√n, before and after shuffling.
	tolerance := 5 * 1.1 * math.Sqrt2 / math.Sqrt(float64(n))
	for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
		before, after := spearman(x(pair[0]), x(pair[1])), spearman(out[pair[0]], out[pair[1]])
		if !(math.Abs(before-after) <= tolerance) {
			t.Errorf("columns %v: rank correlation %v, before %v", pair, after, before)
		}
	}
	// The binary column has tied ranks, for which the formula is not exact.
	for k := range 2 {
		before, after := spearman(x(k), x(3)), spearman(out[k], x(3))
		if !(math.Abs(before-after) <= tolerance+0.25*math.Abs(before)) {
			t.Errorf("column %d and the binary one: rank correlation %v, before %v", k, after, before)
		}
	}
	for k := range 2 {
		// The partial correlation of a value and its release, given the conditioning columns, is 0:
		// SE 1/√n on normal scores.
		residual := func(v []float64) []float64 { return residuals(v, x(2), x(3)) }
		if r := stat.Correlation(residual(scoresOf(x(k))), residual(scoresOf(out[k])),
			nil); !(math.Abs(r) <= 5/math.Sqrt(float64(n))) {
			t.Errorf("column %d: the partial correlation of release and original is %v", k, r)
		}
	}
	// Without conditioning columns, values move anywhere, but the values of one record stay
	// together.
	free := whole(t, chain(t, testSetup(t, columns...), shuffled("ab")), 1000, columns...)
	if before, after := spearman(x(0), x(1)), spearman(free[0], free[1]); !(math.Abs(before-after) <= tolerance) {
		t.Errorf("without on: rank correlation %v, before %v", after, before)
	}
	if r := spearman(x(0), free[0]); !(math.Abs(r) <= 5/math.Sqrt(float64(n))) {
		t.Errorf("without on: rank correlation %v with the original", r)
	}
}

// scoresOf returns normal scores, by counting.
func scoresOf(v []float64) []float64 {
	s := slices.Sorted(slices.Values(v))
	out := make([]float64, len(v))
	for i, a := range v {
		below, upTo := sort.SearchFloat64s(s, a), sort.Search(len(s), func(k int) bool { return s[k] > a })
		out[i] = distuv.UnitNormal.Quantile(float64(below+upTo) / 2 / float64(len(v)))
	}
	return out
}

// residuals returns the residuals of least squares on two columns and a constant.
func residuals(y, a, b []float64) []float64 {
	design := mat.NewDense(len(y), 3, nil)
	for i := range y {
		design.SetRow(i, []float64{1, a[i], b[i]})
	}
	var beta mat.Dense
	if err := beta.Solve(design, mat.NewDense(len(y), 1, slices.Clone(y))); err != nil {
		panic(err)
	}
	out := make([]float64, len(y))
	for i := range y {
		out[i] = y[i] - beta.At(0, 0) - beta.At(1, 0)*a[i] - beta.At(2, 0)*b[i]
	}
	return out
}

// The release equals that of the paper's steps, computed one by one with another library: the
// conditional mean and covariance by matrix inversion, and the same draws.
func TestShuffleIsThatOfThePaper(t *testing.T) {
	const n = 400
	columns := shuffleData(n, 2)
	setup := testSetup(t, columns...)
	c := chain(t, setup, shuffled("ab", "c"))
	surveyed(t, c, n, columns...)
	// The words of the step, drawn again.
	again := chain(t, setup, shuffled("ab", "c"))
	words := [2][]uint64{make([]uint64, n), make([]uint64, n)}
	first := block(0, n, columns...)
	if err := again.Run(first, func(w *core.Work) error {
		s := again.Steps[0].(*gathered.Step)
		for k, stream := range s.Normals {
			w.Streams[stream].Words(words[k], w.Stretch(first, 0, n, core.BindTo(again, w, first, s.Bound, 0, n)))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b := apply(t, c, block(0, n, columns...))

	v := [][]float64{columns[0].Values, columns[1].Values, columns[2].Values}
	ρ := func(i, k int) float64 {
		if i == k {
			return 1
		}
		return math.Round(2*math.Sin(math.Pi/6*spearman(v[i], v[k]))*1e9) / 1e9
	}
	s := scoresOf(v[2])
	var square float64
	for _, z := range s {
		square += z * z / n
	}
	// Y | S is normal with mean ρ_XS s and covariance ρ_XX − ρ_XS ρ_SX.
	var f mat.Cholesky
	if !f.Factorize(
		mat.NewSymDense(2,
			[]float64{1 - ρ(0, 2)*ρ(0, 2), ρ(0, 1) - ρ(0, 2)*ρ(1, 2), ρ(0, 1) - ρ(0, 2)*ρ(1, 2), 1 - ρ(1, 2)*ρ(1, 2)})) {
		t.Fatal("not positive definite")
	}
	var l mat.TriDense
	f.LTo(&l)
	for k := range 2 {
		draws := make([]float64, n)
		order := make([]int, n)
		for i := range draws {
			order[i] = i
			draws[i] = ρ(k, 2) * s[i] / math.Sqrt(square)
			for m := range k + 1 {
				draws[i] += l.At(k, m) * distuv.UnitNormal.Quantile((float64(words[m][i]>>12)+0.5)/(1<<52))
			}
		}
		sort.Slice(order, func(a, b int) bool { return draws[order[a]] < draws[order[b]] })
		sorted := slices.Sorted(slices.Values(v[k]))
		for rank, i := range order {
			if got := b.Columns[k].Out().Values[i]; got != sorted[rank] {
				t.Fatalf("column %d, record %d: the value differs from that of the paper's steps", k, i)
			}
		}
	}
}

// A rank correlation is computed over the records that have both values, with ranks among these:
// it is 0 if one of the columns does not vary among them, though it does in the file.
func TestRankCorrelationIsOfRecordsWithBothValues(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		x, y []float64
		want float64
	}{
		"all are there":            {[]float64{1, 2, 3}, []float64{5, 7, 6}, 0.5},
		"the last is missing":      {[]float64{1, 2, 9, nan}, []float64{8, 5, 4, 6}, -1},
		"the first is missing":     {[]float64{9, 1, 2, 3}, []float64{nan, 5, 7, 9}, 1},
		"the first does not vary":  {[]float64{4, 4, 4, 7}, []float64{1, 2, 3, nan}, 0},
		"the second does not vary": {[]float64{nan, 1, 2, 3}, []float64{7, 4, 4, 4}, 0},
		"no record has both":       {[]float64{nan, nan, 1, 2}, []float64{1, 2, nan, nan}, 0},
	} {
		strata := make([]int32, len(c.x))
		got := rankCorrelation(normalScores(c.x, strata, nil), normalScores(c.y, strata, nil), nil)
		if !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Missing values stay missing, and each value is given to exactly one record. A rejected record is
// not used.
func TestShuffleOfMissingValues(t *testing.T) {
	columns := shuffleData(500, 3)
	columns[0].Null = []int{0, 17, 499}
	columns[2].Null = []int{1, 17, 250}
	columns[0].Values[30] = math.Inf(1)
	out := whole(t, chain(t, testSetup(t, columns...), shuffled("ab", "c", "d")), 120, columns...)
	var before, after []float64
	for i := range out[0] {
		if (out[0][i] != out[0][i]) != slices.Contains(columns[0].Null, i) {
			t.Fatalf("record %d: value %v", i, out[0][i])
		}
		if i != 30 && !slices.Contains(columns[0].Null, i) {
			before, after = append(before, columns[0].Values[i]), append(after, out[0][i])
		}
	}
	slices.Sort(before)
	slices.Sort(after)
	if !slices.Equal(before, after) {
		t.Error("the set of values other than missing ones has changed")
	}
}

func TestShuffleIsRefused(t *testing.T) {
	for want, m := range map[string]*Shuffle{
		"columns: must": {},
		`on[0]: must not be one of the columns that are masked, got "a", which is columns[0]`: {Columns: []string{"a"},
			On: []string{"a"}},
		`on[1]: must not repeat a column, got "b" again`: {Columns: []string{"a"},
			On: []string{"b", "b"}},
	} {
		if ps := m.Check(); len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), want) {
			t.Errorf("got %v, want %s", ps, want)
		}
	}
	columns := shuffleData(50, 3)
	columns[2].Values = repeat(5, 50)
	c := chain(t, testSetup(t, columns...), shuffled("ab", "d", "c"))
	if err := c.Survey(block(0, 50, columns...)); err != nil {
		t.Fatal(err)
	}
	if err := c.EndSurvey(); err == nil ||
		!strings.Contains(err.Error(), "masks[0].shuffle.on[1]: must have different values") {
		t.Errorf("a constant column to go by: %v", err)
	}
}
