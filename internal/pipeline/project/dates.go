package project

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// unshifted warns of dates that leave as they are beside dates of the same persons that are shifted. What nobody has
// said may leave so (unmasked) is refused: one date that both know tells all dates of a person.
func (r *run) unshifted() (list []string, refused []assess.RuleVerdict) {
	shifted := ""
	for _, m := range r.order {
		for _, spec := range m.table.pipeline.Masks {
			if d, ok := spec.Params.(*transform.Date); ok && d.Shift != nil && shifted == "" {
				shifted = strconv.Quote(d.Columns[0]) + " of table " + strconv.Quote(m.table.Name)
			}
		}
	}
	if shifted == "" {
		return nil, nil
	}
	for _, m := range r.order {
		p := m.table.pipeline
		for _, f := range m.source.Schema().Fields {
			c := p.Columns.Named(f.Name)
			switch f.Type.(type) {
			case *arrow.Date32Type, *arrow.Date64Type, *arrow.TimestampType:
			default:
				continue
			}
			if c != nil && c.Role != microdata.Identifier && !slices.ContainsFunc(p.Masks, func(s transform.Spec) bool {
				return slices.Contains(s.Params.Masks(), f.Name)
			}) {
				date := strconv.Quote(f.Name) + " of table " + strconv.Quote(m.table.Name)
				list = append(list, fmt.Sprintf("%s leaves as it is, and %s is shifted: a date that both know of a person tells "+
					"the shift, and with it all of that person's dates", date, shifted))
				if !c.Unmasked {
					refused = append(refused, assess.RuleVerdict{Rule: date + " does not tell by how much dates are shifted",
						Measure: "shift", Found: 1, Limit: 0,
						Advice: "it leaves as it is beside shifted dates: withhold it or mask it; if it is no date of what the shifted " +
							"ones are of, say that it may be known (role: sensitive, unmasked: true)"})
				}
			}
		}
	}
	return list, refused
}
