package tablerisk

import (
	"encoding/binary"
	"slices"
)

// mostEdges is the greatest number of steps from one partial table to the next for which beliefs
// are computed exactly.
const mostEdges = 1 << 18

// mostValues is the greatest number of counts of all tables together if each table is a state by itself.
const mostValues = 1 << 24

// layer is a step of the computation: a cell gets each of its possible counts in turn, and the counts of
// other cells follow from it.
type layer struct {
	set    []assignment
	keep   []int32 // slots that later steps need
	checks []check // of open sums
}

// assignment gives a cell its count: that of the step, or the one that a sum leaves.
type assignment struct {
	cell  int32
	by    int32   // sum; −1: the count of the step
	shut  []int32 // sums that have all their counts now, and must hold
	ready []int32 // cells whose likelihood can be computed now
}

// check says that an open sum must still be able to hold: low ≤ difference ≤ high.
type check struct {
	sum       int32
	low, high int64
}

// A partial table has slots, numbered in this order: differences of sums, parts of sums, values of
// cells. Of every sum: the difference between its known parts and its total if known, and how many of its known parts
// are not 0: 0, 1 and published as the total is, 1 and not so, or more. Of every cell: its count.
const (
	noPart = iota
	onePart
	oneOther
	moreParts
)

// partial is a partial table.
type partial struct {
	j                 *Joint
	difference, parts []int64
	value             []int64
}

// exact computes the beliefs by elimination: tables that agree in all that later steps need are
// one. It reports false if that takes too many steps.
func (j *Joint) exact() bool {
	for c := range j.cells {
		if len(j.sums[c]) == 0 && j.cells[c].high-j.cells[c].low > 1000 {
			return false
		}
	}
	var best []layer
	for _, order := range j.orders() {
		if plan := j.plan(order); plan != nil && (best == nil || widest(plan) < widest(best)) {
			best = plan
		}
	}
	e := elimination{j: j, plan: best}
	return e.forward() && e.backward()
}

// orders returns orders of the cells: as numbered, and with the last variable first.
func (j *Joint) orders() [][]int32 {
	n := j.release.Set.Cells()
	if n > 2000 {
		return nil
	}
	a := make([]int32, n)
	nodes := make([][]int, n)
	for c := range a {
		a[c] = int32(c)
		_, of := j.release.Set.Home(c)
		slices.Reverse(of)
		nodes[c] = of
	}
	b := slices.Clone(a)
	slices.SortStableFunc(b, func(x, y int32) int { return slices.Compare(nodes[x], nodes[y]) })
	return [][]int32{a, b}
}

func widest(plan []layer) (n int) {
	for i := range plan {
		n = max(n, len(plan[i].keep))
	}
	return n
}

// plan orders the steps. Only inner cells are free; totals follow.
func (j *Joint) plan(order []int32) (plan []layer) {
	set := j.release.Set
	sums := j.release.Set.Sums()
	open := make([]int, sums)
	for i := range open {
		open[i] = len(set.Sum(i).Parts) + 1
	}
	known := make([]bool, len(j.cells))
	waits := make([]int, len(j.cells)) // open sums of a total
	for c := range waits {
		waits[c] = len(j.sums[c])
	}
	give := func(l *layer, cell, by int32) {
		type next struct{ cell, by int32 }
		for queue := []next{{cell, by}}; len(queue) > 0; queue = queue[1:] {
			q := queue[0]
			if known[q.cell] {
				continue
			}
			known[q.cell] = true
			a := assignment{cell: q.cell, by: q.by}
			if waits[q.cell] == 0 {
				a.ready = append(a.ready, q.cell)
			}
			for _, i := range slices.Concat(j.in[q.cell], j.sums[q.cell]) {
				s := set.Sum(int(i))
				switch open[i]--; open[i] {
				case 0:
					a.shut = append(a.shut, i)
					if waits[s.Total]--; waits[s.Total] == 0 {
						a.ready = append(a.ready, s.Total)
					}
				case 1:
					rest := s.Total
					for _, p := range s.Parts {
						if !known[p] {
							rest = p
						}
					}
					queue = append(queue, next{rest, i})
				}
			}
			l.set = append(l.set, a)
		}
	}
	for _, c := range order {
		if known[c] || len(j.sums[c]) > 0 {
			continue
		}
		var l layer
		give(&l, c, -1)
		l.keep, l.checks = j.openOf(known, open, waits)
		plan = append(plan, l)
	}
	return plan
}

// openOf returns the slots of what is open between two steps, and what open sums must satisfy.
func (j *Joint) openOf(known []bool, open, waits []int) (keep []int32, checks []check) {
	set := j.release.Set
	sums := j.release.Set.Sums()
	for i := range open {
		s := set.Sum(i)
		if open[i] == len(s.Parts)+1 {
			continue
		}
		if j.single[s.Total] && waits[s.Total] > 0 {
			keep = append(keep, int32(sums+i))
		}
		if open[i] == 0 {
			continue
		}
		keep = append(keep, int32(i))
		k := check{sum: int32(i)}
		for _, p := range s.Parts {
			if !known[p] {
				k.low, k.high = k.low-j.cells[p].high, k.high-j.cells[p].low
			}
		}
		if t := j.cells[s.Total]; !known[s.Total] {
			k.low, k.high = k.low+t.low, k.high+t.high
		}
		checks = append(checks, k)
	}
	for c := range j.cells {
		if known[c] && (waits[c] > 0 || j.linked) {
			keep = append(keep, int32(2*sums+c))
		}
	}
	return keep, checks
}

// put gives a cell its count, and returns the likelihood of all that follows at once; 0 if it cannot be.
func (p *partial) put(a *assignment, count int64) float64 {
	j := p.j
	k := &j.cells[a.cell]
	if count < k.low || count > k.high {
		return 0
	}
	p.value[a.cell] = count
	for _, i := range j.in[a.cell] {
		p.difference[i] += count
		if count == 0 {
			continue
		}
		switch total := j.release.Set.Sum(int(i)).Total; {
		case p.parts[i] != noPart:
			p.parts[i] = moreParts
		case j.release.Published[total] == j.release.Published[a.cell]:
			p.parts[i] = onePart
		default:
			p.parts[i] = oneOther
		}
	}
	for _, i := range j.sums[a.cell] {
		p.difference[i] -= count
	}
	for _, i := range a.shut {
		if p.difference[i] != 0 {
			return 0
		}
	}
	w := 1.0
	for _, c := range a.ready {
		w *= p.likelihood(c)
	}
	return w
}

// likelihood returns the likelihood of the count of a cell.
func (p *partial) likelihood(c int32) float64 {
	k := &p.j.cells[c]
	q := 1.0
	if k.p != nil {
		q = k.p[p.value[c]-k.low]
	}
	if !p.j.single[c] {
		return q
	}
	same := false
	for _, i := range p.j.sums[c] {
		switch p.parts[i] {
		case onePart:
			same = true
		case oneOther:
			return 0
		}
	}
	if same && q > 0 {
		return 1
	}
	return q
}

// edge leads from a partial table to a larger one.
type edge struct {
	from, to int32
	weight   float64
}

// elimination is the computation over all steps.
type elimination struct {
	j     *Joint
	plan  []layer
	edges [][]edge
	seen  [][]int64 // of a step: the counts of its wanted cells, edge by edge
	of    [][]int32 // of a step: its wanted cells
	alpha [][]float64
	last  []float64 // of a whole table: what its weight still lacks
}

// forward computes for every partial table the likelihood of all tables that lead to it.
func (e *elimination) forward() bool {
	if e.plan == nil {
		return false
	}
	j := e.j
	sums := j.release.Set.Sums()
	p := &partial{j: j, difference: make([]int64, sums), parts: make([]int64, sums), value: make([]int64, len(j.cells))}
	states := [][]int64{nil}
	keep := []int32(nil)
	e.alpha = [][]float64{{1}}
	left := j.edges
	if j.linked { // every table by itself
		left = min(left, mostValues/len(j.cells))
	}
	var buffer []byte
	for i := range e.plan {
		l := &e.plan[i]
		if j.release.stopped() != nil {
			return false
		}
		var wanted []int32
		for _, a := range l.set {
			if j.place[a.cell] >= 0 {
				wanted = append(wanted, a.cell)
			}
		}
		index := map[string]int32{}
		var next [][]int64
		var alpha []float64
		var edges []edge
		var seen []int64
		free := &j.cells[l.set[0].cell]
		for from, state := range states {
			for count := free.low; count <= free.high; count++ {
				if left--; left < 0 {
					return false
				}
				p.load(keep, state)
				w := p.step(l, count)
				if w > 0 {
					buffer = p.save(l.keep, buffer[:0])
					to, known := index[string(buffer)]
					if !known {
						to = int32(len(next))
						index[string(buffer)] = to
						next, alpha = append(next, p.state(l.keep)), append(alpha, 0)
					}
					alpha[to] += e.alpha[i][from] * w
					edges = append(edges, edge{int32(from), to, w})
					for _, c := range wanted {
						seen = append(seen, p.value[c])
					}
				}
				p.clear(keep, l)
			}
		}
		if len(next) == 0 {
			return false // cannot be: the true table is possible
		}
		normalize(alpha)
		states, keep = next, l.keep
		if i == len(e.plan)-1 {
			e.last = j.corrections(keep, states)
		}
		e.alpha, e.edges, e.seen, e.of = append(e.alpha, alpha), append(e.edges, edges), append(e.seen, seen),
			append(e.of, wanted)
	}
	return true
}

// step makes the assignments of a layer; it returns 0 if the partial table cannot be.
func (p *partial) step(l *layer, count int64) float64 {
	w := 1.0
	for k := range l.set {
		a := &l.set[k]
		v := count
		if a.by >= 0 {
			v = p.difference[a.by]
			if p.j.release.Set.Sum(int(a.by)).Total != a.cell {
				v = -v
			}
		}
		if w *= p.put(a, v); w == 0 {
			return 0
		}
	}
	for _, k := range l.checks {
		if d := p.difference[k.sum]; d < k.low || d > k.high {
			return 0
		}
	}
	return w
}

func (p *partial) slot(s int32) *int64 {
	switch sums := int32(len(p.difference)); {
	case s < sums:
		return &p.difference[s]
	case s < 2*sums:
		return &p.parts[s-sums]
	default:
		return &p.value[s-2*sums]
	}
}

func (p *partial) load(keep []int32, state []int64) {
	for k, s := range keep {
		*p.slot(s) = state[k]
	}
}

func (p *partial) state(keep []int32) []int64 {
	state := make([]int64, len(keep))
	for k, s := range keep {
		state[k] = *p.slot(s)
	}
	return state
}

func (p *partial) save(keep []int32, b []byte) []byte {
	for _, s := range keep {
		b = binary.AppendVarint(b, *p.slot(s))
	}
	return b
}

// clear sets to 0 what a step and its state have set.
func (p *partial) clear(keep []int32, l *layer) {
	for _, s := range keep {
		*p.slot(s) = 0
	}
	for _, a := range l.set {
		for _, i := range p.j.in[a.cell] {
			p.difference[i], p.parts[i] = 0, 0
		}
		for _, i := range p.j.sums[a.cell] {
			p.difference[i] = 0
		}
	}
}

// backward computes the beliefs.
func (e *elimination) backward() bool {
	j := e.j
	counts := make([][]float64, len(j.wanted))
	for k, c := range j.wanted {
		counts[k] = make([]float64, j.cells[c].high-j.cells[c].low+1)
	}
	beta := e.last
	for i := len(e.plan) - 1; i >= 0; i-- {
		before := make([]float64, len(e.alpha[i]))
		seen, n := e.seen[i], len(e.of[i])
		for k, x := range e.edges[i] {
			w := x.weight * beta[x.to]
			before[x.from] += w
			w *= e.alpha[i][x.from]
			for m, c := range e.of[i] {
				counts[j.place[c]][seen[k*n+m]-j.cells[c].low] += w
			}
		}
		normalize(before)
		beta = before
	}
	for k, c := range j.wanted {
		normalize(counts[k])
		j.beliefs = append(j.beliefs, trimmed(&Belief{First: j.cells[c].low, P: counts[k]}))
	}
	return true
}

func normalize(p []float64) {
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	for i := range p {
		p[i] /= sum
	}
}

// trimmed removes counts of probability 0 from both ends.
func trimmed(b *Belief) *Belief {
	from, to := 0, len(b.P)
	for from < to && b.P[from] == 0 {
		from++
	}
	for to > from && b.P[to-1] == 0 {
		to--
	}
	b.First, b.P = b.First+int64(from), b.P[from:to]
	for i := range b.Chains {
		b.Chains[i] = b.Chains[i][from:to]
	}
	return b
}
