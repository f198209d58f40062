package perturb

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Keys derives the keys of records and the draws of cells from a release key. It is safe
// for concurrent use.
type Keys struct{ record, cell, draws, sample, values *keystream.Pseudonyms }

// NewKeys returns the keys derived from a release key. They are independent of all
// draws for masks.
func NewKeys(k keystream.Key) *Keys {
	return &Keys{k.Pseudonyms("tables: record key"), k.Pseudonyms("tables: cell key"), k.Pseudonyms("tables: draws"),
		k.Pseudonyms("tables: sample"), k.Pseudonyms("tables: values")}
}

// Record returns the key of a record from the digest of its identity: 64 bits. Sums
// over records are taken modulo 2⁶⁴.
func (k *Keys) Record(d microdata.Digest) uint64 {
	return first(k.record, d[:])
}

// Draw returns the draw that determines whether a record is in a sample, from the same
// digest: uniform over 64 bits.
func (k *Keys) Draw(d microdata.Digest) uint64 {
	return first(k.sample, d[:])
}

// Cell returns the draw of a cell from the sum of the keys of its records, uniform over
// 64 bits. The sum itself cannot serve as the draw: the sum of a total is the sum over
// its parts, so that the draws of a total and of its parts would be dependent.
func (k *Keys) Cell(sum uint64) uint64 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], sum)
	return first(k.cell, b[:])
}

// Draws returns a source of any number of draws for the object that the numbers identify,
// such as the sums of the keys of some cells: ChaCha8 from a seed of 32 bytes, the
// pseudonyms of the numbers, 8 bytes each, behind a byte 0 and behind a byte 1.
func (k *Keys) Draws(of ...uint64) *rand.Rand {
	var seed [32]byte
	data := make([]byte, 1, 1+8*len(of))
	for _, n := range of {
		data = binary.BigEndian.AppendUint64(data, n)
	}
	for half := range 2 {
		data[0] = byte(half)
		k.draws.Append(seed[:keystream.PseudonymSize*half], data)
	}
	return rand.New(rand.NewChaCha8(seed))
}

func first(p *keystream.Pseudonyms, data []byte) uint64 {
	var b [keystream.PseudonymSize]byte
	return binary.BigEndian.Uint64(p.Append(b[:0], data))
}
