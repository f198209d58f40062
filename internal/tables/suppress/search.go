package suppress

import (
	"errors"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// solve looks for one table that reaches a need, and returns what it changes.
func (e *engine) solve(n *need) ([]int32, bool) {
	cells, _ := e.table(n)
	return cells, cells != nil
}

// How many partial tables are looked at for a whole one: before a linear program, by
// mending and by enumeration; in a trial, where to hold a cell back too many does little
// harm; and where all that may be hidden is.
const (
	searchQuick = 30
	searchHuge  = 100
	searchFirst = 200
	searchTrial = 2_000
	searchLast  = 50_000
)

// table returns the cells that deviate, and by how much, in a table that reaches a need;
// nil where there is none or, of counts, none was found. Most questions whose answer is no
// are answered by the shuttle. A linear program takes as long as its component is large:
// in a large one, of counts, few steps of enumeration come before.
func (e *engine) table(n *need) (cells []int32, by []float64) {
	part := e.layout.partOf[n.cell]
	if part < 0 {
		return nil, nil // known
	}
	p, j, d := &e.layout.parts[part], int(e.layout.column[n.cell]), n.amount
	if !n.up {
		d = -d
	}
	if e.q.Counts && len(p.Cells) > largeComponent || p.Huge() {
		columns, by, excluded := e.fewChanges(p, j, d)
		if columns != nil || excluded || p.Huge() && e.search != searchLast {
			return cellsOf(p, columns), by
		}
	} else if p.Excludes(j, d) {
		return nil, nil
	}
	e.Programs++
	s := p.System
	s.Reset()
	s.ToVertex = e.q.Counts
	var v float64
	var err error
	if n.up {
		v, err = s.Maximize(j, n.amount)
	} else {
		v, err = s.Minimize(j, -n.amount)
		v = -v
	}
	if err != nil && !errors.Is(err, lp.ErrStalled) || !(v >= n.amount-1e-3-1e-13*n.amount) {
		return nil, nil
	}
	z := s.Point()
	if e.q.Counts && !whole(z) { // beyond two dimensions a vertex may be no table of counts
		columns, by := p.FewChanges(j, d, e.search)
		return cellsOf(p, columns), by
	}
	for j, v := range z {
		if math.Abs(v) > 1e-9 {
			cells, by = append(cells, p.Cells[j]), append(by, v)
		}
	}
	return cells, by
}

// fewChanges looks for a table that few cells change, by whole units; excluded: there is none
// at all. In a huge component, where a linear program would take seconds, most of what is there
// is a cell with all of its totals, and a trial is content with a short look.
func (e *engine) fewChanges(p *audit.Component, j int, d float64) (columns []int32, by []float64, excluded bool) {
	if !p.Huge() {
		if columns, by, excluded = p.Quick(j, d, searchQuick); columns == nil && !excluded {
			columns, by = p.FewChanges(j, d, searchFirst)
		}
		return columns, by, excluded
	}
	if columns, by = p.Upward(j, d); columns == nil {
		columns, by, excluded = p.Quick(j, d, searchHuge)
	}
	if columns == nil && !excluded && e.search == searchLast && e.q.Counts {
		columns, by = p.FewChanges(j, d, searchFirst)
	}
	return columns, by, excluded && e.q.Counts // of values, no table of whole units
}

// largeComponent is the number of cells from which a linear program takes longer than a
// search that looks at a few sums.
const largeComponent = 1000

func cellsOf(p *audit.Component, columns []int32) []int32 {
	for k, c := range columns {
		columns[k] = p.Cells[c]
	}
	return columns
}

func whole(z []float64) bool {
	for _, v := range z {
		if math.Abs(v-math.Round(v)) > 1e-7 {
			return false
		}
	}
	return true
}
