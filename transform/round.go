package transform

import (
	"fmt"
	"math"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Check implements Params.
func (m *Round) Check() check.Problems {
	var ps check.Problems
	checkColumns(&ps, "columns", m.Columns, "column")
	checkWhere(&ps, m.Where, m.Columns)
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
func (m *Round) Describe() Description {
	return Description{
		Scope: ScopeRecord, Reads: whereRead(m.Where, m.Columns), Parameters: m.parameters,
		Action: m.action, Published: m, OnColumn: m.onColumn, among: m.checkAmong, Mechanism: m.mechanism,
	}
}

// Masks implements Params.
func (m *Round) Masks() []string { return m.Columns }

func (m *Round) checkAmong(masks []Spec, i int) check.Problems {
	return checkWhereAmong(masks, i, m.Where)
}

// Reads implements Params.
func (m *Round) Reads() []string { return whereReads(m.Where, m.Columns) }

// roundStep is a round mask on the columns of a chain.
type roundStep struct {
	mask    int
	columns []roundColumn
}

// roundColumn rounds x to multiples of a step. If the column has a decimal grid, k_x and the
// step are integers on it, so that halves are decided by the decimal number: 2.675 is a half,
// though the float64 nearest to it is not.
type roundColumn struct {
	*column
	grid grid
	step float64 // in units of the grid, or in the column's unit where there is none
	mult float64 // where there is no grid and the step is 1/mult; else 0
}

func (m *Round) compile(c *Chain, i int) (step, error) {
	return c.compileWhere(i, m.Where, m.Columns, m.compileAll)
}

// compileAll makes the step for all records.
func (m *Round) compileAll(c *Chain, i int) (step, error) {
	s := &roundStep{mask: i}
	for _, name := range m.Columns {
		col, err := c.arithmetic(i, name)
		if err != nil {
			return nil, err
		}
		r := roundColumn{column: col}
		if col.decimals >= 0 {
			r.grid = decimalGrid(col.decimals)
		}
		switch {
		case m.Decimals != nil && col.decimals >= 0:
			r.step = math.Pow10(max(col.decimals-*m.Decimals, 0))
		case m.Decimals != nil && *m.Decimals >= 0:
			r.mult = math.Pow10(*m.Decimals)
		case m.Decimals != nil:
			r.step = math.Pow10(-*m.Decimals)
		case col.decimals >= 0:
			r.step = r.grid.index(*m.Base)
			if r.step < 1 || r.grid.value(r.step) != *m.Base {
				return nil, fmt.Errorf("%s.base: must be a multiple of %v, the last decimal of column %s, got %v",
					c.at(i), r.grid.value(1), strconv.Quote(name), *m.Base)
			}
		default:
			r.step = *m.Base
		}
		col.onGrid = col.decimals >= 0
		c.addToHistory(i, col, part("round", r.step, r.mult, r.grid.mult))
		s.columns = append(s.columns, r)
	}
	return s, nil
}

// writesAlone implements writingAlone.
func (*roundStep) writesAlone() {}

func (s *roundStep) apply(c *Chain, w *work, b *microdata.Block) error {
	changed, own := w.newChanged(b.N), w.newOwn(b.N)
	for _, col := range s.columns {
		v, err := col.numbers(b)
		if err != nil {
			return err
		}
		for i, x := range v.Values {
			if y := col.round(x); y != x {
				v.Values[i] = y
				own.Set(i)
			}
		}
		settle(v, own, changed)
	}
	c.count(s.mask, b, changed)
	return nil
}

// round returns the multiple of the step nearest to x, halves to even multiples.
// A value too great to have digits after the step stays as it is.
func (c *roundColumn) round(x float64) float64 {
	if c.mult != 0 {
		return grid{c.mult}.snap(x)
	}
	if c.grid == (grid{}) {
		if q := math.RoundToEven(x / c.step); exact(q) {
			return float64(q*c.step) + 0
		}
		return x
	}
	k := c.grid.index(x)
	if !exact(k) {
		return x
	}
	// The division k/step never rounds to a half unless it is exactly a half: below 2^53 other
	// quotients are further from a half than half a unit in the last place.
	return finite(c.grid.value(float64(math.RoundToEven(k/c.step) * c.step)))
}

func (m *Round) parameters() []Parameter {
	var list []Parameter
	if m.Decimals != nil {
		list = append(list, Parameter{"decimals", float64(*m.Decimals)})
	}
	return withWhere(withNumber(list, "base", m.Base), m.Where)
}

func (m *Round) action(string, float64) Action {
	if m.Where != "" {
		return nil
	}
	switch {
	case m.Base != nil:
		return Rounding{*m.Base}
	case m.Decimals != nil:
		return Rounding{math.Pow10(-*m.Decimals)}
	}
	return nil
}

// PublishedAction implements Publishing.
func (m *Round) PublishedAction(p Published, _ string) Action {
	if p.Has("where") {
		return nil
	}
	return m.published(p)
}

func (*Round) published(p Published) Rounding {
	return Rounding{p.numberOr("base", math.Pow(10, -p.numberOr("decimals", math.NaN())))}
}

// Words implements Publishing.
func (m *Round) Words(p Published, _ string) string {
	if a := m.published(p); a.Step == a.Step {
		return "rounding: to multiples of " + p.Number(a.Step) + p.Unit + whereWords(p)
	}
	return "rounding: to a step that is not published" + whereWords(p)
}

// EfficiencyFollows implements Publishing.
func (m *Round) EfficiencyFollows(has, named func(string) bool) bool {
	return !has("where") && (named("decimals") || !has("decimals")) && (named("base") || !has("base"))
}

func (m *Round) onColumn(column string) Params {
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

func (m *Round) mechanism(string) Mechanism {
	a := Mechanism{Kind: Stepping}
	switch {
	case m.Where != "":
		a.Not = byCondition
	case m.Base != nil:
		a.Step = *m.Base
	case m.Decimals != nil:
		a.Step = math.Pow10(-*m.Decimals)
	}
	return a
}

func (s *roundStep) keeps(l *keepingOf, i int) {
	l.changed(i)
	l.most = min(l.most, 0.5)
	for _, r := range s.columns {
		if r.Name != l.name {
			continue
		}
		step := r.step
		switch {
		case r.mult != 0:
			step = 1 / r.mult
		case r.grid != (grid{}):
			step = r.grid.value(r.step)
		}
		l.rounds = append(l.rounds, bound{i, step})
		l.fixed = append(l.fixed, func(x float64) bool { return r.round(x) == x })
	}
}

func (s *roundStep) law(column string) []stage {
	for i := range s.columns {
		if c := &s.columns[i]; c.Name == column {
			step := c.step
			switch {
			case c.mult != 0:
				step = 1 / c.mult
			case c.grid != (grid{}):
				step /= c.grid.mult
			}
			f := rounding(step, c.round)
			return []stage{{level: &f}}
		}
	}
	return nil
}
