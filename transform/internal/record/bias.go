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
func (m *Bias) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	core.CheckWhere(&ps, m.Where, m.Columns)
	switch {
	case m.Phi == nil && m.Range == nil:
		ps.Addf("", "must have phi or range, got neither")
	case m.Phi != nil && m.Range != nil:
		ps.Addf("", "must have phi or range, got both")
	}
	if m.Phi != nil {
		ps.AtLeast("phi", *m.Phi, 0)
	}
	if m.Range != nil {
		ps.AtLeast("range", *m.Range, 0)
	}
	return ps
}

// Describe implements Params.
func (m *Bias) Describe() core.Description {
	return core.Description{
		Scope: core.ScopeRecord, Reads: core.WhereRead(m.Where, m.Columns), Axis: m.mapAxis(), Parameters: m.parameters,
		Action: m.action, Published: m, OnColumn: m.onColumn, Among: m.checkAmong, Mechanism: m.mechanism,
	}
}

// Masks implements Params.
func (m *Bias) Masks() []string { return m.Columns }

func (m *Bias) checkAmong(masks []core.Spec, i int) check.Problems {
	return core.CheckWhereAmong(masks, i, m.Where)
}

// Reads implements Params.
func (m *Bias) Reads() []string { return core.WhereReads(m.Where, m.Columns) }

// phi returns φ. A range is the half-width of θ's interval about 1, which is three standard
// deviations.
func (m *Bias) phi() float64 {
	if m.Phi != nil {
		return *m.Phi
	}
	return *m.Range / 3
}

// biasStep is a bias mask on the columns of a chain.
type biasStep struct {
	mask    int
	columns []biasColumn
}

// biasColumn is a column of a biasStep.
type biasColumn struct {
	*core.Column
	Grid   core.Grid
	Phi    float64
	stream int // in work.streams
}

func (m *Bias) Compile(c *core.Chain, i int) (core.Step, error) {
	return c.CompileWhere(i, m.Where, m.Columns, m.compileAll)
}

// compileAll makes the step for all records.
func (m *Bias) compileAll(c *core.Chain, i int) (core.Step, error) {
	s := &biasStep{mask: i}
	for _, name := range m.Columns {
		col, err := c.Arithmetic(i, name)
		if err != nil {
			return nil, err
		}
		phi := m.phi()
		// The bias moves a typical value by φ times its size, √(x̄² + S_x²).
		g := col.Grid(phi * math.Sqrt(float64(col.Mean*col.Mean)+float64(col.SD*col.SD)))
		if g == (core.Grid{}) && phi > 0 && (math.IsNaN(col.Mean) || math.IsNaN(col.SD)) {
			return nil,
				fmt.Errorf("%s: column %s needs decimals, or its mean and standard deviation, for the grid of its released values",
					c.At(i), strconv.Quote(name))
		}
		col.OnGrid = col.Digits >= 0
		c.AddToHistory(i, col, core.Part("bias", phi, g.Mult))
		s.columns = append(s.columns, biasColumn{col, g, phi, c.Stream(i, col)})
	}
	return s, nil
}

// WritesAlone implements writingAlone.
func (*biasStep) WritesAlone() {}

func (s *biasStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	changed, own := w.NewChanged(b.N), w.NewOwn(b.N)
	for _, col := range s.columns {
		if col.Grid == (core.Grid{}) { // φ or every value of the column is 0: nothing changes
			if _, err := col.Numbers(b); err != nil {
				return err
			}
			continue
		}
		v, values, err := col.Rewritten(b)
		if err != nil {
			return err
		}
		for from := 0; from < b.N; from += core.Batch {
			end := min(from+core.Batch, b.N)
			x := values[from:end]
			z := w.Floats(len(x))
			w.Fill(z, core.Normal, col.stream, w.StretchOf(col.Shared, b, from, len(x), w.OnGrid(col.Grid, x, false)))
			col.Multiply(v.Values[from:end], x, z, own[from>>6:])
		}
		core.Settle(v, own, changed)
	}
	c.Count(s.mask, b, changed)
	return nil
}

// Multiply computes y = k_x·θ, rounded to the grid, for the values x, where θ = 1 + φz, and
// marks those that changed: Trottini et al. (2004), A2.1. y may be x.
func (c *biasColumn) Multiply(y, x, z []float64, changed microdata.Bitmap) {
	mult, phi := c.Grid.Mult, c.Phi
	limit := core.Fast / (1 + float64(64*phi)) // no standard draw is beyond 64, so k·θ stays below fast
	for base := 0; base < len(x); base += 64 {
		end := min(base+64, len(x))
		xs, zs, ys := x[base:end], z[base:end], y[base:end]
		zs, ys = zs[:len(xs)], ys[:len(xs)]
		var word uint64
		for i, old := range xs {
			theta := 1 + float64(phi*zs[i])
			k := float64(old*mult) + core.Magic - core.Magic
			ky := float64(k*theta) + core.Magic - core.Magic
			y := ky / mult
			if !(math.Abs(k) < limit) {
				y = c.Product(old, theta)
			}
			ys[i] = y
			if y != old {
				word |= 1 << i
			}
		}
		changed[base>>6] |= word
	}
}

// Product is x·θ for one value; a value beyond the exact integers of the grid is
// multiplied as it is.
func (c *biasColumn) Product(x, theta float64) float64 {
	if k := c.Grid.Index(x); core.Exact(k) {
		return core.Finite(c.Grid.Value(math.RoundToEven(float64(k * theta))))
	}
	return core.Finite(float64(x * theta))
}

// mapAxis: φ² in equal steps.
func (m *Bias) mapAxis() core.Axis {
	field := "phi"
	if m.Range != nil {
		field = "range"
	}
	return core.Axis{Rank: 1, Field: field, From: core.Amount{Value: 0.01}, To: core.Amount{Value: 1}, Variance: true}
}

func (m *Bias) parameters() []core.Parameter {
	switch {
	case m.Phi != nil:
		return core.WithWhere([]core.Parameter{{Name: "phi", Value: *m.Phi}}, m.Where)
	case m.Range != nil:
		return core.WithWhere([]core.Parameter{{Name: "range", Value: *m.Range}, {Name: "phi", Value: m.phi()}}, m.Where)
	}
	return nil
}

func (m *Bias) action(string, float64) core.Action {
	if m.Where != "" {
		return nil
	}
	if m.Phi == nil && m.Range == nil {
		return nil
	}
	return core.Multiplication{Phi: m.phi()}
}

// PublishedAction implements Publishing.
func (m *Bias) PublishedAction(p core.Published, _ string) core.Action {
	if p.Has("where") {
		return nil
	}
	return m.published(p)
}

func (*Bias) published(p core.Published) core.Multiplication {
	return core.Multiplication{Phi: p.NumberOr("phi", p.NumberOr("range", math.NaN())/3)}
}

// Words implements Publishing.
func (m *Bias) Words(p core.Published, _ string) string {
	if a := m.published(p); a.Phi == a.Phi {
		return "bias: multiplied by θ ~ N(1, φ²) with φ = " + p.Number(a.Phi) + core.WhereWords(p)
	}
	return "bias: multiplied by a random factor of mean 1, whose standard deviation φ is not published" + core.WhereWords(p)
}

// EfficiencyFollows implements Publishing: it gives φ².
func (m *Bias) EfficiencyFollows(has, named func(string) bool) bool {
	return !has("where") && (named("phi") || named("range"))
}

func (m *Bias) onColumn(column string) core.Params {
	q := *m
	q.Columns = []string{column}
	return &q
}

// Bias multiplies each value by θ ~ N(1, φ²), drawn anew for every record and
// column: Trottini et al. (2004), equations A2.1 and A2.2.
type Bias struct {
	Columns []string `yaml:"columns" doc:"the columns to mask"`
	Phi     *float64 `yaml:"phi" share:"part" doc:"φ, the standard deviation of θ"`
	Range   *float64 `yaml:"range" share:"part" doc:"h, the half-width of the range of θ; φ = h/3"`
	Where   string   `yaml:"where" doc:"the mask changes only records whose original values meet this condition on its column or on columns that no mask changes, such as \"wage > 0 and status = employed\"; the others are released unchanged, and everybody knows which"`
}

func (m *Bias) mechanism(string) core.Mechanism {
	if m.Where != "" {
		return core.Mechanism{Not: core.ByCondition}
	}
	return core.Mechanism{Kind: core.OwnValue}
}

func (s *biasStep) Keeps(l *core.KeepingOf, i int) {
	for _, b := range s.columns {
		if b.Name != l.Name {
			continue
		}
		l.Moves = append(l.Moves, core.Moving{
			Mask: i,
			Lost: func(x, step float64) bool {
				return x != 0 && (b.Grid == (core.Grid{}) || b.Phi*max(math.Abs(x), l.Typical) < max(step, b.Grid.Value(1)))
			},
			Share: func(x, step float64) float64 {
				if x == 0 {
					return 1
				}
				step = max(step, b.Grid.Value(1))
				return core.Normal.Within(-step/2, step/2, b.Phi*math.Abs(x))
			},
		})
	}
}

func (s *biasStep) Law(column string) []core.Stage {
	for i := range s.columns {
		if c := &s.columns[i]; c.Name == column {
			return []core.Stage{{Spread: &core.Spread{
				Draw: core.Normal, Grid: c.Grid, Phi: c.Phi, Lower: math.Inf(-1), Upper: math.Inf(1),
				Scale: func(v float64) float64 { return math.Abs(c.Grid.Snap(v)) * c.Phi },
			}}}
		}
	}
	return nil
}
