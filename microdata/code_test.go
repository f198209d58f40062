package microdata

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Numbers are their own codes, for every type, so a column's codes are the same in both forms.
// Other values have the code of their text.
func TestCodes(t *testing.T) {
	for _, c := range []struct {
		of   arrow.DataType
		json string
		want []float64
	}{
		{arrow.PrimitiveTypes.Int8, `[-3, 0, null]`, []float64{-3, 0, math.NaN()}},
		{arrow.PrimitiveTypes.Uint64, `[7]`, []float64{7}},
		{arrow.PrimitiveTypes.Float64, `[2.5, null, -0.0]`, []float64{2.5, math.NaN(), 0}},
		{arrow.PrimitiveTypes.Float32, `[0.5]`, []float64{0.5}},
		{arrow.BinaryTypes.String, `["a", null, ""]`, []float64{CategoryCode([]byte("a")), math.NaN(), CategoryCode(nil)}},
		{arrow.FixedWidthTypes.Boolean, `[true]`, []float64{CategoryCode([]byte("true"))}},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["b", null]`,
			[]float64{CategoryCode([]byte("b")), math.NaN()}},
	} {
		a, _, err := array.FromJSON(memory.DefaultAllocator, c.of, strings.NewReader(c.json))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			got := CodeOf(a, i)
			if math.Float64bits(got) != math.Float64bits(want) && !(got != got && want != want) {
				t.Errorf("%s %d: %v, want %v", c.of, i, got, want)
			}
		}
	}
	of := arrow.DenseUnionOf([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Float64}}, []arrow.UnionTypeCode{0, 1})
	u := array.NewDenseUnionBuilder(memory.DefaultAllocator, of)
	texts, numbers := u.Child(0).(*array.StringBuilder), u.Child(1).(*array.Float64Builder)
	for _, add := range []func(){func() { texts.Append("a") }, func() { numbers.Append(4) }, func() {
		texts.AppendNull()
	}, func() { numbers.Append(2.5) }} {
		u.Append(arrow.UnionTypeCode(u.Len() % 2))
		add()
	}
	union := u.NewArray()
	for i, want := range []float64{CategoryCode([]byte("a")), 4, math.NaN(), 2.5} {
		if got := CodeOf(union, i); got != want && !(got != got && want != want) {
			t.Errorf("value %d of a union: %v, want %v", i, got, want)
		}
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues([]int64{1 << 54, 1<<54 + 1}, nil)
	if a := b.NewArray(); CodeOf(a, 0) == CodeOf(a, 1) {
		t.Error("two integers that no float64 tells apart have one code")
	}
}
