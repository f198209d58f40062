package suppress

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// need is one end that a range must reach.
type need struct {
	cell      int32
	up        bool
	amount    float64
	witnesses [][]int32 // what the tables that reach it change: for every knower one that changes none of her cells
	failed    int       // how often they were not found
}

// engine keeps a set of hidden cells in which every need is met.
type engine struct {
	q      audit.Question
	needs  []need
	layout layout
	hidden int
	usedBy [][]int32 // of a cell: the needs whose witness changes it

	knower  []int32           // of a cell: who knows its value, -1 for nobody; nil for none at all
	knownBy map[int32][]int32 // the cells that a knower knows

	until time.Time // when to be content with what was published until then; zero: never
	short bool      // that was so

	search int // partial tables to look at for a whole one

	Trials, Programs int
}

// layout is the components of the cells that were hidden when it was made.
type layout struct {
	parts  []audit.Component
	partOf []int32 // of a cell, -1 outside
	column []int32
	open   int
	huge   bool // some component is
}

// newEngine hides cells level by level, until every need can be met: what is hidden in
// q already, then the first level, then the second and so on. A need that one level
// meets is content with it; once most needs are met, of the levels that follow only
// those cells stay hidden that the witnesses of the others change. unmet lists the
// needs that no level meets; the engine goes on without them. open returns the cells
// of the levels that are hidden.
func newEngine(q audit.Question, needs []need, levels [][]int32, knower []int32) (e *engine, open []int32, unmet []need, err error) {
	e = &engine{q: q, usedBy: make([][]int32, len(q.Value)), needs: needs, knower: knower, knownBy: map[int32][]int32{}}
	for c, k := range knower {
		if k >= 0 {
			e.knownBy[k] = append(e.knownBy[k], int32(c))
		}
	}
	if err := q.Stopped(); err != nil {
		return nil, nil, nil, err
	}
	waiting := make([]int32, len(needs))
	for i := range waiting {
		waiting[i] = int32(i)
	}
	var tentative []int32 // hidden for the sake of few needs
	for l := 0; l <= len(levels) && len(waiting) > 0; l++ {
		if l > 0 {
			e.hide(levels[l-1], true)
			if len(waiting) > len(needs)/fewNeeds {
				open = append(open, levels[l-1]...)
			} else {
				tentative = append(tentative, levels[l-1]...)
			}
		}
		if e.search = searchTrial; l == len(levels) {
			e.search = searchLast
		}
		if e.layout, err = e.split(); err != nil {
			return nil, nil, nil, err
		}
		if waiting, err = e.reachAll(waiting); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := q.Stopped(); err != nil { // what was not met may have been stopped
		return nil, nil, nil, err
	}
	for _, i := range waiting {
		unmet = append(unmet, needs[i])
	}
	open = append(open, e.settle(tentative)...)
	e.search = searchTrial
	e.layout, err = e.split()
	return e, open, unmet, err
}

// reachAll looks for a table of each need of a list, and returns those that none was found
// for, in the list's own memory.
func (e *engine) reachAll(waiting []int32) (still []int32, err error) {
	if e.search != searchLast && len(waiting) > manyNeeds && !e.someReached(waiting) {
		return waiting, nil
	}
	still = waiting[:0]
	for _, i := range waiting {
		if err := e.q.Stopped(); err != nil {
			return nil, err
		}
		if w, ok := e.reach(&e.needs[i]); ok {
			e.remember(i, w)
		} else {
			still = append(still, i)
		}
	}
	return still, nil
}

// manyNeeds is the number of needs from which a level is tried by some of them first.
const manyNeeds = 5000

// someReached reports whether tables are found for a quarter of some needs, evenly apart.
func (e *engine) someReached(waiting []int32) bool {
	const some = 64
	reached := 0
	for k := range some {
		if _, ok := e.reach(&e.needs[waiting[k*len(waiting)/some]]); ok {
			reached++
		}
	}
	return 4*reached >= some
}

// settle publishes those of the cells that no need has come to use, returns the others, and
// counts what is hidden.
func (e *engine) settle(tentative []int32) (used []int32) {
	for _, c := range tentative {
		if len(e.usedBy[c]) > 0 {
			used = append(used, c)
		} else {
			e.hide([]int32{c}, false)
		}
	}
	e.hidden = 0
	for _, h := range e.q.Hidden {
		if h {
			e.hidden++
		}
	}
	return used
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

// fewNeeds is the share, one in so many, of needs that no longer count as most.
const fewNeeds = 20

// split makes the components of what is hidden now.
func (e *engine) split() (layout, error) {
	parts, _, err := audit.Components(e.q)
	l := layout{parts: parts, partOf: make([]int32, len(e.q.Value)), column: make([]int32, len(e.q.Value))}
	for c := range l.partOf {
		l.partOf[c] = -1
	}
	for i := range parts {
		l.huge = l.huge || parts[i].Huge()
		for j, c := range parts[i].Cells {
			l.partOf[c], l.column[c] = int32(i), int32(j)
		}
	}
	for _, h := range e.q.Hidden {
		if h {
			l.open++
		}
	}
	return l, err
}

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

// solve looks for one table that reaches a need, and returns what it changes.
func (e *engine) solve(n *need) ([]int32, bool) {
	cells, _ := e.table(n)
	return cells, cells != nil
}

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

// publish publishes as many of the cells as the needs allow, in their order, and
// returns those that stay hidden: all at once where that goes, else half by half. When
// the time is over what was not tried stays hidden.
func (e *engine) publish(cells []int32) (kept []int32, err error) {
	if len(cells) == 0 {
		return nil, nil
	}
	if err := e.q.Stopped(); err != nil {
		return nil, err
	}
	if e.short = e.short || !e.until.IsZero() && !time.Now().Before(e.until); e.short {
		return cells, nil
	}
	ok, err := e.try(cells)
	if err != nil || ok {
		return nil, err
	}
	if len(cells) == 1 {
		return cells, nil
	}
	first, err := e.publish(cells[:len(cells)/2])
	if err != nil {
		return nil, err
	}
	second, err := e.publish(cells[len(cells)/2:])
	return append(first, second...), err
}

// try publishes a batch if every need can still be met; else nothing of it. A large
// batch is tried in a layout of its own, which is small, a small one in the present
// layout, where its cells are fixed.
func (e *engine) try(cells []int32) (ok bool, err error) {
	before := e.layout
	apart := e.hidden-len(cells) < before.open*2/3
	e.hide(cells, false)
	defer func() {
		if !ok {
			e.hide(cells, true)
		}
	}()
	users := e.users(cells)
	if apart {
		if e.layout, err = e.split(); err != nil {
			return false, err
		}
	} else if err := e.each(cells, (*audit.Component).Fix); err != nil {
		return false, err
	}
	if len(users) == 0 {
		return true, nil
	}
	e.Trials++
	if ok = e.renew(users, len(cells)); ok {
		return true, nil
	}
	if apart {
		e.layout = before
		return false, nil
	}
	return false, e.each(cells, func(p *audit.Component, j int) error { return p.Free(e.q, j) })
}

// renew finds new witnesses for needs. Those that were found stay where others are
// missing: what is good for a batch is good for its parts.
func (e *engine) renew(needs []int32, batch int) bool {
	ok, missing := true, 0
	for _, i := range needs {
		if w, reached := e.reach(&e.needs[i]); reached {
			e.forget(i)
			e.remember(i, w)
			continue
		}
		ok = false
		e.needs[i].failed++
		if missing++; batch < lookAhead || missing >= enoughMissing && e.layout.huge {
			break
		}
	}
	return ok
}

// lookAhead is the size from which a batch that has failed goes on looking for
// witnesses of the other needs: that so few of them change its cells pays later.
const lookAhead = 64

// enoughMissing is how many needs without a witness end the look at a batch in a huge
// component.
const enoughMissing = 16

func (e *engine) hide(cells []int32, hidden bool) {
	for _, c := range cells {
		e.q.Hidden[c] = hidden
	}
	if hidden {
		e.hidden += len(cells)
	} else {
		e.hidden -= len(cells)
	}
}

// each does something to the columns of cells.
func (e *engine) each(cells []int32, do func(*audit.Component, int) error) error {
	for _, c := range cells {
		if p := e.layout.partOf[c]; p >= 0 {
			if err := do(&e.layout.parts[p], int(e.layout.column[c])); err != nil {
				return err
			}
		}
	}
	return nil
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
