package suppress

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// reach looks for the witnesses of need i in the present layout: one, and for every
// knower who knows a cell that this one changes another one that changes none of
// hers, since she is not misled by the first. Nobody is to be misled about her own
// cell.
func (e *engine) reach(i int32) ([]witness, bool) {
	n := &e.needs[i]
	if n.amount <= 0 {
		return nil, true
	}
	first, ok := e.mirrored(i)
	if !ok {
		if first, ok = e.table(n); !ok {
			return nil, false
		}
	}
	found := []witness{first}
	if e.knower == nil {
		return found, true
	}
	for _, c := range first.cells {
		k := e.knower[c]
		if k < 0 || k == e.knower[n.cell] || slices.ContainsFunc(found, func(w witness) bool { return !e.strange(w, k) }) {
			continue
		}
		w, ok := e.tableWithout(n, e.knownBy[k])
		if !ok {
			return nil, false
		}
		found = append(found, w)
	}
	return found, true
}

// strange reports whether a table changes a cell that k knows: she sees that it is
// not the true one.
func (e *engine) strange(w witness, k int32) bool {
	return slices.ContainsFunc(w.cells, func(c int32) bool { return e.knower[c] == k })
}

// tableWithout looks for a table that reaches a need and leaves cells as they are.
func (e *engine) tableWithout(n *need, cells []int32) (witness, bool) {
	var open []int32 // hidden and not fixed by the trial under way
	for _, c := range cells {
		if e.layout.partOf[c] >= 0 && e.q.Hidden[c] {
			open = append(open, c)
		}
	}
	if e.each(open, (*audit.Component).Fix) != nil {
		return witness{}, false
	}
	w, ok := e.table(n)
	if e.each(open, func(p *audit.Component, j int) error { return p.Free(e.q, j) }) != nil {
		return witness{}, false
	}
	return w, ok
}

// mirrored turns the witness of the other end of a range, where all of its deviations may as well
// have the other sign, into one of need i.
func (e *engine) mirrored(i int32) (witness, bool) {
	n, other := &e.needs[i], i^1
	if e.q.Counts || int(other) >= len(e.needs) || e.needs[other].cell != n.cell || len(e.needs[other].witnesses) == 0 {
		return witness{}, false
	}
	w := e.needs[other].witnesses[0]
	at := slices.Index(w.cells, n.cell)
	if at < 0 {
		return witness{}, false
	}
	by := n.amount / -math.Abs(w.by[at])
	if by < -1-1e-9 { // what is rounding would grow as well
		return witness{}, false
	}
	turned := witness{w.cells, make([]float64, len(w.by))}
	for k, d := range w.by {
		if turned.by[k] = by * d; !e.q.Within(w.cells[k], turned.by[k]) {
			return witness{}, false
		}
	}
	return turned, true
}

// shows returns the first witness of a need, if it has any that is still one.
func (e *engine) shows(n *need) (witness, bool) {
	if len(n.witnesses) == 0 {
		return witness{}, false
	}
	w := n.witnesses[0]
	for k, c := range w.cells {
		if !e.q.Within(c, w.by[k]) {
			return witness{}, false
		}
	}
	return w, true
}

// users lists the needs whose witness changes one of the cells, those that have
// failed most often first.
func (e *engine) users(cells []int32) []int32 {
	var users []int32
	for _, c := range cells {
		for _, u := range e.usersOf(c) {
			users = append(users, u.need)
		}
	}
	slices.SortFunc(users, func(a, b int32) int {
		return cmp.Or(cmp.Compare(e.needs[b].failed, e.needs[a].failed), cmp.Compare(a, b))
	})
	return slices.Compact(users)
}

// usersOf lists the uses of a cell, and drops those of witnesses that are no longer.
func (e *engine) usersOf(c int32) []use {
	e.usedBy[c] = slices.DeleteFunc(e.usedBy[c], func(u use) bool { return e.needs[u.need].changes != u.changes })
	return e.usedBy[c]
}

// remember makes ws the witnesses of need i, in place of those that it had.
func (e *engine) remember(i int32, ws []witness) {
	n := &e.needs[i]
	n.witnesses = ws
	n.changes++
	for _, w := range ws {
		for _, c := range w.cells {
			if !e.may[c] {
				continue
			}
			if u := e.usedBy[c]; len(u) == cap(u) { // before there is more room those go that are no longer
				e.usersOf(c)
			}
			e.usedBy[c] = append(e.usedBy[c], use{i, n.changes})
		}
	}
}
