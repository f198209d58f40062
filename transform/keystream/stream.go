package keystream

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Stream is the keystream of one (mask, column, replicate), or of one draw of a
// release. It is immutable and safe for concurrent use. Words, Uniforms, Normals
// and Laplaces of one stream are made of the same bits: whoever needs two
// independent draws for a record takes two streams.
type Stream struct {
	free     cipher.Block // of draws that never leave; nil in a stream of a release
	place    cipher.Block // of a release, for records that are known by their place
	identity cipher.Block // and by their identity
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

// streamInfo is the HKDF info of a stream of draws that never leave. Each name is
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

// named is a label followed by names, each after its length: injective for a label.
func named(label string, names ...string) []byte {
	info := []byte(label)
	for _, name := range names {
		info = binary.BigEndian.AppendUint64(info, uint64(len(name)))
		info = append(info, name...)
	}
	return info
}

func newAES(key []byte) cipher.Block {
	b, err := aes.NewCipher(key)
	if err != nil {
		panic("keystream: " + err.Error()) // only a wrong length, and lengths are constants
	}
	return b
}

// Format prints nothing of the subkeys, under any verb.
func (s Stream) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[keystream]")) }

// Records identifies the records of a run: by their place, or by a digest. In a
// stream of a release the value that is being masked is part of it.
type Records struct {
	Stream  int                // index of the stream in its source, in [0, 2³²)
	First   int64              // place of the run's first record in the stream, not negative
	Places  []int64            // of every record, where they do not follow one another; nil: record i is at First+i
	Digests []microdata.Digest // one a record, the zero Digest where its place is its identity; nil: so in all
	Values  []float64          // the value being masked, one a record; nil in a stream of draws that never leave
}

// check panics where r cannot identify n records of the stream.
func (s *Stream) check(r *Records, n int) {
	if r.Stream < 0 || uint64(r.Stream) > math.MaxUint32 {
		panic(fmt.Sprintf("keystream: Records.Stream must be in [0, 2^32), got %d", r.Stream))
	}
	switch {
	case s.free != nil && (r.Digests != nil || r.Values != nil):
		panic("keystream: draws that never leave belong to a place alone: Records.Digests and Values must be nil")
	case s.free == nil && len(r.Values) < n:
		panic(fmt.Sprintf("keystream: a draw that leaves is bound to the value: Records.Values must hold %d, got %d", n, len(r.Values)))
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

const (
	blockSize = aes.BlockSize
	// chunk is how many records are drawn at once: their blocks and the zeros
	// they are made from stay in the first-level cache.
	chunk = 512
)

// zeros is what the counter mode encrypts to give its bare keystream.
var zeros [chunk * blockSize]byte

// scratch is the memory of one call. It is pooled because what is handed to a
// cipher by way of an interface would else be allocated on every call.
type scratch struct {
	blocks [chunk * blockSize]byte // one block a record of the chunk
	block  [blockSize]byte         // of a further draw
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// source gives the blocks of the records of one call in order, and any further
// block of one of them.
type source struct {
	*scratch
	stream  *Stream
	records Records
	ctr     cipher.Stream // of draws that never leave, of consecutive places; else nil
	offset  [2]uint64     // of a release: what first blocks by place are offset by
}

func (s *Stream) source(r Records, n int) source {
	s.check(&r, n)
	src := source{scratch: scratches.Get().(*scratch), stream: s, records: r}
	switch {
	case n == 0:
	case s.free == nil:
		src.offset = src.offsetOf(0)
	case r.Places == nil:
		src.counter(0, 0)
		src.ctr = cipher.NewCTR(s.free, src.block[:])
	}
	return src
}

func (src *source) close() { scratches.Put(src.scratch) }

// next fills blocks with the first block of each of the records at, …, at+n-1 of
// the run, n ≤ chunk. Calls follow one another without a gap.
func (src *source) next(at, n int) {
	switch {
	case src.ctr != nil:
		src.ctr.XORKeyStream(src.blocks[:n*blockSize], zeros[:n*blockSize])
	case src.stream.free != nil:
		src.scattered(at, n)
	case src.records.Digests != nil:
		src.identified(at, n)
	default:
		src.bound(at, n)
	}
}

// fewer records than this are encrypted one by one, as a counter mode has to be
// set up anew after every gap.
const fewInBulk = 8

// scattered is next for places with gaps: one call a stretch of consecutive
// places.
func (src *source) scattered(at, n int) {
	places := src.records.Places[at : at+n]
	for from := 0; from < n; {
		to := from + 1
		for to < n && places[to] == places[to-1]+1 {
			to++
		}
		blocks := src.blocks[from*blockSize : to*blockSize]
		if to-from >= fewInBulk {
			src.counter(at+from, 0)
			cipher.NewCTR(src.stream.free, src.block[:]).XORKeyStream(blocks, zeros[:len(blocks)])
			from = to
			continue
		}
		for ; from < to; from++ {
			src.counter(at+from, 0)
			src.stream.free.Encrypt(src.blocks[from*blockSize:(from+1)*blockSize], src.block[:])
		}
	}
}

// further returns the two words of block draw (1, 2, …) of record i of the run.
func (src *source) further(i int, draw uint32) (w0, w1 uint64) {
	b := src.block[:]
	if src.stream.free != nil {
		src.counter(i, draw)
		src.stream.free.Encrypt(b, b)
	} else {
		src.leaving(b, i, draw)
	}
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
}

// place returns the place of record i of the run.
func (src *source) place(i int) uint64 {
	if src.records.Places != nil {
		return uint64(src.records.Places[i])
	}
	return uint64(src.records.First) + uint64(i)
}

// counter writes the counter block of record i of the run into block: draw,
// stream, record, so that consecutive records are consecutive counters.
func (src *source) counter(i int, draw uint32) {
	b := src.block[:]
	binary.BigEndian.PutUint32(b, draw)
	binary.BigEndian.PutUint32(b[4:], uint32(src.records.Stream))
	binary.BigEndian.PutUint64(b[8:], src.place(i))
}
