package suppression

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// mostlyOne is the share of households from which on a key that is the same for all members counts as one
// of households. Where members differ it is hidden.
const mostlyOne = 0.95

// HideByHousehold is Hide for a snooper who knows which records are one household's, and so looks for the household. K
// counts households, not records: five members of one household who share their keys protect nobody. A key that is the
// same for all members is hidden for all or for none of them, because the others' values would tell the one that is
// missing.
//
// First the keys of households are hidden, until each combination of them belongs to K households, and then the others,
// until each combination of all keys does; a missing value is one like any other. So the records that look the same are
// of at least K households, whether a missing cell counts as no value or as any value, and whatever keys a snooper
// knows.
//
// of is by record its household, from 0 to n − 1. shared and personal are sets of keys: those that are said to be the
// same for all members, and those of which each member has its own.
func (s *Search) HideByHousehold(codes [][]int32, of []int32, n int, shared, personal uint16) ([]uint16,
	*decision.Refusal) {
	s.span = make([]int, len(codes))
	for j := range codes {
		s.span[j] = int(slices.Max(codes[j])) + 1
	}
	s.order()
	by := householdSearch{k: s.K, codes: codes, of: of, n: n, sets: s.sets, stop: s.Stop.Now, seen: make([]int32, n)}
	return by.hide(by.keysOfHouseholds(shared, personal))
}

// householdSearch hides keys of records and households.
type householdSearch struct {
	k       int
	codes   [][]int32 // by key and record; of rejected records −1 in the first
	of      []int32   // by record: its household
	n       int       // households
	sets    []uint16  // of keys, in the order of cost, the empty one first
	stop    func() bool
	seen    []int32 // by household: the last group in which it was counted
	counted int32
}

// keysOfHouseholds returns the keys that are the same for all members: those of which it is said, and those of
// which nobody says that each member has its own, if so they are in the data.
func (s *householdSearch) keysOfHouseholds(shared, personal uint16) (set uint16) {
	for j := range s.codes {
		several, differ := s.within(j)
		if shared>>j&1 == 1 || personal>>j&1 == 0 && several >= 3 && float64(several-differ) >= mostlyOne*float64(several) {
			set |= 1 << j
		}
	}
	return set
}

// within returns how many households have two or more records, and in how many of them a key differs.
func (s *householdSearch) within(j int) (several, differ int) {
	first, state := make([]int32, s.n), make([]uint8, s.n)
	for i, h := range s.of {
		switch {
		case s.codes[0][i] < 0:
			continue
		case state[h] == 0:
			state[h], first[h] = 1, s.codes[j][i]
			continue
		case state[h] == 1:
			state[h] = 2
			several++
		}
		if state[h] == 2 && first[h] != s.codes[j][i] {
			state[h] = 3
			differ++
		}
	}
	return several, differ
}

// unit is a record or a household whose cells are hidden.
type unit struct {
	tuple     []int32
	household int32
	hidden    uint16
}

// hide returns for each record the set of keys whose cells are to be set missing.
func (s *householdSearch) hide(shared uint16) ([]uint16, *decision.Refusal) {
	keys := len(s.codes)
	households := make([]unit, s.n)
	for i, h := range s.of {
		if s.codes[0][i] < 0 {
			continue
		}
		u := &households[h]
		if u.tuple == nil {
			*u = unit{tuple: make([]int32, keys), household: h}
			for j := range keys {
				if shared>>j&1 == 1 {
					u.tuple[j] = s.codes[j][i]
				}
			}
			continue
		}
		for j := range keys {
			if shared>>j&1 == 1 && u.tuple[j] != s.codes[j][i] {
				u.tuple[j] = -1 - h // no other household has it
			}
		}
	}
	households = slices.DeleteFunc(households, func(u unit) bool { return u.tuple == nil })
	if len(households) == 0 {
		return make([]uint16, len(s.of)), nil
	}
	if len(households) < s.k {
		return nil,
			&decision.Refusal{
				Path: "k",
				Text: fmt.Sprintf(
					"must be at most the number of households, got %d: no respondent can have candidates in more households than there are, even if all cells are set missing", s.k)}
	}
	s.bunch(households, shared)
	whole := make([]uint16, s.n)
	for _, u := range households {
		whole[u.household] = u.hidden
	}
	var records []unit
	rows := make([]int32, 0, len(s.of))
	cells := make([]int32, keys*len(s.of))
	for i, h := range s.of {
		if s.codes[0][i] < 0 {
			continue
		}
		u := unit{tuple: cells[i*keys:][:keys:keys], household: h}
		for j := range keys {
			if whole[h]>>j&1 == 0 {
				u.tuple[j] = s.codes[j][i]
			}
		}
		records, rows = append(records, u), append(rows, int32(i))
	}
	s.bunch(records, ^shared)
	hidden := make([]uint16, len(s.of))
	for at, i := range rows {
		hidden[i] = whole[s.of[i]] | records[at].hidden
	}
	return hidden, nil
}

// bunch hides cells of the keys in among, until the units with equal tuples are of at least k households:
// at each unit the cheapest set for which those that need it are enough. Units that no set helps lose all
// cells of these keys, and so do the smallest groups of others beside them until they are enough. Units that
// are equal in all other keys must be of k households.
func (s *householdSearch) bunch(units []unit, among uint16) {
	among &= 1<<len(s.codes) - 1
	open := make([]int32, len(units))
	for i := range open {
		open[i] = int32(i)
	}
	for _, set := range s.sets {
		if set&^among != 0 || len(open) == 0 || s.stop() {
			continue
		}
		groups := grouped(units, open, set)
		open = open[:0]
		for _, group := range groups {
			if s.households(units, group) < s.k {
				open = append(open, group...)
				continue
			}
			for _, i := range group {
				units[i].hidden = set
			}
		}
	}
	if len(open) == 0 || s.stop() {
		return
	}
	left := make([]bool, len(units))
	for _, i := range open {
		left[i], units[i].hidden = true, among
	}
	beside := map[string][]int32{} // units that are resolved, by what they are without these keys
	lacking := grouped(units, open, among)
	for _, group := range lacking {
		beside[units[group[0]].text(among)] = nil
	}
	for i := range units {
		if of := units[i].text(among); !left[i] {
			if list, there := beside[of]; there {
				beside[of] = append(list, int32(i))
			}
		}
	}
	for _, group := range lacking {
		s.fill(units, group, beside[units[group[0]].text(among)], among)
	}
}

// fill adds to a group of too few households the smallest groups of others, until they are enough.
func (s *householdSearch) fill(units []unit, group, others []int32, among uint16) {
	groups := map[string][]int32{}
	for _, i := range others {
		of := units[i].text(units[i].hidden)
		groups[of] = append(groups[of], i)
	}
	names := make([]string, 0, len(groups))
	for name := range groups {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(groups[a]), len(groups[b])), cmp.Compare(a, b))
	})
	for _, name := range names {
		if s.households(units, group) >= s.k {
			return
		}
		for _, i := range groups[name] {
			units[i].hidden = among
		}
		group = append(group, groups[name]...)
	}
}

// households returns of how many households units are.
func (s *householdSearch) households(units []unit, group []int32) (n int) {
	s.counted++
	for _, i := range group {
		if h := units[i].household; s.seen[h] != s.counted {
			s.seen[h] = s.counted
			n++
		}
	}
	return n
}

// grouped returns the units that are equal without a set of keys.
func grouped(units []unit, which []int32, set uint16) [][]int32 {
	at := map[string]int{}
	var groups [][]int32
	for _, i := range which {
		text := units[i].text(set)
		k, known := at[text]
		if !known {
			k = len(groups)
			at[text] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], i)
	}
	return groups
}

// text is a unit's tuple without a set of keys. A key that is hidden is equal to one that was missing before.
func (u *unit) text(set uint16) string {
	text := make([]byte, 0, 4*len(u.tuple))
	for j, code := range u.tuple {
		if set>>j&1 == 1 {
			code = 0
		}
		text = binary.BigEndian.AppendUint32(text, uint32(code))
	}
	return string(text)
}
