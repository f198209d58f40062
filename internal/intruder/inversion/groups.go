package inversion

import (
	"math"

	"github.com/sdlfilter/sdlfilter/transform"
)

// groupLink returns the link of microaggregation of a column whose extremes may be
// published. If the mean of a group is the minimum or the maximum of the column, all
// values of the group are equal to it, and the intruder knows the value of each of its
// records. If a median is an extreme, at least half of the values are equal to it. For
// other groups nothing is certain: groups of equal values are unchanged, but the release
// does not show which groups these are.
func groupLink(m transform.Aggregation, known Extremes, grid float64) link {
	sure := 1.0
	if m.Aggregate != "mean" {
		sure = 0.5 // a lower bound, exact to less than one record
	}
	return link{kind: GroupValue, certain: func(y, p []float64) {
		for i, v := range y {
			if math.Abs(v-known.Min) > grid*1e-6 && math.Abs(v-known.Max) > grid*1e-6 {
				p[i] = 0
			} else {
				p[i] *= sure
			}
		}
	}}
}
