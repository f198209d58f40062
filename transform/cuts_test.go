package transform

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// The release of a category depends neither on the limits of the blocks nor on the form of the
// column.
func TestCategoriesIndependentOfBlocks(t *testing.T) {
	const n = 2*core.Batch + 77
	list := []string{"0", "1", "2", "3"}
	masks := []Spec{
		mask(&PRAM{Columns: []string{"a"}, Keep: ptr(0.3), Categories: list}),
		mask(&Recode{Columns: []string{"a"}, Map: map[string]string{"0": "0", "1": "1", "2": "2", "3": "1"}}),
	}
	masks[1].Name = "second"
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String} {
		c,
			err := NewChain(masks,
			Setup{Key: testKey(t, 9),
				Columns: []ColumnInfo{{Name: "a", Field: microdata.Field{Name: "a", Type: typ}, Decimals: 0}}})
		if err != nil {
			t.Fatal(err)
		}
		released := func(from, to int) (of []string) {
			var b microdata.Block
			b.Reset(0, int64(from), to-from, 1)
			if typ.ID() == arrow.FLOAT64 {
				v := b.Columns[0].Alloc(b.N, false)
				for i := range v.Values {
					v.Values[i] = float64((from + i) * 7 / 3 % 4)
				}
			} else {
				text := array.NewStringBuilder(memory.DefaultAllocator)
				for i := range b.N {
					text.Append(strconv.Itoa((from + i) * 7 / 3 % 4))
				}
				b.Columns[0].Array = text.NewArray()
			}
			if err := c.Apply(&b); err != nil {
				t.Fatal(err)
			}
			for i := range b.N {
				if typ.ID() == arrow.FLOAT64 {
					of = append(of, core.NumberText(b.Columns[0].Out().Values[i]))
				} else {
					of = append(of, b.Columns[0].OutArray().ValueStr(i))
				}
			}
			return of
		}
		whole := released(0, n)
		for _, size := range []int{63, 1000, core.Batch - 1, core.Batch, core.Batch + 1, 2 * core.Batch} {
			var cut []string
			for from := 0; from < n; from += size {
				cut = append(cut, released(from, min(from+size, n))...)
			}
			if !slices.Equal(cut, whole) {
				t.Errorf("%s: blocks of %d records change the released categories", typ, size)
			}
		}
		for _, at := range []int{0, 1, core.Batch - 1, core.Batch, n - 1} {
			if one := released(at, at+1); one[0] != whole[at] {
				t.Errorf("%s: record %d by itself becomes %s, and in a larger block %s", typ, at, one[0], whole[at])
			}
		}
	}
}

// A category that becomes a text is a different value, although its number in replicates is the
// code of that text.
func TestTextIsNoNumber(t *testing.T) {
	code := microdata.CategoryCode([]byte("x"))
	m := &Recode{Columns: []string{"a"}, Map: map[string]string{core.NumberText(code): "x", "5": "5"}}
	released,
		b := categories(t, []Spec{mask(m)}, arrow.PrimitiveTypes.Float64, "["+strconv.FormatFloat(code, 'f', -1, 64)+", 5]")
	if !slices.Equal(released, []string{"x", "5"}) || len(b.Rejects) > 0 {
		t.Errorf("%q, %v", released, b.Rejects)
	}
	c,
		err := NewChain([]Spec{mask(m)},
		Setup{
			Key: testKey(t, 5),
			Columns: []ColumnInfo{
				{Name: "a", Field: microdata.Field{Name: "a", Type: arrow.PrimitiveTypes.Float64}, Decimals: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	b.Columns[0].ReleasedArray = nil
	if err := c.Apply(b); err != nil {
		t.Fatal(err)
	}
	if touched := c.Touched()[0].Records; touched != 1 {
		t.Errorf("%d records are touched, want 1: only one category changed", touched)
	}
}

// Noise by tiers that is drawn again within bounds has the SD of the value's tier. With bounds far
// away it equals the noise without bounds. The relative standard error of an SD of n draws is
// 1/√(2n) = 1.1 %; the tolerance is 6 of them.
func TestRedrawByTiers(t *testing.T) {
	const n = 4000
	column := floats(3, slices.Concat(repeat(10, n), repeat(100, n), repeat(50, n))...)
	got := release(t, testSetup(t, column), []testColumn{column},
		mask(&Noise{Columns: []string{"a"}, SD: amount(2), Tiers: []Tier{{Above: ptr(50.0), VarianceFactor: ptr(225.0)}}}),
		mask(&Truncate{Columns: []string{"a"}, Lower: ptr(-5000.0), Upper: ptr(5000.0), Mode: "redraw"}))
	for k, want := range []float64{2, 30, 2} {
		_, sd := meanSD(got[k*n : (k+1)*n])
		if !(math.Abs(sd/want-1) <= 0.066) {
			t.Errorf("values of %v have noise of SD %v, want %v", column.Values[k*n], sd, want)
		}
	}
}

func TestMicroaggregateChecks(t *testing.T) {
	for path, m := range map[string]*Microaggregate{
		"k":         {K: ptr(1)},
		"k ":        {K: ptr(core.GreatestK + 1)},
		"k  ":       {},
		"method":    {K: ptr(3), Method: "mean"},
		"aggregate": {K: ptr(3), Aggregate: "mode"},
		"columns":   {K: ptr(3), Columns: names(core.GreatestColumns + 1)},
		"by[1]":     {K: ptr(3), By: []string{"r", "x"}},
		"by[0]":     {K: ptr(3), By: []string{"x", "r"}},
		"by[1] ":    {K: ptr(3), By: []string{"r", "r"}},
	} {
		if m.Columns == nil {
			m.Columns = []string{"w", "x"}
		}
		for len(path) > 0 && path[len(path)-1] == ' ' {
			path = path[:len(path)-1]
		}
		if ps := m.Check(); len(ps) != 1 || ps[0].Path != path {
			t.Errorf("%s: %v", path, ps)
		}
	}
	for _, m := range []*Microaggregate{
		{K: ptr(3)}, {K: ptr(core.GreatestK)}, {K: ptr(3), Method: "univariate", Aggregate: "median", By: []string{"r", "s"}},
		{K: ptr(3), Method: "mdav", Aggregate: "mean"}, {K: ptr(3), Columns: names(core.GreatestColumns)},
	} {
		if m.Columns == nil {
			m.Columns = []string{"w", "x"}
		}
		if ps := m.Check(); len(ps) > 0 {
			t.Errorf("%+v: %v", m, ps)
		}
	}
}
