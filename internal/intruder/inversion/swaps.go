package inversion

import (
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/transform"
)

func errUnknown(m transform.Spec) error {
	return fmt.Errorf("mask %s: the inversion does not know what it does", m.Kind())
}

// swapReach finds out which records an exchange can have reached. Swaps leave the
// keys that they go by as they are, and who is a candidate follows from these.
type swapReach struct {
	release *Release
	masks   []transform.Spec
	window  int
	n       int
	known   map[int][]float32 // by mask: the least probability that a record was not moved
}

// link returns what mask i, a swap, does to each of its columns.
func (s *swapReach) link(i int, m transform.Exchange) link {
	rate := m.Rate
	if rate == 0 {
		return link{kind: Identity, trivial: true}
	}
	if s.known == nil {
		s.known = map[int][]float32{}
	}
	if _, done := s.known[i]; !done {
		s.known[i] = s.unmoved(i, m)
	}
	unmoved := s.known[i]
	return link{kind: Unswapped, certain: func(y, p []float64) {
		for r := range y {
			if unmoved == nil {
				p[r] *= 1 - rate
			} else {
				p[r] *= float64(unmoved[r])
			}
		}
	}}
}

// unmoved bounds, record by record, the probability from below that a swap did not
// move it; nil where the keys are not known or were masked later, and 1 − π is all
// that can be said. A pair is formed at most once for each record and exchanged
// with probability π. Within a group of equal keys:
//
//   - Policy unique: a candidate, alone in its value of the attribute, is moved with
//     probability π at most; of the m records with another value, which are alike,
//     at most as many can be partners as there are candidates elsewhere in the
//     group, c: π·min(1, c/m).
//   - Policy random: of the m records with one value of the attribute at most as many
//     can be paired as there are others, o: π·min(1, o/m).
//
// Where a group has one value of the attribute, or no candidate, nothing moves.
func (s *swapReach) unmoved(i int, m transform.Exchange) []float32 {
	group := make([]int32, s.n)
	if !m.Dataset && s.window > 0 {
		for r := range group {
			group[r] = int32(r / s.window)
		}
	}
	for _, name := range m.Keys {
		if !s.refine(group, i, name) {
			return nil
		}
	}
	combo := append([]int32(nil), group...)
	if !s.refine(combo, i, m.Attribute) {
		return nil
	}
	var most int32
	for r := range group {
		most = max(most, group[r], combo[r])
	}
	size, alike, single := make([]int32, most+1), make([]int32, most+1), make([]int32, most+1)
	for r := range group {
		size[group[r]]++
		alike[combo[r]]++
	}
	for r := range group {
		if alike[combo[r]] == 1 {
			single[group[r]]++
		}
	}
	unmoved := make([]float32, s.n)
	for r := range unmoved {
		g, same := group[r], alike[combo[r]]
		others := size[g] - same
		if m.Unique && same > 1 {
			others = single[g] // candidates, none of which is among the records alike
		} else if m.Unique && others > 0 {
			others = 1 // a candidate itself: someone is there to take
		}
		p := m.Rate * math.Min(1, float64(others)/float64(same))
		unmoved[r] = float32(1 - p)
	}
	return unmoved
}

// refine makes of groups the finer groups that agree in a further column. It is
// false where the column's values, as the swap saw them, are not known.
func (s *swapReach) refine(group []int32, i int, name string) bool {
	for _, later := range s.masks[i+1:] {
		if named(later.Params.Masks(), name) {
			return false
		}
	}
	type pair struct {
		group int32
		value uint64
	}
	code := map[pair]int32{}
	put := func(r int, value uint64) {
		p := pair{group[r], value}
		c, ok := code[p]
		if !ok {
			c = int32(len(code))
			code[p] = c
		}
		group[r] = c
	}
	for _, k := range s.release.Keys {
		if k.Name == name {
			for r, v := range k.Codes {
				put(r, uint64(uint32(v)))
			}
			return true
		}
	}
	for _, c := range s.release.Columns {
		if c.Name == name {
			for r, v := range c.Released {
				if v != v {
					v = math.NaN() // one missing value, whatever its bits
				}
				put(r, math.Float64bits(v+0))
			}
			return true
		}
	}
	return false
}
