package inversion

import (
	"math"

	"github.com/sdlfilter/sdlfilter/transform"
)

// groupLink is microaggregation of a column of which extremes may be published. A mean
// that is the least or the greatest value of all is the mean of values that are all just
// that, which the intruder then knows of each record of the group; of a median half of
// them are. Of other groups nothing is sure: equal values stay as they are, but which
// these are the release does not tell.
func groupLink(m transform.Aggregation, known Extremes, grid float64) link {
	sure := 1.0
	if m.Aggregate != "mean" {
		sure = 0.5 // and more, by less than one record
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
