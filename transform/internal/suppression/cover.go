package suppression

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// cover hides cells if a missing cell may be any value. A respondent (target) that has fewer than
// k candidates gets one more for each record that loses all cells in which it contradicts what is
// known of the respondent. So the targets are to be covered, each as often as it lacks candidates,
// at the least cost of cells. The cover is found by repeatedly extending the record and the set of
// cells that serve most targets for their cost; then cells are given back that are not needed, and
// records are taken back one by one if the others cover what they did at lower cost. A small problem
// is solved exactly.
type cover struct {
	*Search
	only    []packed // by key: its bits
	targets []target
	kinds   []uint16        // the sets of keys that are not known of targets
	open    [][]*tupleTable // by kind and set: the targets that lack candidates, without the keys of the set
	states  []coverState
	at      map[coverPlace]int32
	heap    coverHeap
	spent   float64
	lacking int     // targets that lack candidates
	changed []int32 // targets that have begun or ceased to lack some in the last move
}

// target is what a snooper knows of respondents who have fewer than k candidates before cells are
// hidden.
type target struct {
	tuple packed
	kind  int32
	short int32 // candidates that it lacks; below 0: has beyond k
}

// coverState are records of a class that miss the same keys.
type coverState struct {
	class int32
	set   uint16
	n     int32
}

type coverPlace struct {
	class int32
	set   uint16
}

// hideLoosely is Hide if a missing cell may be any value.
func (s *Search) hideLoosely() (map[int32][]lacking, *decision.Refusal) {
	c := &cover{Search: s}
	if err := c.findTargets(); err != nil {
		return nil, err
	}
	if len(c.targets) == 0 || s.Stop.Now() {
		return nil, nil
	}
	c.begin()
	c.extend()
	c.giveBack()
	c.improve()
	return c.plan(), nil
}

// plan returns what is hidden.
func (c *cover) plan() map[int32][]lacking {
	plan := map[int32][]lacking{}
	for _, s := range c.states {
		if s.n > 0 && s.set != c.lacks[s.class] {
			plan[s.class] = append(plan[s.class], lacking{s.set, s.n})
		}
	}
	return plan
}

// byLacks returns the classes by the keys that they miss, and these sets in ascending order.
func (s *Search) byLacks() (map[uint16][]int32, []uint16) {
	by := map[uint16][]int32{}
	var sets []uint16
	for class, set := range s.lacks {
		if by[set] == nil {
			sets = append(sets, set)
		}
		by[set] = append(by[set], int32(class))
	}
	slices.Sort(sets)
	return by, sets
}

// findTargets counts the candidates of all respondents, for everything that can be known of them.
func (c *cover) findTargets() *decision.Refusal {
	by, sets := c.byLacks()
	of := map[uint16][]uint16{} // by the keys that are not known: the keys that a class misses
	var kinds []uint16
	for _, set := range sets {
		for _, unknown := range c.unknown() {
			kind := set | unknown
			if of[kind] == nil {
				kinds = append(kinds, kind)
			}
			if !slices.Contains(of[kind], set) {
				of[kind] = append(of[kind], set)
			}
		}
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		var known tupleTable
		for _, set := range of[kind] {
			for i, class := range by[set] {
				if c.stopped(i) {
					return nil
				}
				known.add(c.classes.tuples[class].and(c.keep[kind]), 1)
			}
		}
		candidates := make([]int64, len(known.tuples))
		for _, set := range sets {
			var without tupleTable
			for _, class := range by[set] {
				without.add(c.classes.tuples[class].and(c.keep[set|kind]), c.classes.counts[class])
			}
			for at, tuple := range known.tuples {
				if c.stopped(at) {
					return nil
				}
				if i := without.find(tuple.and(c.keep[set])); i >= 0 {
					candidates[at] += int64(without.counts[i])
				}
			}
		}
		before := len(c.targets)
		for at, n := range candidates {
			if n < int64(c.K) {
				c.targets = append(c.targets, target{known.tuples[at], int32(len(c.kinds)), int32(c.K) - int32(n)})
			}
		}
		if len(c.targets) > before {
			c.kinds = append(c.kinds, kind)
		}
		if len(c.targets) > mostTuples {
			return &decision.Refusal{
				Text: fmt.Sprintf(
					"must not be used on so many rare combinations: more than %d would be counted in memory; recode the keys more coarsely first, or name fewer of them", mostTuples)}
		}
	}
	return nil
}

// begin prepares the search: no cell is hidden.
func (c *cover) begin() {
	keys := len(c.Weights)
	c.only = make([]packed, keys)
	for j := range c.only {
		c.only[j] = c.key(j)
	}
	c.at = map[coverPlace]int32{}
	c.states = make([]coverState, len(c.classes.tuples))
	for class := range c.states {
		c.states[class] = coverState{int32(class), c.lacks[class], c.classes.counts[class]}
	}
	c.lacking = len(c.targets)
	c.open = make([][]*tupleTable, len(c.kinds))
	for k := range c.open {
		c.open[k] = make([]*tupleTable, len(c.keep))
	}
}

// served returns the number of open targets of which a record of a class would be a candidate
// without the keys of a set.
func (c *cover) served(class int32, set uint16) (n int32) {
	tuple := c.classes.tuples[class]
	for k, kind := range c.kinds {
		t := c.table(k, set)
		if i := t.find(tuple.and(c.keep[set|kind])); i >= 0 {
			n += t.counts[i]
		}
	}
	return n
}

// table counts the open targets of a kind that are the same without the keys of a set.
func (c *cover) table(kind int, set uint16) *tupleTable {
	set |= c.kinds[kind]
	t := c.open[kind][set]
	if t == nil {
		t = &tupleTable{}
		for i := range c.targets {
			if o := &c.targets[i]; int(o.kind) == kind && o.short > 0 {
				t.add(o.tuple.and(c.keep[set]), 1)
			}
		}
		c.open[kind][set] = t
	}
	return t
}

// settle enters in the tables that targets lack candidates, or do so no more. Tables of which much changes are
// made again when they are needed.
func (c *cover) settle(changed []int32) {
	for _, i := range changed {
		n := int32(1)
		if c.targets[i].short <= 0 {
			n = -1
		}
		c.lacking += int(n)
		if len(changed) > len(c.targets)/8 {
			continue
		}
		t := &c.targets[i]
		for set, table := range c.open[t.kind] {
			if table != nil {
				table.add(t.tuple.and(c.keep[set]), n)
			}
		}
	}
	if len(changed) > len(c.targets)/8 {
		for _, tables := range c.open {
			clear(tables)
		}
	}
}

// contradicts returns the keys in which a record of a class has another value than what is known.
func (c *cover) contradicts(class int32, t *target) (set uint16) {
	tuple := c.classes.tuples[class]
	either := c.lacks[class] | c.kinds[t.kind]
	for j, only := range c.only {
		if either>>j&1 == 0 && tuple.and(only) != t.tuple.and(only) {
			set |= 1 << j
		}
	}
	return set
}

// move releases one record of a state without the keys of another set, more or fewer. It returns
// the new state.
func (c *cover) move(from int32, to uint16) int32 {
	s := c.states[from]
	c.states[from].n--
	at := s.class
	if to != c.lacks[s.class] {
		var ok bool
		if at, ok = c.at[coverPlace{s.class, to}]; !ok {
			at = int32(len(c.states))
			c.at[coverPlace{s.class, to}] = at
			c.states = append(c.states, coverState{s.class, to, 0})
		}
	}
	c.states[at].n++
	c.spent += c.cost[to] - c.cost[s.set]
	c.changed = c.changed[:0]
	for i := range c.targets {
		t := &c.targets[i]
		d := c.contradicts(s.class, t)
		was, is := d&^s.set == 0, d&^to == 0
		switch {
		case is && !was:
			if t.short--; t.short == 0 {
				c.changed = append(c.changed, int32(i))
			}
		case was && !is:
			if t.short++; t.short == 1 {
				c.changed = append(c.changed, int32(i))
			}
		}
	}
	c.settle(c.changed)
	return at
}

// coverMove is the extension of one record of a state to a set.
type coverMove struct {
	ratio float64
	state int32
	to    uint16
}

type coverHeap []coverMove

func (h coverHeap) Len() int { return len(h) }
func (h coverHeap) Less(i, j int) bool {
	a, b := &h[i], &h[j]
	switch {
	case a.ratio != b.ratio:
		return a.ratio > b.ratio
	case a.state != b.state:
		return a.state < b.state
	}
	return a.to < b.to
}
func (h coverHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *coverHeap) Push(x any)   { *h = append(*h, x.(coverMove)) }
func (h *coverHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// ratio returns the number of open targets that a record of a state would serve for each unit of
// cost if it were extended to a set.
func (c *cover) ratio(state int32, to uint16) float64 {
	s := c.states[state]
	n := c.served(s.class, to) - c.served(s.class, s.set)
	return float64(n) / (c.cost[to] - c.cost[s.set])
}

// moves adds the extensions of a state to some of the sets.
func (c *cover) moves(state int32, sets []uint16, add func(coverMove)) {
	s := c.states[state]
	if s.n == 0 {
		return
	}
	for _, to := range sets {
		if to == s.set || s.set&^to != 0 {
			continue
		}
		if r := c.ratio(state, to); r > 0 {
			add(coverMove{r, state, to})
		}
	}
}

// fewOpen is the number of open targets up to which each is compared with each state.
const fewOpen = 24

// directMoves adds the extensions of all states to sets that serve some of a few open targets, or all of them.
func (c *cover) directMoves(add func(coverMove)) {
	var open []*target
	for i := range c.targets {
		if t := &c.targets[i]; t.short > 0 {
			open = append(open, t)
		}
	}
	sets, each := make([]uint16, 0, fewOpen+1), make([]uint16, len(open))
	for at, s := range c.states {
		if c.stopped(at) {
			return
		}
		if s.n == 0 {
			continue
		}
		sets = sets[:0]
		union := s.set
		for i, t := range open {
			each[i] = c.contradicts(s.class, t) &^ s.set
			union |= each[i]
			if to := s.set | each[i]; to != s.set && !slices.Contains(sets, to) {
				sets = append(sets, to)
			}
		}
		for i, n := 0, len(sets); i < n; i++ {
			for j := range i {
				if to := sets[i] | sets[j]; !slices.Contains(sets, to) && len(sets) < cap(sets) {
					sets = append(sets, to)
				}
			}
		}
		if !slices.Contains(sets, union) {
			sets = append(sets, union)
		}
		for _, to := range sets {
			n := 0
			for _, d := range each {
				if d != 0 && d&^to == 0 {
					n++
				}
			}
			if n > 0 {
				add(coverMove{float64(n) / (c.cost[to] - c.cost[s.set]), int32(at), to})
			}
		}
	}
}

// worthTrying returns the sets that may serve as many open targets for their cost as all cells
// would, and the greatest number of targets for the cost of the others.
func (c *cover) worthTrying() (sets []uint16, beyond float64) {
	all := c.sets[len(c.sets)-1]
	least := float64(c.lacking) / c.cost[all]
	step := max(1, len(c.targets)*len(c.sets)*len(c.kinds)>>24)
	for at, set := range c.sets[1:] {
		if at%64 == 0 && c.stop() {
			return nil, 0
		}
		most := float64(c.lacking)
		if set != all && step == 1 {
			most = 0
			for k := range c.kinds {
				most += float64(slices.Max(append([]int32{0}, c.table(k, set).counts...)))
			}
		}
		switch r := most / c.cost[set]; {
		case set == all, step == 1 && r >= least:
			sets = append(sets, set)
		case step == 1:
			beyond = max(beyond, r)
		}
	}
	return sets, beyond
}

// extend hides cells until no target lacks candidates.
func (c *cover) extend() {
	for c.lacking > 0 && !c.stop() {
		c.heap = c.heap[:0]
		beyond, direct := 0.0, c.lacking <= fewOpen
		var sets []uint16
		if direct {
			c.directMoves(func(m coverMove) { c.heap = append(c.heap, m) })
		} else {
			sets, beyond = c.worthTrying()
			for state := range c.states {
				if c.stopped(state) {
					return
				}
				c.moves(int32(state), sets, func(m coverMove) { c.heap = append(c.heap, m) })
			}
		}
		heap.Init(&c.heap)
		c.follow(sets, beyond, direct)
	}
}

// follow makes the moves of the heap, the best ones first, until other moves may be better.
func (c *cover) follow(sets []uint16, beyond float64, direct bool) {
	for turn := 0; c.lacking > 0 && len(c.heap) > 0; turn++ {
		if turn%64 == 0 && c.stop() || turn > 0 && !direct && c.lacking <= fewOpen {
			return
		}
		m := heap.Pop(&c.heap).(coverMove)
		if c.states[m.state].n == 0 {
			continue
		}
		r := c.ratio(m.state, m.to)
		if r <= 0 {
			continue // it never serves more than before
		}
		if r < m.ratio {
			m.ratio = r
			heap.Push(&c.heap, m)
			continue
		}
		if turn > 0 && r < beyond {
			return
		}
		at := c.move(m.state, m.to)
		if direct {
			return // the records that have lost cells are compared again
		}
		if c.states[m.state].n > 0 {
			heap.Push(&c.heap, m)
		}
		if c.states[at].n == 1 {
			c.moves(at, sets, func(m coverMove) { heap.Push(&c.heap, m) })
		}
	}
}

// needed reports whether a target would lack candidates if a record of a state showed the keys of a
// set as well.
func (c *cover) needed(s coverState, shown uint16) bool {
	for i := range c.targets {
		if t := &c.targets[i]; t.short == 0 {
			if d := c.contradicts(s.class, t); d&^s.set == 0 && d&shown != 0 {
				return true
			}
		}
	}
	return false
}

// giveBack shows cells that are not needed, the dearest first.
func (c *cover) giveBack() {
	var order []int32
	for at, s := range c.states {
		if s.n > 0 && s.set != c.lacks[s.class] {
			order = append(order, int32(at))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Compare(c.cost[c.states[b].set], c.cost[c.states[a].set])
	})
	for turn, at := range order {
		if turn%64 == 0 && c.stop() {
			return
		}
		for c.states[at].n > 0 {
			s, best := c.states[at], c.states[at].set
			if c.freeCells(s) {
				for _, to := range c.sets {
					if to != s.set && to&^s.set == 0 && c.lacks[s.class]&^to == 0 && !c.needed(s, s.set&^to) {
						best = to
						break
					}
				}
			}
			if best == s.set {
				break
			}
			c.move(at, best)
		}
	}
}

// freeCells reports whether any single cell that a state hides is not needed.
func (c *cover) freeCells(s coverState) bool {
	for j := range c.Weights {
		if bit := uint16(1) << j; s.set&^c.lacks[s.class]&bit != 0 && !c.needed(s, bit) {
			return true
		}
	}
	return false
}

// mostWork bounds the steps of what follows the first search.
const mostWork = 1 << 22

// improve replaces the hidden cells by fewer if it finds some.
func (c *cover) improve() {
	if best, done := c.exact(); best != nil {
		c.replace(best)
		if done {
			return
		}
	}
	work := (len(c.states)*fewOpen + len(c.targets)*len(c.sets)) * len(c.kinds)
	for runs := mostWork / max(work, 1); runs > 0; {
		better := false
		for at := 0; at < len(c.states) && runs > 0; at++ {
			if s := c.states[at]; s.n == 0 || s.set == c.lacks[s.class] {
				continue
			}
			if c.stop() {
				return
			}
			runs--
			before, spent := c.hiddenStates(), c.spent
			c.move(int32(at), c.lacks[c.states[at].class])
			c.extend()
			c.giveBack()
			if c.stop() {
				return
			}
			if c.spent < spent-1e-9*spent {
				better = true
			} else {
				c.replace(before)
			}
		}
		if !better {
			return
		}
	}
}

// hiddenStates returns the records that lose cells.
func (c *cover) hiddenStates() (list []coverState) {
	for _, s := range c.states {
		if s.n > 0 && s.set != c.lacks[s.class] {
			list = append(list, s)
		}
	}
	return list
}

// replace hides the cells of a list of records, and no others.
func (c *cover) replace(list []coverState) {
	for at := range c.states {
		for s := c.states[at]; s.set != c.lacks[s.class] && c.states[at].n > 0; {
			c.move(int32(at), c.lacks[s.class])
		}
	}
	for _, s := range list {
		for range s.n {
			c.move(s.class, s.set)
		}
	}
	c.spent = 0
	for _, s := range list {
		c.spent += float64(s.n) * (c.cost[s.set] - c.cost[c.lacks[s.class]])
	}
}
