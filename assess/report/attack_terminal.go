package report

import (
	"io"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// Summary writes the attack for a terminal: the verdict, and the figures of each part of the
// page, each with its meaning. Of long tables it writes the first rows. Lines have at most width
// columns (0: 100; no less than 60). With color it uses ANSI bold, dim and colours and a few
// signs; without, its own words are ASCII. Errors of w are not returned; the caller finds them
// when it flushes w.
func (a *Attack) Summary(w io.Writer, color bool, width int) {
	t := attackTable{summary{figure.NewTerminal(color, width), true}}
	v, h := viewAttack(a.Result, ""), a.Headline()
	t.Line("")
	t.Line(t.Paint(colours[h.Tone], strings.TrimSpace(t.signOf(h.Tone))) + " " + t.Paint("1", h.Word) + "  " +
		t.bold(t.short(a.Name, t.Width-16)))
	t.text(h.Line)
	for _, l := range v.Lines {
		t.text(l)
	}
	t.text(v.Basis + after(" ", v.Sampled))
	for _, warning := range a.Warnings {
		t.text("warning: " + warning)
	}
	t.figures(h)
	t.Line("")
	t.linkage(v.Linkage)
	t.bayes(v.Bayes)
	t.unique(v.Unique)
	t.population(v.Population)
	t.interval(v.Interval)
	t.averaging(v.Averaging)
	t.inversion(v.Inversion)
	t.cost(v.Cost)
	t.categories(v.Categories)
	t.attribute(v.Attribute)
	t.referee(v.Referee)
	t.models(v.Models)
	_, _ = io.WriteString(w, t.String())
}

// attackTable writes the parts of an attack.
type attackTable struct{ summary }

// title begins a part.
func (t *attackTable) title(text string) { t.Wrapped("", "1", t.terminalText(text)) }

func (t *attackTable) text(s string) {
	if s != "" {
		t.Wrapped("  ", "", t.terminalText(s))
	}
}

// Columns of a row: the measure, the figure, and its meaning, which is written below if
// there is no room beside it.
const (
	labelWidth = 30
	valueWidth = 14
	besideFrom = 92
)

// row writes one figure with its meaning.
func (t *attackTable) row(label, value, meaning string) {
	label, value, meaning = t.terminalText(label), t.terminalText(value), t.terminalText(meaning)
	first := "  " + pad(t.short(label, labelWidth-3), labelWidth-2) + left(value, valueWidth)
	beside := t.Width - labelWidth - valueWidth - 2
	if t.Width < besideFrom || cells(first) > labelWidth+valueWidth {
		if cells(first) <= t.Width {
			t.Line(first)
		} else {
			t.Wrapped("  ", "", first)
		}
		t.Wrapped("      ", "2", meaning)
		return
	}
	lines := wrap(meaning, beside)
	if len(lines) == 0 {
		lines = []string{""}
	}
	for i, l := range lines {
		if i > 0 {
			first = strings.Repeat(" ", labelWidth+valueWidth)
		}
		t.Line(first + "  " + t.Paint("2", l))
	}
}

func (t *attackTable) tiles(list []labelled) {
	for _, l := range list {
		t.row(l.Label, l.Text, l.Note)
	}
}

func (t *attackTable) linkage(v *linkageView) {
	if v == nil {
		return
	}
	t.title("By distance")
	t.tiles(v.Tiles)
	t.text(v.LeftOut)
	t.Line("")
}

// mostEasiest is the number of records that are easiest to find in the output for a terminal.
const mostEasiest = 5

func (t *attackTable) bayes(v *bayesView) {
	if v == nil {
		return
	}
	t.title("By Bayes’ rule")
	t.text(strings.Join(v.About, " "))
	t.tiles(v.Tiles)
	for i, r := range v.Ranks {
		switch i {
		case 0:
			t.row("own record is the first", r[2].Text, "targets")
		case 9:
			t.row("among the first ten", r[2].Text, "targets")
		}
	}
	var places []string
	for _, r := range v.Easiest[:min(len(v.Easiest), mostEasiest)] {
		places = append(places, r[0].Text)
	}
	if len(places) > 0 {
		t.text("Easiest to find: records " + strings.Join(places, "; ") + " (from 0).")
	}
	t.Line("")
}

// mostSets is the number of sets of keys that make records unique in the output for a terminal.
const mostSets = 3

func (t *attackTable) unique(v *uniqueView) {
	if v == nil {
		return
	}
	t.title("By standing out: " + v.Keys)
	t.tiles(v.Tiles)
	for _, r := range v.Violations {
		t.row("k below "+r.Name, r.Cells[0].Text, "records, "+r.Cells[1].Text+" of all")
	}
	for _, r := range v.Persons {
		t.row("joined k below "+r.Name, r.Cells[0].Text, "persons, "+r.Cells[1].Text+" of all")
	}
	for _, r := range v.Diversity {
		t.row("l of "+r.Name, r.Cells[0].Text, "values at least among equal keys, effectively "+r.Cells[1].Text)
	}
	for _, r := range v.Combinations[:min(len(v.Combinations), mostSets)] {
		if r.Cells[1].Value == "0" {
			break // the sets are sorted, so the following ones are no better
		}
		t.text(r.Name + ": " + r.Cells[1].Text + " unique (" + r.Cells[2].Text + ").")
	}
	t.Line("")
}

func (t *attackTable) interval(v *intervalView) {
	if v == nil {
		return
	}
	t.title("By interval")
	for _, r := range v.Rows {
		t.row("within "+r.Name+" SD", r.Cells[0].Text, "of the records; in SDs of the original "+r.Cells[1].Text)
	}
	t.text("A record counts only where all of its columns lie in their intervals: a small share is no sign of safety." +
		after(" ", v.Compare))
	t.Line("")
}

func (t *attackTable) averaging(v *averagingView) {
	if v == nil {
		return
	}
	t.title("By averaging " + v.Releases)
	t.text(v.Linkage)
	for _, r := range v.Rows {
		t.row(r.Name, r.KnownByMean, "known by the mean; by one release "+r.KnownBy1+"; "+r.Words)
	}
	t.Line("")
}

func (t *attackTable) inversion(v *inversionView) {
	if v == nil {
		return
	}
	t.title("By undoing the masks")
	for _, r := range v.Rows {
		by := "nothing is given away"
		if !r.Passed {
			by = r.Cells[1].Text + " of its values: " + r.By
		}
		t.row(r.Name, r.Cells[0].Text, by)
	}
	t.Line("")
}

// mostColumns is the greatest number of columns with a row in the output for a terminal.
const mostColumns = 12

// eachColumn writes the rows of the first columns, and the number of further ones.
func eachColumn[R any](t *attackTable, rows []R, write func(R)) {
	for _, r := range rows[:min(mostColumns, len(rows))] {
		write(r)
	}
	if more := len(rows) - mostColumns; more > 0 {
		t.text("and " + plural(int64(more), "column", "columns") + " more.")
	}
}

func (t *attackTable) cost(v *costView) {
	if v == nil {
		return
	}
	t.title("What the masking has cost")
	t.tiles(v.Tiles)
	eachColumn(t, v.Columns, func(r uniqueRow) {
		t.row("KS of "+r.Name, r.Cells[0].Text, "of the distributions, 0 to 1; mass moves by "+r.Cells[1].Text)
	})
	for _, r := range v.Regressions {
		t.text(r.Title + ".")
	}
	t.Line("")
}
