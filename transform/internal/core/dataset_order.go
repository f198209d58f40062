package core

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/check"
)

// CheckDataset refuses mask i of scope dataset if it reads or changes a column that depends on
// an earlier mask of that scope: both are decided in one survey of the data, in which the result
// of the earlier one is not known yet. The columns that depend on it are its own, and those of
// later masks that read such a column, or move its values between records. field is the
// parameter that the problem is reported at, "" for the mask as a whole; must is the beginning
// of the message, before the reason.
func CheckDataset(masks []Spec, i int, field, must string) check.Problems {
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
