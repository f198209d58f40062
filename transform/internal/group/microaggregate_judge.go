package group

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// judge checks that nobody who stands out rules a group: that of the records with the greatest
// amounts of a column (the greatest of a stratum, and the first ones of all, as many as least), none
// has more than the greatest share of its group. A snooper knows of these records that they are far
// above the others of any group, and so takes the mean times the size of the group for the value. Of
// other records he cannot know that: next to zeros any value is more than the greatest share. One
// record does not rule a median.
func (a *aggregation) judge(g *gathered.Data, plans []aggregationPlan) *decision.Refusal {
	if a.median || g.Trial || a.demand.Share == 0 {
		return nil
	}
	first := make([]float64, len(g.Values)) // the least amount that counts among the first of all
	for k := range g.Values {
		amounts := amountsOf(g.Values[k], g.Strata)
		first[k] = math.Inf(1)
		if n := len(amounts); n > 0 {
			slices.Sort(amounts)
			first[k] = amounts[max(0, n-a.demand.Least)]
		}
	}
	greatest, buf := make([]float64, len(g.Values)), []float64(nil)
	for i := range plans {
		p := &plans[i]
		clear(greatest)
		for _, r := range p.rows {
			for k, values := range g.Values {
				greatest[k] = max(greatest[k], sizeOfValue(values[r]))
			}
		}
		for j := range p.groups {
			if g.Stop.At(j) {
				return nil
			}
			for _, k := range p.groups[j].columns {
				most := 0.0
				buf = buf[:0]
				for _, r := range p.groups[j].rows {
					buf, most = append(buf, g.Values[k][r]), max(most, sizeOfValue(g.Values[k][r]))
				}
				if most >= min(first[k], greatest[k]) && a.demand.Dominated(buf, 0) {
					return a.ruled(g.Columns[k].Name)
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
