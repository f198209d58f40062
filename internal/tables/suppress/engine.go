package suppress

import (
	"time"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// need is a requirement on one end of an interval: the cell must be able to deviate by
// amount, up or down.
type need struct {
	cell      int32
	up        bool
	amount    float64
	witnesses []witness // tables that meet it: for every coalition of knowers one that changes none of their cells
	changes   int32     // number of earlier sets of witnesses
	failed    int       // number of searches without success
}

// witness is a table that agrees with the published cells: the cells that deviate from
// their true values, and their deviations.
type witness struct {
	cells []int32
	by    []float64
}

// use says that a witness of a need changes a cell. It is out of date if the need's number
// of changes differs.
type use struct{ need, changes int32 }

// engine keeps a set of hidden cells in which every need is met.
type engine struct {
	q      audit.Question
	needs  []need
	layout layout
	hidden int
	usedBy [][]use // of a cell that may be published: the needs whose witness changes it, and some outdated ones
	may    []bool  // cells that may be published

	knowers *tables.Knowers // the respondents who know cells; nil if the pattern need not withstand them

	until time.Time // end of the search for cells to publish; zero: no limit
	short bool      // the time limit ended the search

	left   int64 // remaining work for programs over large components in trials
	search int   // partial tables in a search for a table of whole numbers
	last   int   // of it when all candidates are hidden, and in the audit
	mends  bool  // search by Mend first: for counts with many needs
	quick  bool  // search by nothing else

	Trials, Programs int
}

// layout holds the components of the cells that were hidden at its creation.
type layout struct {
	parts  []audit.Component
	partOf []int32 // of a cell, -1 outside
	column []int32
	open   int
	huge   bool // at least one component is huge
}

// newEngine hides cells level by level until every need can be met: first only the
// cells that are hidden in q, then also those of the first level, of the second level,
// and so on. A need keeps the witnesses of the first level that meets it. Once most
// needs are met, only those cells of further levels stay hidden that the witnesses of
// the remaining needs change. unmet lists the needs that no level meets; the engine
// continues without them. open lists the hidden cells of the levels.
func newEngine(q audit.Question, needs []need, levels [][]int32, knowers *tables.Knowers, last int) (e *engine,
	open []int32, unmet []need, err error) {
	e = &engine{q: q, usedBy: make([][]use, len(q.Value)), may: make([]bool, len(q.Value)), needs: needs, knowers: knowers,
		left: programWork, last: last}
	if e.mends = q.Counts && len(needs) > mendingNeeds; e.mends {
		e.left = searchWork
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
	var tentative []int32 // hidden for few needs only
	for l := 0; l <= len(levels) && len(waiting) > 0; l++ {
		if l > 0 {
			e.hide(levels[l-1], true)
			if len(waiting) > len(needs)/fewNeeds {
				open = append(open, levels[l-1]...)
			} else {
				tentative = append(tentative, levels[l-1]...)
			}
		}
		if e.search, e.quick = searchTrial, e.mends; l == len(levels) {
			e.search, e.quick = last, false
		}
		if e.layout, err = e.split(); err != nil {
			return nil, nil, nil, err
		}
		if waiting, err = e.reachAll(waiting); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := q.Stopped(); err != nil { // Stop may have ended the searches for unmet needs
		return nil, nil, nil, err
	}
	for _, i := range waiting {
		unmet = append(unmet, needs[i])
	}
	open = append(open, e.settle(tentative)...)
	e.search, e.quick = searchTrial, e.mends
	e.layout, err = e.split()
	return e, open, unmet, err
}

// mendingNeeds (tests change it) is the number of needs above which counts are protected in two passes, a quick
// one first. With fewer needs a single pass with long searches is fast, and holds back slightly fewer cells.
var mendingNeeds = 200

// reachAll searches for witnesses of each need of a list and returns the needs without
// one. It reuses the memory of the list.
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

// manyNeeds is the number of needs above which a level is first tried with a sample of
// them.
const manyNeeds = 5000

// someReached reports whether at least a quarter of a sample of 64 evenly spaced needs is
// met.
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

// settle publishes the tentative cells that no need uses, returns the others, and counts
// the hidden cells.
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

// fewNeeds: if at most one in fewNeeds needs is unmet, further levels are hidden
// tentatively.
const fewNeeds = 20

// split returns the components of the cells that are hidden now.
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

// each calls do for the component and the column of each of the cells that has one.
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
