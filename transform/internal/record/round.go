package record

import (
	"fmt"
	"math"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Check implements Params.
func (m *Round) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	core.CheckWhere(&ps, m.Where, m.Columns)
	switch {
	case m.Decimals == nil && m.Base == nil:
		ps.Addf("", "must have decimals or base, got neither")
	case m.Decimals != nil && m.Base != nil:
		ps.Addf("", "must have decimals or base, got both")
	}
	if m.Decimals != nil && (*m.Decimals < -15 || *m.Decimals > 15) {
		ps.Addf("decimals", "must be between -15 and 15, got %d", *m.Decimals)
	}
	if m.Base != nil {
		ps.Above("base", *m.Base, 0)
	}
	return ps
}

// Describe implements Params.
func (m *Round) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeRecord, Reads: core.WhereRead(m.Where, m.Columns), Parameters: m.parameters,
		Action: m.action, Published: m, OnColumn: m.onColumn, Among: m.checkAmong, Mechanism: m.mechanism,
	}
}

// Masks implements Params.
func (m *Round) Masks() []string { return m.Columns }

func (m *Round) checkAmong(masks []core.Spec, i int) check.Problems {
	return core.CheckWhereAmong(masks, i, m.Where)
}

// Reads implements Params.
func (m *Round) Reads() []string { return core.WhereReads(m.Where, m.Columns) }

// roundStep is a round mask on the columns of a chain.
type roundStep struct {
	mask    int
	columns []roundColumn
}

// roundColumn rounds x to multiples of a step. If the column has a decimal grid, k_x and the
// step are integers on it, so that halves are decided by the decimal number: 2.675 is a half,
// though the float64 nearest to it is not.
type roundColumn struct {
	*core.Column
	grid core.Grid
	step float64 // in units of the grid, or in the column's unit where there is none
	mult float64 // where there is no grid and the step is 1/mult; else 0
}

func (m *Round) Compile(c *core.Chain, i int) (core.Step, error) {
	return c.CompileWhere(i, m.Where, m.Columns, m.compileAll)
}

// compileAll makes the step for all records.
func (m *Round) compileAll(c *core.Chain, i int) (core.Step, error) {
	s := &roundStep{mask: i}
	for _, name := range m.Columns {
		col, err := c.Arithmetic(i, name)
		if err != nil {
			return nil, err
		}
		r := roundColumn{Column: col}
		if col.Digits >= 0 {
			r.grid = core.DecimalGrid(col.Digits)
		}
		switch {
		case m.Decimals != nil && col.Digits >= 0:
			r.step = math.Pow10(max(col.Digits-*m.Decimals, 0))
		case m.Decimals != nil && *m.Decimals >= 0:
			r.mult = math.Pow10(*m.Decimals)
		case m.Decimals != nil:
			r.step = math.Pow10(-*m.Decimals)
		case col.Digits >= 0:
			r.step = r.grid.Index(*m.Base)
			if r.step < 1 || r.grid.Value(r.step) != *m.Base {
				return nil, fmt.Errorf("%s.base: must be a multiple of %v, the last decimal of column %s, got %v",
					c.At(i), r.grid.Value(1), strconv.Quote(name), *m.Base)
			}
		default:
			r.step = *m.Base
		}
		col.OnGrid = col.Digits >= 0
		c.AddToHistory(i, col, core.Part("round", r.step, r.mult, r.grid.Mult))
		s.columns = append(s.columns, r)
	}
	return s, nil
}

// WritesAlone implements writingAlone.
func (*roundStep) WritesAlone() {}

func (s *roundStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	changed, own := w.NewChanged(b.N), w.NewOwn(b.N)
	for _, col := range s.columns {
		v, err := col.Numbers(b)
		if err != nil {
			return err
		}
		for i, x := range v.Values {
			if y := col.round(x); y != x {
				v.Values[i] = y
				own.Set(i)
			}
		}
		core.Settle(v, own, changed)
	}
	c.Count(s.mask, b, changed)
	return nil
}

// round returns the multiple of the step nearest to x, halves to even multiples.
// A value too great to have digits after the step stays as it is.
func (c *roundColumn) round(x float64) float64 {
	if c.mult != 0 {
		return core.Grid{Mult: c.mult}.Snap(x)
	}
	if c.grid == (core.Grid{}) {
		if q := math.RoundToEven(x / c.step); core.Exact(q) {
			return float64(q*c.step) + 0
		}
		return x
	}
	k := c.grid.Index(x)
	if !core.Exact(k) {
		return x
	}
	// The division k/step never rounds to a half unless it is exactly a half: below 2^53 other
	// quotients are further from a half than half a unit in the last place.
	return core.Finite(c.grid.Value(float64(math.RoundToEven(k/c.step) * c.step)))
}

func (m *Round) parameters() []core.Parameter {
	var list []core.Parameter
	if m.Decimals != nil {
		list = append(list, core.Parameter{Name: "decimals", Value: float64(*m.Decimals)})
	}
	return core.WithWhere(core.WithNumber(list, "base", m.Base), m.Where)
}

func (m *Round) action(string, float64) core.Action {
	if m.Where != "" {
		return nil
	}
	switch {
	case m.Base != nil:
		return core.Rounding{Step: *m.Base}
	case m.Decimals != nil:
		return core.Rounding{Step: math.Pow10(-*m.Decimals)}
	}
	return nil
}

// PublishedAction implements Publishing.
func (m *Round) PublishedAction(p core.Published, _ string) core.Action {
	if p.Has("where") {
		return nil
	}
	return m.published(p)
}

func (*Round) published(p core.Published) core.Rounding {
	return core.Rounding{Step: p.NumberOr("base", math.Pow(10, -p.NumberOr("decimals", math.NaN())))}
}

// Words implements Publishing.
func (m *Round) Words(p core.Published, _ string) string {
	if a := m.published(p); a.Step == a.Step {
		return "rounding: to multiples of " + p.Number(a.Step) + p.Unit + core.WhereWords(p)
	}
	return "rounding: to a step that is not published" + core.WhereWords(p)
}

// EfficiencyFollows implements Publishing.
func (m *Round) EfficiencyFollows(has, named func(string) bool) bool {
	return !has("where") && (named("decimals") || !has("decimals")) && (named("base") || !has("base"))
}

func (m *Round) onColumn(column string) core.Params {
	q := *m
	q.Columns = []string{column}
	return &q
}

// Round rounds to a number of decimals or to multiples of a base, halves to even.
type Round struct {
	Columns  []string `yaml:"columns" doc:"the columns to mask"`
	Decimals *int     `yaml:"decimals" doc:"decimals to keep; negative for tens, hundreds, …"`
	Base     *float64 `yaml:"base" doc:"released values are multiples of this"`
	Where    string   `yaml:"where" doc:"the mask changes only records whose original values meet this condition on its column or on columns that no mask changes, such as \"wage > 0 and status = employed\"; the others are released unchanged, and everybody knows which"`
}

func (m *Round) mechanism(string) core.Mechanism {
	a := core.Mechanism{Kind: core.Stepping}
	switch {
	case m.Where != "":
		a.Not = core.ByCondition
	case m.Base != nil:
		a.Step = *m.Base
	case m.Decimals != nil:
		a.Step = math.Pow10(-*m.Decimals)
	}
	return a
}

func (s *roundStep) Keeps(l *core.KeepingOf, i int) {
	l.Changed(i)
	l.Most = min(l.Most, 0.5)
	for _, r := range s.columns {
		if r.Name != l.Name {
			continue
		}
		step := r.step
		switch {
		case r.mult != 0:
			step = 1 / r.mult
		case r.grid != (core.Grid{}):
			step = r.grid.Value(r.step)
		}
		l.Rounds = append(l.Rounds, core.Bound{Mask: i, At: step})
		l.Fixed = append(l.Fixed, func(x float64) bool { return r.round(x) == x })
	}
}

func (s *roundStep) Law(column string) []core.Stage {
	for i := range s.columns {
		if c := &s.columns[i]; c.Name == column {
			step := c.step
			switch {
			case c.mult != 0:
				step = 1 / c.mult
			case c.grid != (core.Grid{}):
				step /= c.grid.Mult
			}
			f := core.RoundingLevel(step, c.round)
			return []core.Stage{{Level: &f}}
		}
	}
	return nil
}
