package suppress

import (
	"cmp"
	"errors"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

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

// table looks for a table that reaches a need. Most questions whose answer is no are answered
// by the shuttle. A linear program takes as long as its component is large: in a large one few
// steps of enumeration come before, and programs over the neighbourhood of the cell.
func (e *engine) table(n *need) (witness, bool) {
	part := e.layout.partOf[n.cell]
	if part < 0 {
		return witness{}, false // known
	}
	p, j, d := &e.layout.parts[part], int(e.layout.column[n.cell]), n.amount
	if !n.up {
		d = -d
	}
	large := p.Huge() || len(p.Cells) > cmp.Or(e.q.Large, largeValues)
	if e.q.Counts {
		large = p.Huge() || len(p.Cells) > largeComponent
	}
	if large {
		columns, by, excluded := e.fewChanges(p, j, d)
		if columns == nil && !excluded {
			columns, by, excluded = e.near(p, j, d)
		}
		if columns != nil || excluded || p.Huge() && e.search != searchLast {
			return tableOf(p, columns, by)
		}
	} else if p.Excludes(j, d) {
		return witness{}, false
	}
	return e.program(n, p, j, d)
}

// near looks for a table that cells around the one change.
func (e *engine) near(p *audit.Component, j int, d float64) (columns []int32, by []float64, excluded bool) {
	if e.q.Counts && !p.Huge() {
		return nil, nil, false
	}
	if p.Excludes(j, d) {
		return nil, nil, true
	}
	e.Programs++
	columns, by = p.Near(j, d, nearColumns)
	return columns, by, false
}

// nearColumns is how many cells around one are changed at most.
const nearColumns = 300

// program looks for a table that reaches a need by a linear program over its component.
func (e *engine) program(n *need, p *audit.Component, j int, d float64) (w witness, ok bool) {
	s, err := p.Program()
	if err != nil {
		return witness{}, false
	}
	if len(p.Cells) > cmp.Or(e.q.Large, largeValues) && e.search != searchLast {
		if e.left <= 0 {
			return witness{}, false
		}
		before := s.Work
		s.Limit = before + e.left
		defer func() {
			e.left -= s.Work - before
			s.Limit = 0
		}()
	}
	e.Programs++
	s.Reset()
	s.ToVertex = e.q.Counts
	var v float64
	if n.up {
		v, err = s.Maximize(j, n.amount)
	} else {
		v, err = s.Minimize(j, -n.amount)
		v = -v
	}
	if err != nil && !errors.Is(err, lp.ErrStalled) || !(v >= n.amount-1e-3-1e-13*n.amount) {
		return witness{}, false
	}
	z := s.Point()
	if e.q.Counts && !whole(z) { // beyond two dimensions a vertex may be no table of counts
		columns, by := p.FewChanges(j, d, e.search)
		return tableOf(p, columns, by)
	}
	for j, v := range z {
		if math.Abs(v) > 1e-9 {
			w.cells, w.by = append(w.cells, p.Cells[j]), append(w.by, v)
		}
	}
	return w, true
}

// fewChanges looks for a table that few cells change, by whole units; excluded: there is none
// at all. In a huge component, where a linear program would take seconds, most of what is there
// is a cell with all of its totals, and a trial is content with a short look.
func (e *engine) fewChanges(p *audit.Component, j int, d float64) (columns []int32, by []float64, excluded bool) {
	if !p.Huge() && e.q.Counts {
		if columns, by, excluded = p.Quick(j, d, searchQuick); columns == nil && !excluded {
			columns, by = p.FewChanges(j, d, searchFirst)
		}
		return columns, by, excluded
	}
	if columns, by = p.Upward(j, d); columns != nil || !e.q.Counts {
		return columns, by, false
	}
	if columns, by, excluded = p.Quick(j, d, searchHuge); columns == nil && !excluded && e.search == searchLast {
		columns, by = p.FewChanges(j, d, searchFirst)
	}
	return columns, by, excluded
}

// largeComponent is the number of cells from which a linear program takes longer than a
// search that looks at a few sums.
const largeComponent = 1000

// largeValues is the same of values.
const largeValues = 400

// programWork is the work of a search in programs over large components, where it may leave
// questions without an answer: some seconds.
const programWork = 500_000_000

// tableOf is the witness of columns of a component, where there are any.
func tableOf(p *audit.Component, columns []int32, by []float64) (witness, bool) {
	for k, c := range columns {
		columns[k] = p.Cells[c]
	}
	return witness{columns, by}, columns != nil
}

func whole(z []float64) bool {
	for _, v := range z {
		if math.Abs(v-math.Round(v)) > 1e-7 {
			return false
		}
	}
	return true
}
