package assess

import (
	"encoding/binary"
	"math"
)

// encoder appends numbers and texts.
type encoder []byte

func (e *encoder) uint(v uint64) { *e = binary.LittleEndian.AppendUint64(*e, v) }

func (e *encoder) int(v int64) { e.uint(uint64(v)) }

func (e *encoder) short(v uint64) { *e = binary.AppendUvarint(*e, v) }

// signed writes a number of few bytes where it is near 0.
func (e *encoder) signed(v int64) { *e = binary.AppendVarint(*e, v) }

// words writes numbers of 4 bytes.
func (e *encoder) words(v []uint32) {
	for _, x := range v {
		*e = binary.LittleEndian.AppendUint32(*e, x)
	}
}

func (e *encoder) text(s string) {
	e.uint(uint64(len(s)))
	*e = append(*e, s...)
}

func (e *encoder) floats(v ...float64) {
	for _, x := range v {
		e.uint(math.Float64bits(x))
	}
}

// decoder reads from the front of rest; after a failure everything is zero.
type decoder struct {
	rest   []byte
	failed bool
}

// fail makes everything that is still read zero.
func (d *decoder) fail() { d.failed, d.rest = true, nil }

func (d *decoder) bytes(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.fail()
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) uint() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) int() int64 { return int64(d.uint()) }

func (d *decoder) float() float64 { return math.Float64frombits(d.uint()) }

// count reads the number of items of at least size bytes each that follow; more
// than the rest can hold is a failure, so nothing large is allocated for it.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.rest)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) text() string { return string(d.bytes(d.count(1))) }

// short reads a varint in its one shortest form.
func (d *decoder) short() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || n > 1 && d.rest[n-1] == 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) signed() int64 {
	v := d.short()
	return int64(v>>1) ^ -int64(v&1)
}

// words reads n numbers of 4 bytes.
func (d *decoder) words(n int) []uint32 {
	raw := d.bytes(4 * n)
	words := make([]uint32, len(raw)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return words
}
