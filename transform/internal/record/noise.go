package record

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Check implements Params.
func (m *Noise) Check() check.Problems {
	var ps check.Problems
	core.CheckColumns(&ps, "columns", m.Columns, "column")
	core.CheckWhere(&ps, m.Where, m.Columns)
	switch {
	case m.SD == nil:
		ps.Addf("sd", "must be given: a number in the column's unit or a percentage of its standard deviation")
	case m.SD.Relative && !(m.SD.Value >= 0 && m.SD.Value <= math.MaxFloat64):
		text, _ := m.SD.MarshalText()
		ps.Addf("sd", "must be at least 0%%, got %s", text)
	case !m.SD.Relative:
		ps.AtLeast("sd", m.SD.Value, 0)
	}
	core.CheckWord(&ps, "distribution", m.Distribution, "normal", "laplace", "uniform")
	var before *float64
	for i, t := range m.Tiers {
		at := fmt.Sprintf("tiers[%d]", i)
		if t.Above == nil {
			ps.Addf(at+".above", "must be given")
		} else {
			core.CheckFinite(&ps, at+".above", *t.Above)
			if before != nil && *t.Above <= *before {
				ps.Addf(at+".above", "must be greater than %v, the bound of the tier before it, got %v", *before, *t.Above)
			}
			before = t.Above
		}
		if t.VarianceFactor == nil {
			ps.Addf(at+".variance_factor", "must be given")
		} else {
			ps.AtLeast(at+".variance_factor", *t.VarianceFactor, 0)
		}
	}
	m.checkCorrelated(&ps)
	return ps
}

// Describe implements Params.
func (m *Noise) Describe() core.Description {
	return core.Description{
		OnDays: m.Where == "" && !m.Correlated && (m.SD == nil || !m.SD.Relative),
		Scope:  core.ScopeRecord, Reads: core.WhereRead(m.Where, m.Columns), Correlates: m.correlates(),
		Relative: m.relative(),
		// λ² in equal steps
		Axis: core.Axis{Rank: 0, Field: "sd", From: core.Amount{Value: 0.05, Relative: true},
			To: core.Amount{Value: 1, Relative: true}, Variance: true},
		Parameters: m.parameters, Action: m.action, Published: m, OnColumn: m.OnColumn,
		Among: m.checkAmong, Mechanism: m.mechanism, DrawsWithin: !m.Correlated && m.Where == "",
	}
}

// Masks implements Params.
func (m *Noise) Masks() []string { return m.Columns }

func (m *Noise) checkAmong(masks []core.Spec, i int) check.Problems {
	return core.CheckWhereAmong(masks, i, m.Where)
}

// Reads implements Params.
func (m *Noise) Reads() []string { return core.WhereReads(m.Where, m.Columns) }

// noiseStep is a noise mask on the columns of a chain, together with the
// truncation of mode redraw that follows it on some of them.
type noiseStep struct {
	mask    int
	columns []*NoiseColumn
	redraws []redrawStep
}

// redrawStep holds the columns whose noise is drawn within the bounds of one
// truncation.
type redrawStep struct {
	truncate int // the mask
	columns  []*NoiseColumn
}

// NoiseColumn is a column of a noiseStep.
type NoiseColumn struct {
	*core.Column
	Grid   core.Grid
	draw   core.Draw
	Scale  float64   // ε = scale × standard draw
	above  []float64 // bounds of the tiers, ascending
	scales []float64 // and their scales
	Fast   float64   // indexes below it are rounded with magic (grid.go); 0 if ε may be too great for that
	stream int       // in work.streams

	lower, upper float64 // redraw: grid indexes within which the result must land
}

// Draw returns the distribution of the noise.
func (m *Noise) Draw() core.Draw {
	switch m.Distribution {
	case "laplace":
		return core.Laplace
	case "uniform":
		return core.Uniform
	}
	return core.Normal
}

func (m *Noise) Compile(c *core.Chain, i int) (core.Step, error) {
	return c.CompileWhere(i, m.Where, m.Columns, m.compileAll)
}

// compileAll makes the step for all records.
func (m *Noise) compileAll(c *core.Chain, i int) (core.Step, error) {
	if m.Correlated {
		return m.compileAmong(c, i, m.Columns)
	}
	s := &noiseStep{mask: i}
	for _, name := range m.Columns {
		col, err := c.Arithmetic(i, name)
		if err != nil {
			return nil, err
		}
		lambda := m.SD.Value
		if m.SD.Relative {
			if lambda *= col.SD; math.IsNaN(lambda) {
				return nil, fmt.Errorf("%s.sd: the standard deviation of column %s is not known", c.At(i), strconv.Quote(name))
			}
		}
		d := m.Draw()
		n := &NoiseColumn{Column: col, Grid: col.Grid(lambda), draw: d, Scale: d.Scale(lambda)}
		for _, t := range m.Tiers {
			n.above = append(n.above, *t.Above)
			n.scales = append(n.scales, d.Scale(float64(lambda*math.Sqrt(*t.VarianceFactor))))
		}
		// No standard draw is beyond 64: Laplace draws end at 53 ln 2 + ln 2.
		if 64*float64(slices.Max(append(n.scales, n.Scale))*n.Grid.Mult) < core.Fast {
			n.Fast = core.Fast
		}
		col.OnGrid = col.Digits >= 0
		done := append([]float64{float64(d), lambda, n.Grid.Mult, float64(len(n.above))}, n.above...)
		done = append(done, n.scales...)
		if j, within := core.RedrawOf(c.Masks, i, name); within == nil {
			s.columns = append(s.columns, n)
		} else {
			if n.Grid == (core.Grid{}) { // λ = 0: a redraw only limits values to its bounds
				n.Grid = core.Grid{Mult: 1 << 20}
			}
			n.lower, n.upper, err = within.Bounds(c, j, col, n.Grid)
			if err != nil {
				return nil, err
			}
			if k := len(s.redraws) - 1; k < 0 || s.redraws[k].truncate != j {
				s.redraws = append(s.redraws, redrawStep{truncate: j})
			}
			last := &s.redraws[len(s.redraws)-1]
			last.columns = append(last.columns, n)
			done = append(done, n.lower, n.upper)
		}
		c.AddToHistory(i, col, core.Part("noise", done...))
		n.stream = c.Stream(i, col)
	}
	return s, nil
}

// WritesAlone implements writingAlone.
func (*noiseStep) WritesAlone() {}

func (s *noiseStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	changed, own := w.NewChanged(b.N), w.NewOwn(b.N)
	for _, col := range s.columns {
		if col.Grid == (core.Grid{}) { // λ = 0
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
			e, on := w.Floats(len(x)), w.OnGrid(col.Grid, x, len(col.above) > 0)
			w.Fill(e, col.draw, col.stream, w.StretchOf(col.Shared, b, from, len(x), on))
			scale := col.standard(on, e)
			col.Add(v.Values[from:end], x, e, scale, own[from>>6:])
		}
		core.Settle(v, own, changed)
	}
	for _, r := range s.redraws {
		within := w.NewWithin(b.N)
		for _, col := range r.columns {
			v, err := col.Numbers(b)
			if err != nil {
				return err
			}
			for from := 0; from < b.N; from += core.Batch {
				x := v.Values[from:min(from+core.Batch, b.N)]
				u, on := w.Floats(len(x)), w.OnGrid(col.Grid, x, len(col.above) > 0)
				w.Fill(u, core.Uniform, col.stream, w.StretchOf(col.Shared, b, from, len(x), on))
				col.addWithin(x, on, u, own[from>>6:])
			}
			core.Settle(v, own, within)
		}
		c.Count(r.truncate, b, within)
		for i, word := range within {
			changed[i] |= word
		}
	}
	c.Count(s.mask, b, changed)
	return nil
}

// standard brings the draws e for the values x, which are on the grid, into standard form. It
// returns the factor that makes ε of them, in units of the grid.
func (c *NoiseColumn) standard(x, e []float64) (scale float64) {
	if c.draw == core.Uniform {
		for i, u := range e {
			e[i] = float64(2*u) - 1
		}
	}
	if len(c.above) == 0 {
		return float64(c.Scale * c.Grid.Mult)
	}
	c.scaleTiered(x, e)
	return 1
}

// Add computes y = (k_x + k_ε)/mult for the values x, where ε is scale·e in units of the grid,
// and marks those that changed: Duncan et al. (2004), section 4. y may be x.
func (c *NoiseColumn) Add(y, x, e []float64, scale float64, changed microdata.Bitmap) {
	for base := 0; base < len(x); base += 64 {
		end := min(base+64, len(x))
		xs, es, ys := x[base:end], e[base:end], y[base:end]
		word, slow := c.Grid.Add(ys, xs, es, scale, c.Fast)
		for ; slow != 0; slow &= slow - 1 {
			i := bits.TrailingZeros64(slow)
			old := xs[i] // if y is x, add has left it there
			if ys[i] = c.Sum(old, float64(es[i]*scale)); ys[i] != old {
				word |= 1 << i
			}
		}
		changed[base>>6] |= word
	}
}

// Sum is x + ε for one value, ε in units of the grid. A value beyond the exact
// integers of the grid stays as it is and only ε is rounded.
func (c *NoiseColumn) Sum(x, ke float64) float64 {
	k := c.Grid.Index(x)
	ke = math.RoundToEven(ke)
	if core.Exact(k) {
		return core.Finite(c.Grid.Value(k + ke))
	}
	return core.Finite(x + ke/c.Grid.Mult)
}

// scaleTiered turns the standard draws e into ε in units of the grid, with the scale of the
// tier that each value of x lies in. x is on the grid.
func (c *NoiseColumn) scaleTiered(x, e []float64) {
	e = e[:len(x)]
	for i, old := range x {
		e[i] = float64(e[i]*c.scaleAt(old)) * c.Grid.Mult
	}
}

// scaleAt returns the scale of ε for a value: that of the last tier whose bound
// lies below it.
func (c *NoiseColumn) scaleAt(x float64) float64 {
	scale := c.Scale
	for t, bound := range c.above {
		if x > bound {
			scale = c.scales[t]
		}
	}
	return scale
}

func (m *Noise) parameters() []core.Parameter {
	var list []core.Parameter
	switch {
	case m.SD == nil:
	case !m.SD.Relative:
		list = append(list, core.Parameter{Name: "sd", Value: m.SD.Value})
	default: // a percentage stays as it is written
		if text, err := m.SD.MarshalText(); err == nil {
			list = append(list, core.Parameter{Name: "sd", Value: string(text)})
		}
	}
	list = append(list, core.Parameter{Name: "distribution", Value: core.WordOr(m.Distribution, "normal")})
	var tiers []any
	for _, t := range m.Tiers {
		if t.Above != nil && t.VarianceFactor != nil {
			tiers = append(tiers, map[string]any{"above": *t.Above, "variance_factor": *t.VarianceFactor})
		}
	}
	if tiers != nil {
		list = append(list, core.Parameter{Name: "tiers", Value: tiers})
	}
	if m.Correlated {
		list = append(list, core.Parameter{Name: "correlated", Value: true})
	}
	return core.WithWhere(list, m.Where)
}

func (m *Noise) action(_ string, sd float64) core.Action {
	if m.Where != "" {
		return nil
	}
	if m.SD == nil {
		return nil
	}
	a := core.Addition{SD: m.SD.Value, Distribution: core.WordOr(m.Distribution, "normal"), Correlated: m.Correlated}
	if m.SD.Relative {
		a.SD *= sd
	}
	for _, t := range m.Tiers {
		if t.Above == nil || t.VarianceFactor == nil {
			return nil
		}
		a.Tiers = append(a.Tiers, core.ActionTier{Above: *t.Above, Factor: *t.VarianceFactor})
	}
	return a
}

// PublishedAction implements Publishing. With tiers, λ alone does not determine the variance of
// the noise.
func (m *Noise) PublishedAction(p core.Published, column string) core.Action {
	if p.Has("where") {
		return nil
	}
	a := core.Addition{SD: math.NaN(), Distribution: p.Word("distribution"), Tiers: publishedTiers(p),
		Correlated: p.Has("correlated")}
	if λ, ok := p.SD(column); ok && (p.Named("tiers") || !p.Has("tiers")) {
		a.SD = λ
	}
	return a
}

func publishedTiers(p core.Published) []core.ActionTier {
	list, _ := p.Parameters("tiers")
	entries, _ := list.([]any)
	var tiers []core.ActionTier
	for _, e := range entries {
		tier, _ := e.(map[string]any)
		above, hasBound := tier["above"].(float64)
		factor, hasFactor := tier["variance_factor"].(float64)
		if hasBound && hasFactor {
			tiers = append(tiers, core.ActionTier{Above: above, Factor: factor})
		}
	}
	return tiers
}

// Words implements Publishing.
func (m *Noise) Words(p core.Published, column string) string {
	λ, ok := p.SD(column)
	linked := core.WhereWords(p)
	if p.Has("correlated") {
		linked = "; the noise of the mask's columns is correlated as their values are"
	}
	if !ok {
		return "noise: an amount of mean 0 was added, whose standard deviation λ is not published" + linked
	}
	law := ""
	if d := p.Word("distribution"); d != "" {
		law = d + " "
	}
	s := fmt.Sprintf("noise: %sdraws of mean 0 and standard deviation λ = %s%s were added", law, p.Number(λ), p.Unit)
	for _, t := range publishedTiers(p) {
		s += fmt.Sprintf("; %s times the variance above %s", p.Number(t.Factor), p.Number(t.Above))
	}
	s += linked
	if p.Has("tiers") && !p.Named("tiers") {
		s += "; not all that sets their variance is published"
	}
	return s
}

// EfficiencyFollows implements Publishing: it gives the variance of the noise.
func (m *Noise) EfficiencyFollows(has, named func(string) bool) bool {
	return !has("where") && named("sd") && (named("tiers") || !has("tiers"))
}

// OnColumn returns the mask restricted to one of its columns.
func (m *Noise) OnColumn(column string) core.Params {
	q := *m
	q.Columns = []string{column}
	if m.Correlated {
		return &noiseAmong{&q, m.Columns}
	}
	return &q
}

// relative returns "sd" if λ is a percentage.
func (m *Noise) relative() string {
	if m.SD == nil || !m.SD.Relative {
		return ""
	}
	return "sd"
}

// Noise adds ε with mean 0 and variance λ²: Duncan, Keller-McNulty and Stokes
// (2004), section 4.
type Noise struct {
	Columns      []string     `yaml:"columns" doc:"the columns to mask"`
	SD           *core.Amount `yaml:"sd" doc:"λ in the column's unit, or as a percentage of the column's standard deviation"`
	Distribution string       `yaml:"distribution" doc:"normal (default), laplace or uniform" enum:"normal,laplace,uniform"`
	Tiers        []Tier       `yaml:"tiers" doc:"value ranges with their own variance (unequal variance)"`
	Correlated   bool         `yaml:"correlated" doc:"the noise of a record is correlated as the columns are, so that the release keeps their correlations; sd must then be a percentage"`
	Where        string       `yaml:"where" doc:"the mask changes only records whose original values meet this condition on its column or on columns that no mask changes, such as \"wage > 0 and status = employed\"; the others are released unchanged, and everybody knows which"`
}

// Tier gives values above a bound a noise variance of λ² times a factor
// (unequal variance, Duncan et al. 2004, fig. 7). The last tier whose bound
// lies below the value holds.
type Tier struct {
	Above          *float64 `yaml:"above" doc:"the tier applies to values greater than this"`
	VarianceFactor *float64 `yaml:"variance_factor" doc:"factor by which λ² is multiplied"`
}

func (m *Noise) mechanism(string) core.Mechanism {
	a := core.Mechanism{Kind: core.Adding, Law: core.WordOr(m.Distribution, "normal")}
	switch {
	case m.Where != "":
		a.Not = core.ByCondition
	case m.SD == nil:
		a.Not = "the noise has no standard deviation"
	case m.SD.Relative:
		a.Not = "λ is a percentage of the standard deviation, and so depends on the data (give sd in the column's unit)"
	case len(m.Tiers) > 0:
		a.Not = "the variance of the noise depends on the value (tiers)"
	case m.Correlated:
		a.Not = "the noise has the correlations of the data"
	default:
		a.SD = m.SD.Value
	}
	return a
}
