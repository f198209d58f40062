package inversion

import (
	"math"
	"slices"
	"sort"

	"github.com/sdlfilter/sdlfilter/transform"
)

// rankLink returns the link of rank swapping. The released column has the same values as
// the original, and each value has moved by at most w ranks. Of L equal values (a heap,
// for example of zeros), only those within w ranks of the heap's ends can have come from
// outside the heap. So a value is that of its own record with a probability of at least
// (L − 2w)/L, or (L − w)/L if the heap is at an end of the column.
func (a *attacker) rankLink(m transform.RankExchange) link {
	return link{kind: RankWindow, back: ranksBack(m, a.grid), certain: func(y, p []float64) {
		sorted := make([]float64, 0, len(y))
		for _, v := range y {
			if v == v {
				sorted = append(sorted, v)
			}
		}
		slices.Sort(sorted)
		n := len(sorted)
		reach := int(math.Floor(m.P * float64(n)))
		if m.Correlation > 0 && n > 0 {
			bottom, top := int(math.Floor(m.Bottom*float64(n))), int(math.Floor(m.Top*float64(n)))
			reach = transform.CorrelatedReach(sorted, bottom, top, reach, m.Correlation)
		}
		for i, v := range y {
			if v != v {
				continue
			}
			from := sort.SearchFloat64s(sorted, v-a.grid/2)
			to := sort.SearchFloat64s(sorted, v+a.grid/2)
			outside := 0
			if from > 0 {
				outside += reach
			}
			if to < n {
				outside += reach
			}
			p[i] *= max(0, 1-float64(outside)/float64(max(1, to-from)))
		}
	}}
}
