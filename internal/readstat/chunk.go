package readstat

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Column is a column of a chunk.
type Column struct {
	// Of a column of numbers.
	Numbers []float64
	States  []byte // 0: a value, 1: missing, otherwise the letter of a tagged missing value
	// Of a column of texts: text i is Bytes[Offsets[i] : Offsets[i+1]-1].
	Offsets []uint32
	Bytes   []byte
}

// Text returns text i.
func (c *Column) Text(i int) []byte { return c.Bytes[c.Offsets[i] : c.Offsets[i+1]-1] }

func up(n int) int { return (n + 7) &^ 7 }

var errChunk = fmt.Errorf("%w: a block of rows has no end", ErrMalformed)

// ReadChunk takes a chunk apart, into memory of its own. texts says which columns are texts.
func ReadChunk(data []byte, texts []bool) (columns []Column, rows int, err error) {
	if len(data) < 8 {
		return nil, 0, errChunk
	}
	rows = int(binary.LittleEndian.Uint32(data))
	data = data[8:]
	if rows > len(data) {
		return nil, 0, errChunk
	}
	take := func(n int) ([]byte, bool) {
		if up(n) > len(data) {
			return nil, false
		}
		p := data[:n]
		data = data[up(n):]
		return p, true
	}
	for _, text := range texts {
		var c Column
		if text {
			p, ok := take(4 * (rows + 1))
			if !ok {
				return nil, 0, errChunk
			}
			c.Offsets = make([]uint32, rows+1)
			for i := range c.Offsets {
				c.Offsets[i] = binary.LittleEndian.Uint32(p[4*i:])
				if i > 0 && c.Offsets[i] <= c.Offsets[i-1] {
					return nil, 0, errChunk
				}
			}
			if p, ok = take(int(c.Offsets[rows])); !ok || c.Offsets[0] != 0 {
				return nil, 0, errChunk
			}
			c.Bytes = append([]byte(nil), p...)
		} else {
			p, ok := take(8 * rows)
			states, ok2 := take(rows)
			if !ok || !ok2 {
				return nil, 0, errChunk
			}
			c.Numbers = make([]float64, rows)
			for i := range c.Numbers {
				c.Numbers[i] = math.Float64frombits(binary.LittleEndian.Uint64(p[8*i:]))
			}
			c.States = append([]byte(nil), states...)
		}
		columns = append(columns, c)
	}
	return columns, rows, nil
}

// AppendChunk appends a chunk.
func AppendChunk(dst []byte, columns []Column, rows int) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(rows))
	pad := func() {
		for len(dst)%8 != 0 {
			dst = append(dst, 0)
		}
	}
	for _, c := range columns {
		if c.Offsets != nil {
			for _, o := range c.Offsets {
				dst = binary.LittleEndian.AppendUint32(dst, o)
			}
			pad()
			dst = append(dst, c.Bytes...)
		} else {
			for _, x := range c.Numbers {
				dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
			}
			dst = append(dst, c.States...)
		}
		pad()
	}
	return dst
}
