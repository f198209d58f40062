package text

import (
	"encoding/binary"
	"math/bits"
)

// Fields says where the fields of a column lie in a text: field i is
// Text[Starts[i*StartStep]+Skip : Ends[i*EndStep]].
type Fields struct {
	Text               []byte
	Starts, Ends       []uint32
	StartStep, EndStep int
	Skip               uint32
}

// A plain number is digits, with or without a point and a minus, at most longestPlain
// bytes of them, of which no zero stands before other digits. Where the digits end is
// what a processor guesses badly, so all of them are looked at together.
const longestPlain = 15

const (
	everyByte = 0x0101010101010101
	highBits  = 0x80 * everyByte
	zeroes    = '0' * everyByte
)

// plain is a plain number: its last eight bytes and those before them, '0' taken off each,
// the last character highest; zeros before. point and pointBefore have the highest bit of
// the point's byte.
type plain struct {
	last, before       uint64
	point, pointBefore uint64
	size               uint32 // in bytes, without the sign
	negative, zero     bool   // zero: the first digit is one
}

// characters returns the high bit of each byte of x that is no digit, and of each that is
// a point. Both may have more of them, where those of the first are others than those of
// the second, or more than one.
func characters(x uint64) (other, point uint64) {
	y := x ^ ('.'^'0')*everyByte
	return (x + 0x76*everyByte | x) & highBits, (y - everyByte) &^ y & highBits
}

// plainAt reads the field p[start:end]. It returns false if the field is not a plain number, or is
// so near the end of p that eight bytes cannot be read.
func plainAt(p []byte, start, end uint32) (n plain, ok bool) {
	if uint64(start)+9 > uint64(len(p)) || end-start-1 >= longestPlain {
		return n, false
	}
	if n.negative = p[start] == '-'; n.negative {
		if start++; start == end {
			return n, false
		}
	}
	n.size = end - start
	word := binary.LittleEndian.Uint64(p[start:])
	n.zero = byte(word) == '0'
	if n.size <= 8 {
		n.last = (word ^ zeroes) << (64 - 8*n.size)
		other, point := characters(n.last)
		n.point = point
		ok = other&(other-1)|(other^point) == 0
	} else {
		n.before = (word ^ zeroes) << (128 - 8*n.size)
		n.last = binary.LittleEndian.Uint64(p[end-8:]) ^ zeroes
		other, point := characters(n.last)
		before, pointBefore := characters(n.before)
		n.point, n.pointBefore = point, pointBefore
		all := other | before>>1
		ok = all&(all-1)|(other^point)|(before^pointBefore) == 0
	}
	if n.size == 1 {
		return n, ok && n.point == 0
	}
	return n, ok && (!n.zero || byte(word>>8) == '.')
}

// short reads the characters of a field of at most eight bytes, the first size of word: x
// are they, '0' taken off each, the last one highest, zeros before. strange is 0 where
// they are digits and at most one point.
func short(word uint64, size uint32) (x, point, strange uint64) {
	x = (word ^ zeroes) << ((64 - 8*size) & 63)
	other, point := characters(x)
	return x, point, other&(other-1) | (other ^ point)
}

// leads reports whether a number of size bytes, of which none is strange, can begin with
// the first two of word: not with a zero before another digit, nor a point alone.
func leads(word uint64, size uint32) bool {
	switch byte(word) {
	case '0':
		return size == 1 || byte(word>>8) == '.'
	case '.':
		return size > 1
	}
	return true
}

// PlainKinds returns the kinds of the fields from the i-th on, up to the first of the n that is not
// a plain number, and the place of that one.
func (f *Fields) PlainKinds(i, n int) (k Kinds, next int) {
	var reals, integers uint64
	p, starts, ends, skip := f.Text, f.Starts, f.Ends, f.Skip
	at, to := i*f.StartStep, i*f.EndStep
	for ; i < n; i, at, to = i+1, at+f.StartStep, to+f.EndStep {
		start, end := starts[at]+skip, ends[to]
		size := end - start
		if size-1 < 8 && int(start)+8 <= len(p) {
			word := binary.LittleEndian.Uint64(p[start:])
			if _, point, strange := short(word, size); strange == 0 && leads(word, size) {
				reals |= point
				integers |= (point - 1) >> 63
				continue
			}
		}
		v, ok := plainAt(p, start, end)
		if !ok || v.negative && v.zero && v.size == 1 {
			break
		}
		point := v.point | v.pointBefore
		reals |= point
		integers |= (point - 1) >> 63
	}
	if reals != 0 {
		k |= SeenReal
	}
	if integers != 0 {
		k |= SeenInteger
	}
	return k, i
}

// PlainFloats reads the fields from the i-th on to values, like ParseFloat, up to the first that is
// not a plain number, and returns the place of that one. If whole is true, fields with a point, and
// -0, do not count as plain.
func (f *Fields) PlainFloats(values []float64, i int, whole bool) (next int) {
	p, starts, ends, skip := f.Text, f.Starts, f.Ends, f.Skip
	at, to := i*f.StartStep, i*f.EndStep
	for ; i < len(values); i, at, to = i+1, at+f.StartStep, to+f.EndStep {
		start, end := starts[at]+skip, ends[to]
		size := end - start
		if size-1 < 8 && int(start)+8 <= len(p) {
			word := binary.LittleEndian.Uint64(p[start:])
			x, point, strange := short(word, size)
			switch {
			case strange != 0 || !leads(word, size):
			case point == 0:
				values[i] = float64(int64(eightDigits(x)))
				continue
			case !whole:
				x, decimals := joined(x, point)
				values[i] = float64(int64(eightDigits(x))) / pow10[decimals&7]
				continue
			}
		}
		v, ok := plainAt(p, start, end)
		if !ok || whole && (v.point|v.pointBefore != 0 || v.negative && v.zero) {
			break
		}
		values[i] = v.value()
	}
	return i
}

// value is the number nearest to what the text says: its digits are below 2^53, and the
// power of ten is one that a float64 holds, so that the quotient is rounded once.
func (n *plain) value() float64 {
	last, before, decimals := n.last, n.before, 0
	switch {
	case n.point != 0:
		carried := before >> 56
		last, decimals = joined(last, n.point)
		last, before = last|carried, before<<8
	case n.pointBefore != 0:
		before, decimals = joined(before, n.pointBefore)
		decimals += 8
	}
	m := eightDigits(last)
	if n.size > 8 {
		m += 100_000_000 * eightDigits(before)
	}
	v := float64(int64(m))
	if decimals > 0 {
		v /= pow10[decimals]
	}
	if n.negative {
		v = -v
	}
	return v
}

// joined takes the point out of the bytes of x and returns how many stand behind it. The
// lowest byte becomes zero.
func joined(x, point uint64) (digits uint64, decimals int) {
	below := point>>7 - 1
	return x&^(below|point>>7*0xff) | x&below<<8, bits.LeadingZeros64(point) >> 3
}

// eightDigits is the number that the digits in the bytes of x make, the lowest byte first:
// of twos, then of fours, then of all eight.
func eightDigits(x uint64) uint64 {
	x = x * (1 + 10<<8) >> 8 & 0x00ff00ff00ff00ff
	x = x * (1 + 100<<16) >> 16 & 0x0000ffff0000ffff
	return x * (1 + 10000<<32) >> 32
}
