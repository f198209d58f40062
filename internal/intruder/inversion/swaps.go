package inversion

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform"
)

func errUnknown(m transform.Spec) error {
	return fmt.Errorf("mask %s: the inversion does not know what it does", m.Kind())
}

// swapReach determines which records a swap can have changed. Swaps do not change the
// keys that define their groups, and the candidates follow from these keys.
type swapReach struct {
	release      *Release
	masks        []transform.Spec
	window       int
	n            int
	unmovedCache map[int][]float32  // by mask: a lower bound of the probability that a record was not moved
	groups       map[int]swapGroups // by mask
}

// swapGroups are the groups in which a swap finds partners.
type swapGroups struct {
	combo    []int32 // by record: its combination of keys and attribute
	alike    []int32 // by combination: the number of its records
	few      [][]int // the records of each group of at most fewRecords with more than one combination
	partners func(sizes []int32) func(own, other int32) float64
}

// fewRecords is the size of groups up to which the attack knows the probability of each exchange. In larger ones no
// record is exchanged with any given one with a probability of ½.
const fewRecords = 8

// sizesOf returns the numbers of records of the combinations of a group.
func (g *swapGroups) sizesOf(records []int) (sizes []int32) {
	var seen []int32
	for _, r := range records {
		if c := g.combo[r]; !slices.Contains(seen, c) {
			seen, sizes = append(seen, c), append(sizes, g.alike[c])
		}
	}
	return sizes
}

// link returns the link of mask i, a swap, on each of its columns.
func (s *swapReach) link(i int, m transform.Exchange, grid float64) link {
	rate := m.Rate
	if rate == 0 {
		return link{kind: Identity, trivial: true}
	}
	if s.unmovedCache == nil {
		s.unmovedCache, s.groups = map[int][]float32{}, map[int]swapGroups{}
	}
	if _, done := s.unmovedCache[i]; !done {
		s.unmovedCache[i] = s.unmoved(i, m)
	}
	unmoved := s.unmovedCache[i]
	groups := s.groups[i]
	back := func(u *undoing) bool {
		if unmoved == nil { // who was exchanged with whom is not known
			for r := range u.chance {
				u.chance[r] *= 1 - rate
			}
			return false
		}
		return groups.back(u, grid, unmoved)
	}
	return link{kind: Unswapped, back: back, certain: func(y, p []float64) {
		for r := range y {
			if unmoved == nil {
				p[r] *= 1 - rate
			} else {
				p[r] *= float64(unmoved[r])
			}
		}
	}}
}

// unmoved returns for each record a lower bound of the probability that a swap did not
// move it. It returns nil if the keys are unknown or were masked later; the bound is
// then 1 − π. Each record is in at most one pair, and a pair is exchanged with
// probability π. Within a group of equal keys:
//
//   - Policy unique: a candidate, the only record of its group with its value of the
//     attribute, is moved with probability π at most. Of m records of the group with
//     the same other value, at most c can be partners, where c is the number of
//     candidates in the group: the probability is π·min(1, c/m).
//   - Policy random: of m records with the same value of the attribute, at most o can
//     be paired, where o is the number of the other records of the group: the
//     probability is π·min(1, o/m).
//
// In a group with only one value of the attribute, or without a candidate, no record
// moves.
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
			others = single[g] // candidates; none of them is among the records with the same value
		} else if m.Unique && others > 0 {
			others = 1 // the record itself is a candidate, and a partner exists
		}
		p := m.Rate * math.Min(1, float64(others)/float64(same))
		unmoved[r] = float32(1 - p)
	}
	of := map[int32][]int{}
	for r, g := range group {
		if n := size[g]; n <= fewRecords && n > alike[combo[r]] {
			of[g] = append(of[g], r)
		}
	}
	groups := swapGroups{combo: combo, alike: alike, partners: m.Partners()}
	for _, g := range slices.Sorted(maps.Keys(of)) {
		groups.few = append(groups.few, of[g])
	}
	s.groups[i] = groups
	return unmoved
}

// refine splits groups by the values of a further column. It returns false if the
// column's values at the time of the swap are unknown.
func (s *swapReach) refine(group []int32, i int, name string) bool {
	for _, later := range s.masks[i+1:] {
		if containsName(later.Params.Masks(), name) {
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
					v = math.NaN() // all missing values are equal, also if their bits differ
				}
				put(r, math.Float64bits(v+0))
			}
			return true
		}
	}
	return false
}
