// Package arraytest makes Arrow arrays of each type whose values can be keys and can be moved, for tests.
package arraytest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Types are types whose values can be keys and can be exchanged.
var Types = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean,
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeBinary,
	arrow.BinaryTypes.StringView, arrow.BinaryTypes.BinaryView,
	&arrow.FixedSizeBinaryType{ByteWidth: 3},
	&arrow.Decimal128Type{Precision: 20, Scale: 2}, &arrow.Decimal256Type{Precision: 50, Scale: 2},
	arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Timestamp_us,
	arrow.FixedWidthTypes.Time32s,
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.PrimitiveTypes.Int64},
}

// Random makes an array of n values of the type, some null, sliced out of a
// longer one so that its offset is not 0. Values repeat.
func Random(tb testing.TB, typ arrow.DataType, n int, seed uint64) arrow.Array {
	tb.Helper()
	r := rand.New(rand.NewPCG(seed, 4))
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	for range n + 7 {
		if r.IntN(6) == 0 {
			b.AppendNull()
			continue
		}
		k := r.IntN(40)
		var text string
		switch id := typ.ID(); id {
		case arrow.BOOL:
			text = fmt.Sprint(k%2 == 0)
		case arrow.DATE32, arrow.DATE64:
			text = fmt.Sprintf("2020-01-%02d", 1+k%28)
		case arrow.TIMESTAMP:
			text = fmt.Sprintf("2020-01-%02dT00:00:00Z", 1+k%28)
		case arrow.TIME32:
			text = fmt.Sprintf("00:00:%02d", k)
		case arrow.FIXED_SIZE_BINARY:
			text = "AQI" + string(rune('A'+k%26)) // base64 of three bytes
		case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
			text = "AQI" + string(rune('A'+k%26)) + strings.Repeat("AQID", k%7)
		case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
			text = strings.Repeat("x", k) // "", and longer than a view holds inline
		default:
			text = fmt.Sprint(k)
		}
		if err := b.AppendValueFromString(text); err != nil {
			tb.Fatalf("%s: %v", typ, err)
		}
	}
	return array.NewSlice(b.NewArray(), 7, int64(n)+7)
}

// Texts returns the values of an array as texts: "null", or "=" and the value.
func Texts(a arrow.Array) []string {
	s := make([]string, a.Len())
	for i := range s {
		s[i] = "null"
		if a.IsValid(i) {
			s[i] = "=" + a.ValueStr(i)
		}
	}
	return s
}

// FromJSON reads an array.
func FromJSON(t testing.TB, of arrow.DataType, text string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, of, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}
