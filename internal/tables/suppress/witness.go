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
	g := &guard{engine: e, n: n, old: e.agreeing(n)}
	if at := slices.IndexFunc(g.old, n.meets); at >= 0 {
		g.found = g.old[at : at+1 : at+1]
	} else {
		first, ok := e.mirrored(i)
		if !ok {
			if first, ok = e.table(n); !ok {
				return nil, false
			}
		}
		g.found = []witness{first}
	}
	first := g.found[0]
	if e.knowers != nil && !g.withstands(nil, first) {
		return nil, false
	}
	return g.found, true
}

// guard collects the witnesses of one need.
type guard struct {
	*engine
	n     *need
	old   []witness // earlier ones that agree with the published cells
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
	if g.knowers.Knows(more, g.n.cell) || slices.ContainsFunc(g.done, func(o []int32) bool {
		return slices.Equal(o, more)
	}) {
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
	serves := func(w witness) bool { return !g.strange(w, more, &n, g.n.amount) }
	at := slices.IndexFunc(g.found, serves)
	if at < 0 {
		at = len(g.found)
		if k := slices.IndexFunc(g.old, serves); k >= 0 {
			g.found = append(g.found, g.old[k])
		} else {
			n.witnesses = g.found
			further, ok := g.tableFor(&n, more)
			if !ok {
				return false
			}
			g.found = append(g.found, further)
		}
	}
	if len(more) == g.knowers.Coalition {
		return true
	}
	g.done = append(g.done, more)
	return g.withstands(more, g.found[at])
}

// strange reports whether a table does not serve respondents: it shows less than they need, which may be less than the
// amount that others need, or they can see that it is not the true one, because it changes a cell that they know, or
// makes a cell but this one less than is their own. If they need less than it shows, a table of values between this and
// the true one serves them.
func (e *engine) strange(w witness, who []int32, n *need, amount float64) bool {
	reached := w.reaches(n)
	if reached < n.amount-1e-3-1e-13*n.amount || e.q.Counts && n.amount < amount && reached != n.amount {
		return true
	}
	scale := 1.0
	if !e.q.Counts {
		scale = min(1, n.amount/reached)
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

// reaches returns how far a witness deviates in the direction of a need.
func (w witness) reaches(n *need) float64 {
	at := slices.Index(w.cells, n.cell)
	switch {
	case at < 0:
		return 0
	case n.up:
		return w.by[at]
	}
	return -w.by[at]
}

// meets reports whether a witness deviates as far as the need requires; those that were found for contributors of the
// cell may deviate less.
func (n *need) meets(w witness) bool { return w.reaches(n) >= n.amount-1e-3-1e-13*n.amount }

// agreeing returns the witnesses of a need that still agree with the published cells.
func (e *engine) agreeing(n *need) (ws []witness) {
	for _, w := range n.witnesses {
		agrees := true
		for k, c := range w.cells {
			agrees = agrees && e.q.Within(c, w.by[k])
		}
		if agrees {
			ws = append(ws, w)
		}
	}
	return ws
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
