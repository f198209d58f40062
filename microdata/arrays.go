package microdata

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Keep returns a function that selects the records to be released, for ToArray; nil if no
// record is rejected.
func (b *Block) Keep() func(i int) bool {
	if b.rejected == nil {
		return nil
	}
	return func(i int) bool { return !b.Rejected(i) }
}

// ToArray returns the first n numbers of v as an array of the field's type,
// which must be numeric (Field.Numeric, or float16), without the records that
// keep excludes; keep may be nil. Integers and decimals take the nearest value
// that the type has, the ends of its range for what lies beyond; NaN in a type
// without NaN is null. Slots of nulls are zero. The array does not share memory
// with v.
func ToArray(v Vector, n int, f Field, keep func(i int) bool) arrow.Array {
	v.Values = v.Values[:n]
	if keep != nil {
		v = pick(v, keep)
	}
	lo, hi := f.Range()
	switch t := f.Type.(type) {
	case *arrow.Float64Type:
		return floats[float64](v, t, lo, hi)
	case *arrow.Float32Type:
		return floats[float32](v, t, lo, hi)
	case *arrow.Int8Type:
		return integers[int8](v, t, lo, hi)
	case *arrow.Int16Type:
		return integers[int16](v, t, lo, hi)
	case *arrow.Int32Type:
		return integers[int32](v, t, lo, hi)
	case *arrow.Int64Type:
		return integers[int64](v, t, lo, hi)
	case *arrow.Uint8Type:
		return integers[uint8](v, t, lo, hi)
	case *arrow.Uint16Type:
		return integers[uint16](v, t, lo, hi)
	case *arrow.Uint32Type:
		return integers[uint32](v, t, lo, hi)
	case *arrow.Uint64Type:
		return integers[uint64](v, t, lo, hi)
	case *arrow.Float16Type:
		return build(v, t, func(x float64) float16.Num { return float16.New(float32(x)) }, false)
	case *arrow.Decimal32Type:
		g := newGrid(t)
		return build(v, t, func(x float64) decimal.Decimal32 { return decimal.Decimal32(g.small(x)) }, true)
	case *arrow.Decimal64Type:
		g := newGrid(t)
		return build(v, t, func(x float64) decimal.Decimal64 { return decimal.Decimal64(g.small(x)) }, true)
	case *arrow.Decimal128Type:
		g := newGrid(t)
		return build(v, t, func(x float64) decimal128.Num {
			if u, ok := g.fast(x); ok {
				return decimal128.FromI64(int64(u))
			}
			return decimal128.FromBigInt(g.wide(x))
		}, true)
	case *arrow.Decimal256Type:
		g := newGrid(t)
		return build(v, t, func(x float64) decimal256.Num {
			if u, ok := g.fast(x); ok {
				return decimal256.FromI64(int64(u))
			}
			return decimal256.FromBigInt(g.wide(x))
		}, true)
	}
	panic(fmt.Sprintf("microdata: ToArray of %s, which is not numeric", f.Type))
}

// pick returns the kept values of v in memory of their own.
func pick(v Vector, keep func(i int) bool) Vector {
	out := Vector{Values: make([]float64, 0, len(v.Values))}
	if v.Valid != nil {
		out.Valid = NewBitmap(len(v.Values), nil)
	}
	for i, x := range v.Values {
		if !keep(i) {
			continue
		}
		if !v.Valid.Has(i) {
			out.Valid.Clear(len(out.Values))
		}
		out.Values = append(out.Values, x)
	}
	return out
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func integers[T integer](v Vector, t arrow.DataType, lo, hi float64) arrow.Array {
	out := make([]T, len(v.Values))
	var nan []int
	for i, x := range v.Values {
		switch x = math.RoundToEven(x); {
		case x >= lo && x <= hi:
			out[i] = T(x)
		case x > hi:
			out[i] = T(hi)
		case x < lo:
			out[i] = T(lo)
		default:
			nan = append(nan, i)
		}
	}
	return assemble(t, out, without(v.Valid, nan, len(out)))
}

func floats[T float32 | float64](v Vector, t arrow.DataType, lo, hi float64) arrow.Array {
	out := make([]T, len(v.Values))
	for i, x := range v.Values {
		switch {
		case x > hi && !math.IsInf(x, 0): // beyond float32, not a number that was infinite
			x = hi
		case x < lo && !math.IsInf(x, 0):
			x = lo
		}
		out[i] = T(x)
	}
	return assemble(t, out, v.Valid)
}

func build[T any](v Vector, t arrow.DataType, convert func(float64) T, nanIsNull bool) arrow.Array {
	out := make([]T, len(v.Values))
	var nan []int
	for i, x := range v.Values {
		if nanIsNull && math.IsNaN(x) {
			nan = append(nan, i)
			continue
		}
		if v.Valid.Has(i) {
			out[i] = convert(x)
		}
	}
	return assemble(t, out, without(v.Valid, nan, len(out)))
}

// without returns the bitmap with the bits of rows clear, a copy where there
// are any: the vector's own is not ours to change.
func without(valid Bitmap, rows []int, n int) Bitmap {
	if len(rows) == 0 {
		return valid
	}
	c := NewBitmap(n, nil)
	if valid != nil {
		copy(c, valid)
	}
	for _, i := range rows {
		c.Clear(i)
	}
	return c
}

// assemble makes an array of values and a bitmap, with zeros in the slots of
// nulls.
func assemble[T any](t arrow.DataType, values []T, valid Bitmap) arrow.Array {
	n, nulls := len(values), 0
	buffers := []*memory.Buffer{nil, nil}
	if valid != nil {
		bits := make([]byte, (n+7)/8)
		var zero T
		for i := range values {
			if valid.Has(i) {
				bits[i>>3] |= 1 << (i & 7)
			} else {
				values[i] = zero
				nulls++
			}
		}
		if nulls > 0 {
			buffers[0] = memory.NewBufferBytes(bits)
		}
	}
	var zero T
	if n > 0 {
		raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), n*int(unsafe.Sizeof(zero)))
		buffers[1] = memory.NewBufferBytes(raw)
	} else {
		buffers[1] = memory.NewBufferBytes(nil)
	}
	data := array.NewData(t, n, buffers, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}
