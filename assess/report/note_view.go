package report

import "strconv"

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
		v := noteView{ColumnNote: c.Value, ID: "note-" + strconv.Itoa(i+1), Name: c.Name,
			Heading: headings[c.Value.Correction]}
		if found := c.Value.Corrected; found != nil {
			column, _ := p.Columns.Get(c.Name)
			path := below("/note/columns", c.Name, "corrected")
			v.Figures = []figureView{
				{"SD of y, released", "the standard deviation that the column shows" + inUnit(column.Unit),
					[]cell{number(below("/columns", c.Name, "released", "sd"), column.Released.SD)}},
			}
			if found.Reliability != nil {
				v.Figures = append(v.Figures,
					figureView{"SD of x, corrected", "what the masks leave of it" + inUnit(column.Unit), found.SD.cells(path + "/sd")},
					figureView{"reliability ρ", "Var(x)/Var(y), the share of the variance that is the respondents’",
						found.Reliability.cells(path + "/reliability")})
			} else {
				v.Figures = append(v.Figures,
					figureView{"SD of x, at least", "what truncation took is not known" + inUnit(column.Unit),
						[]cell{number(path+"/sd/least", found.SD.Least)}})
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

// cells returns the ends of a range, or one number if both are written alike.
func (r Range) cells(path string) []cell {
	least, greatest := number(path+"/least", r.Least), number(path+"/greatest", r.Greatest)
	if least.Text == greatest.Text {
		return []cell{least}
	}
	return []cell{least, greatest}
}

// headings summarises what can be corrected in a column.
var headings = map[string]string{
	CorrectionUnneeded:    "its own figures need no correction",
	CorrectionFormula:     "can be corrected by formula",
	CorrectionBounds:      "can be corrected within limits",
	CorrectionLeast:       "no correction is known, but for a lower bound of its variance",
	CorrectionUnpublished: "carries noise that cannot be corrected: its parameters are not published",
	CorrectionNone:        "no correction is known",
}
