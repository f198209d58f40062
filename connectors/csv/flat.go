package csv

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

const (
	ones = 0x0101010101010101
	low7 = 0x7f7f7f7f7f7f7f7f
)

const (
	window = 64
	// spare is the number of additional ends for which flat has room: those of a window, and
	// those that are written beyond the last one.
	spare = window + 4
)

// separators finds delimiters and line ends.
type separators struct{ delimiters, newlines uint64 }

func (d *dialect) separators() separators {
	return separators{ones * uint64(d.delimiter), ones * '\n'}
}

// in returns a word of which the high bit of each byte is set where that byte of w is a
// delimiter or a line end, and no other bit.
func (s separators) in(w uint64) uint64 {
	x, y := w^s.delimiters, w^s.newlines
	// A byte of x or y is zero where it is one.
	return ^((((x & low7) + low7) | x) & (((y & low7) + low7) | y)) &^ low7
}

// bitOf gathers the high bits of the bytes of m, which has no other bits, in its lowest byte:
// each product of a bit and a bit of the factor has a place of its own.
func bitOf(m uint64) uint64 { return m * 0x0002040810204081 >> 56 }

// inWindow returns a bit for each of 64 bytes.
func (s separators) inWindow(p *[window]byte) uint64 {
	return bitOf(s.in(binary.LittleEndian.Uint64(p[0:]))) |
		bitOf(s.in(binary.LittleEndian.Uint64(p[8:])))<<8 |
		bitOf(s.in(binary.LittleEndian.Uint64(p[16:])))<<16 |
		bitOf(s.in(binary.LittleEndian.Uint64(p[24:])))<<24 |
		bitOf(s.in(binary.LittleEndian.Uint64(p[32:])))<<32 |
		bitOf(s.in(binary.LittleEndian.Uint64(p[40:])))<<40 |
		bitOf(s.in(binary.LittleEndian.Uint64(p[48:])))<<48 |
		bitOf(s.in(binary.LittleEndian.Uint64(p[56:])))<<56
}

// flat tokenises a chunk without quotes and without malformed records, 64 bytes at a
// time: every delimiter and line end is the end of a field. If the chunk is not of
// this form it returns false, and b must not be used.
func (d *dialect) flat(b *bounds, p []byte, records int) bool {
	ends, k := b.ends, 0
	want := records * d.fields
	s := d.separators()
	i := 0
	for ; i+window <= len(p); i += window {
		if k > want {
			return false
		}
		m := s.inWindow((*[window]byte)(p[i:]))
		n := bits.OnesCount64(m)
		// Four are written at a time, since their number is hard to predict; superfluous
		// ones are overwritten.
		for j := 0; j < n; j += 4 {
			e := (*[4]uint32)(ends[k+j:])
			for q := range e {
				e[q] = uint32(i + bits.TrailingZeros64(m))
				m &= m - 1
			}
		}
		k += n
	}
	for ; i < len(p); i++ {
		if p[i] == d.delimiter || p[i] == '\n' {
			if k > want {
				return false
			}
			ends[k] = uint32(i)
			k++
		}
	}
	lines := bytes.Count(p, []byte{'\n'})
	if len(p) > 0 && p[len(p)-1] != '\n' {
		if k > want {
			return false
		}
		ends[k] = uint32(len(p))
		k++
		lines++
	}
	return k == want && lines == records && d.settled(b, p, records)
}
