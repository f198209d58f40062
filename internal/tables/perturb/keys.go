package perturb

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Keys derives the keys of records and the draws of cells from a release key. It is safe
// for concurrent use.
type Keys struct{ record, cell, draws, sample *keystream.Pseudonyms }

// NewKeys returns the keys under a release key. Nothing that is drawn for a mask has
// anything in common with them.
func NewKeys(k keystream.Key) *Keys {
	return &Keys{k.Pseudonyms("tables: record key"), k.Pseudonyms("tables: cell key"), k.Pseudonyms("tables: draws"), k.Pseudonyms("tables: sample")}
}

// Record is the key of a record, by the digest of what identifies it: 64 bits, of which
// each sum over records is taken modulo 2⁶⁴.
func (k *Keys) Record(d microdata.Digest) uint64 {
	return first(k.record, d[:])
}

// Draw is what decides whether a record is in a sample, by the same digest: uniform over all
// 64 bits.
func (k *Keys) Draw(d microdata.Digest) uint64 {
	return first(k.sample, d[:])
}

// Cell is the draw of a cell, by the sum of the keys of its records, uniform over all 64
// bits. The sum itself is no draw: it is that of the parts of a total, so that the
// draws of a total and of its parts would tell of each other.
func (k *Keys) Cell(sum uint64) uint64 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], sum)
	return first(k.cell, b[:])
}

// Draws are as many draws as are wanted for what the numbers name, such as the sums of the
// keys of some cells: ChaCha8 from a seed of 32 bytes, the pseudonyms of the numbers, 8
// bytes each, behind a byte 0 and behind a byte 1.
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
