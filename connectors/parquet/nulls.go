package parquet

import (
	"encoding/binary"
	"math/bits"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Conversions between columns with a place for every record, whose bits say where there is a
// value, and consecutive values: 64 records at a time, since most records have a value.

// bitsFrom returns up to 64 bits of a bitmap, from bit `at` on.
func bitsFrom(b microdata.Bitmap, at int) uint64 {
	k, shift := at>>6, at&63
	w := b[k] >> shift
	if shift > 0 && k+1 < len(b) {
		w |= b[k+1] << (64 - shift)
	}
	return w
}

// eachWord calls f for n bits from `from` on, at most 64 at a time; at is the first of these,
// counted from `from`. Bits beyond n are zero.
func eachWord(b microdata.Bitmap, from, n int, f func(at, size int, w uint64)) {
	for at := 0; at < n; at += 64 {
		w, size := bitsFrom(b, from+at), min(64, n-at)
		if size < 64 {
			w &= 1<<size - 1
		}
		f(at, size, w)
	}
}

// gatherNumbers copies the values that are not null next to each other, and returns their number.
// out and in have the same length; valid's bits begin at `from`.
func gatherNumbers(out, in []float64, valid microdata.Bitmap, from int) (k int) {
	eachWord(valid, from, len(in), func(at, size int, w uint64) {
		part := in[at : at+size]
		if w == ^uint64(0) {
			k += copy(out[k:], part)
			return
		}
		next := k
		for _, x := range part {
			out[next] = x // overwrites the one before if that was null
			next += int(w & 1)
			w >>= 1
		}
		k = next
	})
	return k
}

// spreadWords is the inverse of gatherNumbers for values of 8 bytes in little-endian order; a
// place without a value becomes zero.
func spreadWords(out []uint64, in []byte, valid microdata.Bitmap) {
	eachWord(valid, 0, len(out), func(at, size int, w uint64) {
		part := out[at : at+size]
		if w == ^uint64(0) {
			in = in[copy(raw(part), in):]
			return
		}
		for i := range part {
			part[i] = 0
			if w&1 != 0 {
				part[i] = binary.LittleEndian.Uint64(in)
				in = in[8:]
			}
			w >>= 1
		}
	})
}

// spreadIndexes is spreadWords for indexes.
func spreadIndexes(out, in []uint32, valid microdata.Bitmap) {
	eachWord(valid, 0, len(out), func(at, size int, w uint64) {
		part := out[at : at+size]
		if w == ^uint64(0) {
			in = in[copy(part, in):]
			return
		}
		clear(part)
		for ; w != 0; w &= w - 1 {
			part[bits.TrailingZeros64(w)&63] = in[0]
			in = in[1:]
		}
	})
}

// clearNulls sets numbers that are null to zero; valid's bits begin at `from`.
func clearNulls(out []float64, valid microdata.Bitmap, from int) {
	eachWord(valid, from, len(out), func(at, size int, w uint64) {
		for w = ^w; w != 0; w &= w - 1 {
			i := bits.TrailingZeros64(w)
			if i >= size {
				return
			}
			out[at+i] = 0
		}
	})
}

const (
	eachByte = 0x0101010101010101
	eachBit  = 0x8040201008040201 // bit i of byte i
	gathers  = 0x0102040810204080 // brings the lowest bit of byte i to bit 56+i
)

// levelsOfBits writes definition levels of 0 and 1.
func levelsOfBits(out []uint8, valid microdata.Bitmap, from int) {
	eachWord(valid, from, len(out), func(at, size int, w uint64) {
		part := out[at : at+size]
		for ; len(part) >= 8; w >>= 8 {
			binary.LittleEndian.PutUint64(part, bytesOfBits(uint8(w)))
			part = part[8:]
		}
		for i := range part {
			part[i] = uint8(w >> i & 1)
		}
	})
}

// bytesOfBits spreads the bits of b over the bytes of a word.
func bytesOfBits(b uint8) uint64 {
	return (uint64(b)*eachByte&eachBit + 0x7f*eachByte) >> 7 & eachByte
}

// bitsOfLevels returns a bitmap for levels of 0 and 1, and the number of ones.
func bitsOfLevels(levels []uint8) (valid microdata.Bitmap, ones int) {
	valid = make(microdata.Bitmap, (len(levels)+63)/64)
	whole := len(levels) &^ 7
	for i := 0; i < whole; i += 8 {
		valid[i>>6] |= binary.LittleEndian.Uint64(levels[i:]) * gathers >> 56 << (i & 63)
	}
	for i := whole; i < len(levels); i++ {
		valid[i>>6] |= uint64(levels[i]) << (i & 63)
	}
	for _, w := range valid {
		ones += bits.OnesCount64(w)
	}
	return valid, ones
}
