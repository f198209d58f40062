package avro

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// nearest returns the float64 nearest to a number that no float64 equals.
func nearest(number string) float64 {
	// The error means an overflow; the value is then infinite.
	x, _ := strconv.ParseFloat(number, 64)
	return x
}

// array decodes into an Arrow array of the column's type, with a value or null
// for each record.
func (d *columnDecoder) array() arrow.Array {
	switch t := d.field.Type.(type) {
	case *arrow.NullType:
		return array.NewNull(d.block.N)
	case *arrow.BooleanType:
		return d.booleans()
	case *arrow.Int32Type, *arrow.Date32Type, *arrow.Time32Type:
		return fixed(d, func(row int, c *cell, v []byte, from int) (int32, bool) {
			x, _ := long(v, from)
			return int32(x), x >= math.MinInt32 && x <= math.MaxInt32
		})
	case *arrow.Int64Type, *arrow.Time64Type, *arrow.TimestampType:
		return fixed(d, func(row int, c *cell, v []byte, from int) (int64, bool) {
			x, _ := long(v, from)
			return x, true
		})
	case *arrow.Float32Type:
		return fixed(d, func(row int, c *cell, v []byte, from int) (float32, bool) {
			x := float(c.node, v, from)
			return float32(x), c.node.kind != kindDouble || narrows(x)
		})
	case *arrow.Float64Type:
		return fixed(d, func(row int, c *cell, v []byte, from int) (float64, bool) {
			return float(c.node, v, from), true
		})
	case *arrow.Decimal128Type:
		return fixed(d, func(row int, c *cell, v []byte, from int) (decimal128.Num, bool) {
			u, ok := unscaled(c.node, v, from)
			if !ok {
				return decimal128.Num{}, false
			}
			if u.IsInt64() { // the usual case; for other values FitsInPrecision needs a big number
				x := decimal128.FromI64(u.Int64())
				return x, x.FitsInPrecision(t.Precision)
			}
			if u.BitLen() > 127 {
				return decimal128.Num{}, false
			}
			x := decimal128.FromBigInt(u)
			return x, x.FitsInPrecision(t.Precision)
		})
	case *arrow.Decimal256Type:
		return fixed(d, func(row int, c *cell, v []byte, from int) (decimal256.Num, bool) {
			u, ok := unscaled(c.node, v, from)
			if !ok || u.BitLen() > 255 {
				return decimal256.Num{}, false
			}
			x := decimal256.FromBigInt(u)
			return x, x.FitsInPrecision(t.Precision)
		})
	case *arrow.StringType:
		return d.texts(true)
	case *arrow.BinaryType:
		return d.texts(false)
	case *arrow.FixedSizeBinaryType:
		return d.fixedBytes(t)
	}
	return d.nested()
}

// float reads a number as a float64; int and long are converted.
func float(n *node, v []byte, from int) float64 {
	switch n.kind {
	case kindFloat:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v[from:])))
	case kindDouble:
		return math.Float64frombits(binary.LittleEndian.Uint64(v[from:]))
	}
	x, _ := long(v, from)
	return float64(x)
}

// unscaled reads a decimal's integer: two's complement, most significant byte
// first, here of at most 256 bits besides redundant leading bytes.
func unscaled(n *node, v []byte, from int) (*big.Int, bool) {
	var b []byte
	if n.kind == kindFixed {
		b = v[from : from+n.size]
	} else {
		start, to := span(v, from)
		b = v[start:to]
	}
	if len(b) == 0 {
		return new(big.Int), true
	}
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	if len(b) > 32 {
		return nil, false
	}
	u := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		u.Sub(u, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return u, true
}

// fixed returns an array of values of one size; read reports whether the column's type
// can hold the value.
func fixed[T any](d *columnDecoder, read func(row int, c *cell, v []byte, from int) (T, bool)) arrow.Array {
	out := make([]T, d.block.N)
	valid := newValidity(d.block.N)
	d.each(func(row int, c *cell, v []byte, from, to int) {
		x, ok := read(row, c, v, from)
		if !ok {
			d.reject(row, outside)
			valid.clear(row)
			return
		}
		out[row] = x
	}, valid.clear)
	var zero T
	var raw []byte
	if len(out) > 0 {
		raw = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(out)*int(unsafe.Sizeof(zero)))
	}
	return valid.array(d.field.Type, raw)
}

// validity is an Arrow bitmap of the values that are not null.
type validity struct {
	bits  []byte
	n     int
	nulls int
}

func newValidity(n int) *validity {
	v := &validity{bits: make([]byte, (n+7)/8), n: n}
	for i := range v.bits {
		v.bits[i] = 0xff
	}
	return v
}

// clear makes value i null; it must be called at most once for each i.
func (v *validity) clear(i int) {
	v.bits[i>>3] &^= 1 << (i & 7)
	v.nulls++
}

// array returns an array of the bitmap and the buffers that follow it.
func (v *validity) array(t arrow.DataType, raw ...[]byte) arrow.Array {
	buffers := make([]*memory.Buffer, 1, len(raw)+1)
	if v.nulls > 0 {
		buffers[0] = memory.NewBufferBytes(v.bits)
	}
	for _, r := range raw {
		buffers = append(buffers, memory.NewBufferBytes(r))
	}
	data := array.NewData(t, v.n, buffers, nil, v.nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

func (d *columnDecoder) booleans() arrow.Array {
	bits := make([]byte, (d.block.N+7)/8)
	valid := newValidity(d.block.N)
	d.each(func(row int, c *cell, v []byte, from, to int) {
		bits[row>>3] |= v[from] << (row & 7)
	}, valid.clear)
	return valid.array(d.field.Type, bits)
}

func (d *columnDecoder) fixedBytes(t *arrow.FixedSizeBinaryType) arrow.Array {
	out := make([]byte, d.block.N*t.ByteWidth)
	valid := newValidity(d.block.N)
	d.each(func(row int, c *cell, v []byte, from, to int) {
		copy(out[row*t.ByteWidth:], v[from:to])
	}, valid.clear)
	return valid.array(t, out)
}

// texts returns an array of strings or bytes.
func (d *columnDecoder) texts(text bool) arrow.Array {
	n := d.block.N
	offsets := make([]int32, n+1)
	var data []byte
	valid := newValidity(n)
	d.each(func(row int, c *cell, v []byte, from, to int) {
		b := c.node.text(v, from, to)
		switch {
		case len(data)+len(b) > math.MaxInt32:
			d.reject(row, tooLarge)
			valid.clear(row)
		case text && c.node.kind != kindEnum && !utf8.Valid(b):
			d.reject(row, notUTF8)
			valid.clear(row)
		default:
			data = append(data, b...)
		}
		offsets[row+1] = int32(len(data))
	}, func(row int) {
		valid.clear(row)
		offsets[row+1] = int32(len(data))
	})
	return valid.array(d.field.Type, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(offsets))), 4*len(offsets)),
		data)
}

// text returns the bytes of a string, of bytes, of a fixed, or an enum's symbol.
func (n *node) text(v []byte, from, to int) []byte {
	switch n.kind {
	case kindEnum:
		i, _ := long(v, from)
		return n.texts[i]
	case kindFixed:
		return v[from:to]
	}
	from, to = span(v, from)
	return v[from:to]
}

// nested decodes lists, maps, records and unions of several types.
func (d *columnDecoder) nested() arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, d.field.Type)
	defer b.Release()
	d.each(func(row int, c *cell, v []byte, from, to int) {
		if _, fault := appendValue(b, c.node, v, from); fault != "" {
			d.reject(row, fault)
		}
	}, func(int) { b.AppendNull() })
	return b.NewArray()
}
