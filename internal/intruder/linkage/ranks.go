package linkage

import (
	"math"
	"slices"
)

// ranked replaces values by twice their rank times the number of values on the other
// side. These are integers, so that differences of ranks as shares are compared without
// rounding errors. It returns the columns, the indices of the omitted keys and the unit
// that turns a sum into a distance.
func ranked(targets, released Keys, reference *Keys) (columns []columnPair, constant []int, unit float64) {
	if reference == nil {
		reference = &targets
	}
	var weights []float64
	for j, column := range released.Numeric {
		among, within := sorted(reference.Numeric[j]), sorted(column)
		// Without values on one side there are no ranks, and a constant released key
		// does not distinguish records.
		if len(among) == 0 || len(within) == 0 || within[0] == within[len(within)-1] {
			constant = append(constant, j)
			continue
		}
		columns = append(columns, columnPair{absolute, 1, 1,
			twiceRanks(targets.Numeric[j], among, float64(len(within))), twiceRanks(column, within, float64(len(among)))})
		weights = append(weights, 1/(2*float64(len(among))*float64(len(within))))
	}
	if len(columns) == 0 {
		return nil, constant, 1
	}
	unit = 1 / float64(len(columns))
	// If no values are missing, all keys have the same weight. The sums are then of
	// integers, and the common weight is applied once, at the end.
	common := weights[0]
	for _, w := range weights {
		if w != common {
			for j := range columns {
				columns[j].weight = weights[j]
			}
			return columns, constant, unit
		}
	}
	return columns, constant, unit * common
}

func sorted(column []float64) []float64 {
	x := make([]float64, 0, len(column))
	for _, v := range column {
		if !math.IsNaN(v) {
			x = append(x, v)
		}
	}
	slices.Sort(x)
	return x
}

// twiceRanks returns times·2·rank of each value among the sorted values. The rank is
// the mean rank of the values equal to it, or halfway between its neighbours if there
// is none.
func twiceRanks(column, among []float64, times float64) []float64 {
	x := make([]float64, len(column))
	for i, v := range column {
		if math.IsNaN(v) {
			x[i] = v
			continue
		}
		below, found := slices.BinarySearch(among, v)
		upTo := below
		if found {
			// Runs of equal values may be long.
			upTo, _ = slices.BinarySearchFunc(among[below:], v, func(a, v float64) int {
				if a <= v {
					return -1
				}
				return 1
			})
			upTo += below
		}
		x[i] = float64(below+upTo+1) * times
	}
	return x
}
