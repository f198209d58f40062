package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/huff0"
)

// A page of BYTE_STREAM_SPLIT has the bytes of its numbers by their place, in planes. Of
// masked numbers the low planes are noise, and the high ones have few values in random order:
// searching for matches is useless. planeFrame makes a Zstandard frame (RFC 8878) of blocks
// that have only literals, and leaves pages for which this is not good to the library.

const (
	zstdMagic = 0xFD2FB528
	zstdBlock = 128 << 10 // the most bytes of a block
	zstdWhole = 1 << 20   // up to here a frame's window is its content

	// Types of blocks, and of the literals in a compressed one.
	blockRaw, blockRepeated, blockCompressed = 0, 1, 2
	literalsCompressed                       = 2

	// leastPlane is the least length of planes that are worth blocks of their own.
	leastPlane = 1 << 10
)

// planeFrame appends to dst a frame of body, which ends with planes of n bytes each, after any
// number of other bytes. ok is false, and dst unchanged, if matches would save more than codes
// for bytes do.
func planeFrame(dst, body []byte, n, planes int) (out []byte, ok bool) {
	if n < leastPlane {
		return dst, false
	}
	first := len(body) - n*planes
	var found [16]plane
	if planes > len(found) || !probe(found[:planes], body[first:], n) {
		return dst, false
	}
	dst = frameHeader(dst, len(body))
	for at := 0; at < first; {
		end := min(at+zstdBlock, first)
		dst = literalBlock(dst, body[at:end], true)
		at = end
	}
	last := 0
	for k := range planes {
		for rest := body[first+k*n : first+(k+1)*n]; len(rest) > 0; {
			part := rest[:min(len(rest), zstdBlock)]
			rest, last = rest[len(part):], len(dst)
			dst = literalBlock(dst, part, found[k].code)
		}
	}
	dst[last] |= 1
	return dst, true
}

// frameHeader appends the header of a frame of n bytes of content, with that size.
func frameHeader(dst []byte, n int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, zstdMagic)
	const size4 = 2 << 6 // the content's size in four bytes
	if n <= zstdWhole {
		dst = append(dst, size4|1<<5)
	} else {
		dst = append(dst, size4, uint8(bits.Len(zstdWhole)-1-10)<<3)
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(n))
}

// literalBlock appends a block of at most zstdBlock bytes that is not marked as the last. It is
// in codes if code is true and they save something.
func literalBlock(dst, src []byte, code bool) []byte {
	if !code {
		return append(blockHeader(dst, blockRaw, len(src)), src...)
	}
	if repeatedByte(src) {
		return append(blockHeader(dst, blockRepeated, len(src)), src[0])
	}
	s := huffmen.Get().(*huff0.Scratch)
	defer huffmen.Put(s)
	streams := huff0.Compress4X
	if len(src) < 1<<10 {
		streams = huff0.Compress1X
	}
	packed, _, err := streams(src, s)
	if err != nil || len(packed)+6 >= len(src) {
		return append(blockHeader(dst, blockRaw, len(src)), src...)
	}
	dst = blockHeader(dst, blockCompressed, 0)
	at := len(dst)
	dst = append(literalsHeader(dst, len(src), len(packed)), packed...)
	dst = append(dst, 0) // no sequences
	blockHeader(dst[:at-3], blockCompressed, len(dst)-at)
	return dst
}

// repeatedByte reports whether b is one byte repeated.
func repeatedByte(b []byte) bool { return len(b) > 1 && bytes.Equal(b[1:], b[:len(b)-1]) }

// huffmen compute Huffman codes. A block is stored uncoded unless they save 1/64 of it.
var huffmen = sync.Pool{New: func() any {
	return &huff0.Scratch{WantLogLess: 6, Reuse: huff0.ReusePolicyNone}
}}

func blockHeader(dst []byte, typ, size int) []byte {
	h := typ<<1 | size<<3
	return append(dst, byte(h), byte(h>>8), byte(h>>16))
}

// literalsHeader appends the header of n literals in packed bytes: up to 1023 of them in one
// stream, more in four.
func literalsHeader(dst []byte, n, packed int) []byte {
	form, width := 3, 18
	switch {
	case n < 1<<10:
		form, width = 0, 10
	case n < 1<<14:
		form, width = 2, 14
	}
	h := uint64(literalsCompressed | form<<2 | n<<4 | packed<<(4+width))
	for range (4 + 2*width) / 8 {
		dst = append(dst, byte(h))
		h >>= 8
	}
	return dst
}

// plane has the results of a sample of a plane.
type plane struct {
	counts [256]uint16
	code   bool // codes save enough to be worth their time
}

const (
	// A sample of a plane has up to this number of strips, at the same places in all planes.
	strips     = 16
	stripBytes = 64

	// codeBits is the number of bits per byte, × 256, below which codes are worth their time,
	// including that of readers.
	codeBits = 4*256 + 64

	// noiseBits is the number of bits per byte, × 256, from which on packed numbers are noise.
	noiseBits = 8*256 - 100
)

// probe examines a sample of the planes, of n bytes each. ok is false if most bytes equal the byte
// before, or the byte at the same place of the plane before, more often than by chance; or if
// codes, which have at least one bit each, are far longer than the entropy.
func probe(found []plane, planes []byte, n int) (ok bool) {
	step := max(n/strips, stripBytes)
	rich, most := 0, 0  // the plane of the greatest entropy
	total, lost := 0, 0 // bits × 256 of the samples; bits × 256 by which codes exceed the entropy
	for k := range found {
		p := &found[k]
		all := planes[k*n : (k+1)*n]
		size, same, alike := 0, 0, 0
		for at := 0; at+stripBytes <= n; at += step {
			strip := all[at : at+stripBytes]
			size += stripBytes
			same += p.count(strip)
			if k > 0 {
				alike += equalBytes(strip, planes[(k-1)*n+at:][:stripBytes])
			}
		}
		entropy := entropyOf(&p.counts, size)
		p.code = entropy <= codeBits*size
		if entropy > most {
			rich, most = k, entropy
		}
		switch {
		case entropy == 0 && repeatedByte(all):
			continue
		case !p.code:
			total += 8 * 256 * size
		default:
			total += max(entropy, 256*size)
			lost += max(256*size-entropy, 0)
		}
		if tooOften(same, size, &p.counts, &p.counts) || k > 0 && tooOften(alike, size, &p.counts, &found[k-1].counts) {
			return false
		}
	}
	return 16*lost <= total && (most == 0 || !recurs(planes[rich*n:(rich+1)*n], &found[rich].counts))
}

// recurs reports whether longer runs of bytes repeat in a sample: it compares the runs after a
// rare byte with some earlier ones.
func recurs(b []byte, counts *[256]uint16) bool {
	mark, least := 0, uint16(math.MaxUint16)
	for i, c := range counts {
		if c > 0 && c < least {
			mark, least = i, c
		}
	}
	const run, marks = 16, 1 << 10
	var seen [2 * marks]uint64
	looked, again := 0, 0
	for looked < marks {
		at := bytes.IndexByte(b, byte(mark))
		if at < 0 || len(b)-at-1 < run {
			break
		}
		b = b[at+1:]
		h := binary.LittleEndian.Uint64(b)*0x9e3779b97f4a7c15 ^ binary.LittleEndian.Uint64(b[8:])
		h = h*0x9e3779b97f4a7c15 | 1
		place := &seen[h>>53]
		if *place == h {
			again++
		}
		*place = h
		looked++
	}
	return 4*again > looked
}

// noiseFrame is planeFrame for a body of bit-packed numbers. ok is false unless compression can
// save nothing.
func noiseFrame(dst, body []byte) (out []byte, ok bool) {
	if len(body) < 4*leastPlane {
		return dst, false
	}
	var p plane
	size := 0
	for at := 0; at+stripBytes <= len(body) && size < strips*stripBytes; at += max(len(body)/strips, stripBytes) {
		p.count(body[at : at+stripBytes])
		size += stripBytes
	}
	if entropyOf(&p.counts, size) < size*noiseBits || recurs(body, &p.counts) {
		return dst, false
	}
	dst = frameHeader(dst, len(body))
	last := 0
	for len(body) > 0 {
		part := body[:min(len(body), zstdBlock)]
		body, last = body[len(part):], len(dst)
		dst = literalBlock(dst, part, false)
	}
	dst[last] |= 1
	return dst, true
}

// count adds the bytes of a strip, and returns how many of them equal the byte before.
func (p *plane) count(strip []byte) (same int) {
	before := strip[0]
	for _, b := range strip {
		p.counts[b]++
		if b == before {
			same++
		}
		before = b
	}
	return same - 1 // the first was compared with itself
}

// equalBytes counts the places at which a and b are equal.
func equalBytes(a, b []byte) (n int) {
	for i, c := range a {
		if c == b[i] {
			n++
		}
	}
	return n
}

// tooOften reports whether most bytes of two samples of the same size were equal, and there are
// less than half of the differences that independent samples would have.
func tooOften(equal, size int, a, b *[256]uint16) bool {
	if 4*equal < 3*size {
		return false
	}
	chance := 0
	for i, c := range a {
		chance += int(c) * int(b[i])
	}
	return 2*equal*size > chance+size*size
}

// entropyOf returns the entropy of a sample in bits × 256, with the correction of Miller and
// Madow for the bias of a sample.
func entropyOf(counts *[256]uint16, size int) int {
	sum, kinds := 0, 0
	for _, c := range counts {
		if c > 0 {
			sum += countBits[c]
			kinds++
		}
	}
	if kinds == 1 {
		return 0
	}
	const half = 185 // 256 / (2 ln 2)
	return countBits[size] - sum + half*(kinds-1)
}

// countBits has n log₂ n × 256 for the counts n that a sample may have.
var countBits = func() (t [(strips+1)*stripBytes + 1]int) {
	for n := 1; n < len(t); n++ {
		t[n] = int(math.Round(256 * float64(n) * math.Log2(float64(n))))
	}
	return t
}()
