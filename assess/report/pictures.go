package report

import (
	"html/template"

	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/picture"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// mostPairs bounds the columns whose values a page draws.
const mostPairs = 12

// pictureWidth is the width of a picture, which fits on a phone.
const pictureWidth = 380

// pairView is a column before and after.
type pairView struct {
	Column, Unit string
	Label        string // of the variable, as the release has it
	Density      template.HTML
	Left         string // the number of pairs that are not drawn, in words
	Distribution template.HTML
	Shares       []binRow // of the distribution, as a table
	Names        []string // of the columns that are not drawn; in the last view only
}

func pairViews(pairs []picture.Pair, said []microdata.Said) (views []pairView) {
	for _, p := range pairs[:min(len(pairs), mostPairs)] {
		// The SVG is written by package figure, which escapes every string.
		v := pairView{Column: p.Column, Unit: p.Unit, Label: labelOf(said, p.Column),
			Density:      template.HTML(figure.DensitySVG(p, pictureWidth)),
			Distribution: template.HTML(figure.DistributionSVG(p, pictureWidth))}
		if d := p.Density; d != nil && d.Left > 0 {
			v.Left = plural(int64(d.Left), "pair", "pairs") + " in cells of few or at the ends " + isOrAre(int64(d.Left)) +
				" not drawn."
		}
		v.Shares = shares(p.Distribution)
		views = append(views, v)
	}
	if len(pairs) > mostPairs {
		last := &views[len(views)-1]
		for _, p := range pairs[mostPairs:] {
			last.Names = append(last.Names, p.Column)
		}
	}
	return views
}

func isOrAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// mostShares bounds the rows of a distribution's table.
const mostShares = 20

// shares returns about mostShares points of a distribution, evenly spaced over its records.
func shares(d *picture.Distribution) (rows []binRow) {
	if d == nil {
		return nil
	}
	next := 0.0
	for i, v := range d.At {
		if d.Original[i] < next && i < len(d.At)-1 {
			continue
		}
		rows = append(rows,
			binRow{To: trimmed(v), Before: figure.Portion(d.Original[i]), After: figure.Portion(d.Released[i])})
		next = d.Original[i] + 1.0/mostShares
	}
	return rows
}
