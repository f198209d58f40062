package record

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Noise with `correlated: true` adds to the columns of a record ε ~ N(0, f²Σ), Σ the
// covariance matrix of the original columns and f the percentage sd: Kim (1986), A method
// for limiting disclosure in microdata based on random noise and transformation. The
// covariance matrix of what is released is then (1 + f²)Σ, so that its correlations, and
// the slopes of these columns on one another, are those of the original.
//
// ε_j = λ_j Σ_k L_jk z_k, with z independent and standard normal and L the factor of
// Cholesky of the correlation matrix.

func (m *Noise) correlates() []string {
	if !m.Correlated {
		return nil
	}
	return m.Columns
}

// checkCorrelated reports parameters that cannot be used with correlated noise.
func (m *Noise) checkCorrelated(ps *check.Problems) {
	if !m.Correlated {
		return
	}
	if len(m.Columns) == 1 || len(m.Columns) > core.GreatestColumns {
		ps.Addf("columns", "must be 2 to %d columns with correlated: true, got %d", core.GreatestColumns, len(m.Columns))
	}
	if m.SD != nil && !m.SD.Relative {
		ps.Addf("sd",
			"must be a percentage with correlated: true, because the covariance of the noise is proportional to that of the data, got %v", m.SD.Value)
	}
	if m.Distribution != "" && m.Distribution != "normal" {
		ps.Addf("distribution", "must be normal with correlated: true: sums of %s draws have another distribution",
			m.Distribution)
	}
	if len(m.Tiers) > 0 {
		ps.Addf("tiers", "must be left out with correlated: true, whose noise has one covariance for all records")
	}
}

// noiseAmong is correlated noise on one column alone. Its draws are those that the whole mask
// makes for all columns of among.
type noiseAmong struct {
	*Noise // on the one column
	among  []string
}

// Check implements Params: the mask that it was made from has been checked.
func (m *noiseAmong) Check() check.Problems { return nil }

// Describe implements Params.
func (m *noiseAmong) Describe() core.Description {
	d := m.Noise.Describe()
	d.Correlates, d.OnColumn = m.among, func(string) core.Params { return m }
	return d
}

func (m *noiseAmong) Compile(c *core.Chain, i int) (core.Step, error) {
	return m.compileAmong(c, i, m.among)
}

// correlatedStep is correlated noise on the columns of a chain.
type correlatedStep struct {
	mask    int
	columns []*correlatedColumn
	streams []int // in work.streams, of z
}

type correlatedColumn struct {
	*NoiseColumn
	weights []float64 // row of L
}

// compileAmong makes the step of mask i on the mask's own columns. The noise follows the
// correlations of all columns of among.
func (m *Noise) compileAmong(c *core.Chain, i int, among []string) (core.Step, error) {
	if len(c.Setup.Identity) > 0 {
		return nil,
			fmt.Errorf(
				"%s: must not have correlated: true beside identity columns: a value that a respondent keeps would have new noise wherever another one changed, and could be averaged", c.At(i))
	}
	s := &correlatedStep{mask: i}
	before := c.DigestOf("columns", among...)
	for _, name := range m.Columns {
		col, err := c.Arithmetic(i, name)
		if err != nil {
			return nil, err
		}
		if math.IsNaN(col.SD) {
			return nil, fmt.Errorf("%s.sd: the standard deviation of column %s is not known", c.At(i), strconv.Quote(name))
		}
		λ := float64(m.SD.Value * col.SD)
		n := &NoiseColumn{Column: col, Grid: col.Grid(λ), draw: core.Normal, Scale: λ}
		// No normal draw is beyond 64, and no row of L has a sum beyond √p.
		if 64*math.Sqrt(float64(len(among)))*λ*n.Grid.Mult < core.Fast {
			n.Fast = core.Fast
		}
		col.OnGrid = col.Digits >= 0
		s.columns = append(s.columns, &correlatedColumn{NoiseColumn: n})
	}
	if len(s.columns) == 0 {
		return s, nil
	}
	r, err := core.CorrelationsOf(c.Setup.Correlations, among)
	if err != nil {
		return nil, fmt.Errorf("%s.columns: %w", c.At(i), err)
	}
	factor := core.FactorOf(r)
	// The result for one column depends on all of them.
	done := []float64{float64(len(among)), m.SD.Value}
	for _, row := range factor {
		done = append(done, row...)
	}
	for _, col := range s.columns {
		done = append(done, col.Scale, col.Grid.Mult)
	}
	for _, col := range s.columns {
		col.weights = factor[slices.Index(among, col.Name)]
		c.AddToHistory(i, col.Column, core.Part("noise correlated", done...)+before)
	}
	for _, name := range among {
		of := ""
		if k := slices.IndexFunc(s.columns, func(col *correlatedColumn) bool { return col.Name == name }); k >= 0 {
			of = s.columns[k].Done.Text
		}
		s.streams = append(s.streams, c.StreamNamed(i, name, of))
	}
	return s, nil
}

// NoiseLeft returns √(1 − R²): the share of the standard deviation of a column's correlated
// noise that remains for an intruder who knows the original values of the mask's other columns,
// and so their noise. It is 1 if the correlations are not known.
func NoiseLeft(known core.Correlations, columns []string, column string) float64 {
	last := append(slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return name == column }), column)
	r, err := core.CorrelationsOf(known, last)
	if err != nil {
		return 1
	}
	l := core.FactorOf(r)
	return l[len(last)-1][len(last)-1]
}

func (s *correlatedStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	if len(s.columns) == 0 || b.N == 0 {
		return nil
	}
	changed, own := w.NewChanged(b.N), w.NewOwn(b.N)
	vectors := make([]*microdata.Vector, len(s.columns))
	for k, col := range s.columns {
		v, err := col.Numbers(b)
		if err != nil {
			return err
		}
		vectors[k] = v
	}
	z := s.draws(c, w, b, vectors)
	for k, col := range s.columns {
		if col.Grid == (core.Grid{}) {
			continue // λ = 0
		}
		scale := float64(col.Scale * col.Grid.Mult)
		for from := 0; from < b.N; from += core.Batch {
			x := vectors[k].Values[from:min(from+core.Batch, b.N)]
			e := w.Floats(len(x))
			col.mix(e, z, from)
			col.Add(x, x, e, scale, own[from>>6:])
		}
		core.Settle(vectors[k], own, changed)
	}
	c.Count(s.mask, b, changed)
	return nil
}

// draws returns the z of the block's records, by stream. In a release the draws of a record
// are bound to its values in all columns of the mask. If each were bound to its own column,
// and another release changed one value of the record, that value would keep most of its
// noise.
func (s *correlatedStep) draws(c *core.Chain, w *core.Work, b *microdata.Block,
	vectors []*microdata.Vector) [][]float64 {
	var values []float64
	if w.Leaves {
		if w.Binding == nil {
			w.Binding = c.Setup.Key.Binding()
		}
		w.Binding.Begin(b.N, len(vectors))
		for k, v := range vectors {
			on := v.Values[:b.N]
			if g := s.columns[k].Grid; g != (core.Grid{}) {
				on = w.OnGrid(g, on, false)
			}
			w.Binding.Numbers(on, v.Valid.Has)
		}
		values = make([]float64, b.N)
		w.Binding.Values(values)
	}
	records := func(from, n int) keystream.Records {
		var bound []float64
		if values != nil {
			bound = values[from : from+n]
		}
		return w.StretchOf(s.columns[0].Shared, b, from, n, bound)
	}
	z := make([][]float64, len(s.streams))
	for k, stream := range s.streams {
		z[k] = make([]float64, b.N)
		for from := 0; from < b.N; from += core.Batch {
			n := min(core.Batch, b.N-from)
			w.Fill(z[k][from:from+n], core.Normal, stream, records(from, n))
		}
	}
	return z
}

// mix computes the standard draws of a column from z, for len(e) records beginning with from.
func (c *correlatedColumn) mix(e []float64, z [][]float64, from int) {
	clear(e)
	for k, weight := range c.weights {
		if weight == 0 {
			continue
		}
		for i, v := range z[k][from : from+len(e)] {
			e[i] += float64(weight * v)
		}
	}
}

// Law: for a column by itself it is the same as that of independent normal noise.
func (s *correlatedStep) Law(column string) []core.Stage {
	for _, col := range s.columns {
		if col.Name == column {
			r := col.spread()
			return []core.Stage{{Spread: &r}}
		}
	}
	return nil
}

func (s *correlatedStep) Keeps(l *core.KeepingOf, i int) {
	for _, col := range s.columns {
		if col.Name == l.Name {
			l.Moves = append(l.Moves, col.moving(i, false))
		}
	}
}
