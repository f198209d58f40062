package perturb

import (
	"encoding/binary"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Keys derives the keys of records and the draws of cells from a release key. It is safe
// for concurrent use.
type Keys struct{ record, cell *keystream.Pseudonyms }

// NewKeys returns the keys under a release key. Nothing that is drawn for a mask has
// anything in common with them.
func NewKeys(k keystream.Key) *Keys {
	return &Keys{k.Pseudonyms("tables: record key"), k.Pseudonyms("tables: cell key")}
}

// Record is the key of a record, by the digest of what identifies it: 64 bits, of which
// each sum over records is taken modulo 2⁶⁴.
func (k *Keys) Record(d microdata.Digest) uint64 {
	return first(k.record, d[:])
}

// Cell is the draw of a cell, by the sum of the keys of its records, uniform over all 64
// bits. The sum itself is no draw: it is that of the parts of a total, so that the
// draws of a total and of its parts would tell of each other.
func (k *Keys) Cell(sum uint64) uint64 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], sum)
	return first(k.cell, b[:])
}

func first(p *keystream.Pseudonyms, data []byte) uint64 {
	var b [keystream.PseudonymSize]byte
	return binary.BigEndian.Uint64(p.Append(b[:0], data))
}
