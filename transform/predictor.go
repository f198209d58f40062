package transform

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// predictor is an explanatory variable of a model: a column of numbers, or, if of is set, the
// indicator of that category.
type predictor struct {
	values []float64
	of     *float64
}

// at returns the predictor of record r; NaN if it has no value.
func (x predictor) at(r int32) float64 {
	v := x.values[r]
	switch {
	case x.of == nil || v != v:
		return v
	case v == *x.of:
		return 1
	}
	return 0
}

// greatestCategories bounds the categories of one column in each stratum.
const greatestCategories = 50

// categoriesIn returns the distinct values of some records, in ascending order.
func categoriesIn(values []float64, rows []int32) []float64 {
	var list []float64
	for _, r := range rows {
		if v := values[r]; v == v {
			if at, there := slices.BinarySearch(list, v); !there {
				if len(list) > greatestCategories {
					break // more than the greatest number have been found
				}
				list = slices.Insert(list, at, v)
			}
		}
	}
	return list
}

// modelled are the predictors of a model in a stratum: before has their original values, now the released
// ones. The first on of them are those of columns that do not change.
type modelled struct {
	before, now []predictor
	on          int
	first       int32 // the first record of the stratum
}

// predictors returns the predictors of the model of column k in a stratum. A column of categories has one
// indicator for each category except the first, and a column of
// numbers that is drawn has one for each of its spikes too.
func (s *synthesis) predictors(g *gatheredData, original [][]float64, rows []int32, k int) (by modelled, err *decision.Refusal) {
	add := func(path string, was, is []float64, categories bool) {
		if !categories {
			by.before, by.now = append(by.before, predictor{values: was}), append(by.now, predictor{values: is})
			return
		}
		list := categoriesIn(was, rows)
		if len(list) > greatestCategories {
			err = tooMany(path)
			return
		}
		for i := 1; i < len(list); i++ {
			by.before, by.now = append(by.before, predictor{was, &list[i]}), append(by.now, predictor{is, &list[i]})
		}
	}
	for i, values := range g.on {
		add(fmt.Sprintf("on[%d]", i), values, values, s.onCategories[i])
	}
	by.on = len(by.before)
	for i := range k {
		add(fmt.Sprintf("columns[%d]", i), original[i], g.values[i], s.categories[i])
		for j := range s.shape[i].spikes {
			of := &s.shape[i].spikes[j]
			by.before, by.now = append(by.before, predictor{original[i], of}), append(by.now, predictor{g.values[i], of})
		}
	}
	return by, err
}

func tooMany(path string) *decision.Refusal {
	return &decision.Refusal{Path: path, Text: "must have at most " + strconv.Itoa(greatestCategories) + " categories in a stratum: recode it more coarsely, or do not name it in categories"}
}
