package microdata_test

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// A block is a run of records in columns. A column of an Arrow record that masks compute with is
// converted to numbers; the released values are converted back to the column's type, without
// rejected records.
func ExampleBlock() {
	builder := array.NewInt32Builder(memory.DefaultAllocator)
	builder.AppendValues([]int32{1200, 0, 950, 3100}, []bool{true, false, true, true})
	wages := builder.NewInt32Array()

	var b microdata.Block
	b.Reset(0, 0, wages.Len(), 1) // the first records of stream 0, one column
	for _, row := range microdata.NumbersOf(wages, &b.Columns[0]) {
		b.Reject(row, "wage", "is no number that can be masked exactly")
	}
	b.Reject(3, "wage", "is malformed")

	released := b.Columns[0].Mutable() // a copy; the originals stay for the assessment
	for i := range released.Values {
		if released.Valid.Has(i) {
			released.Values[i] += 10
		}
	}
	field := microdata.Field{Name: "wage", Type: arrow.PrimitiveTypes.Int32, Nullable: true}
	fmt.Println(microdata.ToArray(b.Columns[0].Out(), b.N, field, b.Keep()))
	fmt.Println(b.Columns[0].Original.Values)
	// Output:
	// [1210 (null) 960]
	// [1200 0 950 3100]
}
