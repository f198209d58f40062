package coding

import (
	"encoding/binary"
	"math"
)

// Packer writes numbers and bytes one behind another.
type Packer struct{ Text []byte }

// Number writes a number in as few bytes as it needs.
func (p *Packer) Number(n uint64) { p.Text = binary.AppendUvarint(p.Text, n) }

// Word writes a word in eight bytes.
func (p *Packer) Word(w uint64) { p.Text = binary.LittleEndian.AppendUint64(p.Text, w) }

func (p *Packer) words(list []uint64) {
	p.Number(uint64(len(list)))
	for _, w := range list {
		p.Word(w)
	}
}

// PackBytes writes the number of some bytes, and these.
func PackBytes[T ~string | ~[]byte](p *Packer, b T) {
	p.Number(uint64(len(b)))
	p.Text = append(p.Text, b...)
}

// Unpacker reads what a Packer wrote. After an invalid value Wrong is set, and everything read
// is 0.
type Unpacker struct {
	Text  []byte
	Wrong bool
}

// Fail marks what is read as invalid.
func (u *Unpacker) Fail() { u.Text, u.Wrong = nil, true }

// Number reads what Packer.Number wrote.
func (u *Unpacker) Number() uint64 {
	n, k := binary.Uvarint(u.Text)
	if k <= 0 {
		u.Fail()
		return 0
	}
	u.Text = u.Text[k:]
	return n
}

// Mark reads a 1, which says that something follows, or a 0, which says that nothing does.
func (u *Unpacker) Mark() bool {
	n := u.Number()
	if n > 1 {
		u.Fail()
	}
	return n == 1
}

// Count reads the number of elements that follow, each of at least least bytes.
func (u *Unpacker) Count(least int) int {
	n := u.Number()
	if n > uint64(len(u.Text)/least) {
		u.Fail()
		return 0
	}
	return int(n)
}

// Word reads what Packer.Word wrote.
func (u *Unpacker) Word() uint64 {
	if len(u.Text) < 8 {
		u.Fail()
		return 0
	}
	w := binary.LittleEndian.Uint64(u.Text)
	u.Text = u.Text[8:]
	return w
}

func (u *Unpacker) words() []uint64 {
	list := make([]uint64, u.Count(8))
	for i := range list {
		list[i] = u.Word()
	}
	return list
}

// Bytes reads what PackBytes wrote.
func (u *Unpacker) Bytes() []byte {
	n := u.Count(1)
	b := u.Text[:n]
	u.Text = u.Text[n:]
	return b
}

// Probability reads a probability.
func (u *Unpacker) Probability() float64 {
	p := math.Float64frombits(u.Word())
	if !(p >= 0 && p <= 1) {
		u.Fail()
	}
	return p
}
