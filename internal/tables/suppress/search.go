package suppress

import (
	"cmp"
	"errors"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// Numbers of partial tables in a search for a table of whole numbers: before a linear
// program, by Quick (also in huge components) and by enumeration; in a trial, where one
// suppression too many does little harm; and when all candidates are hidden.
const (
	searchQuick = 30
	searchHuge  = 100
	searchFirst = 200
	searchTrial = 2_000
	searchLast  = 50_000
)

// table searches for a table that meets a need. The shuttle rejects most needs that cannot be
// met. The time of a linear program grows with its component; in a large component, a few
// steps of enumeration and programs over the neighbourhood of the cell come first.
func (e *engine) table(n *need) (witness, bool) {
	part := e.layout.partOf[n.cell]
	if part < 0 {
		return witness{}, false // known
	}
	p, j, d := &e.layout.parts[part], int(e.layout.column[n.cell]), n.amount
	if !n.up {
		d = -d
	}
	if e.mends {
		if e.quick && p.ExcludesSoon(j, d) || !e.quick && p.Excludes(j, d) {
			return witness{}, false
		}
		if e.search != searchLast {
			if e.left <= 0 && !e.quick {
				return witness{}, false
			}
			before := p.Searched()
			defer func() {
				if !e.quick {
					e.left -= p.Searched() - before
				}
			}()
		}
		if w, ok := e.mend(n, p, j, d); ok || e.quick {
			return w, ok
		}
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
		if columns != nil || excluded || (p.Huge() || e.mends) && e.search != searchLast {
			return tableOf(p, columns, by)
		}
	} else if p.Excludes(j, d) {
		return witness{}, false
	}
	return e.program(n, p, j, d)
}

// mend searches for a table of whole numbers that differs little from an earlier witness.
func (e *engine) mend(n *need, p *audit.Component, j int, d float64) (witness, bool) {
	var from []int32
	var as []float64
	if len(n.witnesses) > 0 {
		w, part := n.witnesses[0], e.layout.partOf[n.cell]
		for k, c := range w.cells {
			if e.layout.partOf[c] == part {
				from, as = append(from, e.layout.column[c]), append(as, w.by[k])
			}
		}
	}
	steps := mendLong
	if e.quick {
		steps = mendQuick
	}
	columns, by := p.Mend(j, d, from, as, steps)
	return tableOf(p, columns, by)
}

// Numbers of changed columns in such a search.
const (
	mendQuick = 1000
	mendLong  = 5000
)

// near searches for a table in which only cells near column j deviate. excluded reports
// that the shuttle proves that there is no table at all.
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

// nearColumns is the greatest number of cells in such a neighbourhood.
const nearColumns = 300

// program searches for a table that meets a need by a linear program over its
// component.
func (e *engine) program(n *need, p *audit.Component, j int, d float64) (w witness, ok bool) {
	s, err := p.Program()
	if err != nil {
		return witness{}, false
	}
	if (e.mends || len(p.Cells) > cmp.Or(e.q.Large, largeValues)) && e.search != searchLast {
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
	if e.q.Counts && !whole(z) { // with more than two dimensions a vertex need not be a table of whole numbers
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

// fewChanges searches for a table in which few cells deviate, by whole units. excluded reports
// that there is no table at all. In a huge component, where a linear program would take
// seconds, most tables that it finds change an inner cell with all of its totals, and a trial
// only makes a short search.
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

// largeComponent is the number of cells above which a linear program over counts takes
// longer than a search over a few sums.
const largeComponent = 1000

// largeValues is the same number for values.
const largeValues = 400

// searchWork is the limit of the work of the long pass over many unsafe counts, a few seconds; then the cells that it
// has not tried stay hidden.
const searchWork = 250_000_000

// programWork is the limit of the work of programs over large components in trials, some
// seconds; beyond it a need counts as not met.
const programWork = 500_000_000

// tableOf converts columns of a component to a witness, false if columns is nil. It
// overwrites columns with the cells.
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
