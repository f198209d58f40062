package suppress

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// reach searches for the witnesses of need i in the present layout. It needs one
// witness and, for every coalition of respondents who know a cell that this witness changes, a
// further witness that changes none of their cells. A cell needs no protection against those who
// know it. It reports whether all were found.
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
	g := &guard{engine: e, n: n, found: []witness{first}}
	if e.knowers != nil && !g.withstands(nil, first) {
		return nil, false
	}
	return g.found, true
}

// guard collects the witnesses of one need.
type guard struct {
	*engine
	n     *need
	found []witness
	done  [][]int32 // coalitions smaller than the largest
}

// withstands searches for further witnesses for all coalitions that include who and see that a
// witness is not the true table. Each of them includes, for a cell that the witness changes, all of
// its contributors.
func (g *guard) withstands(who []int32, w witness) bool {
	for _, c := range w.cells {
		more := g.knowers.Joined(who, c)
		if more == nil || g.knowers.Knows(more, g.n.cell) || slices.ContainsFunc(g.done, func(o []int32) bool { return slices.Equal(o, more) }) {
			continue
		}
		at := slices.IndexFunc(g.found, func(w witness) bool { return !g.strange(w, more) })
		if at < 0 {
			further, ok := g.tableWithout(g.n, g.knowers.KnownTo(more))
			if !ok {
				return false
			}
			at, g.found = len(g.found), append(g.found, further)
		}
		if len(more) == g.knowers.Coalition {
			continue
		}
		g.done = append(g.done, more)
		if !g.withstands(more, g.found[at]) {
			return false
		}
	}
	return true
}

// strange reports whether a table changes a cell that the respondents know, so that they can
// see that it is not the true table.
func (e *engine) strange(w witness, who []int32) bool {
	return slices.ContainsFunc(w.cells, func(c int32) bool { return e.knowers.Knows(who, c) })
}

// tableWithout searches for a table that meets a need and does not change the given
// cells.
func (e *engine) tableWithout(n *need, cells []int32) (witness, bool) {
	var open []int32 // hidden and not fixed by the present trial
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

// mirrored converts the witness of the other end of the interval to a witness of need i, if all
// of its deviations can have the opposite sign.
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
	if by < -1-1e-9 { // scaling up would enlarge rounding errors
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

// shows returns the first witness of a need, if it has one that still agrees with the
// published cells.
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

// users returns the needs whose witnesses change one of the cells, those that have
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

// usersOf returns the uses of a cell and drops the outdated ones.
func (e *engine) usersOf(c int32) []use {
	e.usedBy[c] = slices.DeleteFunc(e.usedBy[c], func(u use) bool { return e.needs[u.need].changes != u.changes })
	return e.usedBy[c]
}

// remember replaces the witnesses of need i by ws.
func (e *engine) remember(i int32, ws []witness) {
	n := &e.needs[i]
	n.witnesses = ws
	n.changes++
	for _, w := range ws {
		for _, c := range w.cells {
			if !e.may[c] {
				continue
			}
			if u := e.usedBy[c]; len(u) == cap(u) { // drop outdated uses before the list grows
				e.usersOf(c)
			}
			e.usedBy[c] = append(e.usedBy[c], use{i, n.changes})
		}
	}
}
