package rumap

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess/figure"
)

// defaultWidth is the width of a table where the terminal's is not known.
const defaultWidth = 100

// Summary writes the map for a person at a terminal: the recommended point or why
// there is none, and the points of each strategy in a table. Lines have at most
// width columns (0: 100; no less than 60). With color it uses ANSI bold, dim, green
// and red and a few signs; without, its own words are ASCII. Errors of w end up
// with whoever flushes it.
func Summary(w io.Writer, m *Map, color bool, width int) {
	if width <= 0 {
		width = defaultWidth
	}
	t := table{m: m, color: color, width: max(width, 60)}
	t.head()
	t.verdict()
	for _, s := range m.Strategies() {
		t.strategy(s)
	}
	_, _ = io.WriteString(w, t.String())
}

type table struct {
	strings.Builder
	m     *Map
	color bool
	width int
}

func (t *table) line(text string) {
	t.WriteString(strings.TrimRight(text, " "))
	t.WriteByte('\n')
}

func (t *table) paint(code, text string) string {
	if !t.color {
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

var plainSigns = strings.NewReplacer("−", "-", "±", "+/-", "∞", "infinite", "–", "-", "₀", "0", "×10", "e", "’", "'", "…", ".",
	"⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9", "⁻", "-")

// cut shortens a text to a width, with a mark that this terminal has.
func (t *table) cut(s string, width int) string {
	return t.words(figure.Cut(t.words(s), width))
}

// wrapped writes a text below another, indented.
func (t *table) wrapped(indent, text string) {
	for _, l := range figure.Wrap(t.words(text), t.width-len(indent)) {
		t.line(indent + l)
	}
}

func (t *table) head() {
	m := t.m
	name := figure.Printable(m.Column)
	if m.Unit != "" {
		name += ", " + figure.Printable(m.Unit)
	}
	t.line("")
	t.line(t.paint("1", t.cut("R-U map of "+name, t.width)))
	t.wrapped("  ", Basis(m))
	t.line("")
}

// Basis says in a sentence what R and U of a map rest on.
func Basis(m *Map) string {
	s := fmt.Sprintf("%s records; each point: M = %s replicates", figure.Count(m.Records), figure.Count(int64(m.Replicates)))
	if m.Sampled > 0 {
		return s + fmt.Sprintf(" of a keyed sample of %s records.", figure.Count(int64(m.Sampled)))
	}
	return s + " of all records."
}

func (t *table) verdict() {
	m := t.m
	p := m.chosen()
	if p == nil {
		sign := "none:"
		if t.color {
			sign = "✗"
		}
		t.line(t.paint("1;31", sign+" No point is recommended"))
		t.wrapped("  ", figure.Printable(m.reason()))
		t.line("")
		return
	}
	sign := "recommended:"
	if t.color {
		sign = "✓ Recommended:"
	}
	what := figure.Printable(p.Strategy)
	if s := m.Setting(p); s != "" {
		what = figure.Printable(strings.ReplaceAll(s, "\u00a0", " ")) + " (" + what + ")"
	}
	lines := figure.Wrap(t.words(sign+" "+what), t.width)
	for i, l := range lines {
		if i > 0 {
			l = "  " + t.cut(l, t.width-2)
		}
		t.line(t.paint("1;32", l))
	}
	said := "efficiency " + figure.Percent(float64(p.Efficiency))
	if k, ok := m.Worst(p.Risk, m.Protected()); ok {
		said += "; worst protected: " + figure.Printable(k.Target+", "+k.Knowledge) + ", R = " + figure.Plain(float64(k.R), figure.RiskDigits) +
			", known to ± " + figure.Plain(float64(k.RMSE), figure.RiskDigits)
		if m.Unit != "" {
			said += " " + figure.Printable(m.Unit)
		}
	}
	t.wrapped("  ", said)
	if binds := m.Binding(); len(binds) > 0 {
		t.wrapped("  ", "binds: "+figure.Printable(strings.Join(binds, "; ")))
	}
	if n := m.Recommended.HeldBack; n > 0 {
		t.wrapped("  ", fmt.Sprintf("The rules also hold on %s further replicates, of which none was used in choosing.", figure.Count(int64(n))))
	}
	t.line("")
}

// reason is why nothing is recommended.
func (m *Map) reason() string {
	if m.Reason != "" {
		return m.Reason
	}
	return "No point of the map is admissible."
}

// Binding says in words what binds the recommended point.
func (m *Map) Binding() []string {
	if m.Recommended == nil {
		return nil
	}
	var list []string
	for _, b := range m.Recommended.Binding {
		if b.Rule < 0 || b.Rule >= len(m.Rules) {
			continue
		}
		s := m.Rules[b.Rule].String()
		if r := &m.Rules[b.Rule]; b.Target != "" && (r.Target == "" || r.Knowledge == "") {
			s += " (" + Subject{b.Target, b.Knowledge}.String() + ")"
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// Columns of the table right of the parameters.
const (
	efficiencyWidth = 12
	riskWidth       = 11
	knownWidth      = 14
	markWidth       = 12
)

func (t *table) strategy(name string) {
	m := t.m
	axes := m.axesOf(name)
	// Where there is little room, parameters are narrow, and what a reader can do
	// without is left out: which target is the worst, and R in the column's unit.
	const least = efficiencyWidth + riskWidth + markWidth + 2
	known := knownWidth
	if least+known+10*len(axes) > t.width {
		known = 0
	}
	widths := make([]int, len(axes))
	head := "  "
	for i, a := range axes {
		name := figure.Printable(m.Label(a))
		widths[i] = min(max(figure.Cells(name)+2, 10), 22, max(10, (t.width-least-known)/len(axes)))
		head += figure.Left(t.cut(name, widths[i]-2), widths[i])
	}
	subject := min(24, t.width-figure.Cells(head)-efficiencyWidth-riskWidth-known-markWidth-2)
	head += figure.Left("efficiency", efficiencyWidth)
	if subject >= 8 {
		head += "  " + figure.Pad(t.cut("worst protected", subject), subject)
	}
	head += figure.Left("R", riskWidth)
	if known > 0 {
		head += figure.Left(t.words("known to ±"), known)
	}
	head = t.cut(head, t.width-markWidth) + figure.Left("admissible", markWidth)
	t.line(t.paint("1", t.cut(figure.Printable(name), t.width)))
	t.line(t.paint("2", head))
	protected := m.Protected()
	chosen := m.chosen()
	for i := range m.Points {
		p := &m.Points[i]
		if p.Strategy != name {
			continue
		}
		row := "  "
		if p == chosen {
			row = "> "
		}
		for k, a := range axes {
			s := "-"
			if v, ok := p.Parameters[a.Path]; ok {
				s = t.words(a.Value(v))
			}
			row += figure.Left(s, widths[k])
		}
		row += figure.Left(t.words(figure.Percent(float64(p.Efficiency))), efficiencyWidth)
		worst, ok := m.Worst(p.Risk, protected)
		what, risk, rmse := "-", "-", "-"
		if ok {
			what = figure.Printable(worst.Target + ", " + worst.Knowledge)
			risk = figure.Plain(float64(worst.R), figure.RiskDigits)
			rmse = figure.Plain(float64(worst.RMSE), figure.RiskDigits)
		}
		if subject >= 8 {
			row += "  " + figure.Pad(t.cut(what, subject), subject)
		}
		row += figure.Left(t.words(risk), riskWidth)
		if known > 0 {
			row += figure.Left(t.words(rmse), known)
		}
		row = t.cut(row, t.width-markWidth)
		mark, code := "no"+m.BrokenBy(p), "31"
		if t.color {
			mark = "✗" + m.BrokenBy(p)
		}
		if p.Admissible {
			mark, code = "yes", "32"
			if t.color {
				mark = "✓"
			}
		}
		t.line(row + strings.Repeat(" ", markWidth-figure.Cells(mark)) + t.paint(code, mark))
	}
	t.line("")
	t.group(chosen, name)
}

// BrokenBy says whether risk or utility keeps a point from being admissible: ": R",
// ": U" or ": R, U".
func (m *Map) BrokenBy(p *Point) string {
	risk, utility := false, false
	for _, b := range p.Broken {
		if b.Rule >= 0 && b.Rule < len(m.Rules) {
			efficiency := m.Rules[b.Rule].MinEfficiency != nil
			risk, utility = risk || !efficiency, utility || efficiency
		}
	}
	switch {
	case risk && utility:
		return ": R, U"
	case risk:
		return ": R"
	case utility:
		return ": U"
	}
	return ""
}

// group names the worst group at the recommended point.
func (t *table) group(p *Point, strategy string) {
	if p == nil || p.Strategy != strategy {
		return
	}
	if g, k := t.m.WorstGroup(p); g != nil {
		t.wrapped("  ", "worst group at the recommended point: "+figure.Printable(t.m.GroupName(g))+" ("+figure.Count(int64(g.Records))+" records): "+
			figure.Printable(k.Target+", "+k.Knowledge)+", R = "+figure.Plain(float64(k.R), figure.RiskDigits))
		t.line("")
	}
}

// GroupName names a group: "region = 3, sex = f".
func (m *Map) GroupName(g *Group) string {
	var parts []string
	for i, v := range g.Values {
		if i < len(m.Groups) {
			v = m.Groups[i] + " = " + v
		}
		parts = append(parts, v)
	}
	return strings.Join(parts, ", ")
}
