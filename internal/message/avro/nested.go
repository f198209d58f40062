package avro

import (
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// appendValue appends the value at v[at], of type n and found well-formed by
// skip, to a builder of n's Arrow type. fault names a part that Arrow cannot hold,
// which is replaced by null.
func appendValue(b array.Builder, n *node, v []byte, at int) (next int, fault string) {
	end := n.skip(v, at, 0)
	switch n.kind {
	case kindUnion:
		return appendUnion(b, n, v, at)
	case kindRecord:
		s := b.(*array.StructBuilder)
		s.Append(true)
		for i, f := range n.fields {
			var bad string
			if at, bad = appendValue(s.FieldBuilder(i), f.node, v, at); bad != "" {
				fault = bad
			}
		}
		return at, fault
	case kindArray:
		l := b.(*array.ListBuilder)
		l.Append(true)
		return appendBlocks(n, v, at, nil, l.ValueBuilder())
	case kindMap:
		m := b.(*array.MapBuilder)
		m.Append(true)
		return appendBlocks(n, v, at, m.KeyBuilder().(*array.StringBuilder), m.ItemBuilder())
	case kindNull:
		b.AppendNull()
		return at, ""
	}
	return end, appendScalar(b, n, v, at, end)
}

func appendUnion(b array.Builder, n *node, v []byte, at int) (next int, fault string) {
	which, at := long(v, at)
	branch := n.branches[which]
	if several, _, _ := n.value(); several == n {
		u := b.(*array.DenseUnionBuilder)
		u.Append(arrow.UnionTypeCode(which))
		return appendValue(u.Child(int(which)), branch, v, at)
	}
	return appendValue(b, branch, v, at)
}

// appendBlocks appends the items of an array or, with their keys, of a map.
func appendBlocks(n *node, v []byte, at int, keys *array.StringBuilder, items array.Builder) (next int, fault string) {
	for {
		count, _, next := n.block(v, at)
		if next < 0 || count == 0 {
			return next, fault
		}
		at = next
		for range count {
			if keys != nil {
				from, to := span(v, at)
				if !utf8.Valid(v[from:to]) {
					fault = notUTF8
					keys.Append("")
				} else {
					keys.BinaryBuilder.Append(v[from:to])
				}
				at = to
			}
			var bad string
			if at, bad = appendValue(items, n.elem, v, at); bad != "" {
				fault = bad
			}
		}
	}
}

// appendScalar appends a value that is not nested.
func appendScalar(b array.Builder, n *node, v []byte, at, end int) (fault string) {
	integer := func() int64 {
		x, _ := long(v, at)
		return x
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v[at] == 1)
	case *array.Int32Builder:
		b.Append(int32(integer()))
	case *array.Date32Builder:
		b.Append(arrow.Date32(integer()))
	case *array.Time32Builder:
		b.Append(arrow.Time32(integer()))
	case *array.Int64Builder:
		b.Append(integer())
	case *array.Time64Builder:
		b.Append(arrow.Time64(integer()))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(integer()))
	case *array.Float32Builder:
		b.Append(float32(float(n, v, at)))
	case *array.Float64Builder:
		b.Append(float(n, v, at))
	case *array.Decimal128Builder, *array.Decimal256Builder:
		if !appendDecimal(b, n, v, at) {
			b.AppendNull()
			return outside
		}
	case *array.StringBuilder:
		text := n.text(v, at, end)
		if !utf8.Valid(text) {
			b.AppendNull()
			return notUTF8
		}
		if b.DataLen()+len(text) > math.MaxInt32 {
			b.AppendNull()
			return tooLarge
		}
		b.BinaryBuilder.Append(text)
	case *array.BinaryBuilder:
		text := n.text(v, at, end)
		if b.DataLen()+len(text) > math.MaxInt32 {
			b.AppendNull()
			return tooLarge
		}
		b.Append(text)
	case *array.FixedSizeBinaryBuilder:
		b.Append(v[at:end])
	default:
		b.AppendNull()
		return outside
	}
	return ""
}

// appendDecimal appends a decimal if the builder's precision can hold it, and reports
// whether it can.
func appendDecimal(b array.Builder, n *node, v []byte, at int) bool {
	u, ok := unscaled(n, v, at)
	if !ok {
		return false
	}
	precision := n.arrow.(arrow.DecimalType).GetPrecision()
	switch b := b.(type) {
	case *array.Decimal128Builder:
		if u.BitLen() <= 127 {
			if x := decimal128.FromBigInt(u); x.FitsInPrecision(precision) {
				b.Append(x)
				return true
			}
		}
	case *array.Decimal256Builder:
		if u.BitLen() <= 255 {
			if x := decimal256.FromBigInt(u); x.FitsInPrecision(precision) {
				b.Append(x)
				return true
			}
		}
	}
	return false
}
