// Package place identifies records by origin and place, and draws their priorities by these.
package place

import (
	"cmp"
	"hash/fnv"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Origin is the stream that a record comes from: a file, or a partition of a topic;
// the topic is the scope. Together with the place in the stream, it identifies the
// record. An accumulator has one Origin for each stream; those of two accumulators
// may be equal.
type Origin struct {
	Scope  string
	Stream int32
}

// Compare orders origins by scope, then by stream.
func (o *Origin) Compare(p *Origin) int {
	if o == p {
		return 0
	}
	return cmp.Or(cmp.Compare(o.Scope, p.Scope), cmp.Compare(o.Stream, p.Stream))
}

// Origins holds one Origin for each stream.
type Origins struct {
	known map[Origin]*Origin
	last  *Origin
}

// Of returns the origin of a scope and a stream.
func (s *Origins) Of(scope string, stream int32) *Origin {
	if s.last != nil && s.last.Stream == stream && s.last.Scope == scope {
		return s.last
	}
	key := Origin{scope, stream}
	o := s.known[key]
	if o == nil {
		if s.known == nil {
			s.known = map[Origin]*Origin{}
		}
		o = &key
		s.known[key] = o
	}
	s.last = o
	return o
}

// Priorities are 32 bits for each record of a block, a function of its place,
// which decide whether it is in the sample. Two records share the 64 bits of one
// draw: 32 bits are enough, since ties are decided by place.
type Priorities struct {
	Words  []uint64 // without gaps: of the pairs of places from the block's first on
	Each   []uint32 // with gaps: by record; else empty
	halves []int64
}

// WordsOf gives 64 bits for each place of records.
type WordsOf func(dst []uint64, scope string, r keystream.Records)

// Draw draws the priorities of a block, which must not be empty.
func (p *Priorities) Draw(b *microdata.Block, words WordsOf) {
	p.Each = p.Each[:0]
	first, last := b.First, b.Place(b.N-1)
	r := keystream.Records{Stream: b.Stream, First: first >> 1}
	n := 0
	if last-first == int64(b.N)-1 { // places ascend, so there is no gap
		n = int(last>>1-r.First) + 1
	} else {
		p.halves = p.halves[:0]
		for _, place := range b.Places {
			if k := len(p.halves); k == 0 || p.halves[k-1] != place>>1 {
				p.halves = append(p.halves, place>>1)
			}
		}
		r.Places = p.halves
		n = len(p.halves)
	}
	if cap(p.Words) < n {
		p.Words = make([]uint64, n)
	}
	p.Words = p.Words[:n]
	words(p.Words, b.Scope, r)
	if r.Places == nil {
		return
	}
	k := 0
	for _, place := range b.Places {
		if p.halves[k] != place>>1 {
			k++
		}
		p.Each = append(p.Each, uint32(p.Words[k]>>(32*(place&1))))
	}
}

// UnkeyedWords fills dst with words that are a fixed function of the place.
func UnkeyedWords(dst []uint64, scope string, r keystream.Records) {
	const golden = 0x9e3779b97f4a7c15 // SplitMix64's step
	state := Mix(uint64(r.Stream) + 1)
	if scope != "" {
		h := fnv.New64a()
		h.Write([]byte(scope))
		state += Mix(h.Sum64())
	}
	if r.Places != nil {
		for i := range dst {
			dst[i] = Mix(state + uint64(r.Places[i]+1)*golden)
		}
		return
	}
	state += uint64(r.First) * golden
	for i := range dst {
		state += golden
		dst[i] = Mix(state)
	}
}

// Mix is the finaliser of SplitMix64: with FNV alone, the high bits of short values are
// not random enough.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
