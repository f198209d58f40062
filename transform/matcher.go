package transform

import (
	"math/bits"
	"slices"
)

// matcher pairs the records of one window: policy of Duncan and Keller-McNulty
// (2000), section 3. Every candidate, in keyed random order within its group of
// equal keys, takes a partner uniformly at random among the records of the group
// that have another value of the attribute and are in no pair yet; the pair is
// kept for exchange with probability π. A pair is formed once whether or not it
// is exchanged (the W(i,j)^δ of the paper), so the probability that a candidate
// with a partner is exchanged is π and not more.
type matcher struct {
	groupStart []int32 // per group, its first place in members; one more at the end
	comboStart []int32 // per combination of keys and attribute
	comboEnd   []int32
	members    []int32 // records by group, within a group by combination
	byCombo    []int32
	candidates []int32 // places in members
	paired     []bool  // by place
	free       []int32 // per combination, members in no pair
	tree       fenwick
}

// match appends the pairs to exchange, as indexes in the block. The records are those of
// sw.grouping; those of group −1 are not exchanged.
func (m *matcher) match(pairs []pair, s *windowSwap, sw *swapScratch, from int) []pair {
	group, combo := sw.grouping.group, sw.grouping.combo
	m.sort(group, combo)
	for g := 0; g+1 < len(m.groupStart); g++ {
		start, end := m.groupStart[g], m.groupStart[g+1]
		if end-start < 2 {
			continue
		}
		if first := combo[m.members[start]]; m.comboEnd[first] == end {
			continue // one value of the attribute: no possible partner
		}
		m.candidates = m.candidates[:0]
		for p := start; p < end; p++ {
			if !s.unique || m.free[combo[m.members[p]]] == 1 {
				m.candidates = append(m.candidates, p)
			}
		}
		if len(m.candidates) == 0 {
			continue
		}
		shuffle(m.candidates, func(p int32) uint64 { return sw.order[m.members[p]] })
		pairs = m.matchGroup(pairs, s, sw, from, start, end)
	}
	return pairs
}

func (m *matcher) matchGroup(pairs []pair, s *windowSwap, sw *swapScratch, from int, start, end int32) []pair {
	combo := sw.grouping.combo
	m.tree.ones(int(end - start))
	total := int64(end - start)
	for _, p := range m.candidates {
		if m.paired[p] {
			continue
		}
		i := m.members[p]
		own := combo[i]
		others := total - int64(m.free[own])
		if others == 0 {
			continue
		}
		r := below(sw.partner[i], others)
		if r >= m.tree.prefix(int(m.comboStart[own]-start)) {
			r += int64(m.free[own])
		}
		q := start + int32(m.tree.find(r))
		j := m.members[q]
		for _, place := range [2]int32{p, q} {
			m.paired[place] = true
			m.tree.add(int(place-start), -1)
			m.free[combo[m.members[place]]]--
		}
		total -= 2
		if s.heads(sw.coin[i]) {
			pairs = append(pairs, pair{int32(from) + i, int32(from) + j})
		}
	}
	return pairs
}

// sort fills members by two counting sorts and the starts of groups and
// combinations.
func (m *matcher) sort(group, combo []int32) {
	groups, combos := int32(0), int32(0)
	for i, g := range group {
		if g >= 0 {
			groups, combos = max(groups, g+1), max(combos, combo[i]+1)
		}
	}
	n := 0
	m.free = resized(m.free, int(combos))
	m.comboEnd = resized(m.comboEnd, int(combos))
	m.comboStart = resized(m.comboStart, int(combos))
	m.groupStart = resized(m.groupStart, int(groups)+1)
	clear(m.free)
	clear(m.groupStart)
	for i, g := range group {
		if g >= 0 {
			m.free[combo[i]]++
			m.groupStart[g+1]++
			n++
		}
	}
	next := int32(0)
	for c, k := range m.free {
		m.comboEnd[c] = next // for now the next free place of the combination in byCombo
		next += k
	}
	m.byCombo = resized(m.byCombo, n)
	for i, g := range group {
		if g >= 0 {
			m.byCombo[m.comboEnd[combo[i]]] = int32(i)
			m.comboEnd[combo[i]]++
		}
	}
	for g := range groups {
		m.groupStart[g+1] += m.groupStart[g]
	}
	m.candidates = append(m.candidates[:0], m.groupStart[:groups]...) // the next free place of each group
	m.members = resized(m.members, n)
	for _, i := range m.byCombo {
		at := &m.candidates[group[i]]
		m.members[*at] = i
		*at++
		m.comboEnd[combo[i]] = *at
	}
	for c, k := range m.free {
		m.comboStart[c] = m.comboEnd[c] - k
	}
	m.paired = slices.Grow(m.paired[:0], n)[:n]
	clear(m.paired)
}

func resized(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n, n+n/2)
	}
	return s[:n]
}

// shuffle puts s into an order that depends on the keyed words of its elements; each order has
// the same probability. It is the inside-out form of the Fisher-Yates shuffle, so that every
// step uses the word of an element that has not moved yet.
func shuffle[T any](s []T, word func(T) uint64) {
	for k := 1; k < len(s); k++ {
		j := below(word(s[k]), int64(k)+1)
		s[k], s[j] = s[j], s[k]
	}
}

// below maps a uniform word to 0..n−1. The probabilities of two values differ by at most 2^−64.
func below(word uint64, n int64) int64 {
	hi, _ := bits.Mul64(word, uint64(n))
	return int64(hi)
}

// fenwick holds weights of places 0..n−1 (Fenwick 1994): change of a weight, sum
// before a place and the place at a sum, each in log n steps.
type fenwick []int64 // tree[k] is the sum of the k&−k weights that end at place k−1

// ones makes n weights of 1.
func (t *fenwick) ones(n int) {
	if cap(*t) <= n {
		*t = make(fenwick, n+1+n/2)
	}
	*t = (*t)[:n+1]
	for k := range *t {
		(*t)[k] = int64(k & -k)
	}
}

// add changes the weight of a place.
func (t fenwick) add(place int, d int64) {
	for k := place + 1; k < len(t); k += k & -k {
		t[k] += d
	}
}

// prefix returns the sum of the weights before a place.
func (t fenwick) prefix(place int) int64 {
	var sum int64
	for k := place; k > 0; k &= k - 1 {
		sum += t[k]
	}
	return sum
}

// find returns the place at which the sum of the weights passes r: the greatest
// one before which the sum is at most r.
func (t fenwick) find(r int64) int {
	at := 0
	for step := 1 << (bits.Len(uint(len(t)-1)) - 1); step > 0; step >>= 1 {
		if next := at + step; next < len(t) && t[next] <= r {
			at = next
			r -= t[next]
		}
	}
	return at
}
