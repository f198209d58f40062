package displacement

import (
	"cmp"
	"iter"
	"maps"
	"math/bits"
	"slices"
)

// smallGroup is the number of records up to which all pairings of a group are enumerated.
const smallGroup = 8

// smallPairing is the law of the exchanges in a group of at most smallGroup records: every permutation
// that the policy can make, with its probability. Records are numbered by combination, in the order
// of cohort.sizes.
type smallPairing struct {
	sizes []int32 // by combination, descending
	combo []int   // by record
	law   map[exchanges]float64
	rates [][]float64 // by combination: the probability that a given record is exchanged with a given one of another
	undo  []smallUndoing
}

// exchanges is a set of disjoint pairs: three bits a record, the record that it is exchanged with, or itself.
type exchanges uint32

const nobody exchanges = 0o76543210

func (e exchanges) of(i int) int { return int(e >> (3 * i) & 7) }

func (e exchanges) with(i, j int) exchanges {
	return e&^(7<<(3*i)|7<<(3*j)) | exchanges(j)<<(3*i) | exchanges(i)<<(3*j)
}

// smallState is what is left to pair, and what has been exchanged. debts are three bits a combination; see
// pairHeads.
type smallState struct {
	free  uint8
	debts uint32
	done  exchanges
}

// smallOf enumerates the exchanges of a group.
func (p *Pairer) smallOf(sizes []int32) *smallPairing {
	g := &smallPairing{sizes: sizes, law: map[exchanges]float64{}}
	for c, s := range sizes {
		for range s {
			g.combo = append(g.combo, c)
		}
	}
	if p.Dataset && !p.Unique {
		g.ofHeads(p.Rate)
	} else {
		g.ofWindow(p.Rate, p.Unique)
	}
	g.rates = make([][]float64, len(sizes))
	for c := range sizes {
		g.rates[c] = make([]float64, len(sizes))
	}
	for _, e := range slices.Sorted(maps.Keys(g.law)) {
		prob := g.law[e]
		for i, c := range g.combo {
			if j := e.of(i); j != i {
				g.rates[c][g.combo[j]] += prob / float64(sizes[c]*sizes[g.combo[j]])
			}
		}
	}
	g.undo = make([]smallUndoing, len(sizes))
	for o := range sizes {
		g.undo[o] = g.undoing(o)
	}
	return g
}

// inOrder yields states in a fixed order: sums must be the same to the last bit in each run.
func inOrder(states map[smallState]float64) iter.Seq2[smallState, float64] {
	return func(yield func(smallState, float64) bool) {
		for _, at := range slices.SortedFunc(maps.Keys(states), func(a, b smallState) int {
			return cmp.Or(cmp.Compare(a.free, b.free), cmp.Compare(a.debts, b.debts), cmp.Compare(a.done, b.done))
		}) {
			if !yield(at, states[at]) {
				return
			}
		}
	}
}

func (g *smallPairing) all() uint8 { return uint8(1<<len(g.combo) - 1) }

// of returns the records of a combination.
func (g *smallPairing) of(c int) (set uint8) {
	for i, k := range g.combo {
		if k == c {
			set |= 1 << i
		}
	}
	return set
}

func members(set uint8) (list []int) {
	for ; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros8(set))
	}
	return list
}

// ofWindow is the policy of matcher, and of scope dataset with policy unique, where a group of so few records
// keeps enough of each combination: candidates in random order take any of the free records of other
// combinations, all alike, and the pair is exchanged with probability π.
func (g *smallPairing) ofWindow(rate float64, unique bool) {
	candidates := g.all()
	if unique {
		for c, s := range g.sizes {
			if s > 1 {
				candidates &^= g.of(c)
			}
		}
	}
	now := map[smallState]float64{{free: g.all(), done: nobody}: 1}
	for len(now) > 0 {
		next := map[smallState]float64{}
		for at, prob := range inOrder(now) {
			who := members(at.free & candidates)
			paired := false
			for _, i := range who {
				others := members(at.free &^ g.of(g.combo[i]))
				each := prob / float64(len(who)*max(1, len(others)))
				for _, j := range others {
					paired = true
					free := at.free &^ (1<<i | 1<<j)
					next[smallState{free: free, done: at.done.with(i, j)}] += each * rate
					next[smallState{free: free, done: at.done}] += each * (1 - rate)
				}
			}
			if !paired { // either all have a partner left, or none
				g.law[at.done] += prob
			}
		}
		now = next
	}
}

// ofHeads is the policy random of scope dataset. Which of the records of a combination have heads is the same in
// law, so one choice of each number stands for all: undoing and rates take means over the records of combinations.
func (g *smallPairing) ofHeads(rate float64) {
	counts := make([]int32, len(g.sizes))
	for {
		prob, heads := 1.0, uint8(0)
		for c, h := range counts {
			list := members(g.of(c))
			prob *= binomialProbability(int(g.sizes[c]), int(h), rate)
			for _, i := range list[:h] {
				heads |= 1 << i
			}
		}
		if prob > 0 {
			g.pairHeads(heads, prob)
		}
		c := 0
		for c < len(counts) && counts[c] == g.sizes[c] {
			counts[c] = 0
			c++
		}
		if c == len(counts) {
			return
		}
		counts[c]++
	}
}

func binomialProbability(n, k int, p float64) float64 {
	v := 1.0
	for i := range k {
		v *= p * float64(n-i) / float64(k-i)
	}
	for range n - k {
		v *= 1 - p
	}
	return v
}

// pairHeads is heads.pair, then the end of decideHeads. The heads are read in random order. One that is free takes the
// first free one of a combination, which is drawn by their numbers. That record is not read yet: it is the next one of
// its combination that will be read, and is passed over then. debts counts those, by combination.
func (g *smallPairing) pairHeads(heads uint8, prob float64) {
	now := map[smallState]float64{{free: heads, done: nobody}: prob}
	for len(now) > 0 {
		next := map[smallState]float64{}
		for at, prob := range inOrder(now) {
			if g.ended(at.free) {
				g.leftOver(at, heads, prob)
				continue
			}
			unread, debts := make([]int, len(g.sizes)), make([]int, len(g.sizes))
			all := 0
			for c := range g.sizes {
				debts[c] = int(at.debts >> (3 * c) & 7)
				unread[c] = bits.OnesCount8(at.free&g.of(c)) + debts[c]
				all += unread[c]
			}
			for c, n := range unread {
				if n == 0 {
					continue
				}
				p := prob * float64(n) / float64(all)
				if debts[c] > 0 {
					next[smallState{at.free, at.debts - 1<<(3*c), at.done}] += p
					continue
				}
				who, others := members(at.free&g.of(c)), members(at.free&^g.of(c))
				for _, i := range who {
					for _, j := range others {
						to := smallState{at.free &^ (1<<i | 1<<j), at.debts + 1<<(3*g.combo[j]), at.done.with(i, j)}
						next[to] += p / float64(len(who)*len(others))
					}
				}
			}
		}
		now = next
	}
}

// ended reports whether free records have no partner any more: they are of one combination.
func (g *smallPairing) ended(free uint8) bool {
	return free == 0 || free&^g.of(g.combo[bits.TrailingZeros8(free)]) == 0
}

// leftOver adds to the law what becomes of the heads without a partner among the heads: each takes one of the others,
// and the two are exchanged with probability ½.
func (g *smallPairing) leftOver(at smallState, heads uint8, prob float64) {
	now := map[smallState]float64{{free: g.all() &^ heads, done: at.done}: prob}
	for _, i := range members(at.free) {
		next := map[smallState]float64{}
		for at, prob := range inOrder(now) {
			others := members(at.free &^ g.of(g.combo[i]))
			for _, j := range others {
				each := prob / float64(len(others)) / 2
				next[smallState{free: at.free &^ (1 << j), done: at.done.with(i, j)}] += each
				next[smallState{free: at.free &^ (1 << j), done: at.done}] += each
			}
			if len(others) == 0 {
				next[at] += prob
			}
		}
		now = next
	}
	for at, prob := range inOrder(now) {
		g.law[at.done] += prob
	}
}
