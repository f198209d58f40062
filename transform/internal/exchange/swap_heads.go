package exchange

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// seeker is a record whose coin falls heads, while its group is decided. It has no pointers, and only
// what the pairing uses.
type seeker struct {
	order, partner uint64
	value          uint32 // its place in received
	combo          uint32 // index of its combination among those of the group, twice, and the last bit of its coin
}

// decideHeads is decideGroup of policy random: the records whose coin falls heads are paired among
// themselves, and those that are left with the samples of the others.
func (s *datasetSwap) decideHeads(moves []move, group []int32) []move {
	seekers := s.seekersOf(group)
	ranks := s.rankCombos(seekers, group)
	h := newHeads(seekers, ranks, len(group))
	left := h.pair(s.received, s.stop)
	if len(left) == 0 {
		return moves
	}
	var sample pool
	by := make([]int, len(group))
	for g, rank := range ranks {
		by[rank] = g
	}
	for rank, g := range by {
		m := &s.combos[group[g]]
		sample.add(m.records, m.count-int64(h.ends[rank]-h.starts[rank]))
	}
	sample.start()
	for i, at := range left {
		if s.stop.At(i) {
			break
		}
		r := &seekers[at]
		g, ok := sample.pick(r.partner, int(ranks[r.combo>>1]))
		if !ok {
			continue
		}
		next := sample.next[g]
		q := &sample.records[g][next]
		sample.take(g, next)
		// heads has looked at the upper bits of the coin's word; the lowest is a coin of its own.
		if r.combo&1 == 0 {
			s.received[r.value].value = q.value
			moves = append(moves, move{q.row, q.source, r.value})
		}
	}
	return moves
}

// seekersOf returns the records of a group whose coin falls heads in the order of their words, which is
// random, and notes their places in received. It removes them from the combinations.
func (s *datasetSwap) seekersOf(group []int32) []seeker {
	n := 0
	for _, code := range group {
		_, some := s.combos[code].allHeads()
		n += some
	}
	seekers := make([]seeker, 0, n)
	for g, code := range group {
		m := &s.combos[code]
		lists, _ := m.allHeads()
		for _, list := range lists {
			for i := range list {
				r := &list[i]
				seekers = append(seekers, seeker{r.order, r.partner, r.value, uint32(g)<<1 | uint32(r.coin&1)})
				s.received[r.value] = move{r.row, r.source, nothing}
			}
		}
		m.heads, m.full = nil, nil
	}
	return sortSeekers(seekers, func(a, b seeker) int {
		if a.order != b.order {
			return cmp.Compare(a.order, b.order)
		}
		return s.placeOf(a).Compare(s.placeOf(b))
	})
}

// placeOf returns the place of a seeker; it is valid before the seeker has received values.
func (s *datasetSwap) placeOf(r seeker) core.RecordPlace {
	m := &s.received[r.value]
	return s.sources.place(swapRecord{row: m.row, source: m.source})
}

// rankCombos returns the ranks of the combinations of a group by their least records, so that the
// partners do not depend on the order in which combinations were first seen. The seekers are sorted.
func (s *datasetSwap) rankCombos(seekers []seeker, group []int32) []int32 {
	least := make([]swapRecord, len(group))
	found := make([]bool, len(group))
	for g, code := range group {
		if m := &s.combos[code]; len(m.records) > 0 {
			least[g], found[g] = m.records[0], true
		}
	}
	first, missing := make([]bool, len(group)), len(group)
	for i := 0; i < len(seekers) && missing > 0; i++ {
		g := seekers[i].combo >> 1
		if first[g] {
			continue
		}
		first[g] = true
		missing--
		m := &s.received[seekers[i].value]
		r := swapRecord{order: seekers[i].order, row: m.row, source: m.source}
		if !found[g] || s.sources.compare(r, least[g]) < 0 {
			least[g] = r
		}
	}
	by := make([]int32, len(group))
	for g := range by {
		by[g] = int32(g)
	}
	slices.SortFunc(by, func(a, b int32) int { return s.sources.compare(least[a], least[b]) })
	ranks := make([]int32, len(group))
	for rank, g := range by {
		ranks[g] = int32(rank)
	}
	return ranks
}

// sortSeekers sorts by compare, which must compare order first. The time is proportional to the
// number of seekers if their words are spread evenly, and otherwise not greater than that of a
// comparison sort.
func sortSeekers(list []seeker, compare func(a, b seeker) int) []seeker {
	const (
		few     = 64 // for fewer, a comparison sort is as fast
		digit   = 11
		buckets = 1 << digit
	)
	if len(list) <= few {
		slices.SortFunc(list, compare)
		return list
	}
	// Enough leading bits that hardly any two words have the same.
	digits := bits.Len(uint(len(list)))/digit + 1
	from, to := list, make([]seeker, len(list))
	for shift := 64 - digits*digit; shift < 64; shift += digit {
		var at [buckets]int32
		for i := range from {
			at[from[i].order>>shift%buckets]++
		}
		next := int32(0)
		for b := range at {
			at[b], next = next, next+at[b]
		}
		for i := range from {
			b := from[i].order >> shift % buckets
			to[at[b]] = from[i]
			at[b]++
		}
		from, to = to, from
	}
	shift, start := 64-digits*digit, 0
	for i := 1; i <= len(from); i++ {
		if i < len(from) && from[i].order>>shift == from[start].order>>shift {
			continue
		}
		if i-start > 1 {
			slices.SortFunc(from[start:i], compare)
		}
		start = i
	}
	return from
}
