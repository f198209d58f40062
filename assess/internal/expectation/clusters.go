package expectation

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// clusters are neighbouring atoms taken together where they lie so close that the
// masks make the same of them: within a twentieth of the SD of y given x, which
// differs by a twentieth at most (a tier begins between two values, however near).
type clusters struct {
	x, n, low, high []float64
	byLow, byHigh   edges
}

// edges are ends of reach in ascending order, with the number of records up to each.
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

// reaching returns the least end by which k records are reached.
func (e *edges) reaching(k float64) float64 {
	return e.at[min(sort.SearchFloat64s(e.records, k), len(e.at)-1)]
}

const closeness = 0.05

// alike reports whether the masks make the same of two values that are so far apart,
// given the SDs of what they make of each: to within a share of these.
func alike(apart, sd, own, share float64) bool {
	return apart <= share*sd && math.Abs(own-sd) <= closeness*sd
}
