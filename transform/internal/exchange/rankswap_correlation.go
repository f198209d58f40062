package exchange

import "math"

// CorrelatedReach returns the greatest reach, at most most, at which the expected correlation of a column with its
// values before the exchange is at least r; 0 if there is none. The values ascend; the first bottom and the last top
// of them get their means. The result for the exchanged values is the same, since an exchange keeps the values.
//
// An exchange changes neither mean nor variance, so that the correlation is 1 − E(x − y)²/2S². To first
// order, this also holds if the ends are replaced by their means.
func CorrelatedReach(values []float64, bottom, top, most int, r float64) int {
	inner := values[bottom : len(values)-top]
	allowed := 2*(1-r)*deviations(values) - deviations(values[:bottom]) - deviations(values[len(values)-top:])
	fits := func(reach int) bool { return squaredChanges(inner, reach) <= allowed }
	low, high := 0, min(most, max(1, len(inner)-1))
	if fits(high) {
		return high
	}
	for high-low > 1 { // the correlation is great enough at low (if that is not 0), and not at high
		if middle := low + (high-low)/2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// squaredChanges returns the expected sum of (x − y)² over ascending values that exchanger.ranks exchanges within
// reach. For a reach above exactReach it is an approximation: the ranks are taken in parts, each with the share of its
// records that are in no pair yet, and these take partners among the parts within reach in proportion to the shares
// there. That makes the sum up to 3 % too small, so 3 % are added.
func squaredChanges(values []float64, reach int) float64 {
	sum := 0.0
	if reach == 1 { // neighbours, two by two
		for k := 1; k < len(values); k += 2 {
			sum += 2 * (values[k] - values[k-1]) * (values[k] - values[k-1])
		}
		return sum
	}
	if reach <= exactReach {
		return exactSquaredChanges(values, reach)
	}
	const parts, more = 16, 1.03 // of the reach
	width := max(1, reach/parts)
	free := make([]float64, (len(values)+width-1)/width)
	for i := range free {
		free[i] = 1
	}
	for b := range free {
		last := min(b+reach/width, len(free)-1)
		within := 0.0
		for _, f := range free[b+1 : last+1] {
			within += f
		}
		if within == 0 {
			continue
		}
		taken := min(1, free[b]/within)
		for j := b + 1; j <= last; j++ {
			pairs := taken * free[j]
			free[j] -= pairs
			d, squares := (j-b)*width, 0.0
			for k := b * width; k < min((b+1)*width, len(values)); k++ {
				change := values[min(k+d, len(values)-1)] - values[k]
				squares += change * change
			}
			sum += 2 * more * pairs * squares
		}
	}
	return sum
}

// exactReach is the reach up to which squaredChanges is the exact expectation, computed from the probability of each
// set of ranks that may be in pairs already.
const exactReach = 8

// exactSquaredChanges is squaredChanges for a reach of 2 to exactReach. A state is the set of those among a rank
// and the next reach − 1 that are in pairs: bit j stands for the rank j further. After some hundred ranks the
// probabilities of the states, and so those of the distances of pairs, do not change any more.
func exactSquaredChanges(values []float64, reach int) (sum float64) {
	chances, next := make([]float64, 1<<reach), make([]float64, 1<<reach)
	chances[0] = 1
	pairs, settled := make([]float64, reach+1), false // the probability of a pair at each distance
	for k, x := range values {
		left := min(reach, len(values)-1-k)
		if !settled || left < reach {
			clear(next)
			clear(pairs)
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
		}
		for j := 1; j <= left; j++ {
			sum += 2 * pairs[j] * (values[k+j] - x) * (values[k+j] - x)
		}
	}
	return sum
}

// nextState adds to next the states that follow on a state of probability p at the next rank, and to pairs the
// probabilities of the pair of the rank of bit 0 with one of the next `left` ranks that are in no pair.
func nextState(next, pairs []float64, state uint, p float64, left int) {
	taken := func(j int) bool { return state>>j&1 == 1 }
	free := 0
	for j := 1; j <= left; j++ {
		if !taken(j) {
			free++
		}
	}
	if taken(0) || free == 0 {
		next[state>>1] += p
		return
	}
	each := p / float64(free)
	for j := 1; j <= left; j++ {
		if !taken(j) {
			pairs[j] += each
			next[(state|1<<j)>>1] += each
		}
	}
}

// deviations returns the sum of squared deviations of values from their mean.
func deviations(values []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, x := range values {
		mean += x / float64(len(values))
	}
	for _, x := range values {
		sum += (x - mean) * (x - mean)
	}
	return sum
}
