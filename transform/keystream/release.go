package keystream

import (
	"encoding/binary"
	"math"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// A block of a draw that leaves is the CBC-MAC of a message of exactly two
// blocks, under the stream's subkey for places or for identities:
//
//	place:     (draw, stream), (record, value)
//	identity:  (digest),       (value, draw)
//
// A CBC-MAC of messages of one length is a pseudorandom function (Bellare, Kilian
// and Rogaway 2000): another value at a place has nothing in common with it. By
// place the first block is that of a whole run, so that a record costs one call of
// AES.

// offsetOf returns the first state by place, of block draw.
func (src *source) offsetOf(draw uint32) [2]uint64 {
	b := src.block[:]
	binary.BigEndian.PutUint64(b, uint64(draw))
	binary.BigEndian.PutUint64(b[8:], uint64(src.records.Stream))
	src.stream.place.Encrypt(b, b)
	return [2]uint64{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

// bound is next for records of a release that are known by their place.
func (src *source) bound(at, n int) {
	values := src.records.Values[at : at+n]
	blocks := src.blocks[:n*blockSize]
	hi, lo := src.offset[0], src.offset[1]
	if src.records.Places == nil {
		first := uint64(src.records.First) + uint64(at)
		rest := blocks
		for i, v := range values {
			b := (*[blockSize]byte)(rest)
			binary.BigEndian.PutUint64(b[:8], hi^(first+uint64(i)))
			binary.BigEndian.PutUint64(b[8:], lo^canonicalBits(v))
			rest = rest[blockSize:]
		}
	} else {
		for i, v := range values {
			b := blocks[i*blockSize : i*blockSize+blockSize : i*blockSize+blockSize]
			binary.BigEndian.PutUint64(b, hi^uint64(src.records.Places[at+i]))
			binary.BigEndian.PutUint64(b[8:], lo^canonicalBits(v))
		}
	}
	// In a loop of its own: calls of one that do not wait for what was just written
	// overlap in the processor.
	e := src.stream.place
	for ; len(blocks) >= blockSize; blocks = blocks[blockSize:] {
		b := blocks[:blockSize]
		e.Encrypt(b, b)
	}
}

// identified is next for records of a release of which some, or all, are known by
// their digest.
func (src *source) identified(at, n int) {
	e := src.stream.identity
	digests, values := src.records.Digests[at:at+n], src.records.Values[at:at+n]
	for i := range digests {
		e.Encrypt(src.blocks[i*blockSize:(i+1)*blockSize], digests[i][:])
	}
	for i, v := range values {
		b := src.blocks[i*blockSize : (i+1)*blockSize]
		binary.BigEndian.PutUint64(b, binary.BigEndian.Uint64(b)^canonicalBits(v))
	}
	for i := range digests {
		b := src.blocks[i*blockSize : (i+1)*blockSize]
		if digests[i] == (microdata.Digest{}) {
			src.leaving(b, at+i, 0)
			continue
		}
		e.Encrypt(b, b)
	}
}

// leaving writes block draw of record i of a release to b.
func (src *source) leaving(b []byte, i int, draw uint32) {
	bits := canonicalBits(src.records.Values[i])
	if src.records.Digests == nil || src.records.Digests[i] == (microdata.Digest{}) {
		offset := src.offset
		if draw > 0 {
			offset = src.offsetOf(draw)
		}
		binary.BigEndian.PutUint64(b, offset[0]^src.place(i))
		binary.BigEndian.PutUint64(b[8:], offset[1]^bits)
		src.stream.place.Encrypt(b, b)
		return
	}
	e := src.stream.identity
	e.Encrypt(b, src.records.Digests[i][:])
	binary.BigEndian.PutUint64(b, binary.BigEndian.Uint64(b)^bits)
	binary.BigEndian.PutUint64(b[8:], binary.BigEndian.Uint64(b[8:])^uint64(draw))
	e.Encrypt(b, b)
}

// canonicalBits are the bits of a float64, the same for −0 and 0 and for every
// NaN.
func canonicalBits(v float64) uint64 {
	if v != v {
		return 0x7ff8000000000001
	}
	return math.Float64bits(v + 0) // −0 + 0 is 0
}
