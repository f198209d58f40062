package displacement

import "github.com/sdlfilter/sdlfilter/transform/internal/matching"

// ofUnique is the pairing of policy unique: the records that are alone in their
// combination take partners in random order. All other records are equivalent for them, so
// only the numbers of unique and of other records in no pair yet matter.
func (p *Pairer) ofUnique(g *cohort) *Pairing {
	n := len(g.distinct)
	last := n - 1
	alone := 0
	if g.distinct[last] == 1 {
		alone = int(g.count[last])
	}
	if alone == 0 {
		return &Pairing{Sizes: g.distinct, Rates: [][]float64{make([]float64, n*n)}}
	}
	if p.Dataset && alone > matching.Reserves && g.distinct[0] > matching.Reserves {
		return g.pairing(p.Rate, g.uniqueReserved(alone))
	}
	others := g.total - alone
	var found [][]float64
	each := func(both, one float64) {
		pairs := make([]float64, n*n)
		pairs[last*n+last] = both
		for t := range last {
			pairs[last*n+t] = one * g.records[t] / float64(others)
		}
		found = append(found, pairs)
	}
	if alone <= 256 {
		each(uniquePairs(alone, others))
	} else {
		for range batches {
			each(g.uniqueRun(alone, others))
		}
	}
	return g.pairing(p.Rate, found)
}

// uniquePairs returns the expected number of pairs of two unique records and of a
// unique one with another: a Markov chain in the numbers that are free.
func uniquePairs(alone, others int) (both, one float64) {
	// The probability that u unique records are free after k others were taken.
	at := make([][]float64, alone+1)
	for u := range at {
		at[u] = make([]float64, min(alone, others)+1)
	}
	at[alone][0] = 1
	for u := alone; u > 0; u-- {
		for k, prob := range at[u] {
			r := others - k
			if prob == 0 || u+r < 2 {
				continue
			}
			share := float64(u-1) / float64(u-1+r)
			both += prob * share
			one += prob * (1 - share)
			if u >= 2 {
				at[u-2][k] += prob * share
			}
			if r > 0 {
				at[u-1][k+1] += prob * (1 - share)
			}
		}
	}
	return both, one
}

// uniqueRun simulates the chain of uniquePairs once; with many records one result is near the
// expectation.
func (g *cohort) uniqueRun(u, r int) (both, one float64) {
	for u > 0 && u+r >= 2 {
		if g.random.Float64()*float64(u-1+r) < float64(u-1) {
			both++
			u -= 2
		} else {
			one++
			u--
			r--
		}
	}
	return both, one
}

// uniqueReserved simulates policy unique with scope dataset, where only the records of a
// combination that the survey has kept can become partners.
func (g *cohort) uniqueReserved(alone int) [][]float64 {
	n := len(g.distinct)
	found := make([][]float64, batches)
	var weights matching.Fenwick
	for b := range found {
		found[b] = make([]float64, n*n)
		runs := g.runs(2000)
		for range runs {
			rest := len(g.sizes) - alone // combinations of several records come first
			weights.Ones(rest)
			taken := make([]int32, rest)
			total := int64(0)
			for c, s := range g.sizes[:rest] {
				weights.Add(c, int64(s)-1)
				total += int64(s)
			}
			for u := alone; u > 0; {
				u--
				if int64(u)+total == 0 {
					break
				}
				r := g.random.Int64N(int64(u) + total)
				if r < int64(u) {
					u--
					found[b][n*n-1] += 1 / float64(runs)
					continue
				}
				c := weights.Find(r - int64(u))
				found[b][(n-1)*n+g.class[c]] += 1 / float64(runs)
				taken[c]++
				gone := int64(1)
				if taken[c] == min(matching.Reserves, g.sizes[c]) {
					gone = int64(g.sizes[c]-taken[c]) + 1
				}
				weights.Add(c, -gone)
				total -= gone
			}
		}
	}
	return found
}
