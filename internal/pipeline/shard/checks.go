package shard

import (
	"crypto/sha256"
	"encoding/hex"
)

// sound reports whether the parts of a plan are such as Plan makes: together they have each
// record of each file once, in order.
func (m *Manifest) sound() bool {
	stream, next := 0, int64(0)
	for _, s := range m.Shards {
		records := int64(0)
		for _, p := range s.Parts {
			if p.Stream == stream+1 {
				stream, next = p.Stream, 0
			}
			if p.Stream != stream || p.First != next || p.Records < 0 {
				return false
			}
			next += p.Records
			records += p.Records
			if next < 0 || records < 0 {
				return false
			}
		}
		if records != s.Records || len(s.Parts) == 0 {
			return false
		}
	}
	return stream == len(m.Files)-1
}

// fits reports whether the counts of a state can be those of a shard, of so many masks.
func (s *State) fits(of *Shard, masks int) bool {
	for _, n := range append(s.Touched, s.Unidentified) {
		if n < 0 || n > s.Read {
			return false
		}
	}
	for _, v := range s.Verified {
		if v.Records < 0 || v.Records > s.Read {
			return false
		}
	}
	reasons := int64(0)
	for _, n := range s.Reasons {
		if n < 0 || n > s.Quarantined-reasons {
			return false
		}
		reasons += n
	}
	return s.Read == of.Records && len(s.Files) == len(of.Parts) && len(s.Touched) == masks &&
		reasons == s.Quarantined && s.Valid() && s.Held == 0 && int64(len(s.Entries)) <= s.Quarantined
}

// pairingOf returns the name of a pairing, from the digests of the decisions for each shard.
func (m *Manifest) pairingOf(digests [][sha256.Size]byte) string {
	h := sha256.New()
	h.Write([]byte(m.id))
	for _, sum := range digests {
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}
