// Package cell reads single values of a block: whether there is one, and the number that
// represents it.
package cell

import (
	"hash/fnv"
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

// AllFinite reports whether no value is infinite or NaN.
func AllFinite(values []float64) bool {
	odd := uint64(0) // the upper bit is set as soon as an exponent has all of its bits
	for _, x := range values {
		odd |= math.Float64bits(x)&^(1<<63) + 1<<52
	}
	return odd>>63 == 0
}

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

// Mark sets marks to one bit for each record of a run that keep marks (nil: all) and whose value is
// neither null nor infinite nor NaN.
func Mark(marks *Bits, v microdata.Vector, from, n int, keep microdata.Bitmap) {
	*marks = Bits{}
	for at := 0; at < n; at += 64 {
		word := Word(v.Valid, from+at) & Word(keep, from+at)
		for i, x := range v.Values[from+at : from+min(at+64, n)] {
			if Finite(x) {
				marks[at/64] |= word & (1 << i)
			}
		}
	}
}

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
// different ones except with probability 2⁻⁵³ per pair; NaN for null. Declared codes for missing values have NaNs
// of their own (microdata.MissingCode).
func Code(c *microdata.Column, i int) float64 {
	if c.Coded.Has(i) {
		return c.Coded.Category(i)
	}
	if c.Array == nil {
		return At(c.Original, i)
	}
	return microdata.CodeOf(c.Array, i)
}

// ReleasedCode is Code of the released value.
func ReleasedCode(c *microdata.Column, i int) float64 {
	if c.Coded.Has(i) {
		return c.Coded.ReleasedCategory(i)
	}
	if a := c.OutArray(); a != nil {
		return microdata.CodeOf(a, i)
	}
	return At(c.Out(), i)
}

// Categories are the values from which on a number stands for a category and not for itself: 2⁹⁹³, which is
// Category(0).
const Categories = 0x1p993

// Category returns the value that stands for a category with a code below 2⁵³. It is no quantity: only
// whether two of them are equal matters.
func Category(code float64) float64 { return math.Float64frombits(0x7e<<56 | uint64(code)) }

// Known returns the Category of a declared code for a missing value, which a reader of the release sees; any other
// value as it is.
func Known(v float64) float64 {
	if code, ok := microdata.MissingCode(v); ok {
		return Category(code)
	}
	return v
}

// KnownValues applies Known to values; the list is copied if one of them changes.
func KnownValues(values []float64) []float64 {
	if !slices.ContainsFunc(values, func(v float64) bool { _, ok := microdata.MissingCode(v); return ok }) {
		return values
	}
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = Known(v)
	}
	return list
}

// Shown returns what a reader of the release sees in a column: the released number, also of a date
// and of text that is a number or has one in it; else the Category of the released value; NaN for null.
func Shown(c *microdata.Column, i int) float64 {
	if c.Coded.Leaves(i) {
		return Known(c.Coded.Category(i))
	}
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
	case interface{ Value(int) string }:
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

// ShownText is Shown of a text.
func ShownText(text string) float64 {
	if x, ok := numberIn(text); ok {
		return x
	}
	return Category(microdata.CategoryCode([]byte(text)))
}

// numberIn returns the number that a text is, also in the quotes of JSON, or that it has in it, with its
// separators: "EUR 1,234.50", "1.234,50". Of several it is the longest; in words it must have three digits.
// Texts with the same number in other words have numbers that differ, by less than 5e-10 of it.
func numberIn(text string) (x float64, ok bool) {
	text = strings.Trim(text, "\" ")
	if len(text) == 0 {
		return 0, false
	}
	if first := text[0]; len(text) <= 24 &&
		(first == '-' || first == '+' || first == '.' || '0' <= first && first <= '9') {
		if x, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(x) < Categories {
			return x, true
		}
	}
	from, to, digits := longestNumber(text)
	if digits < 3 || digits > 15 {
		return 0, false
	}
	x, err := strconv.ParseFloat(plainNumber(text[from:to]), 64)
	if err != nil {
		return 0, false
	}
	if from > 0 && text[from-1] == '-' {
		x = -x
	}
	words := fnv.New32a()
	words.Write([]byte(text[:from]))
	words.Write([]byte{0})
	words.Write([]byte(text[to:]))
	return x * (1 + 5e-10*float64(words.Sum32())/(1<<32)), true
}

// longestNumber returns where the digits and separators of the number with the most digits are.
func longestNumber(text string) (from, to, digits int) {
	digit := func(i int) bool { return i < len(text) && '0' <= text[i] && text[i] <= '9' }
	for i := 0; i < len(text); i++ {
		if !digit(i) {
			continue
		}
		start, n := i, 0
		for ; digit(i) || i < len(text) && strings.IndexByte(".,' ", text[i]) >= 0 && digit(i+1); i++ {
			if digit(i) {
				n++
			}
		}
		if n > digits {
			from, to, digits = start, i, n
		}
	}
	return from, to, digits
}

// plainNumber writes a number without separators of thousands. The last separator is the decimal mark if
// there are two kinds, or if it stands once and not before three digits, or if it is a point that stands once.
func plainNumber(text string) string {
	last := strings.LastIndexAny(text, ".,' ")
	if last < 0 {
		return text
	}
	mark := text[last]
	several := strings.Count(text, string(mark)) > 1
	alone := strings.Trim(text, "0123456789"+string(mark)) == "" // it is the only kind
	if several || mark == '\'' || mark == ' ' || alone && mark == ',' && len(text)-last-1 == 3 {
		last = len(text)
	}
	var out strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			out.WriteByte(c)
		case i == last:
			out.WriteByte('.')
		}
	}
	return out.String()
}

// Run is the number of records that one pass of the kernels handles: the
// centred values of eight columns then stay in the first-level cache. It is a
// multiple of 64, so that bitmaps are cut at words.
const Run = 512
