package attack

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// Summary writes what was found for a person at a terminal: what the intruder knew,
// then each part, each figure with what it means. Lines have at most width columns
// (0: 100; no less than 60). With color it uses ANSI bold, dim, green and red and a
// few signs; without, its own words are ASCII. Errors of w end up with whoever
// flushes it.
func Summary(w io.Writer, r *Result, color bool, width int) {
	t := table{Terminal: figure.NewTerminal(color, width), r: r}
	t.head()
	if r.Linkage != nil {
		t.linkage()
	}
	if r.Bayes != nil {
		t.bayes()
	}
	if r.Uniqueness != nil {
		t.uniqueness()
	}
	if len(r.Interval) > 0 {
		t.interval()
	}
	if r.Averaging != nil {
		t.averaging()
	}
	if r.Inversion != nil {
		t.inversion()
	}
	if r.Utility != nil {
		t.utility()
	}
	_, _ = io.WriteString(w, t.String())
}

type table struct {
	figure.Terminal
	r *Result
}

// Columns of a row: what is measured, the figure, and what it means, which goes
// below where there is no room beside it.
const (
	labelWidth = 26
	valueWidth = 16
	besideFrom = 92
)

// title begins a part.
func (t *table) title(text string) { t.Wrapped("", "1", text) }

// row writes one figure with what it means.
func (t *table) row(label, value, meaning string) {
	label, value, meaning = t.Words(label), t.Words(value), t.Words(meaning)
	first := "  " + figure.Pad(t.Cut(label, labelWidth-3), labelWidth-2) + figure.Left(value, valueWidth)
	beside := t.Width - labelWidth - valueWidth - 2
	if t.Width < besideFrom || figure.Cells(first) > labelWidth+valueWidth {
		if figure.Cells(first) <= t.Width {
			t.Line(first)
		} else {
			t.Wrapped("  ", "", first)
		}
		t.Wrapped("      ", "2", meaning)
		return
	}
	lines := figure.Wrap(meaning, beside)
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

// number writes a count that ties may have made a fraction.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return figure.Count(int64(v))
	}
	return figure.Plain(v, figure.Digits)
}

func names(list []string) string { return figure.Printable(strings.Join(list, ", ")) }

func (t *table) head() {
	r := t.r
	t.Line("")
	t.title("The intruder")
	s := figure.Count(r.Records) + " records"
	if r.Sampled > 0 {
		s += fmt.Sprintf(", of which a sample of %s was attacked: who is sought among fewer is found more easily, so that linkage and posterior are "+
			"upper bounds", figure.Count(int64(r.Sampled)))
	}
	t.Wrapped("  ", "", s+".")
	if r.Linkage == nil && r.Bayes == nil {
		t.Line("")
		return
	}
	knows := "Knows of " + figure.Count(int64(r.Targets)) + " respondents"
	if int64(r.Targets) == r.measured() {
		knows = "Knows of every respondent"
	}
	t.Wrapped("  ", "", knows+" the original "+names(append(append([]string(nil), r.Keys...), r.Categorical...))+", and seeks their records.")
	t.Line("")
}
