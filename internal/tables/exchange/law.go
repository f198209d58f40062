package exchange

import (
	"math"
	"math/rand/v2"
)

// law is the distribution of the new first count of a square of four cells,
//
//	a b
//	c d
//
// with fixed margins: a can become any count from low = max(0, a−d) to high = a + min(b,
// c). There are a − low records that can leave the count and high − a that can enter it.
// Each record of the smaller group moves with probability theta. Each record of the other
// group moves with the probability for which both groups have the same expected number of
// moves, so that every count keeps its expectation. If all records of the first column can
// move, this is the distribution of Duncan et al. (2001), section 4, M = c + Bin(ω − c,
// 1−θ) + Bin(…, θr/(1−r)). In other cases their formula, whose r is the share of the whole
// column, does not keep the expectation.
type law struct {
	low, high int64
	theta     float64
}

// chances returns the probabilities that a record leaves and that a record enters the
// first count.
func (l law) chances(count int64) (leave, enter float64) {
	out, in := float64(count-l.low), float64(l.high-count)
	switch {
	case out == 0 || in == 0:
		return 0, 0
	case out <= in:
		return l.theta, l.theta * out / in
	}
	return l.theta * in / out, l.theta
}

// draw returns the new count.
func (l law) draw(count int64, draws *rand.Rand) int64 {
	leave, enter := l.chances(count)
	to := count
	for range count - l.low {
		if draws.Float64() < leave {
			to--
		}
	}
	for range l.high - count {
		if draws.Float64() < enter {
			to++
		}
	}
	return to
}

// likelihood is the probability that a count becomes the published one.
func (l law) likelihood(count, published int64) float64 {
	leave, enter := l.chances(count)
	out, in := count-l.low, l.high-count
	if leave == 0 && enter == 0 {
		if count == published {
			return 1
		}
		return 0
	}
	p := 0.0
	for stay := max(0, published-l.low-in); stay <= min(out, published-l.low); stay++ {
		p += binomial(stay, out, 1-leave) * binomial(published-l.low-stay, in, enter)
	}
	return p
}

// belief returns the posterior distribution of the count given the published count and a
// uniform prior from least to most: p[0] is the probability of the count first. Counts
// with a negligible probability are omitted.
func (l law) belief(published, least, most int64) (first int64, p []float64) {
	least, most = max(least, l.low), min(most, l.high)
	return beliefOf(published, least, most, func(count int64) float64 { return l.likelihood(count, published) })
}

// beliefOf returns the distribution over the counts from least to most that is proportional
// to their weights, which must be unimodal: p[0] is the probability of the count first. The
// search for the mode starts at start. Counts with a negligible probability are omitted.
func beliefOf(start, least, most int64, weight func(count int64) float64) (first int64, p []float64) {
	top := 0.0
	walk := func(from, step int64) (list []float64) {
		for count, faint := from, 0; count >= least && count <= most && faint < 30; count += step {
			q := weight(count)
			top = max(top, q)
			if faint++; q > 1e-13*top || top == 0 {
				faint = 0
			}
			list = append(list, q)
		}
		return list
	}
	start = min(max(start, least), most)
	up, down := walk(start, 1), walk(start-1, -1)
	sum := 0.0
	for k := len(down) - 1; k >= 0; k-- {
		p = append(p, down[k])
	}
	p = append(p, up...)
	for _, q := range p {
		sum += q
	}
	if sum == 0 { // the published count is almost impossible, so no other count is known to be possible
		return start, []float64{1}
	}
	first = start - int64(len(down))
	for len(p) > 0 && p[0] <= 1e-15*sum {
		p, first = p[1:], first+1
	}
	for len(p) > 0 && p[len(p)-1] <= 1e-15*sum {
		p = p[:len(p)-1]
	}
	for k := range p {
		p[k] /= sum
	}
	return first, p
}

// binomial returns the probability of k successes in n trials with success probability
// p.
func binomial(k, n int64, p float64) float64 {
	switch {
	case p == 0:
		return indicator(k == 0)
	case p == 1:
		return indicator(k == n)
	}
	lgamma := func(n int64) float64 {
		v, _ := math.Lgamma(float64(n + 1))
		return v
	}
	return math.Exp(lgamma(n) - lgamma(k) - lgamma(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
