package expectation

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// clusters groups neighbouring atoms that are so close that their released values have nearly
// the same distribution: they lie within a twentieth of the SD of y given x, and these SDs
// differ by a twentieth at most (a tier of noise may begin between any two values).
type clusters struct {
	x, n, low, high []float64
	lumps           lumps // how their records share draws; nil if none do
	byLow, byHigh   edges
}

// edges are ends of the intervals of Law.Reach in ascending order, with the number of records
// up to each.
type edges struct{ at, records []float64 }

func edgesOf(at, n []float64) edges {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	var e edges
	sum := 0.0
	for _, i := range order {
		sum += n[i]
		e.at, e.records = append(e.at, at[i]), append(e.records, sum)
	}
	return e
}

// reaching returns the least end up to which there are k records.
func (e *edges) reaching(k float64) float64 {
	return e.at[min(sort.SearchFloat64s(e.records, k), len(e.at)-1)]
}

const closeness = 0.05

// alike reports whether two values at a distance apart have nearly the same distribution after
// masking, given its SDs sd and own: their distance is at most a share of sd, and the SDs are
// close.
func alike(apart, sd, own, share float64) bool {
	return apart <= share*sd && math.Abs(own-sd) <= closeness*sd
}
