package assess

import (
	"cmp"
	"hash/fnv"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// origin is the stream that a record comes from: a file, or a partition of a
// topic, which is the scope. With the record's place in it, it identifies the
// record. An accumulator keeps one of each; two accumulators may have equal ones.
type origin struct {
	scope  string
	stream int32
}

func (o *origin) compare(p *origin) int {
	if o == p {
		return 0
	}
	return cmp.Or(cmp.Compare(o.scope, p.scope), cmp.Compare(o.stream, p.stream))
}

// origins holds one origin of each kind.
type origins struct {
	known map[origin]*origin
	last  *origin
}

// of returns the origin of a scope and a stream.
func (s *origins) of(scope string, stream int32) *origin {
	if s.last != nil && s.last.stream == stream && s.last.scope == scope {
		return s.last
	}
	key := origin{scope, stream}
	o := s.known[key]
	if o == nil {
		if s.known == nil {
			s.known = map[origin]*origin{}
		}
		o = &key
		s.known[key] = o
	}
	s.last = o
	return o
}

// priorities are 32 bits for each record of a block, a function of its place,
// which decide whether it is in the sample. Two records share the 64 bits of one
// draw: 32 bits are enough, as ties are settled by place.
type priorities struct {
	words  []uint64 // without gaps: of the pairs of places from the block's first on
	each   []uint32 // with gaps: by record; else empty
	halves []int64
}

// wordsOf gives 64 bits for each place of records.
type wordsOf func(dst []uint64, scope string, r keystream.Records)

// draw draws for a block that is not empty.
func (p *priorities) draw(b *microdata.Block, words wordsOf) {
	p.each = p.each[:0]
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
	if cap(p.words) < n {
		p.words = make([]uint64, n)
	}
	p.words = p.words[:n]
	words(p.words, b.Scope, r)
	if r.Places == nil {
		return
	}
	k := 0
	for _, place := range b.Places {
		if p.halves[k] != place>>1 {
			k++
		}
		p.each = append(p.each, uint32(p.words[k]>>(32*(place&1))))
	}
}

// unkeyedWords fills dst with words that are a fixed function of the place.
func unkeyedWords(dst []uint64, scope string, r keystream.Records) {
	const golden = 0x9e3779b97f4a7c15 // SplitMix64's step
	state := mix(uint64(r.Stream) + 1)
	if scope != "" {
		h := fnv.New64a()
		h.Write([]byte(scope))
		state += mix(h.Sum64())
	}
	if r.Places != nil {
		for i := range dst {
			dst[i] = mix(state + uint64(r.Places[i]+1)*golden)
		}
		return
	}
	state += uint64(r.First) * golden
	for i := range dst {
		state += golden
		dst[i] = mix(state)
	}
}

// mix is the finaliser of SplitMix64: FNV alone leaves the high bits of short
// values poor.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
