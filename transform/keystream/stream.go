package keystream

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Stream is the keystream of one (mask, column, replicate), or of one draw of a
// release. It is immutable and safe for concurrent use. Words, Uniforms, Normals
// and Laplaces of one stream are made from the same bits: two independent draws for
// a record need two streams.
type Stream struct {
	free     *aes256 // for draws that are never released; nil in a stream of a release
	place    *aes256 // of a release, for records that are identified by their place
	identity *aes256 // of a release, for records that are identified by a digest
}

// Stream derives the keystream of draws that are never released: replicates of the assessment,
// and samples. They depend on a record's place only, so Records has neither Digests nor Values.
// mask and column may be any names: their encoding is injective. A negative replicate panics.
func (k Key) Stream(mask, column string, replicate int) *Stream {
	if replicate < 0 {
		panic(fmt.Sprintf("keystream: replicate must be at least 0, got %d", replicate))
	}
	return &Stream{free: newAES(k.derive(streamInfo(mask, column, uint64(replicate)), keySize))}
}

// streamInfo returns the HKDF info of a stream of draws that are never released. Each name is
// preceded by its length, so that no two triples give the same bytes.
func streamInfo(mask, column string, replicate uint64) string {
	return string(binary.BigEndian.AppendUint64(named(labelStream, mask, column), replicate))
}

// Name is everything that determines a draw for a release, except the record.
type Name struct {
	Mask   string // its label
	Done   string // what was done to the column before, and the mask's own effective parameters
	Scope  string // what the streams of records belong to, a topic; "" in a file
	Column string
}

// Release derives the keystream of a draw for a release. Records are identified by place or by
// digest, always together with the value being masked: a call without Values panics. Scope has
// an effect only for records identified by place, because a respondent's unchanged value must
// get the same draw in every scope.
func (k Key) Release(n Name) *Stream {
	return &Stream{
		place:    newAES(k.derive(string(named(labelPlace, n.Mask, n.Done, n.Column, n.Scope)), keySize)),
		identity: newAES(k.derive(string(named(labelIdentity, n.Mask, n.Done, n.Column)), keySize)),
	}
}

// named returns a label followed by names, each preceded by its length: for one label, different
// names give different bytes.
func named(label string, names ...string) []byte {
	n := len(label)
	for _, name := range names {
		n += 8 + len(name)
	}
	info := append(make([]byte, 0, n), label...)
	for _, name := range names {
		info = binary.BigEndian.AppendUint64(info, uint64(len(name)))
		info = append(info, name...)
	}
	return info
}

// Format prints nothing of the subkeys, under any verb.
func (s Stream) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[keystream]")) }

// Records identifies the records of a run: by their place, or by a digest. In a
// stream of a release the value that is being masked is part of it.
type Records struct {
	Stream int     // index of the stream in its source, in [0, 2³²)
	First  int64   // place of the run's first record in the stream, not negative
	Places []int64 // of every record, where they do not follow one another; nil: record i is at First+i
	// one a record, the zero Digest if its place is its identity; nil: place is the identity of all
	Digests []microdata.Digest
	Values  []float64 // the value being masked, one a record; nil in a stream of draws that are never released
}

// check panics if r cannot identify n records of the stream.
func (s *Stream) check(r *Records, n int) {
	if r.Stream < 0 || uint64(r.Stream) > math.MaxUint32 {
		panic(fmt.Sprintf("keystream: Records.Stream must be in [0, 2^32), got %d", r.Stream))
	}
	switch {
	case s.free != nil && (r.Digests != nil || r.Values != nil):
		panic("keystream: draws that never leave belong to a place alone: Records.Digests and Values must be nil")
	case s.free == nil && len(r.Values) < n:
		panic(fmt.Sprintf("keystream: a draw that leaves is bound to the value: Records.Values must hold %d, got %d", n,
			len(r.Values)))
	case r.Digests != nil && len(r.Digests) < n:
		panic(fmt.Sprintf("keystream: Records.Digests must hold one for each of %d records, got %d", n, len(r.Digests)))
	}
	if r.Places == nil {
		if r.First < 0 || r.First > math.MaxInt64-int64(n) {
			panic(fmt.Sprintf("keystream: Records.First must be at least 0 and leave room for %d records, got %d", n, r.First))
		}
		return
	}
	if len(r.Places) < n {
		panic(fmt.Sprintf("keystream: Records.Places must hold a place for each of %d records, got %d", n, len(r.Places)))
	}
	if i := slices.IndexFunc(r.Places[:n], func(p int64) bool { return p < 0 }); i >= 0 {
		panic(fmt.Sprintf("keystream: Records.Places[%d] must be at least 0", i))
	}
}

// chunk is how many records are drawn at once: their blocks stay in the first-level cache.
const chunk = 512

// scratch is the memory of one call. It is pooled because memory passed to a cipher through
// an interface would otherwise be allocated on every call.
type scratch struct {
	blocks [chunk]block // one a record of the chunk
	block  block        // of a further draw
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// source gives the blocks of the records of one call in order, and any further
// block of one of them.
type source struct {
	*scratch
	stream  *Stream
	records Records
	offsets [4][2]uint64 // of a release by place: the states after the first message block, for draws 0, 1, …
}

func (s *Stream) source(r Records, n int) source {
	s.check(&r, n)
	src := source{scratch: scratches.Get().(*scratch), stream: s, records: r}
	if s.free == nil && n > 0 {
		src.offset()
	}
	return src
}

func (src *source) close() { scratches.Put(src.scratch) }

// next returns the first blocks of the records at, …, at+n-1 of the run, n ≤ chunk, which
// are valid until the next call.
func (src *source) next(at, n int) []block {
	blocks := src.blocks[:n]
	switch {
	case src.stream.free != nil:
		src.counters(blocks, at)
	case src.records.Digests != nil:
		src.identified(blocks, at)
	default:
		src.bound(blocks, at)
	}
	return blocks
}

// counters is next for draws that are never released: a block is the encryption of draw, stream
// and record.
func (src *source) counters(blocks []block, at int) {
	stream := uint64(src.records.Stream)
	if src.records.Places == nil {
		first := uint64(src.records.First) + uint64(at)
		for i := range blocks {
			blocks[i].set(stream, first+uint64(i))
		}
	} else {
		places := src.records.Places[at : at+len(blocks)]
		for i := range blocks {
			blocks[i].set(stream, uint64(places[i]))
		}
	}
	src.stream.free.encryptAll(blocks)
}

// further returns the two words of block draw (1, 2, …) of record i of the run.
func (src *source) further(i int, draw uint32) (w0, w1 uint64) {
	b := &src.block
	if src.stream.free != nil {
		b.set(uint64(draw)<<32|uint64(src.records.Stream), src.place(i))
		src.stream.free.encrypt(b)
	} else {
		src.released(b, i, draw)
	}
	return b.first(), b.second()
}

// place returns the place of record i of the run.
func (src *source) place(i int) uint64 {
	if src.records.Places != nil {
		return uint64(src.records.Places[i])
	}
	return uint64(src.records.First) + uint64(i)
}
