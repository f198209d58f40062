package report

import (
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// missingView is how often a declared code for a missing value occurs.
type missingView struct {
	Column, Code, Meaning, As string
	Records                   cell
}

// missingViews returns a view of each declared code.
func (r *Report) missingViews() (list []missingView) {
	for i, m := range r.MissingCodes {
		as := "as it is"
		if m.As == "null" {
			as = "as a missing value"
		}
		for k, c := range m.Codes {
			list = append(list,
				missingView{m.Column, c.Code, meaning(r.Labels, m.Column, c.Code), as,
					whole(fmt.Sprintf("/missing_codes/%d/codes/%d/records", i, k), c.Records)})
		}
	}
	return list
}

// missingLines writes the declared codes of each column, with the number of records that have them.
func (r *Report) missingLines() (lines []string) {
	for _, m := range r.MissingCodes {
		var codes []string
		for _, c := range m.Codes {
			label := cut(printable(meaning(r.Labels, m.Column, c.Code)), 40)
			codes = append(codes, inBrackets(c.Code, label)+" in "+count(c.Records)+" records")
		}
		as := "kept"
		if m.As == "null" {
			as = "released as missing values"
		}
		lines = append(lines, "codes for missing values of "+m.Column+": "+strings.Join(codes, ", ")+"; "+as)
	}
	return lines
}

// missingWords says to users of the data which values mean that there is none; "" if no code is kept. It does not say
// how often they occur. said are the labels of the release.
func (r *Report) missingWords(said []microdata.Said) string {
	var kept []string
	for _, m := range r.MissingCodes {
		if m.As == "keep" {
			var codes []string
			for _, c := range m.Codes {
				codes = append(codes, inBrackets(c.Code, meaning(said, m.Column, c.Code)))
			}
			kept = append(kept, m.Column+": "+strings.Join(codes, ", "))
		}
	}
	if kept == nil {
		return ""
	}
	return "These values mean that there is none; they were not masked, and no figure counts them. " +
		strings.Join(kept, "; ") + "."
}
