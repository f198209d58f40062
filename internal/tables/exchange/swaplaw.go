package exchange

import "math"

// swapLaw is the distribution of the new value of a count within one row after a trade: each
// records of this row, drawn without replacement, are exchanged for each records of another
// row. The numbers of records that leave and that enter the count are independent and have
// hypergeometric distributions.
type swapLaw struct {
	inside, outside int64 // records of the row and of the other row
	each            int64 // number of exchanged records of each row
	both            int64 // records of the count's columns in both rows; public, because it does not change
}

// ends returns the least and the greatest count that are possible with the totals.
func (l swapLaw) ends() (low, high int64) { return max(0, l.both-l.outside), min(l.both, l.inside) }

// likelihood is the probability that a count becomes the published one.
func (l swapLaw) likelihood(count, published int64) (p float64) {
	low, high := middle(l.inside, count, l.each)
	from, to := middle(l.outside, l.both-count, l.each) // ends of the number that enters
	for leave := max(low, from+count-published); leave <= min(high, to+count-published); leave++ {
		p += hypergeometric(l.inside, count, l.each, leave) * hypergeometric(l.outside, l.both-count, l.each,
			published-count+leave)
	}
	return p
}

// expected returns the expected new value of a count.
func (l swapLaw) expected(count float64) float64 {
	return count - count*float64(l.each)/float64(l.inside) + (float64(l.both)-count)*float64(l.each)/float64(l.outside)
}

// belief returns the posterior distribution of the count given its new value: p[0] is the
// probability of the count first; counts with a negligible probability are omitted. place is the
// place of the respondent who holds this belief: 0 in the row and in the columns of the count, 1
// in the row only, 2 in the columns only, 3 in neither; −1 for an outsider.
func (l swapLaw) belief(published int64, prior Prior, place int) (first int64, p []float64) {
	least, most := l.ends()
	switch place {
	case 0:
		least = max(least, 1)
	case 1:
		most = min(most, l.inside-1)
	case 2:
		most = min(most, l.both-1)
	case 3:
		least = max(least, 1+l.both-l.outside)
	}
	if prior == Even {
		slope := l.expected(1) - l.expected(0)
		start := published
		if slope != 0 { // the count that becomes the published one on average
			start = int64(max(float64(least), min((float64(published)-l.expected(0))/slope, float64(most))))
		}
		return beliefOf(start, least, most, func(count int64) float64 { return l.likelihood(count, published) })
	}
	// With weights under independence, 1/∏ n!, a swap from one table to another is as likely as
	// the reverse swap. If the record of a respondent is known, the weight is multiplied by the
	// number of records at its place.
	return beliefOf(int64(math.Round(l.expected(float64(published)))), least, most, func(count int64) float64 {
		w := l.likelihood(published, count)
		if place >= 0 {
			w *= float64([4]int64{count, l.inside - count, l.both - count, l.outside - l.both + count}[place])
		}
		return w
	})
}

// middle returns an interval that contains all of a hypergeometric distribution except a
// share of less than 1e-30 (Bernstein's inequality, which also holds for draws without
// replacement).
func middle(all, marked, drawn int64) (low, high int64) {
	share := float64(marked) / float64(all)
	mean, sd := share*float64(drawn), math.Sqrt(share*(1-share)*float64(min(drawn, all-drawn)))
	reach := 12*sd + 100
	return max(0, drawn-(all-marked), int64(mean-reach)), min(marked, drawn, int64(mean+reach)+1)
}

// hypergeometric returns the probability that k of drawn records are marked, of all
// records of which marked ones are marked.
func hypergeometric(all, marked, drawn, k int64) float64 {
	if k < max(0, drawn-(all-marked)) || k > min(marked, drawn) {
		return 0
	}
	return math.Exp(logChoose(marked, k) + logChoose(all-marked, drawn-k) - logChoose(all, drawn))
}

func logChoose(n, k int64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
