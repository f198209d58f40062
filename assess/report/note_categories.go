package report

import (
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/sdlfilter/sdlfilter/transform"
)

// categories returns notes on how to correct the counts of a column whose categories were
// recoded, or drawn from a matrix; nil if the column has other masks. After a matrix P the
// expected counts are n·P, so that the original counts are estimated by the released counts
// times the inverse of P (Gouweleeuw et al. 1998, section 3).
func (c *publishedColumn) categories() (list []StatisticNote, correction string) {
	if c.renamed() {
		return []StatisticNote{
			{"counts and shares", "",
				"Pseudonymised, not anonymised: counts of units and of records for each unit need no correction. The pseudonyms themselves mean nothing."},
			{ties, "", "Files of one scope join by it as the originals do."},
		}, CorrectionUnneeded
	}
	drawn, suppressed, ok := c.categoryActions()
	if !ok {
		return nil, ""
	}
	if suppressed {
		return []StatisticNote{
			{"counts and shares", "",
				"Values are missing where they are rare together with those of the other keys, not at random: shares among the values that are there are too great for frequent categories. Count what is missing beside them; no formula corrects it."},
			{
				ties, "",
				"Weakened among the keys, whose rare combinations are gone. Do not fill in missing cells by what is frequent, nor leave out their records: report how many are missing."},
		}, CorrectionNone
	}
	if drawn == nil {
		return []StatisticNote{
			{"counts and shares", "",
				"Those of the released categories need no correction; what was joined cannot be told apart."},
			{ties, "", "Those of the released categories need no correction."},
		}, CorrectionUnneeded
	}
	if drawn.Matrix == nil && drawn.Counted {
		where := ""
		if len(drawn.By) > 0 {
			where = " in each stratum by " + strings.Join(drawn.By, ", ")
		}
		return []StatisticNote{
			{"counts and shares", "", "Their expectation is that of the original" + where +
				": they need no correction, but vary more than those of the original."},
			{
				ties, "",
				"Weakened, since categories were replaced at random, by a matrix that is not published: this cannot be corrected. Say so beside them."},
		}, CorrectionUnpublished
	}
	if drawn.Matrix == nil {
		const text = "Categories were replaced at random, by a matrix that is not published: counts are drawn towards each other, and ties to other columns towards none. It cannot be corrected: say so beside it."
		return []StatisticNote{{"counts and shares", "", text}, {ties, "", text}}, CorrectionUnpublished
	}
	return correctedBy(drawn)
}

// renamed reports whether the column has pseudonyms.
func (c *publishedColumn) renamed() bool {
	return slices.ContainsFunc(c.actions, func(a transform.Action) bool { _, ok := a.(transform.Renaming); return ok })
}

// ties is the name of the statistic for associations of a column of categories with others.
const ties = "ties to other columns"

// categoryActions returns the action that draws categories, nil if there is none, and whether
// cells are suppressed. ok is false if the note has no words for these masks in this order.
func (c *publishedColumn) categoryActions() (drawn *transform.Randomising, suppressed, ok bool) {
	for _, action := range c.actions {
		switch a := action.(type) {
		case transform.Recoding:
			if a.Midpoints || c.measured || drawn != nil {
				return nil, false, false
			}
		case transform.Suppression:
			if c.measured {
				return nil, false, false
			}
			suppressed = true
		case transform.Randomising:
			if drawn != nil {
				return nil, false, false
			}
			drawn = &a
		default:
			return nil, false, false
		}
	}
	return drawn, suppressed, true
}

// correctedBy returns the notes for categories that were drawn with a published matrix.
func correctedBy(drawn *transform.Randomising) (list []StatisticNote, correction string) {
	inverse, ok := inverseOf(drawn.Matrix)
	if !ok {
		const text = "No correction is known: the transition matrix has no inverse."
		return []StatisticNote{{"counts and shares", "", text}, {ties, "", text}}, CorrectionNone
	}
	var rows []string
	for k, row := range inverse {
		var cells []string
		for _, v := range row {
			cells = append(cells, trimmed(v))
		}
		rows = append(rows, drawn.Categories[k]+": "+strings.Join(cells, " "))
	}
	q := "P⁻¹, by rows, columns in the same order: " + strings.Join(rows, "; ") + "."
	return []StatisticNote{
		{"counts and shares", "n(x) = n(y) · P⁻¹",
			"n(y) are the counts of the released categories in this order, as a row, and P is the published matrix. " + q +
				" An estimate below 0 stands for few records; bootstrap it for its error."},
		{ties, "N(x, w) = (P⁻¹)ᵀ · N(y, w)",
			"N(y, w) is the table of the column by w, a row for each category of the column: correct it so, column by column, and compute means, shares and tests of independence from the corrected table."},
	}, CorrectionFormula
}

// inverseOf inverts a matrix; false if it has no inverse, or one dominated by rounding errors.
func inverseOf(p [][]float64) ([][]float64, bool) {
	k := len(p)
	m := mat.NewDense(k, k, nil)
	for i, row := range p {
		m.SetRow(i, row)
	}
	var q mat.Dense
	if err := q.Inverse(m); err != nil {
		return nil, false
	}
	out := make([][]float64, k)
	for i := range out {
		out[i] = mat.Row(nil, i, &q)
	}
	return out, true
}
