package transform

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// ends checks that the means of the least and of the greatest values of column k are of enough
// records. order has the records in ascending order of their values.
func (r *rankExchange) ends(g *gatheredData, k int, order []int32, bottom, top int) *decision.Refusal {
	if g.trial {
		return nil
	}
	values, at := g.values[k], func(i int) float64 { return g.values[k][order[i]] }
	for _, end := range []struct {
		rows  []int32
		next  int // the nearest record that is not at this end
		field string
	}{{order[:bottom], bottom, "bottom"}, {order[len(order)-top:], len(order) - top - 1, "top"}} {
		tail := make([]float64, len(end.rows))
		for i, row := range end.rows {
			tail[i] = values[row]
		}
		if len(tail) == 0 {
			continue
		}
		missed := r.demand.OfTail(tail, at(min(max(end.next, 0), len(order)-1)))
		of, cure := strconv.Quote(g.columns[k].Name), fmt.Sprintf("give a greater %s, or leave it out", end.field)
		switch missed {
		case core.TooFewValues:
			return &decision.Refusal{
				Path: missed,
				Text: fmt.Sprintf(
					"must be at most the number of records of %s, which is %d in column %s, got %d: a mean of so few discloses them; %s",
					end.field, len(tail), of, r.demand.Least, cure)}
		case core.OneRules:
			return &decision.Refusal{
				Path: missed,
				Text: fmt.Sprintf(
					"is exceeded by the records of %s: one has more than %s %% of the sum of %d values of column %s, so that their mean discloses it; %s",
					end.field, core.ShareText(r.demand.Share), len(tail), of, cure)}
		}
	}
	return nil
}

// judge checks that nobody who stands out rules a group: that of the records with the greatest
// amounts of a column (the greatest of a stratum, and the first ones of all, as many as least), none
// has more than the greatest share of its group. A snooper knows of these records that they are far
// above the others of any group, and so takes the mean times the size of the group for the value. Of
// other records he cannot know that: next to zeros any value is more than the greatest share. One
// record does not rule a median.
func (a *aggregation) judge(g *gatheredData, plans []aggregationPlan) *decision.Refusal {
	if a.median || g.trial || a.demand.Share == 0 {
		return nil
	}
	first := make([]float64, len(g.values)) // the least amount that counts among the first of all
	for k := range g.values {
		amounts := amountsOf(g.values[k], g.strata)
		first[k] = math.Inf(1)
		if n := len(amounts); n > 0 {
			slices.Sort(amounts)
			first[k] = amounts[max(0, n-a.demand.Least)]
		}
	}
	greatest, buf := make([]float64, len(g.values)), []float64(nil)
	for i := range plans {
		p := &plans[i]
		clear(greatest)
		for _, r := range p.rows {
			for k, values := range g.values {
				greatest[k] = max(greatest[k], sizeOfValue(values[r]))
			}
		}
		for j := range p.groups {
			if g.stop.At(j) {
				return nil
			}
			for _, k := range p.groups[j].columns {
				most := 0.0
				buf = buf[:0]
				for _, r := range p.groups[j].rows {
					buf, most = append(buf, g.values[k][r]), max(most, sizeOfValue(g.values[k][r]))
				}
				if most >= min(first[k], greatest[k]) && a.demand.Dominated(buf, 0) {
					return a.ruled(g.columns[k].Name)
				}
			}
		}
	}
	return nil
}

func (a *aggregation) ruled(column string) *decision.Refusal {
	cure := "top-code the column in front of it (topcode, replace: bound), or use method: univariate"
	if a.univariate {
		cure = "top-code the column in front of it (topcode, replace: bound)"
	}
	return &decision.Refusal{
		Path: core.OneRules,
		Text: fmt.Sprintf(
			"is exceeded in column %s: one of the greatest values is more than %s %% of the sum of its group, so that the mean discloses it; %s",
			strconv.Quote(column), core.ShareText(a.demand.Share), cure)}
}

// sizeOfValue is the absolute value of a number, 0 for none.
func sizeOfValue(v float64) float64 {
	if v != v {
		return 0
	}
	return math.Abs(v)
}

// amountsOf returns the amounts of the values that records have which are not rejected.
func amountsOf(values []float64, strata []int32) (list []float64) {
	for i, v := range values {
		if v == v && strata[i] >= 0 {
			list = append(list, math.Abs(v))
		}
	}
	return list
}
