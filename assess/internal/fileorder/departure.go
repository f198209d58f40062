package fileorder

import (
	"cmp"
	"math"
	"slices"
)

// orderScore is the standard score beyond which a file is judged to depart from a
// shuffled one. Up to 100 scores are computed for a column; in a shuffled file each is
// beyond it with a probability of 1.6e-6, less than 2e-4 in total.
const orderScore = 4.8

// Departure describes how the order of a source departs from a shuffled one.
type Departure struct {
	// Descents is the share of descents among neighbours with different values, and
	// Autocorrelation the lag-1 autocorrelation of the ranks; NaN if there are none.
	Descents, Autocorrelation float64
	Departs                   bool
}

// Departure tests all levels.
func (o *Order) Departure() Departure {
	found := Departure{Descents: math.NaN(), Autocorrelation: math.NaN()}
	for l := range o.levels {
		s := o.sequence(l)
		z, share := s.descents()
		worst := math.Abs(z)
		for k := 1; k <= 12; k++ {
			z, r := s.autocorrelation(k)
			worst = max(worst, math.Abs(z))
			if l == 0 && k == 1 {
				found.Descents, found.Autocorrelation = share, r
			}
		}
		found.Departs = found.Departs || worst > orderScore
	}
	return found
}

// descents returns the number of descents minus that of ascents, in standard errors of a
// shuffled file, and the share of descents. The variance is (L+1)/3 for a stretch of L
// different values (Wolfowitz 1944), and less with ties.
func (s *sequence) descents() (z, share float64) {
	var up, down, variance float64
	s.stretches(func(from, to int) {
		for i := from + 1; i < to; i++ {
			switch before, x := s.bins[i-1].x, s.bins[i].x; {
			case x > before:
				up++
			case x < before:
				down++
			}
		}
		if to > from+1 {
			variance += float64(to-from+1) / 3
		}
	})
	if variance == 0 {
		return 0, math.NaN()
	}
	return (up - down) / math.Sqrt(variance), down / (up + down)
}

// autocorrelation returns the autocorrelation r of the ranks of x at lag k, and its standard
// score z (Wald and Wolfowitz 1943).
func (s *sequence) autocorrelation(k int) (z, r float64) {
	rank := s.ranks()
	var total, pairs, product float64
	for _, v := range rank {
		total += v * v
	}
	s.stretches(func(from, to int) {
		for i := from + k; i < to; i++ {
			product += rank[i] * rank[i-k]
			pairs++
		}
	})
	if total == 0 || pairs == 0 {
		return 0, math.NaN()
	}
	r = product / pairs / (total / float64(len(rank)))
	r = max(-1, min(1, r)) // it may be beyond ±1: the variance is that of all ranks, and the pairs lack some
	return r * math.Sqrt(pairs), r
}

// ranks returns the midranks of x minus their mean.
func (s *sequence) ranks() []float64 {
	if s.rank != nil {
		return s.rank
	}
	by := make([]int, len(s.bins))
	for i := range by {
		by[i] = i
	}
	slices.SortFunc(by, func(a, b int) int { return cmp.Compare(s.bins[a].x, s.bins[b].x) })
	s.rank = make([]float64, len(by))
	for from := 0; from < len(by); {
		to := from + 1
		for to < len(by) && s.bins[by[to]].x == s.bins[by[from]].x {
			to++
		}
		for _, i := range by[from:to] {
			s.rank[i] = float64(from+to-1)/2 - float64(len(by)-1)/2
		}
		from = to
	}
	return s.rank
}
