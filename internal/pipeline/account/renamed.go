package account

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/transform"
)

// renamed says of each column of pseudonyms what they leave, and what else masks warn of; and which categories are listed in vain.
func (r *Reporter) renamed() (list []string) {
	counts := map[string]transform.Renamed{}
	if r.Chain != nil && !r.Interim { // the chain of a stream masks what is not committed, too
		for _, c := range r.Chain.Renamed() {
			counts[c.Column] = c
		}
	}
	if r.Chain != nil {
		for _, u := range r.Chain.Unmatched() {
			if !u.File || u.Pattern {
				list = append(list, fmt.Sprintf("%s: %q matches no value of column %s", r.Plan.MaskPath(u.Mask), u.Category, u.Column))
			}
		}
	}
	for _, d := range r.determined() {
		list = append(list, d.Column+": "+determinedText(d))
	}
	for _, c := range r.Config.Columns {
		for _, text := range transform.Warnings(r.Config.Masks, c.Name) {
			list = append(list, c.Name+": "+text)
		}
		if transform.Renames(r.Config.Masks, c.Name) {
			list = append(list, renamedWarning(c.Name, counts[c.Name]))
		}
	}
	return list
}

func renamedWarning(name string, c transform.Renamed) string {
	text := name + ": pseudonymised, not anonymised: equal identifiers stay equal, in every file and release of one key and scope"
	switch {
	case c.Identifiers == 0:
		return text // masked elsewhere, as in shards, or in a stream
	case c.Repeated == 0:
		return text + "; each names one record here"
	case c.Estimated:
		return fmt.Sprintf("%s; about %d of %d identifiers name several records each, so that respondents can be found by the number of their records", text, c.Repeated, c.Identifiers)
	}
	text = fmt.Sprintf("%s; %d of %d identifiers name several records each", text, c.Repeated, c.Identifiers)
	if c.Singular == 0 {
		return text
	}
	return fmt.Sprintf("%s, and %d have a number of records that no other has: whoever knows that number has found them", text, c.Singular)
}
