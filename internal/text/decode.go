package text

import (
	"math/big"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Reasons for which a record is rejected.
const (
	NotUTF8 = "invalid UTF-8"
	TooWide = "integer beyond 2^53, which a float64 would change"
)

// NotA says that a value is not of its column's type.
func NotA(t arrow.DataType) string { return "not a value of type " + TypeName(t) }

// ParseNumber reads a value of a numeric column as the float64 that masks
// compute with. reason is "" where it could. NaN and infinities are read: what
// is to become of them is decided where masks are applied.
func ParseNumber(p []byte, t arrow.DataType) (v float64, reason string) {
	switch t.ID() {
	case arrow.INT64:
		i, ok := ParseInt(p)
		switch {
		case !ok && string(p) == "-0":
			return 0, ""
		case !ok:
			return 0, NotA(t)
		case i > microdata.MaxExact || i < -microdata.MaxExact:
			return 0, TooWide
		}
		return float64(i), ""
	case arrow.FLOAT64:
		if v, ok := ParseReal(p); ok {
			return v, ""
		}
		return 0, NotA(t)
	}
	d := t.(*arrow.Decimal128Type)
	if _, ok := parseDecimal(p, d); !ok {
		return 0, NotA(t)
	}
	v, ok := ParseFloat(p)
	if !ok {
		return 0, NotA(t)
	}
	return v, ""
}

// parseDecimal reads a decimal with no more digits than the type has, trailing
// zeros aside, and no exponent.
func parseDecimal(p []byte, t *arrow.Decimal128Type) (decimal128.Num, bool) {
	if n, _ := Classify(p); n != Integer && n != Real && n != Huge {
		return decimal128.Num{}, false
	}
	for _, c := range p {
		if c|0x20 == 'e' {
			return decimal128.Num{}, false
		}
	}
	point := len(p)
	for i, c := range p {
		if c == '.' {
			point = i
		}
	}
	for len(p) > point+1+int(t.Scale) && p[len(p)-1] == '0' {
		p = p[:len(p)-1]
	}
	if len(p)-point-1 > int(t.Scale) || len(p) > 64 {
		return decimal128.Num{}, false
	}
	// The unscaled value: the digits without the point, zeros added up to the scale.
	digits := append(make([]byte, 0, 128), p...)
	decimals := 0
	if point < len(p) {
		digits = append(digits[:point], p[point+1:]...)
		decimals = len(p) - point - 1
	}
	for ; decimals < int(t.Scale); decimals++ {
		digits = append(digits, '0')
	}
	unscaled, ok := new(big.Int).SetString(string(digits), 10)
	if !ok || unscaled.BitLen() > 127 {
		return decimal128.Num{}, false
	}
	n := decimal128.FromBigInt(unscaled)
	return n, n.FitsInPrecision(t.Precision)
}

// Builder makes an Arrow array from text.
type Builder struct {
	typ     arrow.DataType
	n       int
	values  []byte // fixed width
	offsets []int32
	data    []byte
	valid   []byte
	nulls   int
}

// NewBuilder makes a builder for at most n values of a type that ParseType or
// Kinds.Type gives; bytes is a guess at how much text string values have.
func NewBuilder(t arrow.DataType, n, bytes int) *Builder {
	b := &Builder{typ: t, valid: make([]byte, (n+7)/8)}
	switch t.ID() {
	case arrow.STRING:
		b.offsets = make([]int32, 1, n+1)
		b.data = make([]byte, 0, bytes)
	case arrow.BOOL:
		b.values = make([]byte, (n+7)/8)
	case arrow.DATE32:
		b.values = make([]byte, 0, 4*n)
	case arrow.DECIMAL128:
		b.values = make([]byte, 0, 16*n)
	default:
		b.values = make([]byte, 0, 8*n)
	}
	return b
}

// Null appends a null.
func (b *Builder) Null() {
	b.nulls++
	switch b.typ.ID() {
	case arrow.STRING:
		b.offsets = append(b.offsets, int32(len(b.data)))
	case arrow.BOOL:
	default:
		b.fixed(make([]byte, b.typ.(arrow.FixedWidthDataType).BitWidth()/8))
	}
	b.n++
}

func (b *Builder) fixed(p []byte) { b.values = append(b.values, p...) }

// native appends a value in the machine's own byte order, as Arrow keeps it.
func native[T any](b *Builder, v T) {
	b.fixed(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
}

// Append appends the value that the text stands for; where it stands for none a
// null is appended, and reason says what is wrong.
func (b *Builder) Append(p []byte) (reason string) {
	switch b.typ.ID() {
	case arrow.STRING:
		if !utf8.Valid(p) {
			b.Null()
			return NotUTF8
		}
		b.data = append(b.data, p...)
		b.offsets = append(b.offsets, int32(len(b.data)))
	case arrow.INT64:
		v, ok := ParseInt(p)
		if !ok && string(p) != "-0" {
			return b.bad()
		}
		native(b, v)
	case arrow.FLOAT64:
		v, ok := ParseReal(p)
		if !ok {
			return b.bad()
		}
		native(b, v)
	case arrow.BOOL:
		v, ok := ParseBool(p)
		if !ok {
			return b.bad()
		}
		if v {
			b.values[b.n>>3] |= 1 << (b.n & 7)
		}
	case arrow.DATE32:
		v, ok := ParseDate(p)
		if !ok {
			return b.bad()
		}
		native(b, v)
	case arrow.TIMESTAMP:
		v, zone, ok := ParseTimestamp(p)
		if !ok || (zone != 0) != (b.typ.(*arrow.TimestampType).TimeZone != "") {
			return b.bad()
		}
		native(b, v)
	case arrow.DECIMAL128:
		v, ok := parseDecimal(p, b.typ.(*arrow.Decimal128Type))
		if !ok {
			return b.bad()
		}
		native(b, v)
	}
	b.valid[b.n>>3] |= 1 << (b.n & 7)
	b.n++
	return ""
}

func (b *Builder) bad() string {
	b.Null()
	return NotA(b.typ)
}

// Array returns the array; the builder must not be used any more.
func (b *Builder) Array() arrow.Array {
	var valid *memory.Buffer
	if b.nulls > 0 {
		valid = memory.NewBufferBytes(b.valid)
	}
	bufs := []*memory.Buffer{valid, memory.NewBufferBytes(b.values)}
	if b.typ.ID() == arrow.STRING {
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(b.offsets)),
			memory.NewBufferBytes(b.data)}
	}
	return array.MakeFromData(array.NewData(b.typ, b.n, bufs, nil, b.nulls, 0))
}
