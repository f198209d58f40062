package record

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Check implements Params.
func (m *Truncate) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	core.CheckWhere(&ps, m.Where, m.Columns)
	if m.Lower == nil && m.Upper == nil {
		ps.Addf("", "must have lower or upper, got neither")
	}
	if m.Lower != nil {
		core.CheckFinite(&ps, "lower", *m.Lower)
	}
	if m.Upper != nil {
		core.CheckFinite(&ps, "upper", *m.Upper)
	}
	if m.Lower != nil && m.Upper != nil && *m.Lower > *m.Upper {
		ps.Addf("upper", "must be at least %v, which is lower, got %v", *m.Lower, *m.Upper)
	}
	core.CheckWord(&ps, "mode", m.Mode, "clip", "redraw")
	if m.redraws() && m.Where != "" {
		ps.Addf("where", "must not be given with mode redraw: the noise before it is of all records")
	}
	return ps
}

// Describe implements Params.
func (m *Truncate) Describe() core.Description {
	d := core.Description{
		Scope: core.ScopeRecord, Reads: core.WhereRead(m.Where, m.Columns), Parameters: m.parameters,
		Action: m.action, Published: m, OnColumn: m.onColumn, Among: m.checkAmong, Mechanism: m.mechanism,
	}
	if m.redraws() {
		d.Redraws = m
	}
	return d
}

// Masks implements Params.
func (m *Truncate) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *Truncate) Reads() []string { return core.WhereReads(m.Where, m.Columns) }

// redraws reports whether the noise before the mask is drawn within its bounds.
func (m *Truncate) redraws() bool { return m.Mode == "redraw" }

// CheckAmong requires, besides what a condition does, in mode redraw, that the mask before this one on each column can
// draw within bounds.
func (m *Truncate) checkAmong(masks []core.Spec, i int) check.Problems {
	ps := core.CheckWhereAmong(masks, i, m.Where)
	if !m.redraws() {
		return ps
	}
	for k, name := range m.Columns {
		if j := core.LastMaskOn(masks[:i], name); j < 0 || !core.Declared(masks[j].Params).DrawsWithin {
			ps.Addf(fmt.Sprintf("[%d].truncate.mode", i),
				"redraw needs a noise mask%s just before it on %s, got %s (columns[%d])", requirement(masks, j),
				strconv.Quote(name), core.Describe(masks, j), k)
		}
	}
	return ps
}

// requirement describes the required mask, for a mask that could draw within bounds with other
// parameters.
func requirement(masks []core.Spec, j int) string {
	if j >= 0 && len(core.NeedsCorrelations(masks[j].Params)) > 0 {
		return " without correlated: true"
	}
	if j >= 0 && slices.ContainsFunc(core.ParametersOf(masks[j].Params), func(
		p core.Parameter) bool {
		return p.Name == "where"
	}) {
		return " without where"
	}
	return ""
}

// interval returns the bounds, infinite where absent.
func (m *Truncate) interval() (lower, upper float64) {
	lower, upper = math.Inf(-1), math.Inf(1)
	if m.Lower != nil {
		lower = *m.Lower
	}
	if m.Upper != nil {
		upper = *m.Upper
	}
	return lower, upper
}

// Bounds returns the grid indexes of the least and greatest value that a column may have after
// truncation by mask i of the chain. It returns an error if the column's type has no value
// between the bounds.
func (m *Truncate) Bounds(c *core.Chain, i int, col *core.Column, g core.Grid) (lo, hi float64, err error) {
	lower, upper := m.interval()
	lo, hi = g.Inward(lower, upper)
	if lo > hi || lower > col.Hi || upper < col.Lo {
		return 0, 0, fmt.Errorf("%s: column %s has no value between the bounds in its type and decimals", c.At(i),
			strconv.Quote(col.Name))
	}
	return lo, hi, nil
}

// clipStep is a truncate mask of mode clip on the columns of a chain.
type clipStep struct {
	mask    int
	columns []clipColumn
}

type clipColumn struct {
	*core.Column
	lower, upper float64
}

func (m *Truncate) Compile(c *core.Chain, i int) (core.Step, error) {
	return c.CompileWhere(i, m.Where, m.Columns, m.compileAll)
}

// compileAll makes the step for all records.
func (m *Truncate) compileAll(c *core.Chain, i int) (core.Step, error) {
	s := &clipStep{mask: i}
	if m.redraws() {
		for _, name := range m.Columns {
			if col := c.Lookup(name); col != nil {
				c.AddToHistory(i, col, core.Part("redraw")) // the noise mask before it has added the bounds
			}
		}
		return s, nil
	}
	for _, name := range m.Columns {
		col, err := c.Arithmetic(i, name)
		if err != nil {
			return nil, err
		}
		lower, upper := m.interval()
		if err := s.take(c, i, col, lower, upper); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// take adds a column that is clipped at its bounds.
func (s *clipStep) take(c *core.Chain, i int, col *core.Column, lower, upper float64) error {
	t := clipColumn{Column: col, lower: lower, upper: upper}
	if col.Digits >= 0 {
		// Bounds are moved inwards to the grid; an estimated one, such as a percentile,
		// may lie between two grid values.
		g := core.DecimalGrid(col.Digits)
		lo, hi, err := (&Truncate{Lower: &lower, Upper: &upper}).Bounds(c, i, col, g)
		if err != nil {
			return err
		}
		if core.Exact(lo) {
			t.lower = g.Value(lo)
		}
		if core.Exact(hi) {
			t.upper = g.Value(hi)
		}
	}
	c.AddToHistory(i, col, core.Part("clip", t.lower, t.upper))
	s.columns = append(s.columns, t)
	return nil
}

// WritesAlone implements writingAlone.
func (*clipStep) WritesAlone() {}

// Apply makes y = max(lower, min(upper, x)): Duncan et al. (2004), equation 11.
func (s *clipStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	changed, own := w.NewChanged(b.N), w.NewOwn(b.N)
	for _, col := range s.columns {
		v, err := col.Numbers(b)
		if err != nil {
			return err
		}
		for i, x := range v.Values {
			if x < col.lower {
				v.Values[i] = col.lower
				own.Set(i)
			} else if x > col.upper {
				v.Values[i] = col.upper
				own.Set(i)
			}
		}
		core.Settle(v, own, changed)
	}
	if len(s.columns) > 0 {
		c.Count(s.mask, b, changed)
	}
	return nil
}

func (m *Truncate) parameters() []core.Parameter {
	list := core.WithNumber(core.WithNumber(nil, "lower", m.Lower), "upper", m.Upper)
	return core.WithWhere(append(list, core.Parameter{Name: "mode", Value: core.WordOr(m.Mode, "clip")}), m.Where)
}

func (m *Truncate) action(string, float64) core.Action {
	if m.Where != "" {
		return nil
	}
	a := core.Bounding{Mode: core.WordOr(m.Mode, "clip")}
	a.Lower, a.Upper = m.interval()
	return a
}

// PublishedAction implements Publishing.
func (m *Truncate) PublishedAction(p core.Published, _ string) core.Action {
	if p.Has("where") {
		return nil
	}
	return core.Bounding{Lower: p.Bound("lower", math.Inf(-1)), Upper: p.Bound("upper", math.Inf(1)), Mode: p.Word("mode")}
}

// Words implements Publishing.
func (m *Truncate) Words(p core.Published, _ string) string {
	var bounds []string
	if v, ok := p.Float("lower"); ok {
		bounds = append(bounds, "below "+p.Number(v))
	}
	if v, ok := p.Float("upper"); ok {
		bounds = append(bounds, "above "+p.Number(v))
	}
	where := "outside of bounds that are not published"
	if bounds != nil {
		where = strings.Join(bounds, " or ")
	}
	switch p.Word("mode") {
	case "redraw":
		return "truncation: the noise was drawn so that no value lies " + where
	case "clip":
		return "truncation: values " + where + " were moved to the bound" + core.WhereWords(p)
	}
	return "truncation: no value lies " + where + core.WhereWords(p)
}

// EfficiencyFollows implements Publishing: the efficiency discloses how much lay beyond the bounds.
func (m *Truncate) EfficiencyFollows(has, named func(string) bool) bool {
	return !has("where") && (named("lower") || !has("lower")) && (named("upper") || !has("upper"))
}

func (m *Truncate) onColumn(column string) core.Params {
	q := *m
	q.Columns = []string{column}
	return &q
}

// Truncate keeps released values within bounds: Duncan et al. (2004), equation
// 11. Mode clip moves a value outside to the bound; mode redraw draws the noise
// of the preceding noise mask conditionally on landing inside, which leaves no
// heap of values at the bound.
type Truncate struct {
	Columns []string `yaml:"columns" doc:"the columns to mask"`
	Lower   *float64 `yaml:"lower" doc:"least released value"`
	Upper   *float64 `yaml:"upper" doc:"greatest released value"`
	Mode    string   `yaml:"mode" doc:"clip (default) or redraw" enum:"clip,redraw"`
	Where   string   `yaml:"where" doc:"the mask changes only records whose original values meet this condition on its column or on columns that no mask changes, such as \"wage > 0 and status = employed\"; the others are released unchanged, and everybody knows which"`
}

func (m *Truncate) mechanism(string) core.Mechanism {
	switch {
	case m.Where != "":
		return core.Mechanism{Not: core.ByCondition}
	case m.redraws():
		return core.Mechanism{Not: "the noise is drawn within bounds (redraw), with a probability that depends on the value"}
	}
	lower, upper := m.interval()
	return core.Mechanism{Kind: core.Clipping, Lower: lower, Upper: upper}
}

func (s *clipStep) Keeps(l *core.KeepingOf, i int) {
	l.Changed(i)
	for _, t := range s.columns {
		if t.Name == l.Name {
			l.Lower, l.Upper = append(l.Lower, core.Bound{Mask: i, At: t.lower}), append(l.Upper, core.Bound{Mask: i,
				At: t.upper})
		}
	}
}

func (s *clipStep) Law(column string) []core.Stage {
	for _, c := range s.columns {
		if c.Name == column {
			f := core.ClippingLevel(c.lower, c.upper)
			return []core.Stage{{Level: &f}}
		}
	}
	return nil // mode redraw: part of the law of the noise before it
}
