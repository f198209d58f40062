package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
)

// costView shows the loss of utility by masking.
type costView struct {
	Tiles       []labelled
	Columns     []uniqueRow
	Regressions []regressionView
}

type regressionView struct {
	Title, Left string
	Rows        []regressionRow
}

type regressionRow struct {
	Term               string
	Original, Released cell
	OriginalInterval   string
	ReleasedInterval   string
	Overlap            cell
}

func viewCost(u *loss.Utility, path string) *costView {
	c, s := u.Change, u.Structure
	v := &costView{Tiles: []labelled{
		{"IL1s per cell", riskCell(path+"/il1s_per_cell", u.IL1sPerCell), "mean |x − y|/(√2·S)"},
		{"IL1s", riskCell(path+"/il1s", u.IL1s), "the sum, which grows with the records"},
		{"relative change", riskCell(path+"/change/relative", c.Relative), "mean |x − y|/max(|x|, |y|), zeros among them"},
	}}
	if s.Correlation.Entries > 0 {
		v.Tiles = append(v.Tiles,
			labelled{"correlations differ by", riskCell(path+"/structure/correlation/max", s.Correlation.Max),
				"at most; mean " + pretty(s.Correlation.Mean, 2)})
	}
	if s.Covariance.Entries > 0 {
		v.Tiles = append(v.Tiles,
			labelled{"covariances differ by", riskCell(path+"/structure/covariance/max", s.Covariance.Max),
				"at most, in products of SDs; mean " + pretty(s.Covariance.Mean, 2)})
	}
	eigen := labelled{"eigenvalues differ by", optionalCell(path+"/eigen", u.Eigen), "sum of |e − f|/e"}
	if s.EigenLeftOut > 0 {
		eigen.Note += "; without " + plural(int64(s.EigenLeftOut), "direction", "directions") +
			" in which the original does not vary"
	}
	v.Tiles = append(v.Tiles, eigen)
	if u.PMSE != nil {
		t := labelled{"pMSE", optionalCell(path+"/pmse", u.PMSE),
			"0: a regression on the values tells no released record from an original; ¼: each; it sees shifts of means, no change of spread"}
		if p := u.Propensity; p != nil && p.Ratio != nil {
			t.Note += "; " + pretty(*p.Ratio, riskDigits) + " times that of fresh draws"
		}
		v.Tiles = append(v.Tiles, t)
	}
	if lost := c.Cells.Lost + c.Cells.Gained; lost > 0 {
		v.Tiles = append(v.Tiles,
			labelled{"values lost", whole(path+"/change/cells/lost", c.Cells.Lost), "gained: " + count(c.Cells.Gained)})
	}
	v.Columns = costColumns(path, u)
	for i, r := range u.Regressions {
		v.Regressions = append(v.Regressions, viewRegression(fmt.Sprintf("%s/regressions/%d", path, i), r))
	}
	return v
}

// costColumns returns a row for every column that is described before and after, or whose
// distributions are compared.
func costColumns(path string, u *loss.Utility) []uniqueRow {
	var order []string
	change := map[string]int{}
	for i, c := range u.Columns {
		if _, twice := change[c.Name]; !twice {
			order = append(order, c.Name)
			change[c.Name] = i
		}
	}
	for _, distances := range []map[string]float64{u.KS, u.Wasserstein} {
		for _, name := range slices.Sorted(maps.Keys(distances)) {
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
		}
	}
	distance := func(member string, of map[string]float64, name string) cell {
		if d, ok := of[name]; ok {
			return riskCell(below(path, member, name), d)
		}
		return cell{Text: "–"}
	}
	var rows []uniqueRow
	for _, name := range order {
		row := uniqueRow{Name: name,
			Cells: []cell{distance("ks", u.KS, name), distance("wasserstein", u.Wasserstein, name), {Text: "–"}, {Text: "–"}}}
		if i, ok := change[name]; ok {
			at := fmt.Sprintf("%s/columns/%d/change", path, i)
			row.Cells[2] = riskCell(at+"/il1s_per_compared_cell", u.Columns[i].Change.PerComparedCell)
			row.Cells[3] = riskCell(at+"/relative", u.Columns[i].Change.Relative)
		}
		rows = append(rows, row)
	}
	return rows
}

func viewRegression(path string, r loss.Overlap) regressionView {
	of := r.Response + " on " + names(r.Predictors)
	if r.Formula != "" {
		of = r.Formula
	}
	v := regressionView{
		Title: fmt.Sprintf("%s: intervals of %s overlap by %s", of, trimmed(100*r.Level)+"\u00a0%", figure.LeftOf(r.Mean))}
	switch {
	case len(r.LeftOut) > 0 && r.Formula != "":
		v.Left = "Left out, as combinations of others or because few records have them or differ by them: " +
			strings.Join(r.LeftOut, ", ") + "."
	case len(r.LeftOut) > 0:
		v.Left = "Left out as combinations of others: " + strings.Join(r.LeftOut, ", ") + "."
	}
	interval := func(e loss.Estimate) string {
		return pretty(e.Lower, riskDigits) + " to " + pretty(e.Upper, riskDigits)
	}
	for i, c := range r.Coefficients {
		at := fmt.Sprintf("%s/coefficients/%d", path, i)
		v.Rows = append(v.Rows, regressionRow{Term: c.Term,
			Original: riskCell(at+"/original/value", c.Original.Value), OriginalInterval: interval(c.Original),
			Released: riskCell(at+"/released/value", c.Released.Value), ReleasedInterval: interval(c.Released),
			Overlap: shareCell(at+"/overlap", c.Overlap)})
	}
	return v
}
