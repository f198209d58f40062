package transform

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/arraytest"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// Values are the same by their bytes, whatever array holds them: also in a dictionary, and null is null alone. What
// cannot be compared is taken for changed.
func TestSameValues(t *testing.T) {
	text := arrow.BinaryTypes.String
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: text}
	for what, c := range map[string]struct {
		x, y string
		a, b arrow.DataType
		want []bool
	}{
		"texts": {`["x", "y", null, null, "z", ""]`, `["x", "z", null, "x", null, null]`, text, text,
			[]bool{true, false, true, false, false, false}},
		"of a dictionary": {`["x", "y", null]`, `["x", "x", null]`, dictionary, dictionary, []bool{true, false, true}},
		"of two kinds":    {`["x", "y", null]`, `["x", "x", null]`, dictionary, text, []bool{true, false, true}},
		"numbers": {`[1, 2, null]`, `[1, 3, null]`, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64,
			[]bool{true, false, true}},
		"dates": {`["2020-01-01", "2020-02-01"]`, `["2020-01-01", "2020-01-01"]`, arrow.FixedWidthTypes.Date32,
			arrow.FixedWidthTypes.Date32, []bool{true, false}},
		"of another type": {`[1]`, `["1"]`, arrow.PrimitiveTypes.Int64, text, []bool{false}},
		"lists":           {`[[1]]`, `[[1]]`, arrow.ListOf(text), arrow.ListOf(text), []bool{false}},
	} {
		if what == "lists" {
			c.x, c.y = `[["x"]]`, `[["x"]]`
		}
		x, y := arraytest.FromJSON(t, c.a, c.x), arraytest.FromJSON(t, c.b, c.y)
		same := coding.SameValues(x, y)
		for i, want := range c.want {
			if same(i) != want {
				t.Errorf("%s, %d: %v, want %v", what, i, !want, want)
			}
		}
		if itself := coding.SameValues(x, x); !itself(0) || !itself(len(c.want)-1) {
			t.Errorf("%s: not the same as itself", what)
		}
	}
	// Dates that are rounded and nothing else are known by their interval.
	for _, c := range []struct {
		m    Params
		want bool
	}{{toMiddle("year"), true}, {&Date{Columns: []string{"a"}, Shift: ptr(3)}, false},
		{&Round{Columns: []string{"a"}, Base: ptr(7.0)}, false}, {&Noise{Columns: []string{"a"}, SD: amount(1)}, false}} {
		if RoundsDates([]Spec{mask(c.m)}, "a") != c.want || RoundsDates([]Spec{mask(c.m)}, "b") {
			t.Errorf("%T: rounds dates is not %v of its column alone", c.m, c.want)
		}
	}
}

// Which categories occur is noted by block, and the bits of several chains are put together.
func TestListedCategoriesOfParts(t *testing.T) {
	m := &Recode{Columns: []string{"a"}, Map: map[string]string{"01*": "x", "02*": "y", "03": "z"}, Other: ptr("rest")}
	file := &Recode{Columns: []string{"b"}, File: "f", Table: map[string]string{"p": "q", "r*": "q", "s": "q"},
		Other: ptr("rest")}
	made := func() *Chain {
		c, err := NewChain([]Spec{mask(m), mask(file)}, Setup{Key: testKey(t, 5), Columns: []ColumnInfo{
			{Name: "a", Index: 0, Field: microdata.Field{Name: "a", Type: text64}},
			{Name: "b", Index: 1, Field: microdata.Field{Name: "b", Type: text64}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	masked := func(c *Chain, a, b string) microdata.Bitmap {
		block := new(microdata.Block)
		x := arraytest.FromJSON(t, text64, a)
		block.Reset(0, 0, x.Len(), 2)
		block.Columns[0].Array, block.Columns[1].Array = x, arraytest.FromJSON(t, text64, b)
		apply(t, c, block)
		return block.Listed
	}
	names := func(c *Chain, listed microdata.Bitmap) (s string) {
		for _, u := range c.Unmatched(listed) {
			s += u.Column + ":" + u.Category + " "
		}
		return s
	}
	one, other, all := made(), made(), made()
	first := masked(one, `["01", null]`, `["x", "s"]`)
	masked(other, `["9", "03"]`, `[null, null]`)
	if got := names(one, first); got != "a:02* a:03 b:r* " || names(one, one.Listed()) != got {
		t.Errorf("of the first block: %s and of all %s", got, names(one, one.Listed()))
	}
	if got := names(other, other.Listed()); got != "a:01* a:02* " {
		t.Errorf("of the other chain: %s", got) // column b has no value there
	}
	all.Resume(nil, 0, one.Listed())
	all.Resume(nil, 0, other.Listed())
	all.Resume(nil, 0, append(one.Listed(), 1)) // of another chain
	if got := names(all, all.Listed()); got != "a:02* b:r* " {
		t.Errorf("of both: %s", got)
	}
	if again := one.Again(); masked(again, `["02"]`, `["r"]`) == nil || names(again, again.Listed()) != "a:01* a:03 " ||
		names(one, one.Listed()) != "a:02* a:03 b:r* " {
		t.Errorf("masked once more: %s, and the first is %s", names(again, again.Listed()), names(one, one.Listed()))
	}
	if r := one.Replicate(1); r.Listing() != 0 {
		t.Error("a replicate notes categories")
	}
}
