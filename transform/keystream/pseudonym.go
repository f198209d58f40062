package keystream

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

const labelPseudonym = "sdlfilter/pseudonym/1"

// PseudonymSize is the length of a pseudonym in bytes.
const PseudonymSize = 16

// Pseudonyms replaces identifying bytes by the first 16 bytes of their HMAC-SHA256 under a
// subkey of the label. Without the release key they cannot be computed. Equal bytes have equal
// pseudonyms under one key and label. It is safe for concurrent use.
type Pseudonyms struct {
	macs sync.Pool // of *mac: setting up a keyed hash takes longer than using it
}

type mac struct {
	hash.Hash
	sum [sha256.Size]byte
}

// Pseudonyms returns the pseudonyms under a label, which names their purpose. The pseudonyms of
// the same bytes under two labels are independent.
func (k Key) Pseudonyms(label string) *Pseudonyms {
	info := binary.BigEndian.AppendUint64([]byte(labelPseudonym), uint64(len(label)))
	subkey := k.derive(string(append(info, label...)), sha256.Size)
	p := new(Pseudonyms)
	p.macs.New = func() any { return &mac{Hash: hmac.New(sha256.New, subkey)} }
	return p
}

// Append appends the pseudonym of data, PseudonymSize bytes, to dst.
func (p *Pseudonyms) Append(dst, data []byte) []byte {
	m := p.macs.Get().(*mac)
	m.Reset()
	_, _ = m.Write(data) // a hash never fails
	dst = append(dst, m.Sum(m.sum[:0])[:PseudonymSize]...)
	p.macs.Put(m)
	return dst
}

// Pseudonym appends the pseudonym of data under label to dst. Pseudonyms is faster for many.
func (k Key) Pseudonym(dst []byte, label string, data []byte) []byte {
	return k.Pseudonyms(label).Append(dst, data)
}

// String hides the subkey.
func (p *Pseudonyms) String() string { return redacted }

// GoString hides the subkey.
func (p *Pseudonyms) GoString() string { return redacted }
