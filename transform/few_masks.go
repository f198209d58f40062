package transform

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// contributors checks that the means of the values beyond the bounds are of enough of them. The
// error contains no value and no bound that the data give.
func (m *Topcode) contributors(c *Chain, i int, col *column, below, above []float64, lower, upper float64) error {
	demand := contributorsOf(m.Least, m.Share)
	for _, side := range []struct {
		values  []float64
		bound   float64
		name    string
		further string
	}{{below, lower, "lower", "raise"}, {above, upper, "upper", "lower"}} {
		missed := demand.ofTail(side.values, side.bound)
		if missed == "" {
			continue
		}
		cure := fmt.Sprintf("%s the bound (%s), or use replace: bound or label", side.further, side.name)
		e := &decision.Refusal{Path: missed}
		switch of := strconv.Quote(col.Name); missed {
		case tooFewValues:
			e.Text = fmt.Sprintf(
				"must be at most the number of values beyond the %s bound of column %s, which is %d, got %d: a mean of so few discloses them; %s",
				side.name, of, len(side.values), demand.least, cure)
		case oneRules:
			e.Text = fmt.Sprintf(
				"is exceeded beyond the %s bound of column %s: one record has more than %s %% of the sum of %d values, so that their mean discloses it; %s",
				side.name, of, shareText(demand.share), len(side.values), cure)
		}
		return c.refused(i, e)
	}
	return nil
}

// beyondPercentiles checks that enough values lie beyond bounds that are percentiles. Such a bound
// lies between two values, the inner one of which is released as it is, so that the outer one
// follows from both.
func (m *Topcode) beyondPercentiles(c *Chain, i int, col *column, below, above int) error {
	demand := contributorsOf(m.Least, m.Share)
	for _, side := range []struct {
		percentile *float64
		n          int
		name       string
		further    string
	}{{m.LowerPercentile, below, "lower", "raise"}, {m.UpperPercentile, above, "upper", "lower"}} {
		if side.percentile == nil || side.n == 0 || side.n >= demand.least {
			continue
		}
		return c.refused(i, &decision.Refusal{Path: tooFewValues, Text: fmt.Sprintf(
			"must be at most the number of values beyond the %s percentile of column %s, which is %d, got %d: a percentile with so few beyond it discloses them; %s %s_percentile, or give the bound itself (%s)",
			side.name, strconv.Quote(col.Name), side.n, demand.least, side.further, side.name, side.name)})
	}
	return nil
}

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
		missed := r.demand.ofTail(tail, at(min(max(end.next, 0), len(order)-1)))
		of, cure := strconv.Quote(g.columns[k].Name), fmt.Sprintf("give a greater %s, or leave it out", end.field)
		switch missed {
		case tooFewValues:
			return &decision.Refusal{
				Path: missed,
				Text: fmt.Sprintf(
					"must be at most the number of records of %s, which is %d in column %s, got %d: a mean of so few discloses them; %s",
					end.field, len(tail), of, r.demand.least, cure)}
		case oneRules:
			return &decision.Refusal{
				Path: missed,
				Text: fmt.Sprintf(
					"is exceeded by the records of %s: one has more than %s %% of the sum of %d values of column %s, so that their mean discloses it; %s",
					end.field, shareText(r.demand.share), len(tail), of, cure)}
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
	if a.median || g.trial || a.demand.share == 0 {
		return nil
	}
	first := make([]float64, len(g.values)) // the least amount that counts among the first of all
	for k := range g.values {
		amounts := amountsOf(g.values[k], g.strata)
		first[k] = math.Inf(1)
		if n := len(amounts); n > 0 {
			slices.Sort(amounts)
			first[k] = amounts[max(0, n-a.demand.least)]
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
				if most >= min(first[k], greatest[k]) && a.demand.dominated(buf, 0) {
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
		Path: oneRules,
		Text: fmt.Sprintf(
			"is exceeded in column %s: one of the greatest values is more than %s %% of the sum of its group, so that the mean discloses it; %s",
			strconv.Quote(column), shareText(a.demand.share), cure)}
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
