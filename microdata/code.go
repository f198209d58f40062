package microdata

import (
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// CategoryCode returns a number that represents a category given as text. Equal texts have
// equal codes; different texts have different codes, except with probability 2⁻⁵³ per pair.
func CategoryCode(text []byte) float64 {
	h := fnv.New64a()
	h.Write(text)
	z := h.Sum64()
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z ^ z>>31) >> 11)
}

// CodeOf returns a number that represents value i of an array. Equal values have equal codes;
// different values have different codes, except with probability 2⁻⁵³ per pair. The code of
// null is NaN. The code of a number is the number itself if a float64 can hold it; the code of
// any other value is the CategoryCode of its text.
func CodeOf(a arrow.Array, i int) float64 {
	if a.IsNull(i) {
		return math.NaN()
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return CodeOf(a.Dictionary(), a.GetValueIndex(i))
	case *array.DenseUnion: // its nulls are those of its children
		return CodeOf(a.Field(a.ChildID(i)), int(a.ValueOffset(i)))
	case *array.Binary:
		return CategoryCode(a.Value(i))
	case *array.String:
		return CategoryCode([]byte(a.Value(i)))
	}
	if x, ok := numberOf(a, i); ok {
		return x
	}
	return CategoryCode([]byte(a.ValueStr(i)))
}

// numberOf returns value i of an array of numbers, which is not null, where a float64
// holds it exactly.
func numberOf(a arrow.Array, i int) (x float64, ok bool) {
	whole := func(v int64) (float64, bool) { return float64(v), v >= -MaxExact && v <= MaxExact }
	switch a := a.(type) {
	case *array.Float64:
		x = a.Value(i)
	case *array.Float32:
		x = float64(a.Value(i))
	case *array.Int8:
		return whole(int64(a.Value(i)))
	case *array.Int16:
		return whole(int64(a.Value(i)))
	case *array.Int32:
		return whole(int64(a.Value(i)))
	case *array.Int64:
		return whole(a.Value(i))
	case *array.Uint8:
		return whole(int64(a.Value(i)))
	case *array.Uint16:
		return whole(int64(a.Value(i)))
	case *array.Uint32:
		return whole(int64(a.Value(i)))
	case *array.Uint64:
		return float64(a.Value(i)), a.Value(i) <= MaxExact
	case *array.Decimal32, *array.Decimal64, *array.Decimal128, *array.Decimal256:
		text := a.ValueStr(i)
		if digits := strings.Trim(strings.Replace(text, ".", "", 1), "-0"); len(digits) > 15 {
			return 0, false // two of them could be one float64
		}
		var err error
		if x, err = strconv.ParseFloat(text, 64); err != nil {
			return 0, false
		}
	default:
		return 0, false
	}
	return x + 0, x-x == 0
}
