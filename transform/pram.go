package transform

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// PRAM replaces each category by one that is drawn from the row of a transition matrix:
// the post-randomisation method of Gouweleeuw, Kooiman, Willenborg and de Wolf (1998),
// Journal of Official Statistics 14, 463.
type PRAM struct {
	Columns     []string                      `yaml:"columns" doc:"the columns to mask, which share the matrix"`
	Matrix      map[string]map[string]float64 `yaml:"matrix" doc:"for each category, the probability of each that it is released as; a row sums to 1, and what it leaves out is 0"`
	Keep        *float64                      `yaml:"keep" share:"whole" doc:"without matrix: the probability that a category is released as it is; the rest is spread evenly over the other categories"`
	Categories  []string                      `yaml:"categories" doc:"with keep: the categories that there are"`
	Invariant   bool                          `yaml:"invariant" doc:"make the matrix such that the expected frequencies are those of the original, from frequencies"`
	Frequencies map[string]float64            `yaml:"frequencies" doc:"with invariant: how often each category is there, in the original, as counts or shares"`
	Other       *string                       `yaml:"other" doc:"a category that takes values which are not among the categories; without it such a record goes to quarantine"`
}

// Check implements Params.
func (m *PRAM) Check() check.Problems {
	var ps check.Problems
	checkColumns(&ps, "columns", m.Columns, "column")
	switch {
	case m.Matrix == nil && m.Keep == nil:
		ps.Addf("", "must have matrix or keep, got neither")
	case m.Matrix != nil && m.Keep != nil:
		ps.Addf("", "must have matrix or keep, got both")
	}
	if m.Keep != nil {
		ps.Between("keep", *m.Keep, 0, 1)
	}
	m.checkCategories(&ps)
	m.checkMatrix(&ps)
	m.checkFrequencies(&ps)
	if list := m.categories(); m.Other != nil && len(list) > 0 && !slices.Contains(list, *m.Other) {
		ps.Addf("other", "must be one of the categories, got %q%s", *m.Other, check.Suggest(*m.Other, list))
	}
	return ps
}

func (m *PRAM) checkCategories(ps *check.Problems) {
	if m.Matrix != nil && m.Categories != nil {
		ps.Addf("categories", "must be left out with matrix, whose rows are the categories")
	}
	if m.Keep != nil && m.Matrix == nil && len(m.categories()) < 2 {
		ps.Addf("categories", "must list at least 2 categories for keep, got %d", len(m.categories()))
	}
	for i, name := range m.Categories {
		if slices.Contains(m.Categories[:i], name) {
			ps.Addf(fmt.Sprintf("categories[%d]", i), "must not repeat a category, got %q again", name)
		}
	}
}

// rowTolerance is how far from 1 a row of a matrix may sum: what writing thirds and sixths
// with a few decimals leaves.
const rowTolerance = 1e-6

func (m *PRAM) checkMatrix(ps *check.Problems) {
	if m.Matrix != nil && len(m.Matrix) == 0 {
		ps.Addf("matrix", "must have at least one row")
	}
	for _, from := range slices.Sorted(maps.Keys(m.Matrix)) {
		sum, sound := 0.0, true
		for _, to := range slices.Sorted(maps.Keys(m.Matrix[from])) {
			v := m.Matrix[from][to]
			if !(v >= 0 && v <= 1) {
				ps.Addf("matrix."+from+"."+to, "must be a probability between 0 and 1, got %v", v)
				sound = false
			}
			if _, row := m.Matrix[to]; !row {
				ps.Addf("matrix."+from+"."+to, "must be one of the categories that have a row, got %q%s", to, check.Suggest(to, slices.Sorted(maps.Keys(m.Matrix))))
				sound = false
			}
			sum += v
		}
		if sound && math.Abs(sum-1) > rowTolerance {
			ps.Addf("matrix."+from, "must sum to 1, got %v", sum)
		}
	}
}

func (m *PRAM) checkFrequencies(ps *check.Problems) {
	switch {
	case m.Invariant && m.Frequencies == nil:
		ps.Addf("frequencies", "must be given with invariant: how often each category is there")
	case !m.Invariant && m.Frequencies != nil && (m.Categories != nil || m.Matrix != nil):
		ps.Addf("frequencies", "must be left out without invariant")
	}
	list, total := m.categories(), 0.0
	for _, name := range slices.Sorted(maps.Keys(m.Frequencies)) {
		v := m.Frequencies[name]
		if !(v >= 0) || math.IsInf(v, 1) {
			ps.Addf("frequencies."+name, "must be a count or a share, at least 0, got %v", v)
		}
		if !slices.Contains(list, name) {
			ps.Addf("frequencies."+name, "must be one of the categories, got %q%s", name, check.Suggest(name, list))
		}
		total += v
	}
	if !m.Invariant || m.Frequencies == nil {
		return
	}
	for _, name := range list {
		if !(m.Frequencies[name] > 0) {
			ps.Addf("frequencies", "must be above 0 for each category, got none for %q: leave it out of the categories, or give it a frequency", name)
			return
		}
	}
}

// categories are the rows of the matrix, in order: the text's, but numbers by size.
func (m *PRAM) categories() []string {
	var list []string
	switch {
	case m.Matrix != nil:
		list = slices.Collect(maps.Keys(m.Matrix))
	case m.Categories != nil:
		list = slices.Clone(m.Categories)
	default:
		list = slices.Collect(maps.Keys(m.Frequencies))
	}
	slices.Sort(list)
	return list
}

// matrix returns the transition matrix, row by row in the order of categories, each row
// summing to 1.
func (m *PRAM) matrix() (categories []string, p [][]float64) {
	categories = m.categories()
	k := len(categories)
	for i, from := range categories {
		row := make([]float64, k)
		sum := 0.0
		for j, to := range categories {
			switch {
			case m.Matrix != nil:
				row[j] = m.Matrix[from][to]
			case i == j:
				row[j] = *m.Keep
			default:
				row[j] = (1 - *m.Keep) / float64(k-1)
			}
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
		p = append(p, row)
	}
	if m.Invariant {
		p = m.invariant(categories, p)
	}
	return categories, p
}

// invariant returns R = P·Q with Q_lk = π_k P_kl / Σ_m π_m P_ml, the chance that what is
// released as l was k: π R = π (Gouweleeuw et al. 1998, section 5, the two-stage
// procedure), π being the frequencies.
func (m *PRAM) invariant(categories []string, p [][]float64) [][]float64 {
	k := len(categories)
	r := make([][]float64, k)
	for i := range r {
		r[i] = make([]float64, k)
	}
	for l := range k {
		total := 0.0
		for i, name := range categories {
			total += m.Frequencies[name] * p[i][l]
		}
		if total == 0 {
			continue // nothing is released as l at the first stage
		}
		for i := range k {
			for j, name := range categories {
				r[i][j] += p[i][l] * (m.Frequencies[name] * p[j][l] / total)
			}
		}
	}
	return r
}

// Masks implements Params.
func (m *PRAM) Masks() []string { return m.Columns }

// Reads implements Params.
func (m *PRAM) Reads() []string { return nil }

// ReleasedField implements Retyping.
func (m *PRAM) ReleasedField(f microdata.Field) (microdata.Field, bool) {
	return categoryField(f, m.categories())
}

// pramStep is a PRAM mask on the columns of a chain.
type pramStep struct {
	mask    int
	rows    []pramRow
	matrix  [][]float64
	other   int32 // unlisted where there is none
	columns []*categoryColumn
	draws   []int // stream of each column
}

// pramRow is the law of one category: it stays where a draw is below keep, else it becomes
// the first of to whose bound is above the draw.
type pramRow struct {
	keep  float64
	bound []float64
	to    []int32
}

func (m *PRAM) compile(c *Chain, i int) (step, error) {
	categories, p := m.matrix()
	s := &pramStep{mask: i, matrix: p, other: unlisted}
	told := toldTexts("pram", categories...)
	for k, row := range p {
		r := pramRow{keep: row[k]}
		sum := row[k]
		for l, v := range row {
			if l != k && v > 0 {
				sum += v
				r.bound, r.to = append(r.bound, sum), append(r.to, int32(l))
			}
		}
		if n := len(r.bound); n > 0 {
			r.bound[n-1] = 1 // whatever the sum's last bits
		}
		s.rows = append(s.rows, r)
		told += part("row", row...)
	}
	if m.Other != nil {
		s.other = int32(slices.Index(categories, *m.Other))
		told += part("other", float64(s.other))
	}
	field := "matrix"
	if m.Matrix == nil {
		field = "categories"
	}
	for _, name := range m.Columns {
		var after microdata.Field
		if col := c.lookup(name); col != nil {
			after, _ = categoryField(col.Field, categories)
		}
		col, err := c.categorical(i, name, field, categories, categories, after)
		if err != nil {
			return nil, err
		}
		if col == nil {
			continue
		}
		c.does(i, col.column, told)
		col.becomes(after)
		s.columns, s.draws = append(s.columns, col), append(s.draws, c.stream(i, col.column))
	}
	return s, nil
}

// apply releases category l of a record with category k where its draw lies in the part of
// (0, 1) that row k gives l. In a release the draw is bound to the category.
func (s *pramStep) apply(c *Chain, w *work, b *microdata.Block) error {
	changed := w.newChanged(b.N)
	for k, col := range s.columns {
		places := w.placesFor(b.N)
		there, err := col.look(places, b)
		if err != nil {
			return fmt.Errorf("%s: column %s: %w", c.at(s.mask), strconv.Quote(col.Name), err)
		}
		if !there {
			continue
		}
		if s.other != unlisted {
			for i, j := range places {
				if j == unlisted {
					places[i] = s.other
					changed.Set(i)
				}
			}
		}
		rejectUnlisted(b, col.Name, places)
		moved := w.newWithin(b.N)
		s.draw(w, b, places, s.draws[k], moved)
		col.put(b, places, changed, func(i int) bool { return moved.Has(i) })
	}
	c.count(s.mask, b, changed)
	return nil
}

// draw moves the places and marks those that it has moved.
func (s *pramStep) draw(w *work, b *microdata.Block, places []int32, stream int, moved microdata.Bitmap) {
	u := w.floats(min(batch, b.N))
	for from := 0; from < b.N; from += batch {
		n := min(batch, b.N-from)
		part := places[from : from+n]
		w.fill(u[:n], uniform, stream, w.stretch(b, from, n, w.bindPlaces(part)))
		for i, k := range part {
			if k < 0 {
				continue
			}
			row, v := &s.rows[k], u[i]
			if v < row.keep || len(row.to) == 0 {
				continue
			}
			part[i] = row.to[min(sort.Search(len(row.bound), func(j int) bool { return v < row.bound[j] }), len(row.to)-1)]
			moved.Set(from + i)
		}
	}
}

// bindPlaces gives the numbers that the draws of categories are bound to: their places in
// the list, which the name of the draws tells.
func (w *work) bindPlaces(places []int32) []float64 {
	if cap(w.bound) < len(places) {
		w.bound = make([]float64, len(places))
	}
	values := w.bound[:len(places)]
	for i, k := range places {
		values[i] = float64(k)
	}
	return values
}

// keeps: a category stays with the probability on the matrix's diagonal.
func (s *pramStep) keeps(l *keepingOf, i int) {
	for _, col := range s.columns {
		if col.Name != l.name {
			continue
		}
		l.moves = append(l.moves, moving{
			mask: i,
			lost: func(float64, float64) bool { return false },
			share: func(x, _ float64) float64 {
				if k := col.place(x, true); k >= 0 {
					return s.matrix[k][k]
				}
				return 0
			},
		})
	}
}

// rejects implements rejecting: for categories that the matrix does not have.
func (m *PRAM) rejects() bool { return m.Other == nil }

// Reach implements Scoped.
func (m *PRAM) Reach() Scope { return ScopeRecord }

// OnCategories implements Categorical.
func (m *PRAM) OnCategories() bool { return true }

// MapAxis implements Varying: from certain exchange to none is of no use to anybody, so
// the probability to keep runs from one half.
func (m *PRAM) MapAxis() Axis {
	if m.Matrix != nil {
		return Axis{}
	}
	return Axis{Rank: 3, Field: "keep", From: Amount{Value: 0.5}, To: Amount{Value: 0.95}}
}

// Parameters implements Described. The matrix is the one that was drawn from.
func (m *PRAM) Parameters() []Parameter {
	var list []Parameter
	if (m.Keep != nil || m.Matrix != nil) && len(m.Check()) == 0 {
		categories, p := m.matrix()
		rows := make(map[string]any, len(p))
		for k, row := range p {
			cells := make(map[string]any, len(row))
			for l, v := range row {
				cells[categories[l]] = v
			}
			rows[categories[k]] = cells
		}
		list = append(list, Parameter{"matrix", rows})
	}
	list = withNumber(list, "keep", m.Keep)
	if m.Categories != nil {
		list = append(list, Parameter{"categories", jsonWords(m.Categories)})
	}
	if m.Invariant {
		list = append(list, Parameter{"invariant", true})
	}
	if m.Frequencies != nil {
		table := make(map[string]any, len(m.Frequencies))
		for name, v := range m.Frequencies {
			table[name] = v
		}
		list = append(list, Parameter{"frequencies", table})
	}
	if m.Other != nil {
		list = append(list, Parameter{"other", *m.Other})
	}
	return list
}

// ActionOn implements Acting.
func (m *PRAM) ActionOn(string, float64) Action {
	if m.Keep == nil && m.Matrix == nil || len(m.Check()) > 0 {
		return nil
	}
	categories, p := m.matrix()
	return Randomising{Categories: categories, Matrix: p}
}

// PublishedAction implements Publishing: the matrix as far as it is published, nil where
// it is not.
func (m *PRAM) PublishedAction(p Published, _ string) Action {
	v, _ := p.Parameters("matrix")
	rows, _ := v.(map[string]any)
	if len(rows) == 0 {
		return Randomising{}
	}
	a := Randomising{Categories: slices.Sorted(maps.Keys(rows))}
	for _, from := range a.Categories {
		cells, _ := rows[from].(map[string]any)
		row := make([]float64, len(a.Categories))
		for l, to := range a.Categories {
			row[l], _ = cells[to].(float64)
		}
		a.Matrix = append(a.Matrix, row)
	}
	return a
}

// Words implements Publishing.
func (m *PRAM) Words(p Published, column string) string {
	s := "post-randomisation (PRAM): each category was replaced by one drawn from the row of a transition matrix"
	if keep, ok := p.number("keep"); ok && !p.Has("invariant") {
		s += "; it stayed with probability " + p.Number(keep)
	}
	if p.flag("invariant") {
		s += "; the matrix was made so that the expected frequencies are the original's"
	}
	return s
}

// EfficiencyFollows implements Publishing.
func (m *PRAM) EfficiencyFollows(has, named func(string) bool) bool { return named("matrix") }

// OnColumn implements Narrowing.
func (m *PRAM) OnColumn(column string) Params {
	q := *m
	q.Columns = []string{column}
	return &q
}
