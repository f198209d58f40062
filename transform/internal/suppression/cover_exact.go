package suppression

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Bounds of the exact search.
const (
	mostExactStates  = 96
	mostExactTargets = 256
	mostExactWork    = 1 << 20
)

// exact finds the records and cells of least cost by branch and bound, if the problem is small
// enough. It reports whether the search was complete. A step takes a target that lacks candidates and makes one more
// record a candidate by hiding the cells in which it contradicts; every cover is a sequence of such steps.
func (c *cover) exact() ([]coverState, bool) {
	if len(c.states) > mostExactStates || len(c.targets) > mostExactTargets {
		return nil, false
	}
	e := &exactCover{c: c, classes: len(c.classes.tuples), best: c.spent, found: c.hiddenStates(),
		seen: map[string]struct{}{}}
	e.work = mostExactWork
	e.short = make([]int32, len(c.targets))
	e.contradicts = make([][]uint16, len(c.targets))
	for i := range c.targets {
		t := &c.targets[i]
		e.short[i] = t.short
		e.contradicts[i] = make([]uint16, e.classes)
		for class := range e.classes {
			e.contradicts[i][class] = c.contradicts(int32(class), t)
		}
	}
	for class := range e.classes {
		e.states = append(e.states, coverState{int32(class), c.lacks[class], c.classes.counts[class]})
	}
	for _, s := range e.found { // the targets are short of what these records give them
		for i := range e.short {
			if d := e.contradicts[i][s.class]; d&^c.lacks[s.class] != 0 && d&^s.set == 0 {
				e.short[i] += s.n
			}
		}
	}
	e.search(0)
	return e.found, e.work > 0
}

type exactCover struct {
	c           *cover
	classes     int
	contradicts [][]uint16 // by target and class
	short       []int32    // by target
	states      []coverState
	best        float64
	found       []coverState
	seen        map[string]struct{}
	work        int
}

// step is a record that becomes a candidate of a target.
type exactStep struct {
	state int
	to    uint16
	cost  float64
	n     int32
}

func (e *exactCover) search(spent float64) {
	if e.work <= 0 || e.c.stopped(e.work) {
		return
	}
	var steps, tried []exactStep
	open, bound := false, 0.0
	for i, short := range e.short {
		if short <= 0 {
			continue
		}
		open = true
		e.work -= len(e.states)
		steps = steps[:0]
		for at, s := range e.states {
			if d := e.contradicts[i][s.class] &^ s.set; s.n > 0 && d != 0 {
				steps = append(steps, exactStep{at, s.set | d, e.c.cost[s.set|d] - e.c.cost[s.set], s.n})
			}
		}
		slices.SortFunc(steps, func(a, b exactStep) int {
			return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.state, b.state), cmp.Compare(a.to, b.to))
		})
		least, left := 0.0, short
		for _, s := range steps {
			n := min(left, s.n)
			least += float64(n) * s.cost
			if left -= n; left == 0 {
				break
			}
		}
		if left > 0 {
			return // not to be covered from here
		}
		if least > bound || tried == nil {
			bound, tried = least, slices.Clone(steps)
		}
	}
	if !open {
		if spent < e.best-1e-9*e.best {
			e.best, e.found = spent, e.hidden()
		}
		return
	}
	if spent+bound >= e.best-1e-9*e.best || e.known() {
		return
	}
	for _, s := range tried {
		from := e.states[s.state]
		at := e.take(s.state, s.to)
		e.serve(from, s.to, -1)
		e.search(spent + s.cost)
		e.serve(from, s.to, 1)
		e.states[at].n--
		e.states[s.state].n++
		if at == len(e.states)-1 && at >= e.classes && e.states[at].n == 0 {
			e.states = e.states[:at]
		}
	}
}

// take extends one record of a state and returns the place of its new state.
func (e *exactCover) take(state int, to uint16) int {
	e.states[state].n--
	class := e.states[state].class
	for at, s := range e.states {
		if s.class == class && s.set == to {
			e.states[at].n++
			return at
		}
	}
	e.states = append(e.states, coverState{class, to, 1})
	return len(e.states) - 1
}

// serve adds n to what each target is short of that a record serves by its extension.
func (e *exactCover) serve(from coverState, to uint16, n int32) {
	for i := range e.short {
		if d := e.contradicts[i][from.class]; d&^from.set != 0 && d&^to == 0 {
			e.short[i] += n
		}
	}
}

func (e *exactCover) hidden() (list []coverState) {
	for _, s := range e.states {
		if s.n > 0 && s.set != e.c.lacks[s.class] {
			list = append(list, s)
		}
	}
	return list
}

// known reports whether the search has been here before, by other steps, and notes that it has.
func (e *exactCover) known() bool {
	list := e.hidden()
	slices.SortFunc(list, func(a, b coverState) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.set, b.set))
	})
	var key []byte
	for _, s := range list {
		key = binary.LittleEndian.AppendUint32(key, uint32(s.class))
		key = binary.LittleEndian.AppendUint16(key, s.set)
		key = binary.LittleEndian.AppendUint32(key, uint32(s.n))
	}
	if _, ok := e.seen[string(key)]; ok {
		return true
	}
	if len(e.seen) < 1<<16 {
		e.seen[string(key)] = struct{}{}
	}
	return false
}
