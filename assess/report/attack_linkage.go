package report

import (
	"html/template"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/picture"
)

// linkageView shows which targets are found by the nearest released record.
type linkageView struct {
	Tiles   []labelled
	LeftOut string      // keys in which no two records differ
	ByOwn   *twoSizes   // share found by how far the masks have moved the own record
	Rows    []uniqueRow // the same as a table
}

// twoSizes is a picture in two sizes.
type twoSizes struct{ Wide, Slim template.HTML }

// pictures draws a picture for a page and for a phone; nil if draw returns nothing.
func pictures(draw func(width int) []byte) *twoSizes {
	d := &twoSizes{template.HTML(draw(540)), template.HTML(draw(328))}
	if d.Wide == "" {
		return nil
	}
	return d
}

func viewLinkage(a *attack.Result, path string) *linkageView {
	l := a.Linkage
	v := &linkageView{Tiles: []labelled{
		{"found by the nearest record", amountCell(path+"/expected_correct", l.ExpectedCorrect),
			"of " + plural(int64(a.Targets), "respondent", "respondents") + " sought, " + distanceWords(l.Distance)},
		{"share found", shareCell(path+"/correct_share", l.CorrectShare), "of those sought"},
	}}
	if l.OneToOneCorrect != nil {
		v.Tiles = append(v.Tiles, labelled{"found one to one", amountCell(path+"/one_to_one_correct", *l.OneToOneCorrect),
			"the worst case: every target is given a record of its own, at the least total distance"})
	}
	v.Tiles = append(v.Tiles,
		labelled{"found by guessing", cell{Text: amount(guessed(a))}, "by picking a record at random"})
	if keys := slices.Concat(a.Keys, a.Categorical); len(l.Constant) > 0 {
		var constant []string
		for _, j := range l.Constant {
			if j < len(keys) {
				constant = append(constant, keys[j])
			}
		}
		v.LeftOut = "Left out, since no two records differ in it: " + names(constant) + "."
	}
	v.draw(l)
	return v
}

// distanceClasses is the number of classes of the targets by distance.
const distanceClasses = 10

// draw shows the share of targets found, by how far the masks have moved their records, in
// classes of at least picture.Least targets. It draws nothing if the targets' distances are
// not available, as in a report that was read from a file.
func (v *linkageView) draw(l *linkage.Result) {
	if len(l.Own) != len(l.Linked) {
		return
	}
	classes := picture.Classes(l.Own, l.Linked, distanceClasses)
	most := 0.0
	for _, c := range classes {
		most = math.Max(most, c.Sum/float64(c.Records))
	}
	var bars []figure.Bar
	for i, c := range classes {
		label := "to " + pretty(c.To, 2)
		if i == len(classes)-1 {
			label = "beyond"
		}
		found := c.Sum / float64(c.Records)
		bars = append(bars,
			figure.Bar{Label: label, Length: figure.Part(found, most), Text: share(found) + " of " + count(int64(c.Records)),
				Strong: true})
		v.Rows = append(v.Rows,
			uniqueRow{label, []cell{{Text: count(int64(c.Records))}, {Text: amount(c.Sum)}, {Text: share(found)}}})
	}
	v.ByOwn = pictures(func(width int) []byte {
		return figure.BarsSVG(
			"Share of the targets that are found, by the distance of their own released record. The table holds the same numbers.", "distance", "found", bars, width)
	})
}

func distanceWords(d linkage.Distance) string {
	switch d {
	case linkage.Standardised:
		return "by distance in SDs"
	case linkage.Mahalanobis:
		return "by Mahalanobis’ distance"
	case linkage.Gower:
		return "by Gower’s distance"
	case linkage.Ranks:
		return "by distance of ranks"
	}
	return "by " + d.String() + " distance"
}
