package report

import (
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// categoriesView shows the loss of information in categorical keys.
type categoriesView struct {
	Tiles []labelled
	Rows  []uniqueRow // changed, set missing, entropy before and after, lost, distance
}

func viewCategories(c *loss.Categories, r *uniqueness.Replicated, path string) *categoriesView {
	if c == nil {
		return nil
	}
	v := &categoriesView{Tiles: []labelled{{"pMSE of the masked keys", riskCell(path+"/pmse", c.PMSE),
		"0: combinations are as frequent as they were; ¼: none of them is on both sides; fresh draws give " +
			pretty(c.Expected, riskDigits)}}}
	if r != nil {
		v.Tiles = append(v.Tiles,
			labelled{"replicated uniques", shareCell(strings.TrimSuffix(path, "categories")+"replicated_uniques/share", r.Share),
				fmt.Sprintf("%s of %s combinations of keys that one record alone has stand in the release",
					count(int64(r.Standing)),
					count(int64(r.Uniques)))})
	}
	for i, l := range c.Columns {
		at := fmt.Sprintf("%s/columns/%d", path, i)
		v.Rows = append(v.Rows, uniqueRow{Name: l.Name, Cells: []cell{
			whole(at+"/changed", int64(l.Changed)), whole(at+"/missing", int64(l.Missing)),
			riskCell(at+"/entropy", l.Original), riskCell(at+"/entropy_released", l.Released),
			riskCell(at+"/entropy_lost", l.Lost), shareCell(at+"/distance", l.Distance)}})
	}
	return v
}

func (t *attackTable) categories(v *categoriesView) {
	if v == nil {
		return
	}
	t.title("What masking has taken from the categories")
	eachColumn(t, v.Rows, func(r uniqueRow) {
		t.row(r.Name, r.Cells[0].Text, "records changed, "+r.Cells[1].Text+" of them to missing; of "+r.Cells[2].Text+
			" bits "+r.Cells[4].Text+" are lost; shares moved by "+r.Cells[5].Text)
	})
	t.tiles(v.Tiles)
	t.Line("")
}
