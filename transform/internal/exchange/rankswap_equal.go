package exchange

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/rank"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// mostPlaced bounds the memory of a wordOrder to 20 MB: more rows are compared with one another.
const mostPlaced = 1 << 20

// wordOrder is the memory of a sort of records of equal values by their words.
type wordOrder struct {
	place, counts []int32
	rows          []int32
	drawn         []uint64
}

// sort puts rows, which ascend, in the order of their words, drawn, mixed, and of equal words in that of the rows.
// Words are as good as random: each goes to the place where it is expected, and those that meet there are inserted one
// by one. Where they are so far from random that this takes long they are compared with one another.
func (o *wordOrder) sort(rows []int32, drawn []uint64, stop decision.Stop) {
	n := len(rows)
	if n > mostPlaced {
		byWords(rows, drawn, stop)
		return
	}
	o.place, o.rows, o.drawn = slices.Grow(o.place[:0], n)[:n], slices.Grow(o.rows[:0], n)[:n],
		slices.Grow(o.drawn[:0], n)[:n]
	o.counts = zeros(o.counts, n+1)
	for i, word := range drawn {
		at, _ := bits.Mul64(word*mixing, uint64(n))
		o.place[i] = int32(at)
		o.counts[at+1]++
	}
	for at := range n {
		o.counts[at+1] += o.counts[at]
	}
	for i, at := range o.place {
		to := o.counts[at]
		o.rows[to], o.drawn[to] = rows[i], drawn[i]
		o.counts[at]++
	}
	const budget = 8 // moves for each row
	moves := 0
	for i := 1; i < n; i++ {
		row, word, at := o.rows[i], o.drawn[i], i
		for ; at > 0 && o.drawn[at-1]*mixing > word*mixing; at-- {
			o.rows[at], o.drawn[at] = o.rows[at-1], o.drawn[at-1]
		}
		o.rows[at], o.drawn[at] = row, word
		if moves += i - at; moves > budget*n {
			byWords(rows, drawn, stop)
			return
		}
	}
	copy(rows, o.rows)
	copy(drawn, o.drawn)
}

// byWords is wordOrder.sort by comparisons.
func byWords(rows []int32, drawn []uint64, stop decision.Stop) {
	order := make([]int32, len(rows))
	for i := range order {
		order[i] = int32(i)
	}
	rank.OrderFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(drawn[a]*mixing, drawn[b]*mixing), cmp.Compare(a, b))
	}, stop)
	byRow, byWord := slices.Clone(rows), slices.Clone(drawn)
	for i, k := range order {
		rows[i], drawn[i] = byRow[k], byWord[k]
	}
}
