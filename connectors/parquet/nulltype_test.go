package parquet

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Arrays of the null type have no null bitmap.
func TestNullType(t *testing.T) {
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.Null)
	defer b.Release()
	b.Append(true)
	b.ValueBuilder().AppendNull()
	b.ValueBuilder().AppendNull()
	b.Append(true)
	b.AppendNull()
	for _, c := range []struct {
		arr  arrow.Array
		def  []uint8
		keep []int32
	}{
		{array.NewNull(3), []uint8{0, 0, 0}, nil},
		{array.NewNull(3), []uint8{0, 0}, []int32{0, 2}},
		{b.NewArray(), []uint8{2, 2, 1, 0}, nil}, // null elements, an empty list, a null list
	} {
		elements, err := elementsOf("x", c.arr.DataType(), true)
		if err != nil {
			t.Fatal(err)
		}
		root := schemaElement{Name: "schema"}
		root.NumChildren = some[int32](1)
		roots, _, err := treeOf(append([]schemaElement{root}, elements...))
		if err != nil {
			t.Fatal(err)
		}
		leaves, err := arrayValues(roots[0], c.arr, 0, c.arr.Len(), c.keep)
		if err != nil {
			t.Fatal(err)
		}
		if v := leaves[0]; v.n != 0 || string(v.def) != string(c.def) {
			t.Errorf("%s: %d values and levels %v, want none and %v", c.arr.DataType(), v.n, v.def, c.def)
		}
		if s := statsOf(roots[0].leaves[0], leaves[0]); s.min != nil || s.max != nil {
			t.Errorf("%s: statistics of no value", c.arr.DataType())
		}
	}
}
