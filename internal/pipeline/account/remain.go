package account

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/transform"
)

// remain says what masks leave: which categories are listed in vain, dates that are known exactly, what else masks warn
// of, and of each column of pseudonyms what they leave.
func (r *Reporter) remain(m *assess.Measures, effect Effect) (list []string) {
	if r.Chain != nil {
		for _, u := range r.Chain.Unmatched(effect.Listed) {
			if !u.File || u.Pattern {
				list = append(list,
					fmt.Sprintf("%s: %q matches no value of column %s", r.Plan.MaskPath(u.Mask), u.Category, u.Column))
			}
		}
	}
	for _, d := range m.Determined {
		if w := d.Warning(); w != "" {
			list = append(list, w)
		}
	}
	for _, c := range r.Config.Columns {
		for _, text := range transform.Warnings(r.Config.Masks, c.Name) {
			list = append(list, c.Name+": "+text)
		}
		if transform.Renames(r.Config.Masks, c.Name) {
			of := assess.Renamed{Column: c.Name}
			for _, counted := range m.Renamed {
				if counted.Column == c.Name {
					of = counted
				}
			}
			list = append(list, of.Warning())
		}
	}
	return list
}
