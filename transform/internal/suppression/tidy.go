package suppression

import (
	"cmp"
	"math"
	"slices"
)

// tidy lowers the cost step by step: records go home that are not needed, or to bunches that cost less,
// and bunches are broken up if their records cost less in others.
func (a *bunching) tidy() {
	for range 10 {
		better := false
		for at := range a.bunches {
			if a.stopped(at) {
				return
			}
			better = a.lighten(int32(at)) || better
			better = a.breakUp(int32(at)) || better
		}
		if !better {
			return
		}
	}
}

// mayLeave returns how many records of a member may leave a bunch such that the others stay safe: some of them, or all
// of the bunch.
func (a *bunching) mayLeave(b *bunch, m member) int32 {
	if b.n == m.n {
		return m.n
	}
	return min(m.n, a.spare(b))
}

// place returns the cheapest bunch in which n records of a kind would be safe, below a cost for each,
// other than the bunch where they are; −1 if there is none.
func (a *bunching) place(m member, but int32, below float64) (int32, float64) {
	for _, set := range a.sets {
		cost := a.cost[set] - a.cost[m.from]
		if cost >= below-1e-9 {
			break
		}
		if m.from&^set != 0 {
			continue
		}
		at := a.find(set, a.rest(m.kind, set))
		if at == but || at >= 0 && at == a.tabu {
			continue
		}
		n := m.n
		if at >= 0 {
			n += a.bunches[at].n
		}
		if int(n) >= a.K || m.from == set && set != 0 && a.covered(m.kind) {
			if at < 0 {
				at = a.bunchOf(set, a.rest(m.kind, set))
			}
			return at, cost
		}
	}
	return -1, math.Inf(1)
}

// lighten moves records out of a bunch that it does not need, to where they cost less.
func (a *bunching) lighten(at int32) (better bool) {
	set := a.bunches[at].set
	members := slices.Clone(a.bunches[at].members)
	slices.SortStableFunc(members, func(x, y member) int { return cmp.Compare(a.cost[x.from], a.cost[y.from]) })
	for _, m := range members {
		if m.from == set {
			continue
		}
		if m.n = a.mayLeave(&a.bunches[at], m); m.n == 0 {
			continue
		}
		if to, _ := a.place(m, at, a.cost[set]-a.cost[m.from]); to >= 0 {
			a.moveMember(at, m, to)
			better = true
		}
	}
	return better
}

// breakUp moves all records of a bunch to others if they cost less there.
func (a *bunching) breakUp(at int32) bool {
	b := &a.bunches[at]
	cost, members := 0.0, b.members
	for _, m := range members {
		if m.from == b.set {
			return false // records that are at home here
		}
		cost += a.price(m, b.set)
	}
	if len(members) < 2 || b.n > int32(4*a.K) {
		return false
	}
	to := make([]int32, len(members))
	for i, m := range members {
		var each float64
		if to[i], each = a.place(m, at, cost/float64(m.n)); to[i] < 0 {
			return false
		}
		if cost -= each * float64(m.n); cost <= 1e-9 {
			return false
		}
	}
	for i, m := range slices.Clone(members) {
		a.moveMember(at, m, to[i])
	}
	return true
}

// improve breaks up bunches, one or two at a time, and gathers their records anew, if the number of
// combinations is small.
func (a *bunching) improve() {
	best := a.total()
	work := 8 * len(a.bunches) * len(a.sets)
	for runs := mostWork / max(work, 1); runs > 0; {
		better := false
		for _, pair := range a.pairs() {
			if runs--; runs < 0 || a.stop() {
				return
			}
			before := a.snapshot()
			for _, at := range pair {
				a.sendHome(at)
			}
			a.tabu = pair[0]
			done := a.gather()
			a.tabu = -1
			if done {
				a.tidy()
				if cost := a.total(); cost < best-1e-9 {
					best, better = cost, true
					continue
				}
			}
			a.restore(before)
		}
		if !better {
			return
		}
	}
}

// pairs returns the bunches that are not at home, by themselves and in pairs.
func (a *bunching) pairs() (pairs [][]int32) {
	var made []int32
	for at := range a.bunches {
		b := &a.bunches[at]
		if slices.ContainsFunc(b.members, func(m member) bool { return m.from != b.set }) {
			made = append(made, int32(at))
			pairs = append(pairs, []int32{int32(at)})
		}
	}
	for _, x := range made {
		for _, y := range made {
			if x != y {
				pairs = append(pairs, []int32{x, y})
			}
		}
	}
	return pairs
}

// sendHome moves all records of a bunch to where they were.
func (a *bunching) sendHome(at int32) {
	for _, m := range slices.Clone(a.bunches[at].members) {
		if m.from != a.bunches[at].set {
			a.moveMember(at, m, a.bunchOf(m.from, a.rest(m.kind, m.from)))
		}
	}
}

// snapshot returns the members of all bunches, and restore puts them back.
func (a *bunching) snapshot() [][]member {
	list := make([][]member, len(a.bunches))
	for at := range list {
		list[at] = slices.Clone(a.bunches[at].members)
	}
	return list
}

func (a *bunching) restore(list [][]member) {
	for at := range a.bunches {
		b := &a.bunches[at]
		was := b.n
		b.n, b.members = 0, nil
		if at < len(list) {
			b.members = list[at]
			for _, m := range b.members {
				b.n += m.n
			}
		}
		a.turned(b, was)
	}
	a.left = a.left[:0]
}
