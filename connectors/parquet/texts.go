package parquet

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
)

// offsetArray is an array of texts or of bytes with 32-bit offsets.
type offsetArray interface {
	arrow.Array
	ValueOffsets() []int32
	ValueBytes() []byte
}

// textOrBytes reports whether an array has one of the two types whose values are stored as their
// bytes.
func textOrBytes(a arrow.Array) bool {
	id := a.DataType().ID()
	return id == arrow.STRING || id == arrow.BINARY
}

// flatTexts is arrayValues for texts or bytes in a flat column. If all of consecutive records
// have a value, the array's bytes are not copied.
func flatTexts(n *node, a offsetArray, from, rows int, keep []int32) (*values, error) {
	v := &values{}
	if keep == nil && a.NullN() == 0 {
		all := a.ValueOffsets()
		offsets := all[from : from+rows+1]
		v.n, v.offsets = rows, make([]uint32, rows+1)
		for i, at := range offsets {
			v.offsets[i] = uint32(at - offsets[0])
		}
		v.data = a.ValueBytes()[offsets[0]-all[0] : offsets[rows]-all[0]]
		if n.leaf.maxDef > 0 {
			v.def = present(rows)
		}
		return v, nil
	}
	offsets, data := a.ValueOffsets(), a.ValueBytes()
	if keep != nil {
		rows = len(keep)
	}
	v.offsets = append(make([]uint32, 0, rows+1), 0)
	for k := range rows {
		i := from + k
		if keep != nil {
			i = int(keep[k])
		}
		there := !a.IsNull(i)
		if there {
			v.data = append(v.data, data[offsets[i]-offsets[0]:offsets[i+1]-offsets[0]]...)
			v.offsets = append(v.offsets, uint32(len(v.data)))
			v.n++
		}
		switch {
		case n.leaf.maxDef > 0 && there:
			v.def = append(v.def, 1)
		case n.leaf.maxDef > 0:
			v.def = append(v.def, 0)
		case !there:
			return nil, errRequired
		}
	}
	return v, nil
}

// texts adds the values from ≤ i < from+n of v, none of them null, of variable length.
func (c *column) texts(v *values, from, n int) {
	switch {
	case v.index != nil && v.dict.short != nil && c.padded:
		c.shortTexts(v.dict, v.index[from:from+n])
	case v.index != nil:
		data, offsets := v.dict.data, v.dict.offs
		for _, k := range v.index[from : from+n] {
			c.data = append(c.data, data[offsets[k]:offsets[k+1]]...)
			c.offsets = append(c.offsets, int32(len(c.data)))
		}
	default:
		offsets := v.offsets[from : from+n+1]
		base := len(c.data)
		c.data = append(c.data, v.data[offsets[0]:offsets[n]]...)
		for _, at := range offsets[1:] {
			c.offsets = append(c.offsets, int32(base+int(at-offsets[0])))
		}
	}
	c.present(n)
}

// shortTexts adds texts of at most 8 bytes: 8 bytes are always written, and the superfluous ones
// are overwritten by the next text, or lie in the extra room at the end of a padded column.
func (c *column) shortTexts(d *dictionary, index []uint32) {
	data, at, ends := c.data[:cap(c.data)], len(c.data), d.offs
	for _, k := range index {
		binary.LittleEndian.PutUint64(data[at:], d.short[k])
		at += int(ends[k+1] - ends[k])
		c.offsets = append(c.offsets, int32(at))
	}
	c.data = data[:at]
}

// mostShort is the greatest size of a dictionary whose texts are also held in words.
const mostShort = 1 << 12

// shortWords returns texts of at most 8 bytes in words of 8 bytes; nil if one is longer.
func shortWords(data []byte, offsets []uint32) []uint64 {
	if len(offsets) < 2 || len(offsets) > mostShort {
		return nil
	}
	out := make([]uint64, len(offsets)-1)
	for k := range out {
		text := data[offsets[k]:offsets[k+1]]
		if len(text) > 8 {
			return nil
		}
		var word [8]byte
		copy(word[:], text)
		out[k] = binary.LittleEndian.Uint64(word[:])
	}
	return out
}

// present marks n further slots that have a value.
func (c *column) present(n int) {
	if c.valid == nil {
		c.n += n
		return
	}
	for range n {
		c.mark(true)
	}
}
