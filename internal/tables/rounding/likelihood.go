package rounding

// Likelihood gives, for every true count that may be published as the given one, the
// probability of that: p[0] is that of the count first. No other count may be.
type Likelihood func(published int64) (first int64, p []float64)

// OfNearest is that of Nearest.
func OfNearest(base int64) Likelihood {
	return func(published int64) (int64, []float64) {
		return alike(published-base/2, published+(base-1)/2)
	}
}

// OfRandom is that of Random.
func OfRandom(base int64) Likelihood {
	return func(published int64) (first int64, p []float64) {
		first = max(0, published-base+1)
		for count := first; count < published+base; count++ {
			p = append(p, 1-float64(max(count-published, published-count))/float64(base))
		}
		return first, p
	}
}

// OfControlled is that of Controlled: which of its two neighbours a count becomes is not
// known to whom the other counts are not.
func OfControlled(base int64) Likelihood {
	return func(published int64) (int64, []float64) { return alike(published-base+1, published+base-1) }
}

// OfSmall is that of an inner count of Small.
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

// alike gives the counts from first to last the same likelihood.
func alike(first, last int64) (int64, []float64) {
	first = max(first, 0)
	p := make([]float64, last-first+1)
	for i := range p {
		p[i] = 1
	}
	return first, p
}
