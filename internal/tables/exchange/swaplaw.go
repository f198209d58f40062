package exchange

import "math"

// swapLaw is what becomes of a count within one row where as many records of this row, drawn
// without replacement, are exchanged for as many of another row: as many leave it as are of
// it among the ones, and as many enter it as are of its columns among the others, both of
// hypergeometric distributions that do not depend on each other.
type swapLaw struct {
	inside, outside int64 // records of the row, and of the other
	each            int64 // how many are exchanged
	both            int64 // records of the count's columns in both rows, which is public: it stays
}

// ends are the least and the greatest count that the totals leave.
func (l swapLaw) ends() (low, high int64) { return max(0, l.both-l.outside), min(l.both, l.inside) }

// likelihood is the probability that a count becomes the published one.
func (l swapLaw) likelihood(count, published int64) (p float64) {
	low, high := middle(l.inside, count, l.each)
	from, to := middle(l.outside, l.both-count, l.each) // of those that enter
	for leave := max(low, from+count-published); leave <= min(high, to+count-published); leave++ {
		p += hypergeometric(l.inside, count, l.each, leave) * hypergeometric(l.outside, l.both-count, l.each, published-count+leave)
	}
	return p
}

// expected is what a count becomes on average.
func (l swapLaw) expected(count float64) float64 {
	return count - count*float64(l.each)/float64(l.inside) + (float64(l.both)-count)*float64(l.each)/float64(l.outside)
}

// belief is what is believed of the count by who knows what it became: p[0] is the probability of
// the count first; counts that have none to speak of are left out. place is where a respondent is
// who believes it: 0 in the row and in the columns of the count, 1 in the row alone, 2 in the
// columns alone, 3 in neither, and nobody for −1.
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
		return believed(start, least, most, func(count int64) float64 { return l.likelihood(count, published) })
	}
	// From one table to another is as likely as back where each has its weight under independence,
	// 1/∏ n!; one with one record less at her place has as many times that as there are records.
	return believed(int64(math.Round(l.expected(float64(published)))), least, most, func(count int64) float64 {
		w := l.likelihood(published, count)
		if place >= 0 {
			w *= float64([4]int64{count, l.inside - count, l.both - count, l.outside - l.both + count}[place])
		}
		return w
	})
}

// middle are the ends of all but a share of less than 1e-30 of a hypergeometric distribution
// (Bernstein's inequality, which also holds for draws without replacement).
func middle(all, marked, drawn int64) (low, high int64) {
	share := float64(marked) / float64(all)
	mean, sd := share*float64(drawn), math.Sqrt(share*(1-share)*float64(min(drawn, all-drawn)))
	reach := 12*sd + 100
	return max(0, drawn-(all-marked), int64(mean-reach)), min(marked, drawn, int64(mean+reach)+1)
}

// hypergeometric is the probability that k of the drawn ones of all are marked.
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
