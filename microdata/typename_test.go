package microdata

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestTypeName(t *testing.T) {
	for _, c := range []struct {
		of   arrow.DataType
		want string
	}{
		{arrow.BinaryTypes.String, "string"}, {arrow.BinaryTypes.LargeString, "string"},
		{arrow.BinaryTypes.StringView, "string"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.LargeString}, "string"},
		{arrow.FixedWidthTypes.Date32, "date"}, {arrow.PrimitiveTypes.Int64, "int64"},
		{&arrow.Decimal128Type{Precision: 9, Scale: 2}, "decimal(9, 2)"},
	} {
		if got := TypeName(c.of); got != c.want {
			t.Errorf("%v is called %s, want %s", c.of, got, c.want)
		}
	}
}
