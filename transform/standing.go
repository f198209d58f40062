package transform

import (
	"math"
	"slices"
	"sort"
)

// greatestStanding is of how many records it is looked at whether their values have moved:
// those that a survey sees first.
const greatestStanding = 1 << 20

// standing tells, by column, where a mask of all records has left most values as they were
// although others were there to be had: where more than half are unchanged, and the mean
// distance between the rank of a value and that of what it became is below ½. Without ties
// the second follows from less than half having moved, each by a rank at least. With ties it
// parts a column of few values, of which a record often gets its own by chance, from one
// whose values follow from what the mask goes by. Ranks are those of the values before, the
// middle one of equal ones.
func standing(before, after [][]float64, strata []int32) []bool {
	still := make([]bool, len(before))
	for k, old := range before {
		var sorted []float64
		of, records, same := after[k][:len(old)], 0, 0
		for i, x := range old {
			if x == x && strata[i] >= 0 {
				if sorted = append(sorted, x); x == of[i] {
					same++
				}
			}
		}
		if 2*same <= len(sorted) {
			continue
		}
		for i := range after[k] {
			if strata[i] >= 0 && after[k][i] == after[k][i] {
				records++
			}
		}
		slices.Sort(sorted)
		distance := 0.0 // twice, in ranks of those that are looked at
		for i, x := range old {
			if x == x && strata[i] >= 0 && x != of[i] {
				distance += math.Abs(twiceRank(sorted, x) - twiceRank(sorted, of[i]))
			}
		}
		n := float64(len(sorted))
		still[k] = distance/n*float64(records)/n < 1
	}
	return still
}

// twiceRank is the number of values below x and of those not above it.
func twiceRank(sorted []float64, x float64) float64 {
	return float64(sort.SearchFloat64s(sorted, x) + sort.Search(len(sorted), func(i int) bool { return sorted[i] > x }))
}

// firstOf are the first values of each column.
func firstOf(values [][]float64) [][]float64 {
	first := make([][]float64, len(values))
	for k, v := range values {
		first[k] = slices.Clone(v[:min(len(v), greatestStanding)])
	}
	return first
}
