package report

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// labelOf is the label of a column's variable; "" if the release has none.
func labelOf(said []microdata.Said, column string) string {
	if i := slices.IndexFunc(said, func(s microdata.Said) bool { return s.Name == column }); i >= 0 {
		return said[i].Label
	}
	return ""
}

// meaning is the label of a code; "" if the release has none.
func meaning(said []microdata.Said, column, code string) string {
	for _, s := range said {
		if s.Name != column {
			continue
		}
		if i := slices.IndexFunc(s.Values, func(v microdata.SaidOfCode) bool { return v.Code == code }); i >= 0 {
			return s.Values[i].Label
		}
	}
	return ""
}

// withLabels puts the labels of variables behind the names of columns, unless told says that it has been done.
func withLabels(said []microdata.Said, columns []string, told map[string]bool) []string {
	list := slices.Clone(columns)
	for i, name := range list {
		if label := labelOf(said, name); label != "" && !told[name] {
			told[name] = true
			list[i] = inBrackets(name, label)
		}
	}
	return list
}

// inBrackets puts a label, if there is one, behind what it labels.
func inBrackets(name, label string) string {
	if label == "" {
		return name
	}
	return name + " (" + label + ")"
}

// codeView is a code of the release with what it stands for.
type codeView struct{ Column, Label, Code, Meaning string }

// mostCodes bounds the rows of labelled codes on a page.
const mostCodes = 300

// codesView is the labelled codes of a release, and how many of them are not shown.
type codesView struct {
	Codes []codeView
	Left  int
}

// codeViews returns a view of the labelled codes; that of a column's first one has its label.
func codeViews(said []microdata.Said) (list codesView) {
	for _, s := range said {
		for i, v := range s.Values {
			if len(list.Codes) == mostCodes {
				list.Left++
				continue
			}
			view := codeView{Column: s.Name, Code: v.Code, Meaning: v.Label}
			if i == 0 {
				view.Label = s.Label
			}
			list.Codes = append(list.Codes, view)
		}
	}
	return list
}
