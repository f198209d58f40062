package rounding

// Likelihood returns, for every true count, the probability that it is published as the
// given one, up to a common factor: p[0] is that of the count first. For all other
// counts it is 0.
type Likelihood func(published int64) (first int64, p []float64)

// OfNearest returns the likelihood of Nearest.
func OfNearest(base int64) Likelihood {
	return func(published int64) (int64, []float64) {
		return alike(published-base/2, published+(base-1)/2)
	}
}

// OfRandom returns the likelihood of Random.
func OfRandom(base int64) Likelihood {
	return func(published int64) (first int64, p []float64) {
		first = max(0, published-base+1)
		for count := first; count < published+base; count++ {
			p = append(p, 1-float64(max(count-published, published-count))/float64(base))
		}
		return first, p
	}
}

// OfControlled returns the likelihood of Controlled for an intruder who does not know
// the other counts and so does not know to which of its two neighbours a count is
// rounded.
func OfControlled(base int64) Likelihood {
	return func(published int64) (int64, []float64) { return alike(published-base+1, published+base-1) }
}

// OfSmall returns the likelihood of Small for an inner count.
func OfSmall(base int64) Likelihood {
	return func(published int64) (int64, []float64) {
		switch published {
		case 0:
			return alike(0, base-1)
		case base:
			return alike(1, base)
		}
		return alike(published, published)
	}
}

// alike returns the same likelihood for all counts from first to last.
func alike(first, last int64) (int64, []float64) {
	first = max(first, 0)
	p := make([]float64, last-first+1)
	for i := range p {
		p[i] = 1
	}
	return first, p
}
