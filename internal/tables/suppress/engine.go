package suppress

import (
	"time"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// need is one end that a range must reach.
type need struct {
	cell      int32
	up        bool
	amount    float64
	witnesses []witness // tables that reach it: for every knower one that changes none of her cells
	changes   int32     // how often these were others before
	failed    int       // how often they were not found
}

// witness is a table that agrees with what is published: the cells that deviate from their
// true values, and by how much.
type witness struct {
	cells []int32
	by    []float64
}

// use says that a need had witnesses that change a cell; it has others where it changed them
// since.
type use struct{ need, changes int32 }

// engine keeps a set of hidden cells in which every need is met.
type engine struct {
	q      audit.Question
	needs  []need
	layout layout
	hidden int
	usedBy [][]use // of a cell that may be published: the needs whose witness changes it, and some whose witness did
	may    []bool  // cells that may be published

	knower  []int32           // of a cell: who knows its value, -1 for nobody; nil for none at all
	knownBy map[int32][]int32 // the cells that a knower knows

	until time.Time // when to be content with what was published until then; zero: never
	short bool      // that was so

	left   int64 // work that is left for programs over large components, where the answer may be no
	search int   // partial tables to look at for a whole one

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
	e = &engine{q: q, usedBy: make([][]use, len(q.Value)), may: make([]bool, len(q.Value)), needs: needs, knower: knower, knownBy: map[int32][]int32{}, left: programWork}
	for c, k := range knower {
		if k >= 0 {
			e.knownBy[k] = append(e.knownBy[k], int32(c))
		}
	}
	for _, l := range levels {
		for _, c := range l {
			e.may[c] = true
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
		if w, ok := e.reach(i); ok {
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
		if _, ok := e.reach(waiting[k*len(waiting)/some]); ok {
			reached++
		}
	}
	return 4*reached >= some
}

// settle publishes those of the cells that no need has come to use, returns the others, and
// counts what is hidden.
func (e *engine) settle(tentative []int32) (used []int32) {
	for _, c := range tentative {
		if len(e.usersOf(c)) > 0 {
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
