package suppress

import (
	"cmp"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// reach looks for the witnesses of a need in the present layout: one, and for every
// knower who knows a cell that this one changes another one that changes none of
// hers, since she is not misled by the first. Nobody is to be misled about her own
// cell.
func (e *engine) reach(n *need) ([][]int32, bool) {
	if n.amount <= 0 {
		return nil, true
	}
	first, ok := e.solve(n)
	if !ok {
		return nil, false
	}
	found := [][]int32{first}
	if e.knower == nil {
		return found, true
	}
	for _, c := range first {
		k := e.knower[c]
		if k < 0 || k == e.knower[n.cell] || slices.ContainsFunc(found, func(w []int32) bool { return !e.strange(w, k) }) {
			continue
		}
		w, ok := e.solveWithout(n, e.knownBy[k])
		if !ok {
			return nil, false
		}
		found = append(found, w)
	}
	return found, true
}

// strange reports whether a table changes a cell that k knows: she sees that it is
// not the true one.
func (e *engine) strange(w []int32, k int32) bool {
	return slices.ContainsFunc(w, func(c int32) bool { return e.knower[c] == k })
}

// solveWithout looks for a table that reaches a need and leaves cells as they are.
func (e *engine) solveWithout(n *need, cells []int32) ([]int32, bool) {
	var open []int32 // hidden and not fixed by the trial under way
	for _, c := range cells {
		if e.layout.partOf[c] >= 0 && e.q.Hidden[c] {
			open = append(open, c)
		}
	}
	if e.each(open, (*audit.Component).Fix) != nil {
		return nil, false
	}
	w, ok := e.solve(n)
	if e.each(open, func(p *audit.Component, j int) error { return p.Free(e.q, j) }) != nil {
		return nil, false
	}
	return w, ok
}

// users lists the needs whose witness changes one of the cells, those that have
// failed most often first.
func (e *engine) users(cells []int32) []int32 {
	var users []int32
	for _, c := range cells {
		users = append(users, e.usedBy[c]...)
	}
	slices.SortFunc(users, func(a, b int32) int {
		return cmp.Or(cmp.Compare(e.needs[b].failed, e.needs[a].failed), cmp.Compare(a, b))
	})
	return slices.Compact(users)
}

// remember makes ws the witnesses of need i.
func (e *engine) remember(i int32, ws [][]int32) {
	e.needs[i].witnesses = ws
	for _, w := range ws {
		for _, c := range w {
			e.usedBy[c] = append(e.usedBy[c], i)
		}
	}
}

// forget takes the witnesses of need i away.
func (e *engine) forget(i int32) {
	for _, w := range e.needs[i].witnesses {
		for _, c := range w {
			users := e.usedBy[c]
			at := slices.Index(users, i)
			users[at] = users[len(users)-1]
			e.usedBy[c] = users[:len(users)-1]
		}
	}
	e.needs[i].witnesses = nil
}
