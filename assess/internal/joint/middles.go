package joint

import (
	"math"
	"slices"
)

const (
	leastAlike = 3 // columns that differ from x alike, from which other means than the arithmetic one tell more
	alikeBy    = 2 // what their mean squares may differ by
)

// middles adds, where several columns are x with errors of one size (waves of a value that stays, each with its own
// draw), the middle between the least and the greatest of them, and their median. Of uniform noise the middle tells
// more than the mean: its variance is 6/((m + 1)(m + 2)) of that of one of m columns (Kendall & Stuart, The Advanced
// Theory of Statistics, 1, example 14.12); of Laplace noise the median does.
func (s *sought) middles() {
	alike := s.repeats()
	if len(alike) < leastAlike || len(s.features)+2 > s.parameters() {
		return
	}
	middle, median := make([]float64, s.all), make([]float64, s.all)
	there := make([]float64, 0, len(alike))
	for i := range s.all {
		there = there[:0]
		for _, c := range alike {
			if v := s.columns[c].numbers[i]; v == v {
				there = append(there, v)
			}
		}
		if middle[i], median[i] = s.mean[0], s.mean[0]; len(there) > 0 {
			slices.Sort(there)
			middle[i] = (there[0] + there[len(there)-1]) / 2
			median[i] = (there[(len(there)-1)/2] + there[len(there)/2]) / 2
		}
	}
	before := *s
	s.extend(feature{column: alike[0], from: alike, values: middle})
	s.extend(feature{column: alike[0], from: alike, values: median})
	if s.square() > before.square()*(1-worthwhile) {
		*s = before
	}
}

// repeats returns the columns whose differences from x are none on average and of one size, the least that there is.
func (s *sought) repeats() (list []int) {
	some := thinned(s.rows, 2000)
	squares := map[int]float64{}
	least := math.Inf(1)
	for j := range s.Frame.features {
		if !s.features[j].whole {
			continue
		}
		var sum, square, n float64
		values := s.columns[s.features[j].column].numbers
		for _, i := range some {
			if d := values[i] - s.x[i]; d == d {
				sum, square, n = sum+d, square+d*d, n+1
			}
		}
		if n < 30 || 2*n < float64(len(some)) || sum*sum > 16*square {
			continue // on average another value, by four standard errors
		}
		squares[s.features[j].column] = square / n
		least = min(least, square/n)
	}
	for c := range s.columns {
		if square, is := squares[c]; is && square <= alikeBy*least {
			list = append(list, c)
		}
	}
	return list
}
