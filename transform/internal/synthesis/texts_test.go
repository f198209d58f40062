package synthesis

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// categoryOf returns the text for a number in a test.
func categoryOf(v float64) string { return fmt.Sprintf("kind %c", 'a'+rune(v)) }

// worded returns a block of some columns. Columns of text are arrays of their type, and each value
// is the category of a number.
func worded(from, to int, columns ...testColumn) *microdata.Block {
	b := block(from, to, columns...)
	for k, c := range columns {
		if !core.TextField(c.Type) {
			continue
		}
		builder := array.NewBuilder(memory.DefaultAllocator, c.Type)
		for i := from; i < to; i++ {
			if slices.Contains(c.Null, i) {
				builder.AppendNull()
			} else if err := builder.AppendValueFromString(categoryOf(c.Values[i])); err != nil {
				panic(err)
			}
		}
		b.Columns[k] = microdata.Column{Array: builder.NewArray()}
	}
	return b
}

// wordedRelease returns the release of columns by a chain, with categories converted back to
// numbers, and NaN for missing values.
func wordedRelease(t *testing.T, c *core.Chain, size int, columns ...testColumn) [][]float64 {
	t.Helper()
	n := len(columns[0].Values)
	for from := 0; from < n; from += size {
		if err := c.Survey(worded(from, min(from+size, n), columns...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.EndSurvey(); err != nil {
		t.Fatal(err)
	}
	out := make([][]float64, len(columns))
	for from := 0; from < n; from += size {
		b := apply(t, c, worded(from, min(from+size, n), columns...))
		for k := range columns {
			a := b.Columns[k].OutArray()
			for i := range b.N {
				v := math.NaN()
				switch {
				case a == nil && b.Columns[k].Out().Valid.Has(i):
					v = b.Columns[k].Out().Values[i]
				case a != nil && !a.IsNull(i):
					var letter rune
					if _, err := fmt.Sscanf(a.ValueStr(i), "kind %c", &letter); err != nil {
						t.Fatalf("column %d, record %d: %q", k, from+i, a.ValueStr(i))
					}
					v = float64(letter - 'a')
				}
				out[k] = append(out[k], v)
			}
		}
	}
	return out
}

// wordedData is codedData with b and d as texts.
func wordedData(n int, seed uint64, typ arrow.DataType) []testColumn {
	columns := codedData(n, seed)
	columns[1].Type, columns[3].Type = typ, typ
	return columns
}

// Texts are drawn like numbers that represent them: shares, the mean of a number in each category
// and the share of one category in another agree within five standard errors. If no column stays,
// the release does not depend on a record's own text.
func TestSynthesiseTexts(t *testing.T) {
	n := thin(40_000)
	root := math.Sqrt(float64(n))
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}} {
		for _, m := range []Synthesise{
			{Columns: []string{"b", "c", "d"}, By: []string{"e"}, Categories: []string{"b", "d"}},
			{Columns: []string{"d", "c"}, On: []string{"b", "a"}, Categories: []string{"b", "d"}},
			{Columns: []string{"b", "d", "c"}, By: []string{"e"}, Categories: []string{"b", "d"}, Method: "cart", Leaf: ptr(50)},
		} {
			columns := wordedData(n, 2, typ)
			columns[1].Null = []int{5, 17}
			setup := testSetup(t, columns...)
			out := wordedRelease(t, chain(t, setup, mask(&m)), 5000, columns...)
			again := wordedRelease(t, chain(t, setup, mask(&m)), 7000, columns...)
			for k := range out {
				for i, v := range out[k] {
					if w := again[k][i]; v != w && (v == v || w == w) {
						t.Fatalf("%v: column %d, record %d: %v, with different blocks %v", m.Columns, k, i, v, w)
					}
				}
			}
			if out[1][5] == out[1][5] || out[1][17] == out[1][17] {
				t.Errorf("%v: a text that was missing is there", m.Columns)
			}
			for _, b := range []float64{1, 2, 3} {
				var was, is struct{ n, c, d float64 }
				for i := range n {
					if columns[1].Values[i] == b && !slices.Contains(columns[1].Null, i) {
						was.n, was.c, was.d = was.n+1, was.c+columns[2].Values[i], was.d+columns[3].Values[i]
					}
					if out[1][i] == b {
						is.n, is.c, is.d = is.n+1, is.c+out[2][i], is.d+out[3][i]
					}
				}
				if !(math.Abs(was.n-is.n) <= 5*root/2*math.Sqrt2) {
					t.Errorf("%v: %v records have %q, had %v", m.Columns, is.n, categoryOf(b), was.n)
				}
				// SDs of c and d within a category: below 2 and ½.
				if tolerance := 5 * 2 * math.Sqrt2 / math.Sqrt(was.n); !(math.Abs(was.c/was.n-is.c/is.n) <= tolerance+0.05) ||
					!(math.Abs(was.d/was.n-is.d/is.n) <= tolerance/4+0.03) {
					t.Errorf("%v, %q: means %v and %v, were %v and %v", m.Columns, categoryOf(b), is.c/is.n, is.d/is.n, was.c/was.n,
						was.d/was.n)
				}
			}
			if len(m.On) == 0 {
				same, chance, count := 0.0, 0.0, map[float64]float64{}
				for i := range n {
					count[columns[1].Values[i]+10*columns[4].Values[i]]++
					if out[1][i] == columns[1].Values[i] {
						same++
					}
				}
				for _, c := range count {
					chance += c * c / float64(n/2)
				}
				if !(math.Abs(same-chance) <= 5*root) {
					t.Errorf("%v: %v records have their own text, by chance %v", m.Columns, same, chance)
				}
			}
		}
	}
}

// A category with fewer records than a leaf, or fewer than 5 for regressions, is not released,
// neither as a text nor as a number. Its records are released with another category.
func TestSynthesiseHidesRareCategories(t *testing.T) {
	const n = 900
	for _, m := range []Synthesise{
		{Columns: []string{"b", "a"}, Categories: []string{"b"}},
		{Columns: []string{"b"}, On: []string{"a"}, Categories: []string{"b"}},
		{Columns: []string{"a", "b"}, Categories: []string{"b"}, Method: "cart", Leaf: ptr(7)},
	} {
		least := 5
		if m.Leaf != nil {
			least = *m.Leaf
		}
		for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String} {
			columns := codedData(n, 3)
			columns[1].Type = typ
			for i := range least - 1 {
				columns[1].Values[40*i] = 7 // one too few
			}
			for i := range least {
				columns[1].Values[40*i+3] = 8
			}
			for i := range 10 * least {
				columns[1].Values[11*i+5] = 9
			}
			out := wordedRelease(t, chain(t, testSetup(t, columns...), mask(&m)), 200, columns...)[1]
			count := map[float64]int{}
			for i, v := range out {
				if count[v]++; v != v {
					t.Fatalf("record %d has lost its category", i)
				}
			}
			if count[7] > 0 || count[9] == 0 || len(count) < 4 {
				t.Errorf("%v as %v: %v records have each category", m.Columns, typ, count)
			}
		}
	}
}

// A replicate gives the same result for the codes of texts, as in the sample, as for the texts.
func TestSynthesiseTextsInReplicates(t *testing.T) {
	const n = 600
	columns := wordedData(n, 4, arrow.BinaryTypes.String)
	m := Synthesise{Columns: []string{"b", "c"}, On: []string{"d"}, Categories: []string{"b", "d"}}
	replicate := chain(t, testSetup(t, columns...), mask(&m)).Replicate(1)
	of := func(make func() *microdata.Block) *microdata.Block {
		if err := replicate.Survey(make()); err != nil {
			t.Fatal(err)
		}
		if err := replicate.EndSurvey(); err != nil {
			t.Fatal(err)
		}
		b := apply(t, replicate, make())
		replicate = chain(t, testSetup(t, columns...), mask(&m)).Replicate(1)
		return b
	}
	words := of(func() *microdata.Block { return worded(0, n, columns...) })
	coded := slices.Clone(columns)
	for _, k := range []int{1, 3} {
		coded[k].Values = make([]float64, n)
		for i, v := range columns[k].Values {
			coded[k].Values[i] = microdata.CategoryCode([]byte(categoryOf(v)))
		}
	}
	codes := of(func() *microdata.Block { return block(0, n, coded...) })
	for i := range n {
		if got, want := codes.Columns[1].Out().Values[i], microdata.CodeOf(words.Columns[1].OutArray(), i); got != want {
			t.Fatalf("record %d: %v of codes, %v of texts", i, got, want)
		}
		if got, want := codes.Columns[2].Out().Values[i], words.Columns[2].Out().Values[i]; got != want {
			t.Fatalf("record %d: number %v with codes, %v with texts", i, got, want)
		}
	}
}
