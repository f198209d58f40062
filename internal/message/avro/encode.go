package avro

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
)

// source is a released column of a block in the form for encoding.
type source struct {
	array arrow.Array
	i32   []int32 // for the types that masks change most often, else nil
	i64   []int64
	f32   []float32
	f64   []float64
	nulls bool
}

func newSource(a arrow.Array) source {
	s := source{array: a, nulls: a.NullN() > 0 || a.DataType().ID() == arrow.NULL ||
		a.DataType().ID() == arrow.DICTIONARY || arrow.IsUnion(a.DataType().ID())}
	switch a := a.(type) {
	case *array.Int32:
		s.i32 = a.Int32Values()
	case *array.Int64:
		s.i64 = a.Int64Values()
	case *array.Float32:
		s.f32 = a.Float32Values()
	case *array.Float64:
		s.f64 = a.Float64Values()
	}
	return s
}

func (s *source) null(i int) bool { return s.nulls && isNull(s.array, i) }

// target is a field's type in the form for encoding.
type target struct {
	node   *node // the field's type, which may be a union
	value  *node
	null   []byte // the encoded null branch; nil if there is none
	branch []byte // the encoded branch of the values
}

func newTarget(n *node) target {
	v, null, branch := n.value()
	t := target{node: n, value: v}
	if null >= 0 {
		t.null = appendLong(nil, int64(null))
	}
	if branch >= 0 {
		t.branch = appendLong(nil, int64(branch))
	}
	if v.kind == kindNull {
		t.null = t.branch // a null consists of its branch's bytes only
		if t.null == nil {
			t.null = []byte{}
		}
	}
	return t
}

// append appends value i of a column; ok is false where the type cannot hold it.
func (t *target) append(dst []byte, s *source, i int) (_ []byte, ok bool) {
	if s.nulls && isNull(s.array, i) {
		if t.value != t.node || t.value.kind != kindUnion {
			return append(dst, t.null...), t.null != nil
		}
		return appendArrow(dst, t.node, s.array, i)
	}
	dst = append(dst, t.branch...)
	switch t.value.kind {
	case kindInt:
		if s.i32 != nil {
			return appendLong(dst, int64(s.i32[i])), true
		}
	case kindLong:
		if s.i64 != nil {
			return appendLong(dst, s.i64[i]), true
		}
	case kindFloat:
		if s.f32 != nil {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(s.f32[i])), true
		}
	case kindDouble:
		if s.f64 != nil {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(s.f64[i])), true
		}
	}
	return appendArrow(dst, t.value, s.array, i)
}

// isNull reports whether value i is null, also in a dictionary or a union.
func isNull(a arrow.Array, i int) bool {
	if a.IsNull(i) || a.DataType().ID() == arrow.NULL {
		return true
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return isNull(a.Dictionary(), a.GetValueIndex(i))
	case *array.DenseUnion:
		return isNull(a.Field(a.ChildID(i)), int(a.ValueOffset(i)))
	case *array.SparseUnion:
		return isNull(a.Field(a.ChildID(i)), i)
	case array.ExtensionArray:
		return isNull(a.Storage(), i)
	}
	return false
}

// appendArrow appends value i of any array in type n; ok is false if n cannot hold it.
func appendArrow(dst []byte, n *node, a arrow.Array, i int) (_ []byte, ok bool) {
	switch u := a.(type) {
	case *array.Dictionary:
		if a.IsNull(i) {
			a, i = array.NewNull(1), 0
			break
		}
		return appendArrow(dst, n, u.Dictionary(), u.GetValueIndex(i))
	case *array.DenseUnion:
		return appendBranch(dst, n, u.Field(u.ChildID(i)), int(u.ValueOffset(i)))
	case *array.SparseUnion:
		return appendBranch(dst, n, u.Field(u.ChildID(i)), i)
	case array.ExtensionArray:
		return appendArrow(dst, n, u.Storage(), i)
	}
	if n.kind == kindUnion {
		return appendBranch(dst, n, a, i)
	}
	if isNull(a, i) {
		return dst, n.kind == kindNull
	}
	switch n.kind {
	case kindString, kindBytes, kindFixed, kindEnum:
		return appendText(dst, n, a, i)
	case kindArray, kindMap:
		return appendItems(dst, n, a, i)
	case kindRecord:
		s, ok := a.(*array.Struct)
		if !ok || s.NumField() != len(n.fields) {
			return dst, false
		}
		for k, f := range n.fields {
			if dst, ok = appendArrow(dst, f.node, s.Field(k), i); !ok {
				return dst, false
			}
		}
		return dst, true
	}
	return appendNumber(dst, n, a, i)
}

// appendNumber appends a boolean, an integer or a floating-point number; ok is false if
// n cannot hold the value.
func appendNumber(dst []byte, n *node, a arrow.Array, i int) (_ []byte, ok bool) {
	switch n.kind {
	case kindBoolean:
		b, ok := a.(*array.Boolean)
		if !ok {
			return dst, false
		}
		if b.Value(i) {
			return append(dst, 1), true
		}
		return append(dst, 0), true
	case kindInt, kindLong:
		x, ok := integer(a, i)
		if !ok || n.kind == kindInt && (x < math.MinInt32 || x > math.MaxInt32) {
			return dst, false
		}
		return appendLong(dst, x), true
	case kindFloat:
		switch f := a.(type) {
		case *array.Float32:
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(f.Value(i))), true
		case *array.Float16:
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float16.Num.Float32(f.Value(i)))), true
		}
	case kindDouble:
		if f, ok := a.(*array.Float64); ok {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f.Value(i))), true
		}
	}
	return dst, false
}

// appendBranch appends a value of a union, in the first branch that can hold it.
func appendBranch(dst []byte, n *node, a arrow.Array, i int) (_ []byte, ok bool) {
	if n.kind != kindUnion {
		return appendArrow(dst, n, a, i)
	}
	before := len(dst)
	null := isNull(a, i)
	for k, b := range n.branches {
		if null != (b.kind == kindNull) {
			continue
		}
		dst = appendLong(dst, int64(k))
		if null {
			return dst, true
		}
		if dst, ok = appendArrow(dst, b, a, i); ok {
			return dst, true
		}
		dst = dst[:before]
	}
	return dst, false
}

// integer reads an integer, or a date or time in the unit of the schema derived from
// its type (columnType).
func integer(a arrow.Array, i int) (int64, bool) {
	switch a := a.(type) {
	case *array.Int8:
		return int64(a.Value(i)), true
	case *array.Int16:
		return int64(a.Value(i)), true
	case *array.Int32:
		return int64(a.Value(i)), true
	case *array.Int64:
		return a.Value(i), true
	case *array.Uint8:
		return int64(a.Value(i)), true
	case *array.Uint16:
		return int64(a.Value(i)), true
	case *array.Uint32:
		return int64(a.Value(i)), true
	case *array.Date32:
		return int64(a.Value(i)), true
	case *array.Date64:
		const day = 24 * int64(time.Hour/time.Millisecond)
		x := int64(a.Value(i))
		return (x - (x%day+day)%day) / day, true
	case *array.Time32:
		x := int64(a.Value(i))
		if a.DataType().(*arrow.Time32Type).Unit == arrow.Second {
			x *= 1000
		}
		return x, true
	case *array.Time64:
		return int64(a.Value(i)), true
	case *array.Duration:
		return int64(a.Value(i)), true
	case *array.Timestamp:
		x := int64(a.Value(i))
		if a.DataType().(*arrow.TimestampType).Unit == arrow.Second {
			return x * 1000, x <= math.MaxInt64/1000 && x >= math.MinInt64/1000
		}
		return x, true
	}
	return 0, false
}

// appendText appends a string, bytes, a fixed, a decimal or an enum's symbol.
func appendText(dst []byte, n *node, a arrow.Array, i int) (_ []byte, ok bool) {
	var text []byte
	switch a := a.(type) {
	case array.StringLike:
		s := a.Value(i)
		switch n.kind {
		case kindEnum:
			ordinal, ok := n.ordinals[s]
			return appendLong(dst, ordinal), ok
		case kindFixed:
			return append(dst, s...), len(s) == n.size
		}
		return append(appendLong(dst, int64(len(s))), s...), true
	case interface{ Value(int) []byte }: // binary of every kind
		text = a.Value(i)
	case *array.Uint64:
		return appendUnscaled(dst, n, new(big.Int).SetUint64(a.Value(i)))
	case *array.Decimal32:
		return appendUnscaled(dst, n, big.NewInt(int64(a.Value(i))))
	case *array.Decimal64:
		return appendUnscaled(dst, n, big.NewInt(int64(a.Value(i))))
	case *array.Decimal128:
		return appendUnscaled(dst, n, a.Value(i).BigInt())
	case *array.Decimal256:
		return appendUnscaled(dst, n, a.Value(i).BigInt())
	default:
		return dst, false
	}
	switch n.kind {
	case kindFixed:
		return append(dst, text...), len(text) == n.size
	case kindBytes, kindString:
		return append(appendLong(dst, int64(len(text))), text...), true
	}
	return dst, false
}

// appendUnscaled appends a decimal's integer in two's complement, most
// significant byte first: the fewest possible bytes, or all bytes of a fixed.
func appendUnscaled(dst []byte, n *node, u *big.Int) (_ []byte, ok bool) {
	sign, magnitude := byte(0), u
	if u.Sign() < 0 {
		// The complement of -u-1 is u's representation.
		sign, magnitude = 0xff, new(big.Int).Not(u)
	}
	size := magnitude.BitLen()/8 + 1
	switch n.kind {
	case kindFixed:
		if size > n.size {
			return dst, false
		}
		size = n.size
	case kindBytes:
		dst = appendLong(dst, int64(size))
	default:
		return dst, false
	}
	from := len(dst)
	dst = slices.Grow(dst, size)[:from+size]
	magnitude.FillBytes(dst[from:])
	for k := range dst[from:] {
		dst[from+k] ^= sign
	}
	return dst, true
}

// appendItems appends a list as an array, a map as a map.
func appendItems(dst []byte, n *node, a arrow.Array, i int) (_ []byte, ok bool) {
	l, ok := a.(array.ListLike)
	if !ok {
		return dst, false
	}
	from, to := l.ValueOffsets(i)
	if from == to {
		return append(dst, 0), true
	}
	dst = appendLong(dst, to-from)
	items := l.ListValues()
	var keys arrow.Array
	if n.kind == kindMap {
		m, ok := a.(*array.Map)
		if !ok {
			return dst, false
		}
		keys, items = m.Keys(), m.Items()
	}
	key := node{kind: kindString}
	for k := from; k < to; k++ {
		if keys != nil {
			if dst, ok = appendText(dst, &key, keys, int(k)); !ok {
				return dst, false
			}
		}
		if dst, ok = appendArrow(dst, n.elem, items, int(k)); !ok {
			return dst, false
		}
	}
	return append(dst, 0), true
}
