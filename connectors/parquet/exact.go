package parquet

import (
	"encoding/binary"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"
)

// Checks that bytes contain the values that they should contain and nothing else. A
// reader ignores bytes after the last value, in runs of no values, in padding, in a
// compressed page's own headers and after its end; a copy would release them. These
// functions check only how the bytes are divided; the decoders check the values. Pages
// that are not exact are written again.

// exactHybrid reports whether src is n numbers in the RLE and bit-packing hybrid
// and nothing else: no run is empty or continues after the last number, and the
// padding of the last run is zero, or equals the bits at the same place of the
// bit-packed run before. (DuckDB packs 256 numbers at a time from a buffer that it
// does not clear.)
//
// If the last run has padding, a run of equal numbers could be some numbers longer or
// shorter and mean the same, if the next run begins with its number: its length could
// hide something. So such a run must end where the number changes, as writers do it,
// except if its length is a multiple of 8 and the padding is less than 8 numbers.
// Numbers of 0 bits are one run of equal ones.
func exactHybrid(src []byte, width, n int) bool {
	if head, k := exactUvarint(src); width == 0 && n > 0 {
		return k == len(src) && head == uint64(n)<<1
	}
	r := hybridRuns{src: src, width: width, left: n}
	for r.left > 0 {
		head, k := exactUvarint(r.src)
		if k == 0 || head < 2 {
			return false
		}
		r.src = r.src[k:]
		exact := r.packed
		if head&1 == 0 {
			exact = r.repeated
		}
		if !exact(head >> 1) {
			return false
		}
	}
	return len(r.src) == 0
}

// hybridRuns goes through the runs of numbers in the hybrid encoding.
type hybridRuns struct {
	src    []byte // the remaining bytes
	width  int
	left   int    // number of remaining numbers
	before []byte // the bit-packed run before
	equal  []byte // the number of the run before, if it is one of equal numbers
	length uint64 // of that run
	free   int    // least padding of the last run that is not exact, because a number continued
}

// goesOn notes whether the next run begins with the number of the run of equal ones before it.
func (r *hybridRuns) goesOn() {
	switch {
	case r.equal == nil || !startsWith(r.src, r.equal, r.width):
	case r.length%8 != 0:
		r.free = 1
	case r.free == 0:
		r.free = 8
	}
	r.equal = nil
}

// repeated checks a run of equal numbers, and returns false if it is not exact.
func (r *hybridRuns) repeated(length uint64) bool {
	bytes := (r.width + 7) / 8
	if length > uint64(r.left) || len(r.src) < bytes {
		return false
	}
	r.left -= int(length)
	if r.width%8 != 0 && r.src[bytes-1]>>(r.width%8) != 0 {
		return false
	}
	r.goesOn()
	r.equal, r.length, r.src = r.src[:bytes], length, r.src[bytes:]
	return true
}

// packed checks a run of bit-packed numbers, eight a group, and returns false if it is not exact.
func (r *hybridRuns) packed(groups uint64) bool {
	if groups > uint64(r.left+7)/8+uint64(len(r.src)) || int(groups)*r.width > len(r.src) {
		return false
	}
	run := r.src[:int(groups)*r.width]
	r.goesOn()
	if values := int(groups) * 8; values <= r.left {
		r.left -= values
	} else {
		used := r.left * r.width
		if r.free > 0 && values-r.left >= r.free || !zeroFrom(run, used) &&
			!(len(r.before) == len(run) && sameFrom(r.before, run, used)) {
			return false
		}
		r.left = 0
	}
	r.before, r.src = run, r.src[len(run):]
	return true
}

// startsWith reports whether the first bit-packed number in src, of width bits, is number.
func startsWith(src, number []byte, width int) bool {
	whole := width / 8
	return string(src[:whole]) == string(number[:whole]) && (width%8 == 0 || (src[whole]^number[whole])<<(8-width%8) == 0)
}

// exactUvarint reads a number that is stored in the least number of bytes; otherwise n
// is 0.
func exactUvarint(b []byte) (u uint64, n int) {
	u, n = binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, 0
	}
	return u, n
}

// zeroFrom reports whether all bits from bit on are zero; the first bit of a byte is its
// least significant one.
func zeroFrom(b []byte, bit int) bool {
	if at := bit >> 3; bit&7 != 0 {
		if b[at]>>(bit&7) != 0 {
			return false
		}
		bit = 8 * (at + 1)
	}
	for _, c := range b[bit>>3:] {
		if c != 0 {
			return false
		}
	}
	return true
}

// sameFrom reports whether two runs of bytes have the same bits from bit on.
func sameFrom(a, b []byte, bit int) bool {
	at := bit >> 3
	if bit&7 != 0 {
		if (a[at]^b[at])>>(bit&7) != 0 {
			return false
		}
		at++
	}
	return string(a[at:]) == string(b[at:])
}

// exactDelta reports whether src begins with n numbers in DELTA_BINARY_PACKED without
// any other data among them, and returns the bytes that follow.
func exactDelta(src []byte, n int) (rest []byte, ok bool) {
	var head [4]uint64 // block size, parts of a block, numbers, the first
	for i := range head {
		u, k := exactUvarint(src)
		if k == 0 {
			return nil, false
		}
		head[i], src = u, src[k:]
	}
	block, minis := head[0], head[1]
	if head[2] != uint64(n) || n == 0 && head[3] != 0 || block == 0 || block > 1<<20 || minis == 0 || block%minis != 0 ||
		block/minis%8 != 0 {
		return nil, false
	}
	mini := int(block / minis)
	packed := false // some number takes at least one bit, so that the sizes are determined
	for left := n - 1; left > 0; {
		_, k := exactUvarint(src)
		if k == 0 || uint64(len(src)-k) < minis {
			return nil, false
		}
		widths := src[k : k+int(minis)]
		src = src[k+int(minis):]
		for _, w := range widths {
			if left <= 0 {
				if w != 0 {
					return nil, false
				}
				continue
			}
			size := mini / 8 * int(w)
			if w > 64 || len(src) < size || left < mini && !zeroFrom(src[:size], left*int(w)) {
				return nil, false
			}
			src = src[size:]
			left -= mini
			packed = packed || w > 0
		}
	}
	// If none does, any sizes would decode to the same, and could hide something: only
	// the sizes that most writers use are exact.
	return src, packed || block == 128 && minis == 4
}

// exactDeltaLengths is exactDelta for DELTA_LENGTH_BYTE_ARRAY: the lengths, followed by
// exactly as many bytes as their sum.
func exactDeltaLengths(src []byte, n int) bool {
	rest, ok := exactDelta(src, n)
	if !ok {
		return false
	}
	offsets, _, err := decodeDeltaLengths(n, src)
	return err == nil && len(rest) == int(offsets[n])
}

// exactData reports whether the bytes of a data page after its levels are its n values
// and nothing else. v has the decoded values.
func exactData(l *leaf, enc format.Encoding, data []byte, n int, v *values) bool {
	switch {
	case enc == format.Plain && l.phys == format.Boolean:
		return len(data) == (n+7)/8 && zeroFrom(data, n)
	case enc == format.Plain && l.width == 0:
		return len(data) == len(v.data)+4*n
	case enc == format.Plain, enc == format.ByteStreamSplit:
		return len(data) == n*l.width
	case enc == plainDictionary, enc == format.RLEDictionary:
		if n == 0 {
			return len(data) == 0 || data[0] <= 32 && zeroFrom(data, 8)
		}
		return exactHybrid(data[1:], int(data[0]), n)
	case enc == format.RLE:
		src, rest, err := levelsOf(data)
		return err == nil && len(rest) == 0 && exactHybrid(src, 1, n)
	case enc == format.DeltaBinaryPacked:
		rest, ok := exactDelta(data, n)
		return ok && len(rest) == 0
	case enc == format.DeltaLengthByteArray:
		return exactDeltaLengths(data, n)
	case enc == format.DeltaByteArray:
		rest, ok := exactDelta(data, n)
		return ok && exactDeltaLengths(rest, n)
	}
	return false
}

// exactPacking reports whether a compressed page contains nothing but its decompressed
// content. A page of snappy or of a raw LZ4 block has no room for anything else. Brotli's
// metadata blocks and the frames of the old LZ4 codec are not examined: their pages are
// always written again.
func exactPacking(codec format.CompressionCodec, src []byte) bool {
	switch codec {
	case format.Uncompressed, format.Snappy, format.Lz4Raw:
		return true
	case format.Zstd:
		return exactZstd(src)
	case format.Gzip:
		// The fixed part of a header (RFC 1952, 2.3.1) without name, comment, extra
		// field and time. gunzip checks that no second member follows.
		if len(src) < 10 || src[3] != 0 {
			return false
		}
		time := binary.LittleEndian.Uint32(src[4:])
		return time == 0 || time == goTime
	}
	return false
}

// goTime is the time in the header of some writers in Go if no time is known: the
// seconds from the year 1 to 1970, of which the field has the last 32 bits.
const goTime = 0x886e0900

// exactZstd reports whether src is one frame (RFC 8878, 3.1.1) without a
// dictionary's number, in which no block repeats a byte zero times.
func exactZstd(src []byte) bool {
	if len(src) < 6 || binary.LittleEndian.Uint32(src) != 0xFD2FB528 {
		return false
	}
	descriptor := src[4]
	if descriptor&0b11011 != 0 { // reserved bits, and the size of a dictionary's number
		return false
	}
	single := descriptor>>5&1 != 0
	at := 5
	if !single {
		at++ // the window
	}
	if size := descriptor >> 6; size > 0 {
		at += 1 << size
	} else if single {
		at++
	}
	for last := false; !last; {
		if at+3 > len(src) {
			return false
		}
		head := uint32(src[at]) | uint32(src[at+1])<<8 | uint32(src[at+2])<<16
		at += 3
		last = head&1 != 0
		switch size := int(head >> 3); head >> 1 & 3 {
		case 0, 2:
			at += size
		case 1:
			if size == 0 {
				return false
			}
			at++
		default:
			return false
		}
	}
	if descriptor>>2&1 != 0 {
		at += 4 // the checksum
	}
	return at == len(src)
}

// usedOnly reports whether every one of n entries is marked.
func usedOnly(used []uint64, n int) bool {
	count := 0
	for _, w := range used {
		count += bits.OnesCount64(w)
	}
	return count == n
}
