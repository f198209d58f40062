package models

import "slices"

// Predictor is an explanatory variable of a model: a column of numbers, or, if of is set, the
// indicator of that category.
type Predictor struct {
	Values []float64
	Of     *float64
}

// At returns the predictor of record r; NaN if it has no value.
func (x Predictor) At(r int32) float64 {
	v := x.Values[r]
	switch {
	case x.Of == nil || v != v:
		return v
	case v == *x.Of:
		return 1
	}
	return 0
}

// GreatestCategories bounds the categories of one column in each stratum.
const GreatestCategories = 50

// CategoriesIn returns the distinct values of some records, in ascending order.
func CategoriesIn(values []float64, rows []int32) []float64 {
	var list []float64
	for _, r := range rows {
		if v := values[r]; v == v {
			if at, there := slices.BinarySearch(list, v); !there {
				if len(list) > GreatestCategories {
					break // more than the greatest number have been found
				}
				list = slices.Insert(list, at, v)
			}
		}
	}
	return list
}
