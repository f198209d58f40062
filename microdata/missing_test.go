package microdata

import (
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func layoutOf(f Field, as Form) *Layout {
	return &Layout{Schema: &Schema{Fields: []Field{f}}, Read: []Want{{Field: 0, As: as}}}
}

// Declared codes of numbers become nulls that hold 0, beside the nulls that were there, in memory of the column's own;
// what they were is noted by record.
func TestClearMissingNumbers(t *testing.T) {
	source := []float64{5, -9, 97, 98.5, 0, 99, math.NaN(), -9, 100}
	before := slices.Clone(source)
	var b Block
	b.Reset(0, 0, len(source), 1)
	valid := NewBitmap(len(source), nil)
	valid.Clear(4)
	valid.Clear(7) // what lies below a null is no code
	b.Columns[0].Original = Vector{Values: source, Valid: valid}
	m := &Missing{Codes: []string{"-9", "-8"}, Ranges: []MissingRange{{97, 99}}}
	layoutOf(Field{Type: arrow.PrimitiveTypes.Float64, Missing: m}, Numbers).ClearMissing(&b)
	c := &b.Columns[0]
	for i, want := range []bool{true, false, false, false, false, false, true, false, true} {
		if c.Original.Valid.Has(i) != want || !want && i != 7 && c.Original.Values[i] != 0 {
			t.Errorf("record %d: %v, %v", i, c.Original.Valid.Has(i), c.Original.Values[i])
		}
	}
	for i, x := range before {
		if x != source[i] && x == x || valid.Has(i) != (i != 4 && i != 7) {
			t.Fatalf("the memory of the source has changed at %d", i)
		}
	}
	if !slices.Equal(c.Coded.Rows, []int32{1, 2, 3, 5}) || !slices.Equal(c.Coded.Entry, []uint16{0, 2, 2, 2}) ||
		!slices.Equal(c.Coded.Values, []float64{-9, 97, 98.5, 99}) || !c.Coded.Keep {
		t.Errorf("noted %+v", c.Coded)
	}
	if texts := m.Texts(); !slices.Equal(texts, []string{"-9", "-8", "97 to 99"}) {
		t.Errorf("texts %v", texts)
	}
	seen := map[float64]bool{}
	for i := range source {
		code, coded := MissingCode(c.Coded.Category(i))
		if coded != c.Coded.Has(i) || coded && seen[code] || !coded && !math.IsNaN(c.Coded.Category(i)) || coded &&
			c.Coded.Category(i) == c.Coded.Category(i) {
			t.Errorf("record %d: category %v, %v", i, code, coded)
		}
		seen[code] = true
	}
	if _, coded := MissingCode(math.NaN()); coded {
		t.Error("NaN stands for a code")
	}
	var part Block
	b.Part(&part, 2, 6)
	p := &part.Columns[0].Coded
	if !slices.Equal(p.Rows, []int32{0, 1, 3}) || !p.Has(0) || p.Has(2) ||
		!slices.Equal(p.Values, []float64{97, 98.5, 99}) ||
		math.Float64bits(p.Category(3)) != math.Float64bits(c.Coded.Category(5)) {
		t.Errorf("the part has %+v", p)
	}
	c.Coded.Drop(3)
	if c.Coded.Leaves(3) || !c.Coded.Leaves(2) || !math.IsNaN(c.Coded.ReleasedCategory(3)) || !c.Coded.Dropped() {
		t.Error("a code that is set missing leaves")
	}
	if _, coded := MissingCode(c.Coded.ReleasedCategory(3)); coded {
		t.Error("a code that is set missing has a category")
	}
	b.Reset(0, 0, 3, 1)
	if len(b.Columns[0].Coded.Rows) > 0 {
		t.Error("the codes stay in a block that is used again")
	}
	// The column's own buffers: nulls that were there stay.
	v := c.Alloc(4, true)
	copy(v.Values, []float64{1, -9, 0, 7})
	v.Valid.Clear(2)
	b.N = 4
	layoutOf(Field{Type: arrow.PrimitiveTypes.Float64, Missing: &Missing{Codes: []string{"-9"}, Null: true}},
		Numbers).ClearMissing(&b)
	if c.Original.Valid.Has(1) || c.Original.Valid.Has(2) || !c.Original.Valid.Has(0) || c.Coded.Keep {
		t.Errorf("nulls are %b, kept %v", c.Original.Valid, c.Coded.Keep)
	}
	if _, coded := MissingCode(c.Coded.Category(1)); coded {
		t.Error("a code that is released as null has a category of its own")
	}
}

// A float32 is compared as such: −9.1 is the nearest one.
func TestClearMissingFloat32(t *testing.T) {
	x := float64(float32(-9.1))
	m := &Missing{Codes: []string{"-9.1"}}
	if !m.Declares(Field{Type: arrow.PrimitiveTypes.Float32}, x) ||
		m.Declares(Field{Type: arrow.PrimitiveTypes.Float64}, x) ||
		!m.Declares(Field{Type: arrow.PrimitiveTypes.Float64}, -9.1) {
		t.Error("a code is not compared in the type of its column")
	}
}

// Codes in arrays of every kind, also in a part of one, become nulls with nothing below them; the array that was read
// is left as it is.
func TestClearMissingArrays(t *testing.T) {
	mem := memory.DefaultAllocator
	strings := array.NewStringBuilder(mem)
	strings.AppendValues([]string{"x", "refused", "a", `"refused"`, "", "refused"},
		[]bool{true, true, true, true, false, true})
	dict := array.NewDictionaryBuilder(mem,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
	for _, s := range []string{"x", "refused", "a", `"refused"`, "", "refused"} {
		if s == "" {
			dict.AppendNull()
		} else if err := dict.AppendString(s); err != nil {
			t.Fatal(err)
		}
	}
	ints := array.NewInt16Builder(mem)
	ints.AppendValues([]int16{1, -9, 2, 3, 0, -9}, []bool{true, true, true, true, false, true})
	dates := array.NewDate32Builder(mem)
	// 9999-12-31
	dates.AppendValues([]arrow.Date32{1, 2932896, 2, 3, 0, 2932896}, []bool{true, true, true, true, false, true})
	for name, tt := range map[string]struct {
		a    arrow.Array
		json bool
		code string
		want []int32
	}{
		"texts": {strings.NewArray(), false, "refused", []int32{1, 5}}, "JSON": {nil, true, "refused", []int32{1, 3, 5}},
		"dictionary": {dict.NewArray(), false, "refused", []int32{1, 5}},
		"integers":   {ints.NewArray(), false, "-9", []int32{1, 5}},
		"dates":      {dates.NewArray(), false, "9999-12-31", []int32{1, 5}},
	} {
		if tt.a == nil {
			strings.AppendValues([]string{"x", "refused", "a", `"refused"`, "", "refused"},
				[]bool{true, true, true, true, false, true})
			tt.a = strings.NewArray()
		}
		m := &Missing{Codes: []string{tt.code}, JSON: tt.json}
		for from := range 2 {
			a := array.NewSlice(tt.a, int64(from), 6)
			var b Block
			b.Reset(0, 0, a.Len(), 1)
			b.Columns[0].Array = a
			layoutOf(Field{Type: a.DataType(), Missing: m}, Array).ClearMissing(&b)
			c := &b.Columns[0]
			for i := range a.Len() {
				coded := slices.Contains(tt.want, int32(i+from))
				if c.Coded.Has(i) != coded || c.Array.IsNull(i) != (coded || i+from == 4) || a.IsNull(i) != (i+from == 4) {
					t.Errorf("%s from %d: record %d: code %v, null %v, was %v", name, from, i, c.Coded.Has(i), c.Array.IsNull(i),
						a.IsNull(i))
				}
				if !c.Array.IsNull(i) && c.Array.ValueStr(i) != a.ValueStr(i) {
					t.Errorf("%s from %d: record %d is %s, was %s", name, from, i, c.Array.ValueStr(i), a.ValueStr(i))
				}
			}
			if c.Array.NullN() != a.NullN()+len(c.Coded.Rows) || c.Coded.Raw != a {
				t.Errorf("%s: %d nulls", name, c.Array.NullN())
			}
			if x, ok := c.Array.(*array.Int16); ok && slices.Contains(x.Int16Values(), -9) {
				t.Errorf("%s: the code lies below the null", name)
			}
		}
	}
}
