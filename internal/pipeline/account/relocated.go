package account

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/transform"
)

// relocated returns how many households mask i exchanged; nil if it is no record swap.
func (r *Reporter) relocated(i int) *report.Relocated {
	if r.Chain == nil {
		return nil
	}
	s := transform.RelocatedBy(r.Chain, i)
	if s == nil {
		return nil
	}
	return &report.Relocated{Households: s.Households, AtRisk: s.AtRisk, Swapped: s.Swapped, Left: s.Left,
		Exposed: s.Exposed,
		Found:   assess.Float(s.Found), MaxFound: assess.Float(s.MostFound)}
}

// relocationWarnings says of record swaps which households they do not protect.
func (r *Reporter) relocationWarnings() (list []string) {
	for i := range r.Config.Masks {
		s := r.relocated(i)
		if s == nil {
			continue
		}
		path := r.Plan.MaskPath(i)
		if s.Left > 0 {
			list = append(list,
				fmt.Sprintf("%s: %d of %d households at risk stay where they are: no household of another area is similar", path,
					s.Left, s.AtRisk))
		}
		if s.MaxFound >= 0.5 {
			list = append(list,
				fmt.Sprintf(
					"%s: whoever knows the area of a household at risk, the keys of its member with the rarest, and the mask finds it with a probability of up to %.2g, and %.3g of the %d on average: "+
						"others with these keys are too few; recode the keys more coarsely in front of the mask", path,
					float64(s.MaxFound),
					float64(s.Found), s.AtRisk))
		}
		if s.Exposed > 0 {
			list = append(list,
				fmt.Sprintf(
					"%s: %d of %d households at risk have a member whose keys (risk) fewer than k households of all areas have: whoever knows these keys finds them wherever they are; "+
						"recode these keys more coarsely in front of the mask, or suppress them behind it", path, s.Exposed, s.AtRisk))
		}
	}
	return list
}
