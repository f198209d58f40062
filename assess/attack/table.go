package attack

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess/figure"
)

// defaultWidth is the width of a table where the terminal's is not known.
const defaultWidth = 100

// Summary writes what was found for a person at a terminal: what the intruder knew,
// then each part, each figure with what it means. Lines have at most width columns
// (0: 100; no less than 60). With color it uses ANSI bold, dim, green and red and a
// few signs; without, its own words are ASCII. Errors of w end up with whoever
// flushes it.
func Summary(w io.Writer, r *Result, color bool, width int) {
	if width <= 0 {
		width = defaultWidth
	}
	t := table{r: r, color: color, width: max(width, 60)}
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
	strings.Builder
	r     *Result
	color bool
	width int
}

// Columns of a row: what is measured, the figure, and what it means, which goes
// below where there is no room beside it.
const (
	labelWidth = 26
	valueWidth = 16
	besideFrom = 92
)

func (t *table) line(text string) {
	t.WriteString(strings.TrimRight(text, " "))
	t.WriteByte('\n')
}

func (t *table) paint(code, text string) string {
	if !t.color || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// words are a text of ours for this terminal: ASCII where it has no colours.
func (t *table) words(s string) string {
	s = strings.ReplaceAll(s, "\u00a0", " ")
	if t.color {
		return s
	}
	return plainSigns.Replace(s)
}

var plainSigns = strings.NewReplacer("−", "-", "±", "+/-", "–", "-", "’", "'", "…", ".", "√", "root ", "✓", "ok:", "✗", "no:")

// cut shortens a text to a width, with a mark that this terminal has.
func (t *table) cut(s string, width int) string { return t.words(figure.Cut(t.words(s), width)) }

// wrapped writes a text below another, indented.
func (t *table) wrapped(indent, code, text string) {
	for _, l := range figure.Wrap(t.words(text), t.width-len(indent)) {
		t.line(indent + t.paint(code, l))
	}
}

// title begins a part.
func (t *table) title(text string) { t.wrapped("", "1", text) }

// row writes one figure with what it means.
func (t *table) row(label, value, meaning string) {
	label, value, meaning = t.words(label), t.words(value), t.words(meaning)
	first := "  " + figure.Pad(t.cut(label, labelWidth-3), labelWidth-2) + figure.Left(value, valueWidth)
	beside := t.width - labelWidth - valueWidth - 2
	if t.width < besideFrom || figure.Cells(first) > labelWidth+valueWidth {
		if figure.Cells(first) <= t.width {
			t.line(first)
		} else {
			t.wrapped("  ", "", first)
		}
		t.wrapped("      ", "2", meaning)
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
		t.line(first + "  " + t.paint("2", l))
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
	t.line("")
	t.title("The intruder")
	s := figure.Count(r.Records) + " records"
	if r.Sampled > 0 {
		s += fmt.Sprintf(", of which a sample of %s was attacked: who is sought among fewer is found more easily, so that linkage and posterior are "+
			"upper bounds", figure.Count(int64(r.Sampled)))
	}
	t.wrapped("  ", "", s+".")
	if r.Linkage == nil && r.Bayes == nil {
		t.line("")
		return
	}
	knows := "Knows of " + figure.Count(int64(r.Targets)) + " respondents"
	if int64(r.Targets) == r.measured() {
		knows = "Knows of every respondent"
	}
	t.wrapped("  ", "", knows+" the original "+names(append(append([]string(nil), r.Keys...), r.Categorical...))+", and seeks their records.")
	t.line("")
}
