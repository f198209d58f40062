package transform

import "encoding/binary"

// packer writes numbers and bytes one behind another.
type packer struct{ text []byte }

func (p *packer) number(n uint64) { p.text = binary.AppendUvarint(p.text, n) }
func (p *packer) word(w uint64)   { p.text = binary.LittleEndian.AppendUint64(p.text, w) }

func (p *packer) words(list []uint64) {
	p.number(uint64(len(list)))
	for _, w := range list {
		p.word(w)
	}
}

func packBytes[T ~string | ~[]byte](p *packer, b T) {
	p.number(uint64(len(b)))
	p.text = append(p.text, b...)
}

// unpacker reads what a packer wrote. After an invalid value wrong is set, and everything read
// is 0.
type unpacker struct {
	text  []byte
	wrong bool
}

func (u *unpacker) fail() { u.text, u.wrong = nil, true }

func (u *unpacker) number() uint64 {
	n, k := binary.Uvarint(u.text)
	if k <= 0 {
		u.fail()
		return 0
	}
	u.text = u.text[k:]
	return n
}

// mark reads a 1, which says that something follows, or a 0, which says that nothing does.
func (u *unpacker) mark() bool {
	n := u.number()
	if n > 1 {
		u.fail()
	}
	return n == 1
}

// count reads the number of elements that follow, each of at least least bytes.
func (u *unpacker) count(least int) int {
	n := u.number()
	if n > uint64(len(u.text)/least) {
		u.fail()
		return 0
	}
	return int(n)
}

func (u *unpacker) word() uint64 {
	if len(u.text) < 8 {
		u.fail()
		return 0
	}
	w := binary.LittleEndian.Uint64(u.text)
	u.text = u.text[8:]
	return w
}

func (u *unpacker) words() []uint64 {
	list := make([]uint64, u.count(8))
	for i := range list {
		list[i] = u.word()
	}
	return list
}

func (u *unpacker) bytes() []byte {
	n := u.count(1)
	b := u.text[:n]
	u.text = u.text[n:]
	return b
}
