package transform

import (
	"fmt"
	"math"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Check implements Params.
func (m *Bias) Check() check.Problems {
	var ps check.Problems
	checkColumns(&ps, "columns", m.Columns, "column")
	checkWhere(&ps, m.Where, m.Columns)
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
func (m *Bias) Describe() Description {
	return Description{
		Scope: ScopeRecord, Reads: whereRead(m.Where, m.Columns), Axis: m.mapAxis(), Parameters: m.parameters,
		Action: m.action, Published: m, OnColumn: m.onColumn, among: m.checkAmong, Mechanism: m.mechanism,
	}
}

// Masks implements Params.
func (m *Bias) Masks() []string { return m.Columns }

func (m *Bias) checkAmong(masks []Spec, i int) check.Problems {
	return checkWhereAmong(masks, i, m.Where)
}

// Reads implements Params.
func (m *Bias) Reads() []string { return whereReads(m.Where, m.Columns) }

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

type biasColumn struct {
	*column
	grid   grid
	phi    float64
	stream int // in work.streams
}

func (m *Bias) compile(c *Chain, i int) (step, error) {
	return c.compileWhere(i, m.Where, m.Columns, m.compileAll)
}

// compileAll makes the step for all records.
func (m *Bias) compileAll(c *Chain, i int) (step, error) {
	s := &biasStep{mask: i}
	for _, name := range m.Columns {
		col, err := c.arithmetic(i, name)
		if err != nil {
			return nil, err
		}
		phi := m.phi()
		// The bias moves a typical value by φ times its size, √(x̄² + S_x²).
		g := col.grid(phi * math.Sqrt(float64(col.Mean*col.Mean)+float64(col.SD*col.SD)))
		if g == (grid{}) && phi > 0 && (math.IsNaN(col.Mean) || math.IsNaN(col.SD)) {
			return nil,
				fmt.Errorf("%s: column %s needs decimals, or its mean and standard deviation, for the grid of its released values",
					c.at(i), strconv.Quote(name))
		}
		col.onGrid = col.decimals >= 0
		c.addToHistory(i, col, part("bias", phi, g.mult))
		s.columns = append(s.columns, biasColumn{col, g, phi, c.stream(i, col)})
	}
	return s, nil
}

// writesAlone implements writingAlone.
func (*biasStep) writesAlone() {}

func (s *biasStep) apply(c *Chain, w *work, b *microdata.Block) error {
	changed, own := w.newChanged(b.N), w.newOwn(b.N)
	for _, col := range s.columns {
		if col.grid == (grid{}) { // φ or every value of the column is 0: nothing changes
			if _, err := col.numbers(b); err != nil {
				return err
			}
			continue
		}
		v, values, err := col.rewritten(b)
		if err != nil {
			return err
		}
		for from := 0; from < b.N; from += batch {
			end := min(from+batch, b.N)
			x := values[from:end]
			z := w.floats(len(x))
			w.fill(z, normal, col.stream, w.stretchOf(col.shared, b, from, len(x), w.onGrid(col.grid, x, false)))
			col.multiply(v.Values[from:end], x, z, own[from>>6:])
		}
		settle(v, own, changed)
	}
	c.count(s.mask, b, changed)
	return nil
}

// multiply computes y = k_x·θ, rounded to the grid, for the values x, where θ = 1 + φz, and
// marks those that changed: Trottini et al. (2004), A2.1. y may be x.
func (c *biasColumn) multiply(y, x, z []float64, changed microdata.Bitmap) {
	mult, phi := c.grid.mult, c.phi
	limit := fast / (1 + float64(64*phi)) // no standard draw is beyond 64, so k·θ stays below fast
	for base := 0; base < len(x); base += 64 {
		end := min(base+64, len(x))
		xs, zs, ys := x[base:end], z[base:end], y[base:end]
		zs, ys = zs[:len(xs)], ys[:len(xs)]
		var word uint64
		for i, old := range xs {
			theta := 1 + float64(phi*zs[i])
			k := float64(old*mult) + magic - magic
			ky := float64(k*theta) + magic - magic
			y := ky / mult
			if !(math.Abs(k) < limit) {
				y = c.product(old, theta)
			}
			ys[i] = y
			if y != old {
				word |= 1 << i
			}
		}
		changed[base>>6] |= word
	}
}

// product is x·θ for one value; a value beyond the exact integers of the grid is
// multiplied as it is.
func (c *biasColumn) product(x, theta float64) float64 {
	if k := c.grid.index(x); exact(k) {
		return finite(c.grid.value(math.RoundToEven(float64(k * theta))))
	}
	return finite(float64(x * theta))
}

// mapAxis: φ² in equal steps.
func (m *Bias) mapAxis() Axis {
	field := "phi"
	if m.Range != nil {
		field = "range"
	}
	return Axis{Rank: 1, Field: field, From: Amount{Value: 0.01}, To: Amount{Value: 1}, Variance: true}
}

func (m *Bias) parameters() []Parameter {
	switch {
	case m.Phi != nil:
		return withWhere([]Parameter{{"phi", *m.Phi}}, m.Where)
	case m.Range != nil:
		return withWhere([]Parameter{{"range", *m.Range}, {"phi", m.phi()}}, m.Where)
	}
	return nil
}

func (m *Bias) action(string, float64) Action {
	if m.Where != "" {
		return nil
	}
	if m.Phi == nil && m.Range == nil {
		return nil
	}
	return Multiplication{m.phi()}
}

// PublishedAction implements Publishing.
func (m *Bias) PublishedAction(p Published, _ string) Action {
	if p.Has("where") {
		return nil
	}
	return m.published(p)
}

func (*Bias) published(p Published) Multiplication {
	return Multiplication{p.numberOr("phi", p.numberOr("range", math.NaN())/3)}
}

// Words implements Publishing.
func (m *Bias) Words(p Published, _ string) string {
	if a := m.published(p); a.Phi == a.Phi {
		return "bias: multiplied by θ ~ N(1, φ²) with φ = " + p.Number(a.Phi) + whereWords(p)
	}
	return "bias: multiplied by a random factor of mean 1, whose standard deviation φ is not published" + whereWords(p)
}

// EfficiencyFollows implements Publishing: it gives φ².
func (m *Bias) EfficiencyFollows(has, named func(string) bool) bool {
	return !has("where") && (named("phi") || named("range"))
}

func (m *Bias) onColumn(column string) Params {
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

func (m *Bias) mechanism(string) Mechanism {
	if m.Where != "" {
		return Mechanism{Not: byCondition}
	}
	return Mechanism{Kind: OwnValue}
}

func (s *biasStep) keeps(l *keepingOf, i int) {
	for _, b := range s.columns {
		if b.Name != l.name {
			continue
		}
		l.moves = append(l.moves, moving{
			mask: i,
			lost: func(x, step float64) bool {
				return x != 0 && (b.grid == (grid{}) || b.phi*max(math.Abs(x), l.typical) < max(step, b.grid.value(1)))
			},
			share: func(x, step float64) float64 {
				if x == 0 {
					return 1
				}
				step = max(step, b.grid.value(1))
				return normal.within(-step/2, step/2, b.phi*math.Abs(x))
			},
		})
	}
}

func (s *biasStep) law(column string) []stage {
	for i := range s.columns {
		if c := &s.columns[i]; c.Name == column {
			return []stage{{spread: &spread{
				draw: normal, grid: c.grid, phi: c.phi, lower: math.Inf(-1), upper: math.Inf(1),
				scale: func(v float64) float64 { return math.Abs(c.grid.snap(v)) * c.phi },
			}}}
		}
	}
	return nil
}
