package suppress

import (
	"cmp"
	"math"
	"slices"
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
	for k, c := range w.cells {
		var list [][]int32
		if w.by[k] < 0 && c != g.n.cell {
			list = g.knowers.Misled(who, c, g.q.Value[c]+w.by[k])
		}
		list = append(list, g.knowers.AllJoined(who, c)...)
		for _, more := range list {
			if !g.withstand(more) {
				return false
			}
		}
	}
	return true
}

// withstand searches for a witness for a coalition, and for larger ones that see that this is not the true table.
func (g *guard) withstand(more []int32) bool {
	if g.knowers.Knows(more, g.n.cell) || slices.ContainsFunc(g.done, func(o []int32) bool { return slices.Equal(o, more) }) {
		return true
	}
	// Contributors of the cell need a range that begins at their own part.
	n := *g.n
	if !n.up {
		n.amount = min(n.amount, g.q.Value[n.cell]-g.knowers.Part(more, n.cell))
	}
	n.amount = g.knowers.Spared(more, n.cell, n.amount)
	if n.amount <= 0 {
		return true
	}
	at := slices.IndexFunc(g.found, func(w witness) bool { return !g.strange(w, more, &n, g.n.amount) })
	if at < 0 {
		further, ok := g.tableFor(&n, more)
		if !ok {
			return false
		}
		at, g.found = len(g.found), append(g.found, further)
	}
	if len(more) == g.knowers.Coalition {
		return true
	}
	g.done = append(g.done, more)
	return g.withstands(more, g.found[at])
}

// strange reports whether respondents can see that a table, which shows amount for the cell of a need, is not the true one: it changes a
// cell that they know, or makes a cell but this one less than is their own. If they need less than amount, a table of
// values between this and the true one serves them.
func (e *engine) strange(w witness, who []int32, n *need, amount float64) bool {
	reached := 0.0 // it may be one that was enough for others
	if at := slices.Index(w.cells, n.cell); at >= 0 {
		reached = math.Abs(w.by[at])
	}
	if reached < n.amount-1e-3-1e-13*n.amount {
		return true
	}
	scale := 1.0
	if n.amount < amount {
		if scale = min(1, n.amount/reached); e.q.Counts && scale < 1 {
			return true
		}
	}
	for k, c := range w.cells {
		if e.knowers.Knows(who, c) {
			return true
		}
		if part := e.knowers.Part(who, c); w.by[k] < 0 && c != n.cell && e.q.Value[c]+scale*w.by[k] < part-1e-6*(1+part) {
			return true
		}
	}
	return false
}

// tableFor searches for a table that meets a need and of which respondents cannot see that it is not the true one.
func (e *engine) tableFor(n *need, who []int32) (w witness, ok bool) {
	at := e.layout.partOf[n.cell]
	if at < 0 {
		return witness{}, false // known
	}
	var known []int
	for _, c := range e.knowers.KnownTo(who) {
		if e.layout.partOf[c] == at && e.q.Hidden[c] { // hidden and not fixed by the present trial
			known = append(known, int(e.layout.column[c]))
		}
	}
	least := map[int]float64{}
	for _, x := range e.knowers.Parts(who) {
		if e.layout.partOf[x.Of] == at && e.q.Hidden[x.Of] && x.Of != n.cell && !e.knowers.Knows(who, x.Of) {
			least[int(e.layout.column[x.Of])] = min(x.Part-e.q.Value[x.Of], 0)
		}
	}
	if e.layout.parts[at].While(known, least, func() { w, ok = e.table(n) }) != nil {
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
