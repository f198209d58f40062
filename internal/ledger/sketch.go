package ledger

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Sketched is the greatest number of digests of a sketch.
const Sketched = 1024

// Sketch holds the least digests of the respondents of a release, under its key: of two sketches under one key
// follows about how many respondents are in both (Cohen 1997, "Size-estimation framework with applications to
// transitive closure and reachability").
type Sketch struct {
	Whole   bool     `json:"whole"`   // whether these are all respondents
	Digests []string `json:"digests"` // ascending, 16 hexadecimal digits each
}

// Sketcher makes a Sketch.
type Sketcher struct {
	least  []microdata.Digest // ascending, at most twice Sketched between two settlings
	bound  microdata.Digest   // digests above it are not of the sketch
	beyond bool               // whether there are more than those that are kept
}

// Add adds the respondents of a masked block. Records without identity, and those that are not released, do not count.
func (s *Sketcher) Add(b *microdata.Block) {
	for i, d := range b.Digests {
		if d == (microdata.Digest{}) || b.Rejected(i) || s.beyond && bytes.Compare(d[:], s.bound[:]) > 0 {
			continue
		}
		if s.least = append(s.least, d); len(s.least) >= 2*Sketched {
			s.settle()
		}
	}
}

func (s *Sketcher) settle() {
	slices.SortFunc(s.least, func(a, b microdata.Digest) int { return bytes.Compare(a[:], b[:]) })
	s.least = slices.Compact(s.least)
	if len(s.least) > Sketched {
		s.least, s.beyond = s.least[:Sketched], true
		s.bound = s.least[Sketched-1]
	}
}

// Sketch returns the sketch of what was added; nil if no record has an identity.
func (s *Sketcher) Sketch() *Sketch {
	s.settle()
	if len(s.least) == 0 {
		return nil
	}
	k := &Sketch{Whole: !s.beyond}
	for _, d := range s.least {
		k.Digests = append(k.Digests, hex.EncodeToString(d[:8]))
	}
	return k
}

// Union returns the sketch of the respondents of both; nil if both are nil.
func (k *Sketch) Union(o *Sketch) *Sketch {
	if k == nil || o == nil {
		if k == nil {
			return o
		}
		return k
	}
	u := &Sketch{Whole: k.Whole && o.Whole, Digests: slices.Concat(k.Digests, o.Digests)}
	slices.Sort(u.Digests)
	if u.Digests = slices.Compact(u.Digests); len(u.Digests) > Sketched {
		u.Digests, u.Whole = u.Digests[:Sketched], false
	}
	return u
}

// Share returns about which share of the respondents of a are in b too; NaN if it is not known.
func Share(a, b *Sketch) float64 {
	if a == nil || b == nil || len(a.Digests) == 0 || len(b.Digests) == 0 {
		return math.NaN()
	}
	// Below the lesser of the two bounds both sketches are complete.
	bound := "g"
	for _, s := range []*Sketch{a, b} {
		if last := s.Digests[len(s.Digests)-1]; !s.Whole && last < bound {
			bound = last
		}
	}
	n, both := 0, 0
	for _, d := range a.Digests {
		if d > bound {
			break
		}
		n++
		if _, there := slices.BinarySearch(b.Digests, d); there {
			both++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return float64(both) / float64(n)
}
