package json

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/members"
)

// plainText converts JSON text to strings: a JSON string to its content, any other
// value to its text, null to null.
func plainText(text arrow.Array) arrow.Array {
	from := text.(*array.String)
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(from.Len())
	var buf []byte
	for i := range from.Len() {
		v := from.Value(i)
		switch {
		case from.IsNull(i) || v == "" || v == "null":
			b.AppendNull()
		case v[0] != '"':
			b.Append(v)
		default:
			buf, _ = members.Unquote(buf[:0], []byte(v)) // half a character becomes U+FFFD
			b.BinaryBuilder.Append(buf)
		}
	}
	return b.NewArray()
}
