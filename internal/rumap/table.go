package rumap

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// Summary writes the map for a person at a terminal: the recommended point or why
// there is none, and the points of each strategy in a table. Lines have at most
// width columns (0: 100; no less than 60). With color it uses ANSI bold, dim, green
// and red and a few signs; without, its own words are ASCII. Errors of w are
// returned when w is flushed.
func Summary(w io.Writer, m *Map, color bool, width int) {
	t := table{Terminal: figure.NewTerminal(color, width), m: m}
	t.head()
	t.verdict()
	for _, s := range m.Strategies() {
		t.strategy(s)
	}
	_, _ = io.WriteString(w, t.String())
}

type table struct {
	figure.Terminal
	m *Map
}

func (t *table) head() {
	m := t.m
	name := figure.Printable(m.Column)
	if m.Unit != "" {
		name += ", " + figure.Printable(m.Unit)
	}
	t.Line("")
	t.Line(t.Paint("1", t.Cut("R-U map of "+name, t.Width)))
	t.Wrapped("  ", "", Basis(m))
	t.Line("")
}

// Basis says in a sentence from which records R and U of a map are computed.
func Basis(m *Map) string {
	records, all, more := figure.Count(m.Records)+" records", "all records", ""
	if m.Samples > 0 {
		all += " of its sample"
		records = fmt.Sprintf("%d samples, the greatest of %s", m.Samples, records)
		more =
			" Efficiency is a share of the utility of the greatest sample unmasked; min_efficiency is judged within the sample of a point, as in a run."
	}
	if m.Sampled > 0 {
		return fmt.Sprintf(
			"%s; each point: expected over the masks, by the records at both ends and a keyed sample of %s of the others.%s",
			records, figure.Count(int64(m.Sampled)), more)
	}
	return fmt.Sprintf("%s; each point: M = %s replicates of %s.%s", records, figure.Count(int64(m.Replicates)), all, more)
}

func (t *table) verdict() {
	m := t.m
	p := m.chosen()
	if p == nil {
		sign := "none:"
		if t.Color {
			sign = "✗"
		}
		t.Line(t.Paint("1;31", sign+" No point is recommended"))
		t.Wrapped("  ", "", figure.Printable(m.Why()))
		t.unjudged()
		t.Line("")
		return
	}
	sign := "recommended:"
	if t.Color {
		sign = "✓ Recommended:"
	}
	what := figure.Printable(strings.ReplaceAll(m.Choice(p, "the masks as they are configured"), "\u00a0", " "))
	lines := figure.Wrap(t.Words(sign+" "+what), t.Width)
	for i, l := range lines {
		if i > 0 {
			l = "  " + t.Cut(l, t.Width-2)
		}
		t.Line(t.Paint("1;32", l))
	}
	words := "efficiency " + figure.Percent(float64(p.Efficiency))
	if k, ok := m.Worst(p.Risk, m.Protected()); ok {
		words += "; worst protected: " + figure.Printable(k.Target+", "+k.Knowledge) + ", R = " +
			figure.Plain(float64(k.R), figure.RiskDigits)
		if len(m.Categories) == 0 {
			words += ", known to ± " + figure.Plain(float64(k.RMSE), figure.RiskDigits)
		}
		if m.Unit != "" {
			words += " " + figure.Printable(m.Unit)
		}
	}
	t.Wrapped("  ", "", words)
	if binds := m.Binding(); len(binds) > 0 {
		t.Wrapped("  ", "", "binds: "+figure.Printable(strings.Join(binds, "; ")))
	}
	for _, tried := range m.Tried() {
		t.Wrapped("  ", "", tried)
	}
	if words := m.RiskUnlimited(); words != "" {
		t.Wrapped("  ", "33", "! "+figure.Printable(words))
	}
	t.unjudged()
	t.Line("")
}

// unjudged lists in amber the rules that could not be judged for any point.
func (t *table) unjudged() {
	if len(t.m.Unjudged) > 0 {
		t.Wrapped("  ", "33", "not judged at any point: "+figure.Printable(strings.Join(t.m.Unjudged, "; ")))
	}
}

// Tried says in sentences on what else the recommended point was tried, after it was chosen.
func (m *Map) Tried() (list []string) {
	if n := m.Recommended.HeldBack; n > 0 {
		list = append(list, fmt.Sprintf("The rules also hold on %s further replicates, of which none was used in choosing.",
			figure.Count(int64(n))))
	}
	if m.Recommended.AsRun {
		list = append(list, "All records were masked and judged as a run would: every rule of the gate holds.")
	}
	return list
}

// Why is why nothing is recommended.
func (m *Map) Why() string {
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

// tableColumns are the columns for which a strategy's table has room.
type tableColumns struct {
	axes       []Axis
	widths     []int // of the axes
	subject    int   // of the worst protected target; below leastSubject it is left out
	rUnitWidth int   // of R in the column's unit; 0: it is left out
}

// leastSubject is the least width of the column that names a target.
const leastSubject = 8

// columns finds the widths of a strategy's table, and its head. Where there is little
// room, parameters are narrow, and what a reader can do without is left out: which
// target is the worst, and R in the column's unit.
func (t *table) columns(name string) (c tableColumns, head string) {
	const least = efficiencyWidth + riskWidth + markWidth + 2
	c = tableColumns{axes: t.m.AxesOf(name), rUnitWidth: knownWidth}
	if least+c.rUnitWidth+10*len(c.axes) > t.Width || len(t.m.Categories) > 0 {
		c.rUnitWidth = 0
	}
	head = "  "
	for _, a := range c.axes {
		name := figure.Printable(t.m.Label(a))
		width := min(max(figure.Cells(name)+2, 10), 22, max(10, (t.Width-least-c.rUnitWidth)/len(c.axes)))
		c.widths = append(c.widths, width)
		head += figure.Left(t.Cut(name, width-2), width)
	}
	c.subject = min(24, t.Width-figure.Cells(head)-efficiencyWidth-riskWidth-c.rUnitWidth-markWidth-2)
	head += figure.Left("efficiency", efficiencyWidth)
	if c.subject >= leastSubject {
		head += "  " + figure.Pad(t.Cut("worst protected", c.subject), c.subject)
	}
	head += figure.Left("R", riskWidth)
	if c.rUnitWidth > 0 {
		head += figure.Left(t.Words("known to ±"), c.rUnitWidth)
	}
	return c, t.Cut(head, t.Width-markWidth) + figure.Left("admissible", markWidth)
}

func (t *table) strategy(name string) {
	m := t.m
	c, head := t.columns(name)
	t.Line(t.Paint("1", t.Cut(figure.Printable(name), t.Width)))
	t.Line(t.Paint("2", head))
	chosen := m.chosen()
	var impossible []string
	var open []string // rules that could not be judged at some admissible point
	for i := range m.Points {
		p := &m.Points[i]
		if p.Strategy != name {
			continue
		}
		mark, code := t.mark(p)
		if p.Impossible != "" {
			impossible = append(impossible, p.Impossible)
		}
		if p.Admissible {
			open = append(open, p.Unjudged...)
		}
		t.Line(t.row(c, p) + strings.Repeat(" ", markWidth-figure.Cells(mark)) + t.Paint(code, mark))
	}
	slices.Sort(impossible)
	for _, why := range slices.Compact(impossible) {
		t.Wrapped("  ", "33", "cannot: "+figure.Printable(why))
	}
	if len(open) > 0 {
		slices.Sort(open)
		t.Wrapped("  ", "33", "? as far as it can be judged on a map; a run judges also: "+
			figure.Printable(strings.Join(slices.Compact(open), "; ")))
	}
	t.Line("")
	t.group(chosen, name)
}

// row is a point's line without its mark.
func (t *table) row(c tableColumns, p *Point) string {
	row := "  "
	if p == t.m.chosen() {
		row = "> "
	}
	for k, a := range c.axes {
		s := "-"
		if v, ok := p.Parameters[a.Path]; ok {
			s = t.Words(a.Value(v))
		}
		row += figure.Left(s, c.widths[k])
	}
	row += figure.Left(t.Words(figure.Percent(float64(p.Efficiency))), efficiencyWidth)
	what, risk, rmse := "-", "-", "-"
	if worst, ok := t.m.Worst(p.Risk, t.m.Protected()); ok {
		what = figure.Printable(worst.Target + ", " + worst.Knowledge)
		risk = figure.Plain(float64(worst.R), figure.RiskDigits)
		rmse = figure.Plain(float64(worst.RMSE), figure.RiskDigits)
	}
	if c.subject >= leastSubject {
		row += "  " + figure.Pad(t.Cut(what, c.subject), c.subject)
	}
	row += figure.Left(t.Words(risk), riskWidth)
	if c.rUnitWidth > 0 {
		row += figure.Left(t.Words(rmse), c.rUnitWidth)
	}
	return t.Cut(row, t.Width-markWidth)
}

// mark says whether a point is admissible, with its ANSI attributes.
func (t *table) mark(p *Point) (mark, code string) {
	switch {
	case p.Impossible != "":
		return "cannot", "33"
	case !p.Admissible && t.Color:
		return "✗" + t.m.BrokenBy(p), "31"
	case !p.Admissible:
		return "no" + t.m.BrokenBy(p), "31"
	}
	mark, code = "yes", "32"
	if t.Color {
		mark = "✓"
	}
	if len(p.Unjudged) > 0 {
		mark, code = mark+" ?", "33"
	}
	return mark, code
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
		t.Wrapped("  ", "", "worst group at the recommended point: "+figure.Printable(t.m.GroupName(g))+" ("+
			figure.Count(int64(g.Records))+" records): "+
			figure.Printable(k.Target+", "+k.Knowledge)+", R = "+figure.Plain(float64(k.R), figure.RiskDigits))
		t.Line("")
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
