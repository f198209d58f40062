package keystream

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Stream is the keystream of one (mask, column, replicate). It is immutable and
// safe for concurrent use. Words, Uniforms, Normals and Laplaces of one stream
// are made of the same bits: whoever needs two independent draws for a record
// takes two streams.
type Stream struct {
	place  cipher.Block // for records identified by their place
	digest cipher.Block // for records identified by a digest
}

// Stream derives the subkeys of a stream. mask and column are any names: the
// label that they go into is injective. replicate 0 is the release, 1, 2, … are
// replicates; a negative one panics.
func (k Key) Stream(mask, column string, replicate int) *Stream {
	if replicate < 0 {
		panic(fmt.Sprintf("keystream: replicate must be at least 0, got %d", replicate))
	}
	subkeys := k.derive(streamInfo(mask, column, uint64(replicate)), 2*KeySize)
	return &Stream{place: newAES(subkeys[:KeySize]), digest: newAES(subkeys[KeySize:])}
}

// streamInfo is the HKDF info of a stream. Each name is preceded by its length,
// so that no two triples give the same bytes.
func streamInfo(mask, column string, replicate uint64) string {
	info := []byte(labelStream)
	for _, name := range []string{mask, column} {
		info = binary.BigEndian.AppendUint64(info, uint64(len(name)))
		info = append(info, name...)
	}
	return string(binary.BigEndian.AppendUint64(info, replicate))
}

// ReleaseName is the mask's name that a stream of a release (replicate 0) is
// derived from: the mask's label, what was done to the column, and where the
// records are identified by their place in one of several scopes (topics), the
// scope. done must end in a semicolon and hold no vertical bar; label and scope
// are any text. No two triples share a name: without a scope it ends in the
// semicolon; with one it ends in a digit, and the number there says how many bytes
// before it are the scope's; of what is left done is what follows the last bar.
func ReleaseName(label, done, scope string) string {
	name := label + "|" + done
	if scope != "" {
		name += "|" + scope + "|" + strconv.Itoa(len(scope))
	}
	return name
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

// Records identifies the records of a run: by their place where Digests is nil,
// else each by its digest together with the value that is being masked.
type Records struct {
	Stream  int                // index of the stream in its source, in [0, 2³²)
	First   int64              // place of the run's first record in the stream, not negative
	Places  []int64            // of every record, where they do not follow one another; nil: record i is at First+i
	Digests []microdata.Digest // one a record; nil: the place is the identity
	Values  []float64          // the value being masked, one a record, with Digests only
}

// check panics where r cannot identify n records.
func (r *Records) check(n int) {
	switch {
	case r.Digests == nil && (r.Stream < 0 || uint64(r.Stream) > math.MaxUint32):
		panic(fmt.Sprintf("keystream: Records.Stream must be in [0, 2^32), got %d", r.Stream))
	case r.Digests == nil && r.Places != nil:
		if len(r.Places) < n {
			panic(fmt.Sprintf("keystream: Records.Places must hold a place for each of %d records, got %d", n, len(r.Places)))
		}
		if i := slices.IndexFunc(r.Places[:n], func(p int64) bool { return p < 0 }); i >= 0 {
			panic(fmt.Sprintf("keystream: Records.Places[%d] must be at least 0", i))
		}
	case r.Digests == nil && (r.First < 0 || r.First > math.MaxInt64-int64(n)):
		panic(fmt.Sprintf("keystream: Records.First must be at least 0 and leave room for %d records, got %d", n, r.First))
	case r.Digests != nil && (len(r.Digests) < n || len(r.Values) < n):
		panic(fmt.Sprintf("keystream: Records must hold a digest and a value for each of %d records, got %d and %d",
			n, len(r.Digests), len(r.Values)))
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
	ctr     cipher.Stream // nil with digests and with places
}

func (s *Stream) source(r Records, n int) source {
	r.check(n)
	src := source{scratch: scratches.Get().(*scratch), stream: s, records: r}
	if r.Digests == nil && r.Places == nil && n > 0 {
		src.counter(0, 0)
		src.ctr = cipher.NewCTR(s.place, src.block[:])
	}
	return src
}

func (src *source) close() { scratches.Put(src.scratch) }

// next fills blocks with the first block of each of the records at, …, at+n-1 of
// the run, n ≤ chunk. Calls follow one another without a gap.
func (src *source) next(at, n int) {
	if src.ctr != nil {
		src.ctr.XORKeyStream(src.blocks[:n*blockSize], zeros[:n*blockSize])
		return
	}
	if src.records.Digests == nil {
		src.scattered(at, n)
		return
	}
	for i := range n {
		src.identified(src.blocks[i*blockSize:(i+1)*blockSize], at+i, 0)
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
			cipher.NewCTR(src.stream.place, src.block[:]).XORKeyStream(blocks, zeros[:len(blocks)])
			from = to
			continue
		}
		for ; from < to; from++ {
			src.counter(at+from, 0)
			src.stream.place.Encrypt(src.blocks[from*blockSize:(from+1)*blockSize], src.block[:])
		}
	}
}

// further returns the two words of block draw (1, 2, …) of record i of the run.
func (src *source) further(i int, draw uint32) (w0, w1 uint64) {
	b := src.block[:]
	if src.records.Digests == nil {
		src.counter(i, draw)
		src.stream.place.Encrypt(b, b)
	} else {
		src.identified(b, i, draw)
	}
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
}

// counter writes the counter block of record i of the run into block: draw,
// stream, record, so that consecutive records are consecutive counters.
func (src *source) counter(i int, draw uint32) {
	b := src.block[:]
	binary.BigEndian.PutUint32(b, draw)
	binary.BigEndian.PutUint32(b[4:], uint32(src.records.Stream))
	place := src.records.First + int64(i)
	if src.records.Places != nil {
		place = src.records.Places[i]
	}
	binary.BigEndian.PutUint64(b[8:], uint64(place))
}

// identified writes block draw of record i, known by its digest and its value:
// the CBC-MAC of digest and (value, draw), two blocks, a fixed length.
func (src *source) identified(b []byte, i int, draw uint32) {
	copy(b, src.records.Digests[i][:])
	e := src.stream.digest
	e.Encrypt(b, b)
	binary.BigEndian.PutUint64(b, binary.BigEndian.Uint64(b)^canonicalBits(src.records.Values[i]))
	binary.BigEndian.PutUint64(b[8:], binary.BigEndian.Uint64(b[8:])^uint64(draw))
	e.Encrypt(b, b)
}

// canonicalBits are the bits of a float64, the same for −0 and 0 and for every
// NaN.
func canonicalBits(v float64) uint64 {
	if v == 0 {
		return 0
	}
	if v != v {
		return 0x7ff8000000000001
	}
	return math.Float64bits(v)
}
