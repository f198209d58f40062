package matching

import (
	"math/bits"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
)

// Matcher pairs the records of one window: policy of Duncan and Keller-McNulty
// (2000), section 3. Every candidate, in keyed random order within its group of
// equal keys, takes a partner uniformly at random among the records of the group
// that have another value of the attribute and are in no pair yet; the pair is
// kept for exchange with probability π. A pair is formed once whether or not it
// is exchanged (the W(i,j)^δ of the paper), so the probability that a candidate
// with a partner is exchanged is π and not more.
type Matcher struct {
	GroupStart []int32 // per group, its first place in Members; one more at the end
	ComboStart []int32 // per combination of keys and attribute
	ComboEnd   []int32
	Members    []int32 // records by group, within a group by combination
	byCombo    []int32
	candidates []int32 // places in members
	paired     []bool  // by place
	free       []int32 // per combination, members in no pair
	tree       Fenwick
}

// Reserves is how many records a combination of keys and attribute keeps as possible partners, where a swap is over a
// whole data set.
const Reserves = 4

// Policy says which records seek a partner, and how often a pair is exchanged.
type Policy struct {
	Rate   float64 // π
	Unique bool    // only records that are alone in their combination of keys and attribute seek one
}

// Heads reports whether the coin of rate π that a word represents falls heads: the exchange is
// then made.
func (p Policy) Heads(word uint64) bool {
	return float64(word>>11)*0x1p-53 < p.Rate
}

// Words are three keyed words for each record: for the order in which records seek, for the choice of a partner, and
// for the coin.
type Words struct{ Order, Partner, Coin []uint64 }

// Match appends the pairs to exchange, as indexes in the block, of records that begin at from in it. group and combo
// are by record the codes of its keys and of its keys with the attribute; those of group −1 are not exchanged.
func (m *Matcher) Match(pairs []coding.Pair, by Policy, group, combo []int32, drawn *Words, from int) []coding.Pair {
	m.Sort(group, combo)
	for g := 0; g+1 < len(m.GroupStart); g++ {
		start, end := m.GroupStart[g], m.GroupStart[g+1]
		if end-start < 2 {
			continue
		}
		if first := combo[m.Members[start]]; m.ComboEnd[first] == end {
			continue // one value of the attribute: no possible partner
		}
		m.candidates = m.candidates[:0]
		for p := start; p < end; p++ {
			if !by.Unique || m.free[combo[m.Members[p]]] == 1 {
				m.candidates = append(m.candidates, p)
			}
		}
		if len(m.candidates) == 0 {
			continue
		}
		Shuffle(m.candidates, func(p int32) uint64 { return drawn.Order[m.Members[p]] })
		pairs = m.matchGroup(pairs, by, combo, drawn, from, start, end)
	}
	return pairs
}

func (m *Matcher) matchGroup(pairs []coding.Pair, by Policy, combo []int32, drawn *Words, from int, start,
	end int32) []coding.Pair {
	m.tree.Ones(int(end - start))
	total := int64(end - start)
	for _, p := range m.candidates {
		if m.paired[p] {
			continue
		}
		i := m.Members[p]
		own := combo[i]
		others := total - int64(m.free[own])
		if others == 0 {
			continue
		}
		r := Below(drawn.Partner[i], others)
		if r >= m.tree.Prefix(int(m.ComboStart[own]-start)) {
			r += int64(m.free[own])
		}
		q := start + int32(m.tree.Find(r))
		j := m.Members[q]
		for _, place := range [2]int32{p, q} {
			m.paired[place] = true
			m.tree.Add(int(place-start), -1)
			m.free[combo[m.Members[place]]]--
		}
		total -= 2
		if by.Heads(drawn.Coin[i]) {
			pairs = append(pairs, coding.Pair{I: int32(from) + i, J: int32(from) + j})
		}
	}
	return pairs
}

// Sort fills members by two counting sorts and the starts of groups and
// combinations.
func (m *Matcher) Sort(group, combo []int32) {
	groups, combos := int32(0), int32(0)
	for i, g := range group {
		if g >= 0 {
			groups, combos = max(groups, g+1), max(combos, combo[i]+1)
		}
	}
	n := 0
	m.free = resized(m.free, int(combos))
	m.ComboEnd = resized(m.ComboEnd, int(combos))
	m.ComboStart = resized(m.ComboStart, int(combos))
	m.GroupStart = resized(m.GroupStart, int(groups)+1)
	clear(m.free)
	clear(m.GroupStart)
	for i, g := range group {
		if g >= 0 {
			m.free[combo[i]]++
			m.GroupStart[g+1]++
			n++
		}
	}
	next := int32(0)
	for c, k := range m.free {
		m.ComboEnd[c] = next // for now the next free place of the combination in byCombo
		next += k
	}
	m.byCombo = resized(m.byCombo, n)
	for i, g := range group {
		if g >= 0 {
			m.byCombo[m.ComboEnd[combo[i]]] = int32(i)
			m.ComboEnd[combo[i]]++
		}
	}
	for g := range groups {
		m.GroupStart[g+1] += m.GroupStart[g]
	}
	m.candidates = append(m.candidates[:0], m.GroupStart[:groups]...) // the next free place of each group
	m.Members = resized(m.Members, n)
	for _, i := range m.byCombo {
		at := &m.candidates[group[i]]
		m.Members[*at] = i
		*at++
		m.ComboEnd[combo[i]] = *at
	}
	for c, k := range m.free {
		m.ComboStart[c] = m.ComboEnd[c] - k
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

// Shuffle puts s into an order that depends on the keyed words of its elements; each order has
// the same probability. It is the inside-out form of the Fisher-Yates shuffle, so that every
// step uses the word of an element that has not moved yet.
func Shuffle[T any](s []T, word func(T) uint64) {
	for k := 1; k < len(s); k++ {
		j := Below(word(s[k]), int64(k)+1)
		s[k], s[j] = s[j], s[k]
	}
}

// Below maps a uniform word to 0..n−1. The probabilities of two values differ by at most 2^−64.
func Below(word uint64, n int64) int64 {
	hi, _ := bits.Mul64(word, uint64(n))
	return int64(hi)
}

// Fenwick holds weights of places 0..n−1 (Fenwick 1994): change of a weight, sum
// before a place and the place at a sum, each in log n steps.
type Fenwick []int64 // tree[k] is the sum of the k&−k weights that end at place k−1

// Ones makes n weights of 1.
func (t *Fenwick) Ones(n int) {
	if cap(*t) <= n {
		*t = make(Fenwick, n+1+n/2)
	}
	*t = (*t)[:n+1]
	for k := range *t {
		(*t)[k] = int64(k & -k)
	}
}

// Add changes the weight of a place.
func (t Fenwick) Add(place int, d int64) {
	for k := place + 1; k < len(t); k += k & -k {
		t[k] += d
	}
}

// Prefix returns the sum of the weights before a place.
func (t Fenwick) Prefix(place int) int64 {
	var sum int64
	for k := place; k > 0; k &= k - 1 {
		sum += t[k]
	}
	return sum
}

// Find returns the place at which the sum of the weights passes r: the greatest
// one before which the sum is at most r.
func (t Fenwick) Find(r int64) int {
	at := 0
	for step := 1 << (bits.Len(uint(len(t)-1)) - 1); step > 0; step >>= 1 {
		if next := at + step; next < len(t) && t[next] <= r {
			at = next
			r -= t[next]
		}
	}
	return at
}
