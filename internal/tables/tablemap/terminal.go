package tablemap

import (
	"fmt"
	"io"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// Summary writes the map as text for a terminal of the given width (0: 100 columns),
// with ANSI colours or, without colours, in ASCII.
func (m *Map) Summary(w io.Writer, color bool, width int) error {
	t := &lines{figure.NewTerminal(color, width)}
	t.Line("")
	t.Line(t.Paint("1", t.Cut("R-U map of "+figure.Printable(strings.Join(m.Tables, ", ")), t.Width)))
	t.Wrapped("  ", "", m.basis())
	for _, left := range m.Left {
		t.Wrapped("  ", "33", "not tried: "+figure.Printable(left))
	}
	t.Line("")
	if m.Recommended == nil {
		t.Wrapped("  ", "31", "Nothing is recommended: "+figure.Printable(m.Reason))
	} else {
		p := &m.Points[*m.Recommended]
		t.Wrapped("  ", "1;32", "recommended: "+figure.Printable(p.Setting))
		t.Wrapped("  ", "", fmt.Sprintf("R = %s, U = %s; the gate would publish", pretty(float64(p.R)), pretty(float64(p.U))))
	}
	t.Line("")
	t.points(m)
	t.Line("")
	t.Wrapped("  ", "2",
		"R: greatest 1/entropy of what an intruder believes of an unsafe cell. error: least expected squared error of that belief. U: 1/mean squared error of the cells. same: cells published with their value.")
	_, err := io.WriteString(w, t.String())
	return err
}

// lines collects the text.
type lines struct{ figure.Terminal }

// points writes a line for each point. On a narrow terminal it omits the error and the
// share of cells with their value.
func (t *lines) points(m *Map) {
	wide := t.Width >= 90
	row := func(mark, setting, r, square, u, same string) string {
		numbers := figure.Left(r, number) + figure.Left(u, number)
		if wide {
			numbers = figure.Left(r, number) + figure.Left(square, number) + figure.Left(u, number) + figure.Left(same, number)
		}
		room := t.Width - len(mark) - figure.Cells(numbers) - gate
		return mark + figure.Pad(t.Cut(setting, room-1), room) + numbers
	}
	t.Line(t.Paint("2", row("  ", "method", "R", "error", "U", "same")+figure.Left("gate", gate)))
	for i := range m.Points {
		p := &m.Points[i]
		mark, setting := "  ", figure.Printable(p.Setting)
		if m.Recommended != nil && *m.Recommended == i {
			mark = "> "
		}
		if p.Configured {
			setting += " (now)"
		}
		word, code := "yes", "32"
		switch {
		case p.Impossible != "":
			t.Line(row(mark, setting, "-", "-", "-", "-") + figure.Left("never", gate))
			continue
		case !p.Admissible:
			word, code = "no", "31"
		case p.CutShort:
			word, code = "yes ?", "33"
		}
		line := row(mark, setting, t.Words(pretty(float64(p.R))), t.Words(pretty(float64(p.Error))),
			t.Words(pretty(float64(p.U))), t.Words(figure.Percent(float64(p.Efficiency))))
		t.Line(line + strings.Repeat(" ", gate-len(word)) + t.Paint(code, word))
	}
}

// Widths of columns.
const (
	number = 11
	gate   = 8
)

// pretty formats a number for people.
func pretty(v float64) string { return figure.Plain(v, figure.RiskDigits) }

// basis describes in words what was mapped.
func (m *Map) basis() string {
	what := "counts"
	if m.Value != "" {
		what = m.Value
	}
	return fmt.Sprintf("%s records, %s cells of %s; each point is protected and audited as a run does it.",
		figure.Count(m.Records), figure.Count(int64(m.Cells)), figure.Printable(what))
}
