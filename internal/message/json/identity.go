package json

import (
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/text"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// The children of an identity column. Its nulls are nulls of the strings.
const (
	kindString arrow.UnionTypeCode = iota
	kindNumber
	kindBoolean
	kindDecimal // integers that a float64 would change
)

// maxDigits is the greatest number of digits of an identifying integer.
const maxDigits = 76

var (
	decimals     = &arrow.Decimal256Type{Precision: maxDigits}
	identityType = arrow.DenseUnionOf([]arrow.Field{
		{Name: "string", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "number", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "boolean", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "decimal", Type: decimals, Nullable: true},
	}, []arrow.UnionTypeCode{kindString, kindNumber, kindBoolean, kindDecimal})
)

// Reasons for which an identifying value is rejected.
const (
	halfCharacter = "half a surrogate pair, which is no text"
	tooLong       = "an integer of more than 76 digits"
)

// identity collects the values of an identity column.
type identity struct {
	kinds   []arrow.UnionTypeCode
	at      []int32
	data    []byte
	offsets []int32
	valid   []byte // of the strings
	nulls   int
	numbers []float64
	bools   []byte
	truths  int // booleans so far
	wide    []decimal256.Num
}

// identities decodes column i of the layout's Read.
func identities(b *microdata.Block, c *members.Records, i int, name string) arrow.Array {
	values := c.Values(i)
	size := 0
	for _, at := range values {
		size += int(at.End - at.Start)
	}
	v := identity{
		kinds: make([]arrow.UnionTypeCode, 0, b.N), at: make([]int32, 0, b.N),
		data: make([]byte, 0, size), offsets: make([]int32, 1, b.N+1), valid: make([]byte, (b.N+7)/8),
	}
	for r, at := range values {
		if reason := v.append(c.Data[at.Start:at.End]); reason != "" {
			v.null()
			b.Reject(r, name, reason)
		}
	}
	return v.array()
}

// next sets the kind of the next value and its index in its child.
func (v *identity) next(kind arrow.UnionTypeCode, at int) {
	v.kinds, v.at = append(v.kinds, kind), append(v.at, int32(at))
}

func (v *identity) null() {
	v.next(kindString, len(v.offsets)-1)
	v.offsets = append(v.offsets, int32(len(v.data)))
	v.nulls++
}

// append appends a valid JSON value. If it cannot, it appends nothing and returns the
// reason.
func (v *identity) append(p []byte) (reason string) {
	if members.IsNull(p) {
		v.null()
		return ""
	}
	switch p[0] {
	case '"':
		data, ok := members.Unquote(v.data, p)
		if !ok {
			v.data = data[:len(v.data)]
			return halfCharacter
		}
		at := len(v.offsets) - 1
		v.next(kindString, at)
		v.valid[at>>3] |= 1 << (at & 7)
		v.data, v.offsets = data, append(v.offsets, int32(len(data)))
		return ""
	case 't', 'f':
		v.next(kindBoolean, v.truths)
		if v.truths&7 == 0 {
			v.bools = append(v.bools, 0)
		}
		if p[0] == 't' {
			v.bools[v.truths>>3] |= 1 << (v.truths & 7)
		}
		v.truths++
		return ""
	}
	x, ok := text.ParseFloat(p)
	if !ok {
		return members.TooBig
	}
	if x >= microdata.MaxExact || x <= -microdata.MaxExact {
		if _, wide := text.Classify(p); wide {
			return v.integer(p)
		}
	}
	v.next(kindNumber, len(v.numbers))
	v.numbers = append(v.numbers, x)
	return ""
}

func (v *identity) integer(p []byte) (reason string) {
	if len(p) > maxDigits && (p[0] != '-' || len(p) > maxDigits+1) {
		return tooLong
	}
	n, ok := new(big.Int).SetString(string(p), 10)
	if !ok {
		return members.NotJSON
	}
	v.next(kindDecimal, len(v.wide))
	v.wide = append(v.wide, decimal256.FromBigInt(n))
	return ""
}

func (v *identity) array() arrow.Array {
	buffer := memory.NewBufferBytes
	child := func(t arrow.DataType, n, nulls int, buffers ...*memory.Buffer) arrow.ArrayData {
		return array.NewData(t, n, buffers, nil, nulls, 0)
	}
	var valid *memory.Buffer
	if v.nulls > 0 {
		valid = buffer(v.valid)
	}
	return array.MakeFromData(array.NewData(identityType, len(v.kinds),
		[]*memory.Buffer{nil, buffer(arrow.Int8Traits.CastToBytes(v.kinds)), buffer(arrow.Int32Traits.CastToBytes(v.at))},
		[]arrow.ArrayData{
			child(arrow.BinaryTypes.String, len(v.offsets)-1, v.nulls, valid, buffer(arrow.Int32Traits.CastToBytes(v.offsets)),
				buffer(v.data)),
			child(arrow.PrimitiveTypes.Float64, len(v.numbers), 0, nil, buffer(arrow.Float64Traits.CastToBytes(v.numbers))),
			child(arrow.FixedWidthTypes.Boolean, v.truths, 0, nil, buffer(v.bools)),
			child(decimals, len(v.wide), 0, nil, buffer(arrow.Decimal256Traits.CastToBytes(v.wide))),
		}, 0, 0))
}
