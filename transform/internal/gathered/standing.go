package gathered

import (
	"math"
	"slices"
	"sort"
)

// greatestStanding is the number of records, the first of a survey, whose values are compared
// by standing.
const greatestStanding = 1 << 20

// standing returns for each column whether a mask of all records has left most values unchanged
// although it could have given the records other ones: more than half of the values are
// unchanged, and the mean difference between the ranks of a value and of its replacement is
// below ½. With ties the second condition distinguishes a column with few distinct values, in
// which a record often gets its own value by chance, from one whose values are determined by
// what the mask depends on. Ranks are those among the values before; of equal ones the middle.
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
		distance := 0.0 // twice the sum of differences of ranks among the compared values
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

// twiceRank returns the number of values below x plus the number of values not above it.
func twiceRank(sorted []float64, x float64) float64 {
	return float64(sort.SearchFloat64s(sorted, x) + sort.Search(len(sorted), func(i int) bool { return sorted[i] > x }))
}

// firstOf returns the first values of each column, at most greatestStanding.
func firstOf(values [][]float64) [][]float64 {
	first := make([][]float64, len(values))
	for k, v := range values {
		first[k] = slices.Clone(v[:min(len(v), greatestStanding)])
	}
	return first
}
