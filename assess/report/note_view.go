package report

import (
	"slices"
	"strconv"
)

// noteView is the note on one column.
type noteView struct {
	ColumnNote
	ID, Name, Heading string
	Figures           []figureView
}

// figureView is a number of the note, or two: from and to.
type figureView struct {
	Label, Note string
	Cells       []cell
}

func (p *Public) noteViews() []noteView {
	if p.Note == nil {
		return nil
	}
	var views []noteView
	for i, c := range p.Note.Columns {
		v := noteView{ColumnNote: c.Value, ID: "note-" + strconv.Itoa(i+1), Name: c.Name, Heading: headings[c.Value.Correction]}
		if c.Value.Correction == CorrectionBounds && slices.ContainsFunc(p.Masks, func(m PublicMask) bool {
			return m.Mask == "truncate" && slices.Contains(m.Columns, c.Name)
		}) {
			v.Heading += ", as far as truncation leaves it"
		}
		if found := c.Value.Corrected; found != nil {
			column, _ := p.Columns.Get(c.Name)
			path := below("/note/columns", c.Name, "corrected")
			v.Figures = []figureView{
				{"SD of y, released", "the standard deviation that the column shows" + inUnit(column.Unit), []cell{number(below("/columns", c.Name, "released", "sd"), column.Released.SD)}},
				{"SD of x, corrected", "what the masks leave of it" + inUnit(column.Unit), found.SD.cells(path + "/sd")},
				{"reliability ρ", "Var(x)/Var(y), the share of the variance that is the respondents’", found.Reliability.cells(path + "/reliability")},
			}
		}
		views = append(views, v)
	}
	return views
}

func inUnit(unit string) string {
	if unit == "" {
		return ""
	}
	return ", in " + unit
}

// cells are the ends of a range, or one number where they look alike.
func (r Range) cells(path string) []cell {
	least, greatest := number(path+"/least", r.Least), number(path+"/greatest", r.Greatest)
	if least.Text == greatest.Text {
		return []cell{least}
	}
	return []cell{least, greatest}
}

// headings say in a few words what can be done about a column.
var headings = map[string]string{
	CorrectionUnneeded:    "its own figures need no correction",
	CorrectionFormula:     "can be corrected by formula",
	CorrectionApproximate: "can be corrected by formula, as far as truncation leaves it",
	CorrectionBounds:      "can be corrected closely, and within bounds",
	CorrectionUnpublished: "carries noise that cannot be corrected: its parameters are not published",
	CorrectionNone:        "no formula corrects it",
}
