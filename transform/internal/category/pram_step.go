package category

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// pramStep is a PRAM mask on the columns of a chain.
type pramStep struct {
	mask    int
	other   int32 // unlisted where there is none
	columns []pramColumn
}

// pramColumn is a column with the transition matrices with which its categories are drawn: one,
// or one for each stratum of frequencies.
type pramColumn struct {
	*core.CategoryColumn
	stream      int
	laws        []pramLaw
	frequencies *core.Frequencies // nil where there is one law
	by          []int             // in Block.Columns
}

// pramLaw is a transition matrix.
type pramLaw struct {
	matrix [][]float64
	rows   []pramRow
}

// pramRow is the law of one category: if the draw is below keep it stays, otherwise it becomes
// the first category of to whose bound is above the draw.
type pramRow struct {
	keep  float64
	bound []float64
	to    []int32
}

func newPRAMLaw(p [][]float64) pramLaw {
	law := pramLaw{matrix: p}
	for k, row := range p {
		r := pramRow{keep: row[k], bound: make([]float64, 0, len(row)-1), to: make([]int32, 0, len(row)-1)}
		sum := row[k]
		for l, v := range row {
			if l != k && v > 0 {
				sum += v
				r.bound, r.to = append(r.bound, sum), append(r.to, int32(l))
			}
		}
		if n := len(r.bound); n > 0 {
			r.bound[n-1] = 1 // the sum may differ from 1 by rounding
		}
		law.rows = append(law.rows, r)
	}
	return law
}

func (m *PRAM) Compile(c *core.Chain, i int) (core.Step, error) {
	categories, p := m.Transition()
	s := &pramStep{mask: i, other: core.Unlisted}
	if m.Other != nil {
		s.other = int32(slices.Index(categories, *m.Other))
	}
	field := "matrix"
	if m.Matrix == nil {
		field = "categories"
	}
	for _, name := range m.Columns {
		var after microdata.Field
		if col := c.Lookup(name); col != nil {
			after, _ = core.CategoryField(col.Field, categories)
		}
		col, err := c.Categorical(i, name, field, categories, categories, after)
		if err != nil {
			return nil, err
		}
		if col == nil {
			continue
		}
		own := pramColumn{CategoryColumn: col}
		if err := own.settle(c, i, m, p); err != nil {
			return nil, err
		}
		c.AddToHistory(i, col.Column, own.Description(categories, p, s.other))
		col.Becomes(after)
		own.stream = c.Stream(i, col.Column)
		s.columns = append(s.columns, own)
	}
	return s, nil
}

// settle computes the laws of the column.
func (col *pramColumn) settle(c *core.Chain, i int, m *PRAM, p [][]float64) error {
	if m.needsFrequencies() == "" {
		col.laws = []pramLaw{newPRAMLaw(p)}
		return nil
	}
	col.frequencies = c.Setup.Frequencies[frequenciesName(m, col.Name)]
	if col.frequencies == nil {
		return fmt.Errorf("%s.%s: needs the frequencies of column %s, which are not known", c.At(i), m.needsFrequencies(),
			strconv.Quote(col.Name))
	}
	for k, name := range m.By {
		info := c.Info(name)
		if info == nil {
			return fmt.Errorf("%s.by[%d]: there is no column %s", c.At(i), k, strconv.Quote(name))
		}
		col.by = append(col.by, info.Index)
	}
	for _, counts := range col.frequencies.Counts {
		col.laws = append(col.laws, newPRAMLaw(InvariantMatrix(p, counts)))
	}
	return nil
}

// Description lists all that the laws depend on, for the name of the draws.
func (col *pramColumn) Description(categories []string, p [][]float64, other int32) string {
	var text strings.Builder
	text.WriteString(core.DigestOfTexts("pram", categories...))
	for k, row := range p {
		from := text.Len()
		text.WriteString("row")
		writeNumbers(&text, row)
		text.WriteString(";")
		if k == 0 {
			text.Grow((len(p) - 1) * (text.Len() - from + 16)) // most rows are about as long
		}
	}
	if col.frequencies != nil {
		text.WriteString(col.frequencies.Description())
	}
	if other != core.Unlisted {
		text.WriteString(core.Part("other", float64(other)))
	}
	return text.String()
}

// writeNumbers writes numbers as part has them; most of a row are the same.
func writeNumbers(to *strings.Builder, numbers []float64) {
	var text []byte
	for i, v := range numbers {
		if i == 0 || math.Float64bits(v) != math.Float64bits(numbers[i-1]) {
			text = strconv.AppendFloat(append(text[:0], ' '), v, 'x', -1, 64)
		}
		to.Write(text)
	}
}

// Apply releases category l of a record with category k where its draw lies in the part of
// (0, 1) that row k gives l. In a release the draw is bound to the category.
func (s *pramStep) Apply(c *core.Chain, w *core.Work, b *microdata.Block) error {
	changed := w.NewChanged(b.N)
	for k := range s.columns {
		col := &s.columns[k]
		places := w.PlacesFor(b.N)
		there, err := col.Look(places, b)
		if err != nil {
			return fmt.Errorf("%s: column %s: %w", c.At(s.mask), strconv.Quote(col.Name), err)
		}
		if !there {
			continue
		}
		core.SettleUnlisted(b, col.Name, places, s.other, changed)
		strata, err := col.strata(w, b, places)
		if err != nil {
			return fmt.Errorf("%s: %w", c.At(s.mask), err)
		}
		moved := w.NewWithin(b.N)
		s.draw(w, b, col, places, strata, moved)
		col.Put(b, places, changed, func(i int) bool { return moved.Has(i) })
	}
	c.Count(s.mask, b, changed)
	return nil
}

// strata returns the index of the law of each record; nil if all have the first one. A record
// whose category the first pass has not seen in its stratum has no law: it is rejected.
func (col *pramColumn) strata(w *core.Work, b *microdata.Block, places []int32) ([]int32, error) {
	if col.frequencies == nil {
		return nil, nil
	}
	strata, err := col.frequencies.Find(w, b, col.by)
	if err != nil {
		return nil, err
	}
	for i, k := range places {
		if k < 0 || strata[i] >= 0 && col.frequencies.Counts[strata[i]][k] > 0 {
			continue
		}
		b.Reject(i, col.Name, "has a category that the first pass has not seen in its stratum")
		places[i] = core.Unlisted
	}
	return strata, nil
}

// draw moves the places and marks those that it has moved.
func (s *pramStep) draw(w *core.Work, b *microdata.Block, col *pramColumn, places, strata []int32,
	moved microdata.Bitmap) {
	u := w.Floats(min(core.Batch, b.N))
	var rows []pramRow
	if strata == nil {
		rows = col.laws[0].rows // without a record that has a value there are no strata
	}
	for from := 0; from < b.N; from += core.Batch {
		n := min(core.Batch, b.N-from)
		part := places[from : from+n]
		w.Fill(u[:n], core.Uniform, col.stream, w.StretchOf(col.Shared, b, from, n, bindPlaces(w, part)))
		for i, k := range part {
			if k < 0 {
				continue
			}
			if strata != nil {
				rows = col.laws[strata[from+i]].rows
			}
			row, v := &rows[k], u[i]
			if v < row.keep || len(row.to) == 0 {
				continue
			}
			part[i] = row.to[min(sort.Search(len(row.bound), func(j int) bool { return v < row.bound[j] }), len(row.to)-1)]
			moved.Set(from + i)
		}
	}
}

// bindPlaces returns the numbers that the draws of categories are bound to: their indexes in
// the list of categories, which is part of the name of the draws.
func bindPlaces(w *core.Work, places []int32) []float64 {
	if cap(w.Bound) < len(places) {
		w.Bound = make([]float64, len(places))
	}
	values := w.Bound[:len(places)]
	for i, k := range places {
		values[i] = float64(k)
	}
	return values
}

// Keeps: a category stays with the probability on the matrix's diagonal; with strata, with the
// mean of theirs.
func (s *pramStep) Keeps(l *core.KeepingOf, i int) {
	for k := range s.columns {
		col := &s.columns[k]
		if col.Name != l.Name {
			continue
		}
		l.Moves = append(l.Moves, core.Moving{
			Mask: i,
			Lost: func(float64, float64) bool { return false },
			Share: func(x, _ float64) float64 {
				if k := col.Place(x, true); k >= 0 {
					return col.stays(k)
				}
				return 0
			},
		})
	}
}

// stays returns the probability that a category stays.
func (col *pramColumn) stays(k int32) float64 {
	if col.frequencies == nil {
		return col.laws[0].matrix[k][k]
	}
	kept, all := 0.0, 0.0
	for i, counts := range col.frequencies.Counts {
		kept += counts[k] * col.laws[i].matrix[k][k]
		all += counts[k]
	}
	return kept / math.Max(all, 1)
}
