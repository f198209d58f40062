// Package wire writes and reads the numbers and texts that an encoded accumulator is made
// of.
package wire

import (
	"encoding/binary"
	"math"
)

// Encoder appends numbers and texts.
type Encoder []byte

// Uint writes v in 8 bytes.
func (e *Encoder) Uint(v uint64) { *e = binary.LittleEndian.AppendUint64(*e, v) }

// Int writes v in 8 bytes.
func (e *Encoder) Int(v int64) { e.Uint(uint64(v)) }

// Short writes a number, in few bytes if it is small.
func (e *Encoder) Short(v uint64) { *e = binary.AppendUvarint(*e, v) }

// Signed writes a number, in few bytes if it is near 0.
func (e *Encoder) Signed(v int64) { *e = binary.AppendVarint(*e, v) }

// Words writes numbers of 4 bytes.
func (e *Encoder) Words(v []uint32) {
	for _, x := range v {
		*e = binary.LittleEndian.AppendUint32(*e, x)
	}
}

// Text writes the length of s and s.
func (e *Encoder) Text(s string) {
	e.Uint(uint64(len(s)))
	*e = append(*e, s...)
}

// Floats writes the bits of every number.
func (e *Encoder) Floats(v ...float64) {
	for _, x := range v {
		e.Uint(math.Float64bits(x))
	}
}

// Decoder reads from the front of Rest what an Encoder wrote. A caller that reads an impossible
// value sets Failed; Fail also makes everything that is read later zero.
type Decoder struct {
	Rest   []byte
	Failed bool
}

// Fail sets Failed, and makes everything that is read later zero.
func (d *Decoder) Fail() { d.Failed, d.Rest = true, nil }

// Bytes returns the next n bytes; nil and a failure if there are fewer.
func (d *Decoder) Bytes(n int) []byte {
	if n < 0 || n > len(d.Rest) {
		d.Fail()
		return nil
	}
	b := d.Rest[:n]
	d.Rest = d.Rest[n:]
	return b
}

// Uint reads 8 bytes.
func (d *Decoder) Uint() uint64 {
	if b := d.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Int reads 8 bytes.
func (d *Decoder) Int() int64 { return int64(d.Uint()) }

// Float reads the bits of a number.
func (d *Decoder) Float() float64 { return math.Float64frombits(d.Uint()) }

// Count reads the number of items that follow, of at least size bytes each. A number that
// the rest cannot hold is a failure, so that no large memory is allocated for it.
func (d *Decoder) Count(size int) int {
	n := d.Uint()
	if n > uint64(len(d.Rest)/size) {
		d.Fail()
		return 0
	}
	return int(n)
}

// Text reads a length and that number of bytes.
func (d *Decoder) Text() string { return string(d.Bytes(d.Count(1))) }

// Short reads a varint; it must be in its shortest form.
func (d *Decoder) Short() uint64 {
	v, n := binary.Uvarint(d.Rest)
	if n <= 0 || n > 1 && d.Rest[n-1] == 0 {
		d.Fail()
		return 0
	}
	d.Rest = d.Rest[n:]
	return v
}

// Signed reads what Encoder.Signed wrote.
func (d *Decoder) Signed() int64 {
	v := d.Short()
	return int64(v>>1) ^ -int64(v&1)
}

// Words reads n numbers of 4 bytes.
func (d *Decoder) Words(n int) []uint32 {
	raw := d.Bytes(4 * n)
	words := make([]uint32, len(raw)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return words
}
