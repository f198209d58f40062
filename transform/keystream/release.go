package keystream

import (
	"math"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// A block of a draw for a release is the CBC-MAC of a message of exactly two
// blocks, under the stream's subkey for places or for identities:
//
//	place:     (draw, stream), (record, value)
//	identity:  (digest),       (value, draw)
//
// A CBC-MAC of messages of one length is a pseudorandom function (Bellare, Kilian
// and Rogaway 2000): the draws for two different values at one place are independent.
// By place, the first block is the same for a whole run, so that a record costs one
// call of AES.

// offset computes the states after the first message block, by place, for the first numbers of
// draws of a record. Hardly one of 10⁸ records needs a greater number.
func (src *source) offset() {
	blocks := src.blocks[:len(src.offsets)]
	for draw := range blocks {
		blocks[draw].set(uint64(draw), uint64(src.records.Stream))
	}
	src.stream.place.encryptAll(blocks)
	for draw := range blocks {
		src.offsets[draw] = [2]uint64{blocks[draw].first(), blocks[draw].second()}
	}
}

// offsetOf returns the state after the first message block, by place, for block draw.
func (src *source) offsetOf(draw uint32) [2]uint64 {
	if int(draw) < len(src.offsets) {
		return src.offsets[draw]
	}
	b := &src.block
	b.set(uint64(draw), uint64(src.records.Stream))
	src.stream.place.encrypt(b)
	return [2]uint64{b.first(), b.second()}
}

// bound is next for records of a release that are identified by their place.
func (src *source) bound(blocks []block, at int) {
	values := src.records.Values[at : at+len(blocks)]
	hi, lo := src.offsets[0][0], src.offsets[0][1]
	if src.records.Places == nil {
		boundRun(blocks, values, uint64(src.records.First)+uint64(at), hi, lo)
	} else {
		places := src.records.Places[at : at+len(blocks)]
		for i := range blocks {
			blocks[i].set(hi^uint64(places[i]), lo^canonicalBits(values[i]))
		}
	}
	src.stream.place.encryptAll(blocks)
}

// boundRun sets the blocks of records at consecutive places, beginning with first.
func boundRun(blocks []block, values []float64, first, hi, lo uint64) {
	if some := len(blocks) &^ 3; wide && some > 0 {
		boundAVX2(&blocks[0], &values[0], some, first, hi, lo)
		blocks, values, first = blocks[some:], values[some:], first+uint64(some)
	}
	boundLoop(blocks, values, first, hi, lo)
}

func boundLoop(blocks []block, values []float64, first, hi, lo uint64) {
	for i := range blocks {
		blocks[i].set(hi^(first+uint64(i)), lo^canonicalBits(values[i]))
	}
}

// identified is next for records of a release some or all of which are identified by their
// digest.
func (src *source) identified(blocks []block, at int) {
	digests, values := src.records.Digests[at:at+len(blocks)], src.records.Values[at:at+len(blocks)]
	for i := range blocks {
		blocks[i] = block(digests[i])
	}
	src.stream.identity.encryptAll(blocks)
	for i := range blocks {
		b := &blocks[i]
		b.set(b.first()^canonicalBits(values[i]), b.second())
	}
	src.stream.identity.encryptAll(blocks)
	for i := range blocks {
		if digests[i] == (microdata.Digest{}) {
			src.released(&blocks[i], at+i, 0)
		}
	}
}

// released writes block draw of record i of a release to b.
func (src *source) released(b *block, i int, draw uint32) {
	bits := canonicalBits(src.records.Values[i])
	if src.records.Digests == nil || src.records.Digests[i] == (microdata.Digest{}) {
		offset := src.offsetOf(draw)
		b.set(offset[0]^src.place(i), offset[1]^bits)
		src.stream.place.encrypt(b)
		return
	}
	*b = block(src.records.Digests[i])
	src.stream.identity.encrypt(b)
	b.set(b.first()^bits, b.second()^uint64(draw))
	src.stream.identity.encrypt(b)
}

// canonicalBits are the bits of a float64, the same for −0 and 0 and for every
// NaN.
func canonicalBits(v float64) uint64 {
	if v != v {
		return 0x7ff8000000000001
	}
	return math.Float64bits(v + 0) // −0 + 0 is 0
}
