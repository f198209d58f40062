package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go/format"
)

// column collects the values of one leaf for a block: n slots, some of which may be
// null.
type column struct {
	l       *leaf
	n       int
	valid   []byte // Arrow's bitmap; nil if nothing is null
	nulls   int
	data    []byte
	offsets []int32
	most    int  // greatest number of bytes in data
	padded  bool // data has room for 8 bytes more than it needs
	err     error
}

// The greatest number of bytes in a column of a block, in total or, if that is more, per
// record: otherwise a dictionary of a few long values, or a page of one repeated value,
// could turn a file of kilobytes into gigabytes. An Arrow array has at most 2 GB.
const (
	mostBytes       = 256 << 20
	mostRecordBytes = 1 << 10
)

func mostOf(n int) int { return min(max(mostBytes, n*mostRecordBytes), 1<<31-1) }

func newColumn(l *leaf, n int) *column {
	c := &column{l: l, most: mostOf(n)}
	switch {
	case l.tooWide(n):
		c.err = c.tooLong(n)
	case l.width > 0:
		c.data = make([]byte, 0, n*l.width)
	default:
		c.offsets = make([]int32, 1, n+1)
	}
	return c
}

// tooWide reports whether n values of fixed width are too large for a block.
func (l *leaf) tooWide(n int) bool { return n*l.width > mostOf(n) }

func (c *column) tooLong(n int) error {
	return fmt.Errorf(
		"the values of %d records have together more than %d MB, the most that a block may have; use smaller blocks", n,
		c.most>>20)
}

// bytes adds a value of variable length, for which there must be room.
func (c *column) bytes(b []byte) {
	c.data = append(c.data, b...)
	c.offsets = append(c.offsets, int32(len(c.data)))
}

// value adds value i of v.
func (c *column) value(v *values, i int) {
	if w := c.l.width; w > 0 {
		c.data = append(c.data, v.data[i*w:(i+1)*w]...)
	} else {
		c.bytes(v.bytes(i))
	}
	c.mark(true)
}

// null adds a slot without a value.
func (c *column) null() {
	if c.l.width > 0 {
		c.data = append(c.data, make([]byte, c.l.width)...)
	} else {
		c.offsets = append(c.offsets, int32(len(c.data)))
	}
	c.mark(false)
}

// mark adds a bit to the bitmap, which is created at the first null.
func (c *column) mark(valid bool) {
	i := c.n
	c.n++
	if c.valid == nil {
		if valid {
			return
		}
		c.valid = make([]byte, i/8+1, cap(c.data)/max(c.l.width, 8)/8+i/8+64)
		for k := range c.valid {
			c.valid[k] = 0xff
		}
		c.valid[i/8] &= 1<<(i%8) - 1
		c.nulls++
		return
	}
	if i/8 >= len(c.valid) {
		c.valid = append(c.valid, 0)
	}
	if valid {
		c.valid[i/8] |= 1 << (i % 8)
	} else {
		c.nulls++
	}
}

// flatArray returns the array of a flat column.
func flatArray(l *leaf, n int, segs []segment) (arrow.Array, error) {
	c := newColumn(l, n)
	if c.reserveFor(segs); c.err != nil {
		return nil, c.err
	}
	for _, s := range segs {
		v := &s.u.v
		if v.valid == nil {
			if l.width > 0 {
				c.data = append(c.data, v.data[s.from*l.width:(s.from+s.n)*l.width]...)
				c.present(s.n)
			} else {
				c.texts(v, s.from, s.n)
			}
			continue
		}
		for i := s.from; i < s.from+s.n; i++ {
			if v.valid.Has(i) {
				c.value(v, i)
			} else {
				c.null()
			}
		}
	}
	return c.array()
}

// reserveFor makes room for the values of segments of a flat column.
func (c *column) reserveFor(segs []segment) {
	if c.l.width > 0 {
		return
	}
	total, n := 0, 0
	for _, s := range segs {
		total += s.u.v.size(s.from, s.n)
		n += s.n
	}
	if total > c.most {
		c.err = c.tooLong(n)
		return
	}
	c.data, c.padded = make([]byte, 0, total+8), true
}

// size returns the number of bytes of the values from ≤ i < from+n of variable length.
func (v *values) size(from, n int) int {
	total := 0
	switch {
	case v.valid != nil:
		for i := from; i < from+n; i++ {
			if v.valid.Has(i) {
				total += len(v.bytes(i))
			}
		}
	case v.index != nil:
		ends := v.dict.offs
		for _, k := range v.index[from : from+n] {
			total += int(ends[k+1] - ends[k])
		}
	default:
		total = int(v.offsets[from+n] - v.offsets[from])
	}
	return total
}

// reserve makes room for the values of variable length for which each calls add. It stops when
// they are too long for n records.
func (c *column) reserve(n int, each func(add func(v *values, i int) bool)) {
	if c.l.width > 0 {
		return
	}
	total := 0
	each(func(v *values, i int) bool {
		total += len(v.bytes(i))
		return total <= c.most
	})
	if total > c.most {
		c.err = c.tooLong(n)
		return
	}
	c.data = make([]byte, 0, total)
}

// array returns an Arrow array of the column's type. Its memory is garbage-collected
// and need not be released.
func (c *column) array() (arrow.Array, error) {
	if c.err != nil {
		return nil, c.err
	}
	var err error
	data := c.data
	switch c.l.phys {
	case format.Boolean:
		data = packBits(data)
	case format.Int32:
		switch c.l.typ.ID() {
		case arrow.INT8, arrow.UINT8:
			data = narrow(data, 4, 1)
		case arrow.INT16, arrow.UINT16:
			data = narrow(data, 4, 2)
		}
	case format.Int96:
		data = timestamps(data)
	}
	if t, ok := c.l.typ.(arrow.DecimalType); ok {
		if data, err = c.decimals(t); err != nil {
			return nil, err
		}
	}
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(data)}
	if c.valid != nil {
		buffers[0] = memory.NewBufferBytes(c.valid)
	}
	switch c.l.typ.ID() {
	case arrow.STRING, arrow.BINARY:
		buffers = []*memory.Buffer{buffers[0], memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(c.offsets)), buffers[1]}
	}
	return array.MakeFromData(array.NewData(c.l.typ, c.n, buffers, nil, c.nulls, 0)), nil
}

func packBits(b []byte) []byte {
	out := make([]byte, (len(b)+7)/8)
	for i, v := range b {
		out[i/8] |= (v & 1) << (i % 8)
	}
	return out
}

func narrow(b []byte, from, to int) []byte {
	n := len(b) / from
	for i := range n {
		copy(b[i*to:(i+1)*to], b[i*from:])
	}
	return b[:n*to]
}

// julian is the Julian day number of 1 January 1970.
const julian = 2440588

// timestamps converts INT96 (nanoseconds of the day and Julian day number) to nanoseconds
// since 1970.
func timestamps(b []byte) []byte {
	out := make([]byte, len(b)/12*8)
	for i := 0; i+12 <= len(b); i += 12 {
		nanos := binary.LittleEndian.Uint64(b[i:])
		day := int64(binary.LittleEndian.Uint32(b[i+8:])) - julian
		binary.LittleEndian.PutUint64(out[i/12*8:], uint64(day*86_400_000_000_000+int64(nanos)))
	}
	return out
}

var errDecimal = errors.New("a decimal has more digits than its type allows")

// decimals converts the values to Arrow's little-endian decimals of 16 or 32 bytes.
func (c *column) decimals(t arrow.DecimalType) ([]byte, error) {
	size := t.BitWidth() / 8
	out := make([]byte, c.n*size)
	for i := range c.n {
		to := out[i*size : (i+1)*size]
		var src []byte
		switch c.l.phys {
		case format.Int32, format.Int64:
			src = c.data[i*c.l.width : (i+1)*c.l.width]
			copy(to, src)
			extend(to[len(src):], src[len(src)-1])
			continue
		case format.FixedLenByteArray:
			src = c.data[i*c.l.width : (i+1)*c.l.width]
		default:
			src = c.data[c.offsets[i]:c.offsets[i+1]]
		}
		if len(src) == 0 {
			continue // a null's slot
		}
		for k := range src {
			b := src[len(src)-1-k]
			if k < size {
				to[k] = b
			} else if b != byte(int8(src[0])>>7) {
				return nil, errDecimal
			}
		}
		if len(src) < size {
			extend(to[len(src):], src[0])
		}
	}
	return out, nil
}

// extend fills b with the sign of the most significant byte.
func extend(b []byte, top byte) {
	for i := range b {
		b[i] = byte(int8(top) >> 7)
	}
}
