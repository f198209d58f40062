package transform

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
)

// checkDataset refuses mask i of scope dataset where it sees a column that an earlier one
// of that scope has changed: both are decided in one survey of the data, in which the
// outcome of the earlier one is not known yet. What depends on that outcome are its
// columns, and those of later masks that move values between records or compute with
// columns which depend on it. field is where the problem lies in the mask, "" for the
// mask as a whole, must what it says before the reason.
func checkDataset(masks []Spec, i int, field, must string) check.Problems {
	var ps check.Problems
	if ScopeOf(masks[i].Params) != ScopeDataset {
		return nil
	}
	unknown := make(map[string]int) // column → the mask of scope dataset that it depends on
	for k, before := range masks[:i] {
		p := before.Params
		from, depends := k, ScopeOf(p) == ScopeDataset
		sees := p.Reads()
		if MixesRecords(p) {
			sees = slices.Concat(sees, p.Masks())
		}
		for _, name := range sees {
			if j, ok := unknown[name]; ok && !depends {
				from, depends = j, true
			}
		}
		if depends {
			for _, name := range p.Masks() {
				unknown[name] = from
			}
		}
	}
	path := fmt.Sprintf("[%d].%s", i, masks[i].Kind())
	if field != "" {
		path += "." + field
	}
	for _, name := range slices.Concat(masks[i].Params.Reads(), masks[i].Params.Masks()) {
		if j, ok := unknown[name]; ok {
			kind := masks[j].Kind()
			if kind == masks[i].Kind() {
				ps.Addf(path, "%s%q depends on mask [%d], a %s of the same scope", must, name, j, kind)
				continue
			}
			ps.Addf(path, "%s%q depends on mask [%d], a %s, which looks at all records in the same pass; "+
				"let each of the two have columns of its own, or release in two runs", must, name, j, kind)
		}
	}
	return ps
}
