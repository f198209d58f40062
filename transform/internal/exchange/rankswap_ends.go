package exchange

import (
	"fmt"
	"strconv"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// ends checks that the means of the least and of the greatest values of column k are of enough
// records. order has the records in ascending order of their values.
func (r *rankExchange) ends(g *gathered.Data, k int, order []int32, bottom, top int) *decision.Refusal {
	if g.Trial {
		return nil
	}
	values, at := g.Values[k], func(i int) float64 { return g.Values[k][order[i]] }
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
		of, cure := strconv.Quote(g.Columns[k].Name), fmt.Sprintf("give a greater %s, or leave it out", end.field)
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
