package population

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
)

// design makes the rows of the model matrix, one for each cell of the table. It is coded as in R: a
// category of a term has a column for each level but the first if the term without it is in the
// model, and for each level otherwise. A row has few entries that are not 0.
type design struct {
	t     *table
	terms []term
	k     int // columns, the intercept first
}

// term is the intercept (no variable), a main effect or an interaction.
type term struct {
	first     int // its first column
	variables []factor
}

type factor struct {
	variable int
	number   bool // enters with its value
	from     int  // first level that has a column
	width    int  // columns
}

// newDesign returns the model matrix of a formula. extra is a further column for a variable that
// belongs to the cell.
func newDesign(d Data, o Options, t *table, extra bool) (*design, error) {
	m := &design{t: t, k: 1, terms: []term{{}}}
	index := func(name string) int {
		return slices.IndexFunc(d.Variables, func(v Variable) bool { return v.Name == name })
	}
	terms := slices.Clone(o.Formula.Terms)
	slices.SortStableFunc(terms, func(a, b []string) int { return len(a) - len(b) }) // main effects first
	for _, names := range terms {
		of, width := term{first: m.k}, 1
		for i, name := range names {
			j := index(name)
			f := factor{variable: j, number: d.Variables[j].Values != nil && o.Model != asked.IPF, width: 1}
			if !f.number {
				if without := slices.Delete(slices.Clone(names), i, i+1); len(without) == 0 || o.Formula.Has(without) {
					f.from = 1
				}
				f.width = len(t.levels[j]) - f.from
			}
			of.variables = append(of.variables, f)
			if width *= f.width; m.k+width > MostParameters {
				return nil,
					refusef("the model has more than %d parameters, of %v; list fewer interactions, or join categories (recode)",
						MostParameters, asked.Term(names))
			}
		}
		m.k += width
		m.terms = append(m.terms, of)
	}
	if extra {
		m.k++
	}
	return m, nil
}

// row sets the entries that are not 0 of the row of a cell, in the order of their columns.
func (m *design) row(at []int32, extra float64, columns []int, values []float64) ([]int, []float64) {
	columns, values = columns[:0], values[:0]
terms:
	for i := range m.terms {
		column, value := 0, 1.0
		for _, f := range m.terms[i].variables {
			level := at[f.variable]
			if f.number {
				value *= m.t.levels[f.variable][level]
				continue
			}
			if int(level) < f.from {
				continue terms
			}
			column = column*f.width + int(level) - f.from
		}
		if value != 0 {
			columns, values = append(columns, m.terms[i].first+column), append(values, value)
		}
	}
	if extra != 0 {
		columns, values = append(columns, m.k-1), append(values, extra)
	}
	return columns, values
}
