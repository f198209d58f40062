package exchange

import (
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
)

// heads are the records of a group whose coin falls heads, while they are paired among themselves.
type heads struct {
	seekers []seeker
	combo   []int32 // of each: the rank of its combination
	taken   []bool  // whether it is in a pair
	members []int32 // seekers by combination, in their order
	starts  []int32 // of a combination in members
	ends    []int32
	next    []int32 // in members: the first of a combination that is in no pair
	free    []int64 // by combination
	total   int64
	tree    matching.Fenwick // of free, where the combinations are many
}

// fewCombos is the number of combinations up to which a partner's combination is found by adding up
// the numbers of free records one after another.
const fewCombos = 16

// newHeads returns the heads for the seekers of a group with combos combinations; ranks are the
// ranks of the combinations.
func newHeads(seekers []seeker, ranks []int32, combos int) *heads {
	n := len(seekers)
	h := &heads{
		seekers: seekers, combo: make([]int32, n), taken: make([]bool, n), members: make([]int32, n),
		starts: make([]int32, combos), ends: make([]int32, combos), next: make([]int32, combos),
		free: make([]int64, combos), total: int64(n),
	}
	for i := range seekers {
		c := ranks[seekers[i].combo>>1]
		h.combo[i] = c
		h.free[c]++
	}
	at := int32(0)
	for c, k := range h.free {
		h.starts[c], h.ends[c], h.next[c] = at, at, at
		at += int32(k)
	}
	for i, c := range h.combo {
		h.members[h.ends[c]] = int32(i)
		h.ends[c]++
	}
	if combos > fewCombos {
		h.tree.Ones(combos)
		for c, k := range h.free {
			h.tree.Add(c, k-1)
		}
	}
	return h
}

// pair finds a partner for each seeker, and the two receive each other's values. It returns the
// seekers without a partner.
func (h *heads) pair(received []move, stop decision.Stop) (left []int32) {
	for i := range h.seekers {
		if stop.At(i) {
			break
		}
		if h.taken[i] {
			continue
		}
		own := h.combo[i]
		n := h.total - h.free[own]
		if n == 0 {
			left = append(left, int32(i))
			continue
		}
		r := &h.seekers[i]
		g := h.partner(matching.Below(r.partner, n), own)
		j := h.members[h.next[g]]
		h.take(int32(i), own)
		h.take(j, g)
		q := &h.seekers[j]
		received[r.value].value, received[q.value].value = q.value, r.value
	}
	return left
}

// partner returns the combination of the r-th free record, without those of combination own.
func (h *heads) partner(r int64, own int32) int32 {
	if h.tree != nil {
		if r >= h.tree.Prefix(int(own)) {
			r += h.free[own]
		}
		return int32(h.tree.Find(r))
	}
	for c, k := range h.free {
		if int32(c) == own {
			continue
		}
		if r < k {
			return int32(c)
		}
		r -= k
	}
	panic("transform: fewer records are free than were counted")
}

// take removes a seeker of combination c from the free records.
func (h *heads) take(i, c int32) {
	h.taken[i] = true
	for h.next[c] < h.ends[c] && h.taken[h.members[h.next[c]]] {
		h.next[c]++
	}
	h.free[c]--
	h.total--
	if h.tree != nil {
		h.tree.Add(int(c), -1)
	}
}
