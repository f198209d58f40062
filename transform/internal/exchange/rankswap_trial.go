package exchange

import (
	"math/bits"
	"sync"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
)

// trialExchanger exchanges the values of replicates with the probabilities of an exchanger, by other draws, which take
// less time: nobody keeps them. Words are good for any rank, since those of a replicate are bound to no record.
type trialExchanger struct {
	order []int32
	free  []uint64 // a bit for each rank that is in no pair
}

// trialScratch is the memory for which replicates take turns.
var trialScratch = sync.Pool{New: func() any { return new(trialExchanger) }}

// exchange exchanges the values of a column between the records of its ranks.
func (e *trialExchanger) exchange(values []float64, words []uint64, ranks *columnRanks, stop decision.Stop) {
	e.order = append(e.order[:0], ranks.order...)
	for at, equal := range ranks.alike {
		if stop.At(at) {
			return
		}
		mix(e.order[equal.from:equal.to], words[equal.from:equal.to])
	}
	average(values, e.order[:ranks.bottom])
	average(values, e.order[len(e.order)-ranks.top:])
	from, to := ranks.bottom, len(e.order)-ranks.top
	e.pairs(to-from, ranks.reach, words[from:], stop, func(a, b int) {
		values[e.order[from+a]], values[e.order[from+b]] = ranks.sorted[from+b], ranks.sorted[from+a]
	})
}

// mix puts rows in a random order by a word of each, of which it uses what choices of partners do not.
func mix(rows []int32, words []uint64) {
	for i := len(rows) - 1; i > 0; i-- {
		k := matching.Below(another(^words[i]), int64(i+1))
		rows[i], rows[k] = rows[k], rows[i]
	}
}

// another returns a word that is as good as random beside the given random one: the output function of SplitMix64
// (Steele, Lea and Flood 2014).
func another(word uint64) uint64 {
	word += 0x9e3779b97f4a7c15
	word = (word ^ word>>30) * 0xbf58476d1ce4e5b9
	word = (word ^ word>>27) * 0x94d049bb133111eb
	return word ^ word>>31
}

// triedRanks is how many ranks are tried before those that are free are counted.
const triedRanks = 16

// pairs yields the pairs that exchanger.ranks exchanges: each rank that is in none takes one of the following ones
// within reach that are in none. Any rank within reach is as likely to be tried, so one that is free is as likely as
// any other that is.
func (e *trialExchanger) pairs(n, reach int, words []uint64, stop decision.Stop, yield func(a, b int)) {
	e.free = zeros(e.free, n>>6+2) // one more: parts of 64 ranks reach into the next word
	for w := range n >> 6 {
		e.free[w] = ^uint64(0)
	}
	e.free[n>>6] = 1<<(n&63) - 1
	for w := range e.free {
		if stop.At(w) {
			return
		}
		for e.free[w] != 0 {
			rank := 64*w + bits.TrailingZeros64(e.free[w])
			e.free[w] &= e.free[w] - 1
			if partner := e.partner(rank+1, min(rank+reach, n-1), words[rank]); partner >= 0 {
				e.free[partner>>6] &^= 1 << (partner & 63)
				yield(rank, partner)
			}
		}
	}
}

// partner returns a free rank of first..last, each with the same probability; −1 if none is free.
func (e *trialExchanger) partner(first, last int, word uint64) int {
	span := last + 1 - first
	if span <= 64 {
		return e.counted(first, last, word)
	}
	for range triedRanks {
		rank := first + int(matching.Below(word, int64(span)))
		if e.free[rank>>6]>>(rank&63)&1 != 0 {
			return rank
		}
		word = another(word)
	}
	return e.counted(first, last, word)
}

// counted is partner by the number of free ranks.
func (e *trialExchanger) counted(first, last int, word uint64) int {
	n := 0
	for at := first; at <= last; at += 64 {
		n += bits.OnesCount64(e.part(at, last))
	}
	if n == 0 {
		return -1
	}
	k := int(matching.Below(word, int64(n)))
	for at := first; ; at += 64 {
		part := e.part(at, last)
		in := bits.OnesCount64(part)
		if k < in {
			return at + nthOne(part, k)
		}
		k -= in
	}
}

// part returns the bits of the ranks from, from+1, …, at most 64 of them and none beyond last.
func (e *trialExchanger) part(from, last int) uint64 {
	at := from & 63
	part := e.free[from>>6]>>at | e.free[from>>6+1]<<(64-at) // a shift by 64 leaves nothing
	if n := last + 1 - from; n < 64 {
		part &= 1<<n - 1
	}
	return part
}
