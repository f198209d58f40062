package exchange

import (
	"maps"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/displacement"
)

// Undone implements assess.Origins: what a snooper knows of the values of a column that only a rank swap masks. The
// exchanges keep the values, so he knows the original of each rank; and with which probabilities two ranks have
// exchanged theirs. He states the released value, the most probable one, or the mean by the probabilities: for each of
// the three, the squared error over all records is summed, and that of each value is known. ok is false if the reach is
// so great that the probabilities are not computed exactly.
func (r RankExchange) Undone(sorted []float64) (typical float64, at []float64, ok bool) {
	n := len(sorted)
	bottom, top := int(math.Floor(r.Bottom*float64(n))), int(math.Floor(r.Top*float64(n)))
	reach := r.reachIn(sorted)
	if reach < 1 || reach > exactReach || bottom+top >= n {
		return 0, nil, false
	}
	inner := sorted[bottom : n-top]
	ranks := NewRankOrigins(inner, reach, 0)
	at = make([]float64, n)
	var sums [3]float64
	for k, x := range inner {
		errors := ranks.errors(k, x)
		for e, v := range errors {
			sums[e] += v
		}
		at[bottom+k] = min(errors[0], errors[1], errors[2])
	}
	total := min(sums[0], sums[1], sums[2])
	for _, end := range [][2]int{{0, bottom}, {n - top, n}} {
		values := sorted[end[0]:end[1]]
		mean := 0.0
		for _, x := range values {
			mean += (x - sorted[end[0]]) / float64(len(values))
		}
		for k, x := range values {
			d := x - sorted[end[0]] - mean
			at[end[0]+k] = d * d
			total += d * d
		}
	}
	return total / float64(n), at, true
}

// Near reports whether the reach among n values, of which sorted are a sample, can be so small that Undone computes
// with it.
func (r RankExchange) Near(n int64, sorted []float64) bool {
	reach := math.Floor(r.P * float64(n))
	if m := len(sorted); r.Correlation > 0 && m > 0 {
		reach = min(reach, float64(r.reachIn(sorted))*float64(n)/float64(m))
	}
	return reach <= exactReach
}

// reachIn returns the reach among sorted values.
func (r RankExchange) reachIn(sorted []float64) int {
	n := float64(len(sorted))
	reach := int(math.Floor(r.P * n))
	if r.Correlation > 0 && len(sorted) > 0 {
		reach = CorrelatedReach(sorted, int(math.Floor(r.Bottom*n)), int(math.Floor(r.Top*n)), reach, r.Correlation)
	}
	return reach
}

// RankOrigins has, for ascending values that exchanger.ranks has exchanged within reach, which of them a released value
// can be exchanged with.
type RankOrigins struct {
	values []float64
	pairs  [][]float64 // by rank: the probability of a pair with the rank j further, at j − 1
	block  []int32     // by rank: its block of equal values
	blocks []rankBlock
}

// rankBlock are the ranks [from, to) of values that count as equal. A record with this value has any of them.
type rankBlock struct {
	from, to          int
	likeliest, chance float64 // the most probable original, and its probability
	mean              float64
}

// NewRankOrigins returns the origins for a reach of at most 8 (exactReach) ranks; nil for a greater one. Values within
// tolerance of one another count as equal.
func NewRankOrigins(ascending []float64, reach int, tolerance float64) *RankOrigins {
	n := len(ascending)
	reach = min(reach, max(1, n-1))
	if reach > exactReach {
		return nil
	}
	o := &RankOrigins{values: ascending, pairs: rankPairs(n, reach), block: make([]int32, n)}
	for from := 0; from < n; {
		to := from + 1
		for to < n && ascending[to]-ascending[from] <= tolerance {
			to++
		}
		for k := from; k < to; k++ {
			o.block[k] = int32(len(o.blocks))
		}
		o.blocks = append(o.blocks, rankBlock{from: from, to: to})
		from = to
	}
	for b := range o.blocks {
		o.settle(b)
	}
	return o
}

// each calls f for the ranks that rank k may have exchanged its value with, and for itself, with the probabilities.
func (o *RankOrigins) each(k int, f func(rank int, p float64)) {
	stay := 1.0
	for j, p := range o.pairs[k] {
		if p > 0 {
			f(k+j+1, p)
			stay -= p
		}
	}
	for j := 1; j <= exactReach && j <= k; j++ {
		if earlier := o.pairs[k-j]; j <= len(earlier) && earlier[j-1] > 0 {
			f(k-j, earlier[j-1])
			stay -= earlier[j-1]
		}
	}
	if stay > displacement.Tied {
		f(k, stay)
	}
}

func (o *RankOrigins) settle(b int) {
	block := &o.blocks[b]
	chances := map[int32]float64{}
	order := []int32{}
	size := float64(block.to - block.from)
	first := o.values[block.from]
	for k := block.from; k < block.to; k++ {
		o.each(k, func(rank int, p float64) {
			block.mean += p * (o.values[rank] - first) / size
			if _, known := chances[o.block[rank]]; !known {
				order = append(order, o.block[rank])
			}
			chances[o.block[rank]] += p / size
		})
	}
	block.mean += first
	block.likeliest, block.chance = first, chances[int32(b)]
	for _, c := range order {
		if p := chances[c]; p > block.chance+displacement.Tied {
			block.likeliest, block.chance = o.values[o.blocks[c].from], p
		}
	}
}

// Likeliest returns the most probable original of the released value of a rank, and its probability.
func (o *RankOrigins) Likeliest(rank int) (x, chance float64) {
	b := &o.blocks[o.block[rank]]
	return b.likeliest, b.chance
}

// Within returns what states the original of the released value of a rank within a distance with the greatest
// probability, and this probability. With between it may be a place between two values.
func (o *RankOrigins) Within(rank int, distance float64, between bool) (claim, chance float64) {
	block := &o.blocks[o.block[rank]]
	chances := map[int32]float64{}
	for k := block.from; k < block.to; k++ {
		o.each(k, func(held int, p float64) { chances[o.block[held]] += p / float64(block.to-block.from) })
	}
	near := slices.Sorted(maps.Keys(chances))
	value := func(b int32) float64 { return o.values[o.blocks[b].from] }
	shifts := []float64{0}
	if between { // the middle of an interval that begins at a value
		shifts = append(shifts, distance*(1-1e-6))
	}
	for _, b := range near {
		for _, shift := range shifts {
			at, sum := value(b)+shift, 0.0
			for _, other := range near {
				if math.Abs(at-value(other)) <= distance*(1+1e-6) {
					sum += chances[other]
				}
			}
			if sum > chance+displacement.Tied {
				claim, chance = at, sum
			}
		}
	}
	return claim, chance
}

// errors returns the expected squared errors of the released value, the most probable one and the mean, for the record
// with the value x of rank k, or of any of the equal ones.
func (o *RankOrigins) errors(k int, x float64) (e [3]float64) {
	own := o.blocks[o.block[k]]
	for rank := own.from; rank < own.to; rank++ {
		o.each(rank, func(held int, p float64) {
			b := &o.blocks[o.block[held]]
			p /= float64(own.to - own.from)
			for i, y := range [3]float64{o.values[held], b.likeliest, b.mean} {
				e[i] += p * (x - y) * (x - y)
			}
		})
	}
	return e
}

// rankPairs returns for each of n ranks the probabilities of a pair with each of the following ones within reach, up to
// exactReach. After some hundred ranks they do not change any more, and are one list.
func rankPairs(n, reach int) [][]float64 {
	list := make([][]float64, n)
	if reach == 1 {
		for k := 0; k+1 < n; k += 2 { // neighbours, two by two
			list[k] = []float64{1}
		}
		return list
	}
	chances, next := make([]float64, 1<<reach), make([]float64, 1<<reach)
	chances[0] = 1
	settled := false
	var last []float64
	for k := range n {
		left := min(reach, n-1-k)
		if !settled || left < reach {
			clear(next)
			pairs := make([]float64, reach+1)
			for state, p := range chances {
				if p > 0 {
					nextState(next, pairs, uint(state), p, left)
				}
			}
			moved := 0.0
			for i := range next {
				moved = max(moved, math.Abs(next[i]-chances[i]))
			}
			settled = moved < 1e-13
			chances, next = next, chances
			last = pairs[1:]
		}
		list[k] = last
	}
	return list
}

// RankExchange exchanges values between records whose ranks differ by at most the share P of
// the number of records. Correlation is the least expected correlation with the original values,
// which can lower that difference (see CorrelatedReach); 0: none is required, or it is not known.
// The shares Bottom and Top of the least and greatest values are replaced by their means. A
// parameter that is not known is NaN.
type RankExchange struct{ P, Correlation, Bottom, Top float64 }

func (RankExchange) IsAction() {}
