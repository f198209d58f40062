package transform

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Numbers that are not finite, or outside the range of exact comparisons, belong to no interval and
// no tail. Their record is rejected at any place, the reason contains no value, and the other
// records are not rejected.
func TestNumbersThatAreNone(t *testing.T) {
	for name, m := range map[string]Params{
		"intervals": &Recode{Columns: []string{"a"}, Breaks: []float64{-1e18, 0, 1e18}},
		"labels":    &Topcode{Columns: []string{"a"}, Upper: ptr(5.0), Replace: "label", UpperLabel: ptr("+")},
	} {
		for _, at := range []int{0, 2, 4} {
			floats := array.NewFloat64Builder(memory.DefaultAllocator)
			whole := array.NewInt64Builder(memory.DefaultAllocator)
			for i := range 5 {
				switch {
				case i == 3:
					floats.AppendNull()
					whole.AppendNull()
				case i == at:
					floats.Append([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[at/2])
					whole.Append(1<<53 + 1)
				default:
					floats.Append(7)
					whole.Append(7)
				}
			}
			for _, of := range []arrow.Array{floats.NewArray(), whole.NewArray()} {
				c,
					err := NewChain([]Spec{mask(m)},
					Setup{
						Key: testKey(t, 5),
						Columns: []ColumnInfo{
							{Name: "a", Field: microdata.Field{Name: "a", Type: of.DataType(), Nullable: true}, Decimals: -1}}})
				if err != nil {
					t.Fatal(err)
				}
				var b microdata.Block
				b.Reset(0, 0, 5, 1)
				b.Columns[0].Array = of
				if err := c.Apply(&b); err != nil {
					t.Fatal(err)
				}
				want := "is not a finite number"
				if of.DataType().ID() == arrow.INT64 {
					want = "is beyond what can be compared exactly (2^53 units of the last place)"
				}
				if len(b.Rejects) != 1 || b.Rejects[0].Row != at || b.Rejects[0].Column != "a" || b.Rejects[0].Reason != want {
					t.Errorf("%s of %s: %+v, want record %d: %s", name, of.DataType(), b.Rejects, at, want)
				}
				out := b.Columns[0].OutArray()
				for i := range 5 {
					if out.IsNull(i) != (i == 3 || i == at) {
						t.Errorf("%s of %s: record %d is null: %v", name, of.DataType(), i, out.IsNull(i))
					}
				}
				if touched := c.Touched()[0].Records; touched == 0 || touched > 4 {
					t.Errorf("%s of %s: %d records are touched", name, of.DataType(), touched)
				}
			}
		}
	}
}

// Masks of categories, tails, groups and ranks refuse unsuitable columns and parameters, and the
// error names the field.
func TestMasksThatCannotBeMade(t *testing.T) {
	text := Setup{
		Key:     testKey(t, 5),
		Columns: []ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: arrow.BinaryTypes.String}, Decimals: -1}}}
	list := Setup{
		Key: testKey(t, 5),
		Columns: []ColumnInfo{
			{Name: "a", Field: microdata.Field{Name: "a", Type: arrow.ListOf(arrow.BinaryTypes.String)}, Decimals: -1}}}
	number := testSetup(t, typed([]float64{1, 2}, nil, arrow.PrimitiveTypes.Int16, 0))
	single := testSetup(t, typed([]float64{1, 2}, nil, arrow.PrimitiveTypes.Float32, -1))
	a := []string{"a"}
	for _, c := range []struct {
		m     Params
		setup Setup
		want  string
	}{
		{&Recode{Columns: a, File: "f"}, text, "masks[0].recode.file: has not been read"},
		{&Recode{Columns: a, Breaks: []float64{1, 2}}, text,
			`masks[0].recode.columns: column "a" must be numeric, got type string`},
		{&Recode{Columns: a, Map: map[string]string{"x": "y"}}, list,
			`column "a" must have a scalar type so that its values can be compared, got list<item: utf8, nullable>`},
		{&Recode{Columns: a, Map: map[string]string{"x": "1"}}, number,
			`masks[0].recode.map: column "a" holds numbers, and "x" is none`},
		{&Recode{Columns: a, Map: map[string]string{"1": "2", "1.0": "3"}}, number,
			`masks[0].recode.map: "1" and "1.0" are the same value of column "a"`},
		{&Recode{Columns: a, File: "f", Table: map[string]string{"1": "32768"}}, number,
			`masks[0].recode.file: column "a" cannot hold 32768 in its type and decimals`},
		{&Recode{Columns: a, Map: map[string]string{"1": "-32769"}}, number, `cannot hold -32769`},
		{&Recode{Columns: a, Map: map[string]string{"1": "0.1"}}, single, `cannot hold 0.1 in its type and decimals`},
		{&Recode{Columns: a, Breaks: []float64{0, 1}, Midpoints: true}, number,
			`masks[0].recode.breaks: column "a" cannot hold 0.5`},
		{&PRAM{Columns: a, Keep: ptr(0.5), Categories: []string{"x", "y"}}, number, `"x" is none`},
		{&PRAM{Columns: a, Keep: ptr(0.5), Categories: []string{"1", "Inf"}}, number, `"Inf" is none`},
		{&Topcode{Columns: a, Upper: ptr(1.0)}, text, `column "a" must be numeric, got type string`},
		{&Topcode{Columns: a, Upper: ptr(1.0), Replace: "mean"}, number,
			"masks[0].topcode.replace: needs the original values of column a"},
		{&Topcode{Columns: a, LowerPercentile: ptr(1.0)}, number,
			"masks[0].topcode.lower_percentile: needs the original values"},
		{&Topcode{Columns: a, Lower: ptr(0.2), Upper: ptr(0.8)}, number, "topcode"},
		{&Microaggregate{Columns: a, K: ptr(3)}, text, `column "a" must be numeric, got type string`},
		{&RankSwap{Columns: a, P: ptr(0.3)}, text, `column "a" must be numeric, got type string`},
	} {
		_, err := NewChain([]Spec{mask(c.m)}, c.setup)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `column "a", which`, `column a, which`),
			strings.ReplaceAll(c.want, "column a", "column ")) && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q", c.m, err, c.want)
		}
	}
	// At the ends of the type and on its grid the masks can be made.
	for _, m := range []Params{
		&Recode{Columns: a, Map: map[string]string{"1": "32767", "2": "-32768"}},
		&Topcode{Columns: a, Lower: ptr(0.2), Upper: ptr(1.8)},
	} {
		if _, err := NewChain([]Spec{mask(m)}, number); err != nil {
			t.Errorf("%T: %v", m, err)
		}
	}
	if _, err := NewChain([]Spec{mask(&Recode{Columns: a, Map: map[string]string{"1": "0.5"}})}, single); err != nil {
		t.Error(err)
	}
}

// Tails, groups and ranks refuse blocks without the numbers of a column, in the survey and in the
// release.
func TestTailsAndGroupsWithoutNumbers(t *testing.T) {
	const want = `column "a": must be in Numbers form to be masked`
	for name, m := range map[string]Params{
		"bound":  &Topcode{Columns: []string{"a"}, Upper: ptr(2.0)},
		"mean":   &Topcode{Columns: []string{"a"}, Upper: ptr(1.0), Replace: "mean", Least: ptr(2), Share: ptr(1.0)},
		"groups": &Microaggregate{Columns: []string{"b", "a"}, K: ptr(3), Share: ptr(1.0)},
		"ranks":  &RankSwap{Columns: []string{"a", "b"}, P: ptr(0.5)},
	} {
		setup, blocks := absent(t, 0)
		setup.Sorted = map[string][]float64{"a": {1, 2, 3}}
		columns := swapData(10, 4, 2, 3)
		c := chain(t, setup, mask(m))
		if c.NeedsSurvey() {
			wants(t, name+", surveyed", c.Survey(blocks()), want)
			c = chain(t, setup, mask(m))
			if err := c.Survey(block(0, 10, columns...)); err != nil {
				t.Fatal(err)
			}
			if err := c.EndSurvey(); err != nil {
				t.Fatal(err)
			}
		}
		wants(t, name, c.Apply(blocks()), want)
	}
}

// The law of unchanged values for masks of categories and tails: values that a list leaves
// unchanged, the diagonal of a matrix, and values within the bounds.
func TestKeepingOfCategories(t *testing.T) {
	of := typed([]float64{0, 1, 2, 3, 4, 9}, nil, arrow.PrimitiveTypes.Float64, 0)
	share := func(t *testing.T, sorted bool, masks ...Spec) []float64 {
		setup := testSetup(t, of)
		if sorted {
			setup.Sorted = map[string][]float64{"a": of.Values}
		}
		c := chain(t, setup, masks...)
		apply(t, c, block(0, len(of.Values), of))
		k := c.Keeping("a", 5, true)
		var list []float64
		for _, x := range append(slices.Clone(of.Values), 7) {
			list = append(list, k.Share(x))
		}
		return list
	}
	a := []string{"a"}
	for _, c := range []struct {
		name   string
		m      Params
		sorted bool
		want   []float64 // of 0, 1, 2, 3, 4, 9 and 7
	}{
		{"a map", &Recode{Columns: a, Map: map[string]string{"0": "0", "1": "2", "2": "2", "3": "3"}, Other: ptr("4")}, false,
			[]float64{1, 0, 1, 1, 0, 0, 0}},
		{"midpoints", &Recode{Columns: a, Breaks: []float64{0, 2, 4, 10}, Midpoints: true}, false,
			[]float64{0, 1, 0, 1, 0, 0, 1}},
		{
			"a matrix",
			&PRAM{
				Columns: a, Matrix: map[string]map[string]float64{"0": {"0": 0.25, "1": 0.75}, "1": {"1": 1}, "2": {"0": 1},
					"3": {"3": 0.5, "9": 0.5}, "4": {"4": 1}, "9": {"9": 1}}}, false, []float64{0.25, 1, 0, 0.5, 1, 1, 0}},
		{"tails", &Topcode{Columns: a, Lower: ptr(1.0), Upper: ptr(3.0)}, false, []float64{1, 1, 1, 1, 1, 1, 1}},
		{"tails of nobody", &Topcode{Columns: a, Lower: ptr(0.0), Upper: ptr(9.0)}, false, []float64{0, 0, 0, 0, 0, 0, 0}},
		{"means", &Topcode{Columns: a, Lower: ptr(0.0), Upper: ptr(2.0), Replace: "mean"}, true,
			[]float64{1, 1, 1, 1, 1, 1, 1}},
	} {
		if got := share(t, c.sorted, mask(c.m)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The law explains no unchanged values for a column of text, a column without a mask, a missing
// column, and a mask that does not describe what it keeps.
func TestKeepingThatExplainsNothing(t *testing.T) {
	of := typed([]float64{0, 1, 2}, nil, arrow.PrimitiveTypes.Float64, 0)
	setup := testSetup(t, of, of)
	setup.Columns = append(setup.Columns,
		ColumnInfo{Name: "text", Index: 2, Field: microdata.Field{Name: "text", Type: arrow.BinaryTypes.String},
			Decimals: -1})
	c := chain(t, setup, mask(&PRAM{Columns: []string{"text"}, Keep: ptr(0.5), Categories: []string{"x", "y"}}),
		mask(&Noise{Columns: []string{"a"}, SD: amount(2)}))
	for _, name := range []string{"text", "b", "nobody"} {
		if k := c.Keeping(name, 1, false); k.Share(1) != 0 || k.Most != 1 {
			t.Errorf("%s: %v stay, at most %v", name, k.Share(1), k.Most)
		}
	}
	if k := c.Keeping("a", 1, false); k.Share(1) == 0 {
		t.Error("the law of noise explains no unchanged value")
	}
}

// After noise, values beyond a bound are moved, and half of the values at the bound return to it.
func TestKeepingOfTailsBehindNoise(t *testing.T) {
	of := typed([]float64{0, 1, 2, 3, 4, 9}, nil, arrow.PrimitiveTypes.Float64, 0)
	setup := testSetup(t, of)
	setup.Sorted = map[string][]float64{"a": {-2, -1, 0, 1, 2, 3, 4, 5, 9}}
	for _, replace := range []string{"bound", "mean"} {
		c := chain(t, setup, mask(&Noise{Columns: []string{"a"}, SD: amount(2)}),
			mask(&Topcode{Columns: []string{"a"}, Lower: ptr(1.0), Upper: ptr(3.0), Replace: replace}))
		k := c.Keeping("a", 5, true)
		p := math.Erf(0.5 / 2 / math.Sqrt2) // |ε| < ½ for an SD of 2
		for x, want := range map[float64]float64{0: 0, 1: (1 + p) / 2, 2: p, 3: (1 + p) / 2, 4: 0, 9: 0} {
			if got := k.Share(x); !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s: %v stays with %v, want %v", replace, x, got, want)
			}
		}
	}
}

// Which lists of masks compute with all values at once, and which laws depend on the number of
// records, at any place in the list.
func TestMasksOfAllRecords(t *testing.T) {
	noise, groups := Spec{Params: &Noise{}}, Spec{Params: &Microaggregate{}}
	ranks, swap := Spec{Params: &RankSwap{}}, Spec{Params: &Swap{Scope: "dataset"}}
	for _, c := range []struct {
		masks              []Spec
		computes, byNumber bool
	}{
		{nil, false, false}, {[]Spec{noise, swap}, false, false}, {[]Spec{ranks, noise}, true, false},
		{[]Spec{swap, ranks}, true, false},
		{[]Spec{groups, noise}, true, true}, {[]Spec{noise, groups}, true, true}, {[]Spec{ranks, groups}, true, true},
	} {
		if got := core.AnyComputesWithAll(c.masks); got != c.computes {
			t.Errorf("%v: computes with all: %v", c.masks, got)
		}
		if got := AnyDependsOnNumber(c.masks); got != c.byNumber {
			t.Errorf("%v: depends on the number: %v", c.masks, got)
		}
	}
}
