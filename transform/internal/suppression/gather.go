package suppression

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// gatherBound is a set of cells and the least cost, for each record that is made safe, at which records
// may be gathered without them.
type gatherBound struct {
	cost float64
	at   int32 // of the set, in the order of cost
}

type gatherHeap []gatherBound

func (h gatherHeap) Len() int { return len(h) }
func (h gatherHeap) Less(i, j int) bool {
	return h[i].cost < h[j].cost || h[i].cost == h[j].cost && h[i].at < h[j].at
}
func (h gatherHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *gatherHeap) Push(x any)   { *h = append(*h, x.(gatherBound)) }
func (h *gatherHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// bounds returns a bound for each set that some of the records that are left can lose.
func (a *bunching) bounds() gatherHeap {
	froms := make([]bool, len(a.keep))
	for _, l := range a.left {
		froms[l.from] = true
	}
	var h gatherHeap
	for at, set := range a.sets {
		least := math.Inf(1)
		for from, is := range froms {
			if is && uint16(from)&^set == 0 {
				least = min(least, a.cost[set]-a.cost[from])
			}
		}
		if !math.IsInf(least, 1) {
			h = append(h, gatherBound{least, int32(at)})
		}
	}
	heap.Init(&h)
	return h
}

// gather puts the records that are left into bunches in which they are safe. It reports whether it
// found some for all; without a tabu it does.
func (a *bunching) gather() bool {
	a.unsafe()
	h := a.bounds()
	for len(a.left) > 0 && len(h) > 0 {
		if a.stop() {
			return false
		}
		b := heap.Pop(&h).(gatherBound)
		limit := b.cost
		if len(h) > 0 {
			limit = max(limit, h[0].cost*(1+a.slack()))
		} else {
			limit = math.Inf(1)
		}
		next, broken := a.gatherIn(a.sets[b.at], limit)
		if broken {
			left := len(a.left)
			if a.unsafe(); len(a.left) > left { // records that agreed with what was broken up
				h = a.bounds()
				continue
			}
		}
		if !math.IsInf(next, 1) {
			heap.Push(&h, gatherBound{max(next, b.cost), b.at})
		}
	}
	return len(a.left) == 0
}

// slack is the share by which records may be gathered at more than the least cost, so that few
// searches are needed.
func (a *bunching) slack() float64 {
	if len(a.left)*len(a.sets) > 1<<24 {
		return 0.5
	}
	return 0.05
}

// gathering are the records that are left and become alike without the keys of a set.
type gathering struct {
	n       int32   // records that are left
	cost    float64 // of their cells
	need    int32   // records that are needed beside them
	spare   int32   // records of other bunches that may join
	whole   float64 // the least cost of a whole bunch that joins
	hope    float64 // the least that the cost for each can be
	taken   bool
	bunches []int32 // those that may join
}

// gatherIn gathers the records that become safe without the keys of a set at a cost of at most limit for each.
// It returns the least cost beyond, +Inf if there is none, and whether complete bunches were broken up.
func (a *bunching) gatherIn(set uint16, limit float64) (next float64, broken bool) {
	var groups tupleTable
	var list []gathering
	short := false
	for _, l := range a.left {
		if l.from&^set != 0 {
			continue
		}
		at := groups.add(a.rest(l.kind, set), l.n)
		if int(at) == len(list) {
			list = append(list, gathering{need: int32(a.K), whole: math.Inf(1)})
			if b := a.find(set, groups.tuples[at]); b >= 0 {
				list[at].need -= a.bunches[b].n
				if b == a.tabu {
					list[at].taken = true
				}
			}
		}
		g := &list[at]
		g.n += l.n
		g.cost += a.price(l.member, set)
		if a.bunches[l.at].set != set {
			g.need -= l.n
		}
	}
	for i := range list {
		g := &list[i]
		if g.need > 0 && !g.taken {
			more := min(float64(g.need)*a.cost[set], float64(a.K)*a.least)
			if g.hope = (g.cost + more) / float64(g.n); g.hope <= limit {
				short = true
			}
		}
	}
	if short {
		a.donors(set, &groups, func(g int32, b *bunch, _ int32) {
			spare := a.spare(b)
			list[g].spare += spare
			if spare < b.n {
				list[g].whole = min(list[g].whole, float64(b.n)*(a.cost[set]-a.cost[b.set]))
			}
		}, list)
	}
	next = math.Inf(1)
	some := false
	for i := range list {
		g := &list[i]
		if g.taken { // the tabu
			g.taken = false
			continue
		}
		cost := g.cost
		switch {
		case g.need <= 0:
		case !short:
			next = min(next, g.hope)
			continue
		case g.spare >= g.need:
			cost += float64(g.need) * a.cost[set]
		default:
			cost += g.whole
		}
		if cost /= float64(g.n); cost <= limit && !math.IsInf(cost, 1) {
			g.taken, some = true, true
		} else {
			next = min(next, cost)
		}
	}
	if some {
		broken = a.take(set, &groups, list, short)
	}
	return next, broken
}

// donors calls f for each bunch whose records would join a gathering that needs some.
func (a *bunching) donors(set uint16, groups *tupleTable, f func(g int32, b *bunch, at int32), list []gathering) {
	if a.turnedSince {
		a.turnedSince = false
		a.solids = a.solids[:0]
		for at := range a.bunches {
			if b := &a.bunches[at]; b.n > 0 && a.solid(b) {
				a.solids = append(a.solids, solid{b.rest, int32(at), b.set})
			}
		}
	}
	for _, s := range a.solids {
		if s.set == set || s.set&^set != 0 || s.at == a.tabu {
			continue
		}
		if g := groups.find(s.rest.and(a.keep[set])); g >= 0 && list[g].need > 0 {
			f(g, &a.bunches[s.at], s.at)
		}
	}
}

// solid is a bunch whose records are all safe.
type solid struct {
	rest packed
	at   int32
	set  uint16
}

// take gathers the records that are taken, and those that they need. It reports whether complete bunches were broken
// up.
func (a *bunching) take(set uint16, groups *tupleTable, list []gathering, short bool) (broken bool) {
	if short {
		a.donors(set, groups, func(g int32, b *bunch, at int32) {
			if list[g].taken {
				list[g].bunches = append(list[g].bunches, at)
			}
		}, list)
	}
	rest := a.left[:0]
	for _, l := range a.left {
		g := int32(-1)
		if l.from&^set == 0 {
			g = groups.find(a.rest(l.kind, set))
		}
		if g < 0 || !list[g].taken {
			rest = append(rest, l)
			continue
		}
		if a.bunches[l.at].set != set {
			a.moveMember(l.at, l.member, a.bunchOf(set, groups.tuples[g]))
		}
	}
	a.left = rest
	for i := range list {
		if g := &list[i]; g.taken && g.need > 0 {
			broken = a.fill(a.bunchOf(set, groups.tuples[i]), g) || broken
		}
	}
	return broken
}

// fill moves as many records into a bunch as it needs, those that lose least first.
func (a *bunching) fill(to int32, g *gathering) (broken bool) {
	set := a.bunches[to].set
	slices.SortStableFunc(g.bunches, func(x, y int32) int {
		b, c := &a.bunches[x], &a.bunches[y]
		return cmp.Or(cmp.Compare(a.cost[c.set], a.cost[b.set]), cmp.Compare(a.spare(c), a.spare(b)))
	})
	if g.spare >= g.need {
		for _, at := range g.bunches {
			for spare := min(g.need, a.spare(&a.bunches[at])); spare > 0; {
				m := a.bunches[at].members[0]
				m.n = min(m.n, spare)
				a.moveMember(at, m, to)
				spare -= m.n
				g.need -= m.n
			}
		}
		return false
	}
	best, least := int32(-1), math.Inf(1)
	for _, at := range g.bunches {
		b := &a.bunches[at]
		if cost := float64(b.n) * (a.cost[set] - a.cost[b.set]); cost < least && a.spare(b) < b.n {
			best, least = at, cost
		}
	}
	if best < 0 {
		return true
	}
	for a.bunches[best].n > 0 {
		a.moveMember(best, a.bunches[best].members[0], to)
	}
	return a.bunches[best].set == 0
}

// moveMember moves records of a bunch to another.
func (a *bunching) moveMember(from int32, m member, to int32) {
	for i, o := range a.bunches[from].members {
		if o.kind == m.kind && o.from == m.from {
			a.takeOut(from, i, m.n)
			break
		}
	}
	a.put(to, m)
}
