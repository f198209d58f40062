package coding

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
)

// SameValues returns a function that reports whether two arrays have the same value at i; if their
// types cannot be compared, it always returns false.
func SameValues(x, y arrow.Array) func(i int) bool {
	if x == y {
		return func(int) bool { return true }
	}
	a, known := BytesOf(x)
	b, too := BytesOf(y)
	if !known || !too {
		return func(int) bool { return false }
	}
	return func(i int) bool {
		if x.IsNull(i) || y.IsNull(i) {
			return x.IsNull(i) == y.IsNull(i)
		}
		return bytes.Equal(a(i), b(i))
	}
}
