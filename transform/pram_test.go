package transform

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// releasedShares counts how often each category is released as each other, in a file of n records where
// record i has category i mod k, in a column of the given form.
func releasedShares(t *testing.T, m *PRAM, n int, numbers bool) [][]float64 {
	t.Helper()
	list := m.Listed()
	k := len(list)
	typ := arrow.DataType(arrow.BinaryTypes.String)
	if numbers {
		typ = arrow.PrimitiveTypes.Float64
	}
	c,
		err := NewChain([]Spec{mask(m)},
		Setup{Key: testKey(t, 9),
			Columns: []ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: typ}, Decimals: 0}}})
	if err != nil {
		t.Fatal(err)
	}
	counts := make([][]float64, k)
	for i := range counts {
		counts[i] = make([]float64, k)
	}
	const size = 10_000 // size of a block, not a multiple of a batch
	for first := 0; first < n; first += size {
		var b microdata.Block
		b.Reset(0, int64(first), min(size, n-first), 1)
		if numbers {
			v := b.Columns[0].Alloc(b.N, false)
			for i := range v.Values {
				v.Values[i], _ = strconv.ParseFloat(list[(first+i)%k], 64)
			}
		} else {
			text := array.NewStringBuilder(memory.DefaultAllocator)
			for i := range b.N {
				text.Append(list[(first+i)%k])
			}
			b.Columns[0].Array = text.NewArray()
		}
		if err := c.Apply(&b); err != nil {
			t.Fatal(err)
		}
		for i := range b.N {
			var to string
			if numbers {
				to = core.NumberText(b.Columns[0].Out().Values[i])
			} else {
				to = b.Columns[0].OutArray().ValueStr(i)
			}
			counts[(first+i)%k][slices.Index(list, to)]++
		}
	}
	moved := 0.0
	for i, row := range counts {
		for j, v := range row {
			if i != j {
				moved += v
			}
		}
	}
	if got := c.Touched()[0].Records; float64(got) != moved {
		t.Errorf("%d records are reported as changed, and %v were", got, moved)
	}
	return counts
}

// The shares of released categories match the rows of the matrix. A share of N records has the
// standard deviation √(p(1−p)/N). Five of them are exceeded less than once in a million, and there
// are about forty shares. Probability 0 never happens, probability 1 always.
func TestPRAMDrawsTheMatrix(t *testing.T) {
	const n = 150_000
	for name, m := range map[string]*PRAM{
		"rows": {
			Matrix: map[string]map[string]float64{"1": {"1": 0.6, "2": 0.3, "7": 0.1}, "2": {"1": 0.02, "2": 0.98},
				"7": {"1": 1}}},
		"keep":  {Keep: ptr(0.7), Categories: []string{"3", "1", "2", "10"}},
		"none":  {Keep: ptr(0.0), Categories: []string{"1", "2", "3"}},
		"all":   {Keep: ptr(1.0), Categories: []string{"1", "2", "3"}},
		"inv":   {Keep: ptr(0.7), Frequencies: map[string]float64{"1": 90, "2": 9, "3": 1}, Invariant: true},
		"third": {Matrix: map[string]map[string]float64{"1": {"1": 0.3333333, "2": 0.6666667}, "2": {"2": 1}}},
	} {
		m.Columns = []string{"a"}
		if ps := m.Check(); len(ps) > 0 {
			t.Fatalf("%s: %v", name, ps)
		}
		for _, numbers := range []bool{false, true} {
			counts := releasedShares(t, m, n, numbers)
			_, p := m.Transition()
			for k, row := range counts {
				total := 0.0
				for _, v := range row {
					total += v
				}
				for l, v := range row {
					sd := math.Sqrt(p[k][l] * (1 - p[k][l]) / total)
					if got := v / total; !(math.Abs(got-p[k][l]) <= 5*sd+1e-12) {
						t.Errorf("%s, numbers %v: category %d is released as %d with share %v, want %v ± %v", name, numbers, k, l, got,
							p[k][l], sd)
					}
				}
			}
		}
	}
}

// Invariance: π R = π, whatever the first stage. Rows are probability distributions, and the
// diagonal of a rare category is below keep, which is the cost of invariance.
func TestInvariantPRAM(t *testing.T) {
	for _, m := range []*PRAM{
		// roof from sdcMicro's testdata
		{Keep: ptr(0.8), Frequencies: map[string]float64{"2": 814, "4": 3697, "5": 19, "6": 34, "9": 16}, Invariant: true},
		{Keep: ptr(0.8), Frequencies: map[string]float64{"2": 1203, "3": 3327, "9": 50}, Invariant: true},
		{Matrix: map[string]map[string]float64{"a": {"a": 0.5, "b": 0.5}, "b": {"a": 1}},
			Frequencies: map[string]float64{"a": 1e-3, "b": 7}, Invariant: true},
		// no first stage ends in a
		{Matrix: map[string]map[string]float64{"a": {"b": 1}, "b": {"b": 1}}, Frequencies: map[string]float64{"a": 1, "b": 2},
			Invariant: true},
	} {
		m.Columns = []string{"a"}
		if ps := m.Check(); len(ps) > 0 {
			t.Fatal(ps)
		}
		list, r := m.Transition()
		total := 0.0
		for _, v := range m.Frequencies {
			total += v
		}
		for l, to := range list {
			expected, sum := 0.0, 0.0
			for k, from := range list {
				expected += m.Frequencies[from] * r[k][l]
				sum += r[l][k]
				if r[k][l] < 0 {
					t.Errorf("%v: a probability of %v", m.Frequencies, r[k][l])
				}
			}
			if !(math.Abs(expected-m.Frequencies[to]) <= 1e-12*total) || math.Abs(sum-1) > 1e-12 {
				t.Errorf("%v: %s is expected %v times, and its row sums to %v", m.Frequencies, to, expected, sum)
			}
		}
	}
}

// A draw belongs to a category at a place: another matrix, key or category has other draws,
// whatever the form of the blocks.
func TestPRAMDraws(t *testing.T) {
	text := `["` + strings.Repeat(`x","y","`, 200) + `x"]`
	m := func(keep float64) []Spec {
		return []Spec{mask(&PRAM{Columns: []string{"a"}, Keep: ptr(keep), Categories: []string{"x", "y", "z"}})}
	}
	one, _ := categories(t, m(0.5), arrow.BinaryTypes.String, text)
	again, _ := categories(t, m(0.5), arrow.BinaryTypes.String, text)
	coded,
		_ := categories(t, m(0.5),
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, text)
	if !slices.Equal(one, again) || !slices.Equal(one, coded) {
		t.Error("the same file is released in two ways")
	}
	// If the draws of keep 0.5 and 0.52 were the same, almost no record would differ.
	other, _ := categories(t, m(0.52), arrow.BinaryTypes.String, text)
	differ := 0
	for i := range one {
		if one[i] != other[i] {
			differ++
		}
	}
	if differ < 100 {
		t.Errorf("%d of %d records differ between two matrices", differ, len(one))
	}
	unlisted, b := categories(t, m(0.5), arrow.BinaryTypes.String, `["x", "w", null]`)
	if unlisted[1] != "rejected" || unlisted[2] != "null" || len(b.Rejects) != 1 {
		t.Errorf("%q", unlisted)
	}
}

func TestPRAMChecks(t *testing.T) {
	row := func(x float64) map[string]float64 { return map[string]float64{"a": x, "b": 1 - x} }
	for path, m := range map[string]*PRAM{
		"matrix.b":      {Matrix: map[string]map[string]float64{"a": row(0.5), "b": {"a": 0.5, "b": 0.4}}},
		"matrix.a.b":    {Matrix: map[string]map[string]float64{"a": {"a": 1.5, "b": -0.5}, "b": row(0.3)}},
		"matrix.b.c":    {Matrix: map[string]map[string]float64{"a": row(0.5), "b": {"a": 0.5, "c": 0.5}}},
		"categories":    {Keep: ptr(0.5), Categories: []string{"a"}},
		"categories[1]": {Keep: ptr(0.5), Categories: []string{"a", "a", "b"}},
		"keep":          {Keep: ptr(1.5), Categories: []string{"a", "b"}},
		"frequencies": {Keep: ptr(0.5), Categories: []string{"a", "b"}, Invariant: true,
			Frequencies: map[string]float64{"a": 1}},
		"frequencies.c": {Keep: ptr(0.5), Categories: []string{"a", "b"}, Invariant: true,
			Frequencies: map[string]float64{"a": 1, "b": 1, "c": 1}},
		"frequencies.b": {Matrix: map[string]map[string]float64{"a": row(0.5)}, Frequencies: map[string]float64{"b": 1}},
		"other":         {Keep: ptr(0.5), Categories: []string{"a", "b"}, Other: ptr("c")},
		"":              {Categories: []string{"a", "b"}},
	} {
		m.Columns = []string{"x"}
		ps := m.Check()
		if !slices.ContainsFunc(ps, func(p check.Problem) bool { return p.Path == path }) {
			t.Errorf("%s: %v", path, ps)
		}
	}
	both := &PRAM{Columns: []string{"x"}, Matrix: map[string]map[string]float64{"a": row(0.5), "b": row(0.5)},
		Categories: []string{"a", "b"}}
	if ps := both.Check(); len(ps) != 1 || ps[0].Path != "categories" ||
		!strings.HasPrefix(ps[0].Text, "must be left out with matrix") {
		t.Errorf("a matrix and categories: %v", ps)
	}
	// Frequencies that are not used are refused: with a matrix, and with a list of categories.
	for _, m := range []*PRAM{
		{Matrix: map[string]map[string]float64{"a": row(0.5), "b": row(0.5)}},
		{Keep: ptr(0.5), Categories: []string{"a", "b"}},
	} {
		m.Columns = []string{"x"}
		if ps := m.Check(); len(ps) > 0 {
			t.Errorf("without frequencies: %v", ps)
		}
		m.Frequencies = map[string]float64{"a": 1, "b": 2}
		if ps := m.Check(); len(ps) != 1 || ps[0].Path != "frequencies" {
			t.Errorf("frequencies without invariant must be an error: %v", ps)
		}
	}
}
