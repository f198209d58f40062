package report

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/internal/attack"
)

// attributeView shows what synthetic columns disclose about the records that their models were
// fitted to.
type attributeView struct {
	About string
	Rows  []attributeRow
}

type attributeRow struct {
	Name string
	// share of right guesses for records fitted to, for those set aside, difference, its standard error, upper bound
	Cells []cell
	Words string
}

func viewAttribute(d *attack.Disclosure, sampled bool, path string) *attributeView {
	v := &attributeView{
		About: fmt.Sprintf(
			"The value at the nearest released record is taken for the target’s: right where a category is the same, or a number within %s SDs. "+
				"Of records that models were not fitted to the release tells what it tells of anybody; what it tells of the others beyond that is disclosed.", trimmed(d.Within))}
	if sampled {
		v.About += " Among the records of a sample the nearest is farther than in the whole release, which may tell more."
	}
	for i, c := range d.Columns {
		at := fmt.Sprintf("%s/columns/%d", path, i)
		v.Rows = append(v.Rows, attributeRow{Name: c.Name, Words: attributeWords(&c), Cells: []cell{
			rightCell(c.Learnt), rightCell(c.HeldOut), shareCell(at+"/excess", c.Excess), shareCell(at+"/std_error", c.StdError),
			shareCell(at+"/most", c.Most)}})
	}
	return v
}

// rightCell returns the share of guesses that are right.
func rightCell(g attack.Guesses) cell {
	if g.Targets == 0 {
		return cell{Text: "–"}
	}
	return cell{Text: share(g.Right / float64(g.Targets))}
}

func attributeWords(c *attack.GuessedColumn) string {
	s := fmt.Sprintf("%s learnt from and %s set aside", count(int64(c.Learnt.Targets)), count(int64(c.HeldOut.Targets)))
	switch {
	case c.Most == 1:
		return s + ": too few records for an estimate, or all values are disclosed"
	case c.Excess > 2*c.StdError:
		return s + ": values of records learnt from are guessed better"
	}
	return s + ": no difference beyond chance"
}

func (t *attackTable) attribute(v *attributeView) {
	if v == nil {
		return
	}
	t.title("What synthetic values tell of those they were learnt from")
	eachColumn(t, v.Rows, func(r attributeRow) {
		t.row(r.Name, r.Cells[4].Text, "is the upper bound of the difference of right guesses: "+r.Cells[0].Text+
			" for records learnt from, "+r.Cells[1].Text+" for those set aside; "+r.Words)
	})
	t.text(v.About)
	t.Line("")
}
