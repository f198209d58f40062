// Package cell reads single values of a block: whether there is one, and the number that
// represents it.
package cell

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Finite reports whether x is neither infinite nor NaN.
func Finite(x float64) bool { return x-x == 0 }

// AllSet reports whether bits from … from+n−1 are all set; from is a multiple
// of 64.
func AllSet(b microdata.Bitmap, from, n int) bool {
	if b == nil {
		return true
	}
	for ; n >= 64; from, n = from+64, n-64 {
		if b[from>>6] != ^uint64(0) {
			return false
		}
	}
	return n == 0 || ^b[from>>6]<<(64-n) == 0
}

// Word returns the 64 bits of a bitmap from the i-th on; i is a multiple of 64.
func Word(b microdata.Bitmap, i int) uint64 {
	if b == nil {
		return ^uint64(0)
	}
	return b[i>>6]
}

// Where returns x if the lowest bit of bit is 1, and otherwise 0, even if x is NaN. It does not
// branch: a processor cannot predict well which values are missing.
func Where(bit uint64, x float64) float64 {
	return math.Float64frombits(math.Float64bits(x) & -(bit & 1))
}

// Bits has one bit for each record of a run.
type Bits [Run / 64]uint64

// Present returns the values that are not NaN; v itself if none is NaN.
func Present(v []float64) []float64 {
	if !slices.ContainsFunc(v, math.IsNaN) {
		return v
	}
	return slices.DeleteFunc(slices.Clone(v), math.IsNaN)
}

// At returns value i; NaN if the vector has none, or one that is not finite.
func At(v microdata.Vector, i int) float64 {
	x := v.Values[i]
	if !Finite(x) || !v.Valid.Has(i) {
		return math.NaN()
	}
	return x
}

// Gather appends the values of rows, as At gives them.
func Gather(dst []float64, v microdata.Vector, rows []int32) []float64 {
	n := len(dst)
	dst = slices.Grow(dst, len(rows))[:n+len(rows)]
	for k, i := range rows {
		x := v.Values[i]
		if !Finite(x) || !v.Valid.Has(int(i)) {
			x = math.NaN()
		}
		dst[n+k] = x
	}
	return dst
}

// Code returns a number that is equal for equal original values of a column, and different for
// different ones except with probability 2⁻⁵³ per pair; NaN for null.
func Code(c *microdata.Column, i int) float64 {
	if c.Array == nil {
		return At(c.Original, i)
	}
	return microdata.CodeOf(c.Array, i)
}

// ReleasedCode is Code of the released value.
func ReleasedCode(c *microdata.Column, i int) float64 {
	if a := c.OutArray(); a != nil {
		return microdata.CodeOf(a, i)
	}
	return At(c.Out(), i)
}

// Categories are the values from which on a number stands for a category and not for itself.
const Categories = 1e299

// Category returns the value that stands for a category with a code below 2⁵³. It is no quantity: only
// whether two of them are equal matters.
func Category(code float64) float64 { return math.Float64frombits(0x7e<<56 | uint64(code)) }

// Shown returns what a reader of the release sees in a column: the released number, also of a date
// and of text that is a number; else the Category of the released value; NaN for null.
func Shown(c *microdata.Column, i int) float64 {
	a := c.OutArray()
	if a == nil {
		return At(c.Out(), i)
	}
	if d, ok := a.(*array.Dictionary); ok {
		if d.IsNull(i) {
			return math.NaN()
		}
		return shown(d.Dictionary(), d.GetValueIndex(i))
	}
	return shown(a, i)
}

func shown(a arrow.Array, i int) float64 {
	if a.IsNull(i) {
		return math.NaN()
	}
	switch a := a.(type) {
	case *array.String:
		if x, ok := numberIn(a.Value(i)); ok {
			return x
		}
	case *array.Int64:
		return float64(a.Value(i))
	case *array.Uint64:
		return float64(a.Value(i))
	case *array.Date32:
		return float64(a.Value(i))
	case *array.Date64:
		return float64(a.Value(i))
	case *array.Timestamp:
		return float64(a.Value(i))
	case *array.Boolean:
		if a.Value(i) {
			return 1
		}
		return 0
	}
	code := microdata.CodeOf(a, i)
	if t := a.DataType().ID(); arrow.IsInteger(t) || arrow.IsFloating(t) || arrow.IsDecimal(t) {
		return code
	}
	return Category(code)
}

// numberIn returns the number that a text is, also in the quotes of JSON.
func numberIn(text string) (x float64, ok bool) {
	text = strings.Trim(text, "\" ")
	if len(text) == 0 || len(text) > 24 || text[0] != '-' && text[0] != '+' && text[0] != '.' && (text[0] < '0' || text[0] > '9') {
		return 0, false
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && math.Abs(x) < Categories
}

// Run is the number of records that one pass of the kernels handles: the
// centred values of eight columns then stay in the first-level cache. It is a
// multiple of 64, so that bitmaps are cut at words.
const Run = 512
