package exchange

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/bug"
	"github.com/sdlfilter/sdlfilter/transform/internal/coding"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/matching"
)

// Decide pairs the records and then keeps only the values that they receive. Groups are decided
// on all cores, independently of one another.
func (s *datasetSwap) Decide(c *core.Chain) error {
	s.stop = c.Cancelled.Load
	byGroup := make([]int32, len(s.combos))
	for i := range byGroup {
		byGroup[i] = int32(i)
	}
	slices.SortStableFunc(byGroup, func(i, j int32) int { return cmp.Compare(s.combos[i].group, s.combos[j].group) })
	s.expect()
	next := make(chan []int32, 64)
	moves := make([][]move, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i := range moves {
		wg.Go(func() {
			defer bug.Guard()
			for group := range next {
				if s.stop.Now() {
					continue
				}
				moves[i] = s.decideGroup(moves[i], group)
			}
		})
	}
	for len(byGroup) > 0 {
		n := 1
		for n < len(byGroup) && s.combos[byGroup[n]].group == s.combos[byGroup[0]].group {
			n++
		}
		if n > 1 {
			next <- byGroup[:n]
		}
		byGroup = byGroup[n:]
	}
	close(next)
	wg.Wait()
	if s.stop.Now() {
		s.received = nil
		return core.ErrCancelled
	}
	s.combos, s.grouping, s.free = nil, coding.Grouping{}, nil
	s.arrange(moves)
	return nil
}

// candidate is a kept record that needs a partner, identified by its place in a pool.
type candidate struct {
	order uint64
	combo int32
	at    int32
}

// decideGroup pairs the records of the combinations that share their keys. The values that records
// whose coin falls heads receive go to received; those of the others are appended to moves.
func (s *datasetSwap) decideGroup(moves []move, group []int32) []move {
	group = slices.DeleteFunc(group, func(code int32) bool { return s.combos[code].count == 0 })
	if !s.Unique {
		return s.decideHeads(moves, group)
	}
	group = s.inOrder(group, func(m *combo) swapRecord { return m.records[0] })
	var sample pool
	var candidates []candidate
	for g, code := range group {
		m := &s.combos[code]
		if sample.add(m.records, m.count); m.count > 1 {
			continue
		}
		for at, r := range m.records {
			candidates = append(candidates, candidate{r.order, int32(g), int32(at)})
		}
	}
	candidates = sortSpread(candidates, func(c candidate) uint64 { return c.order }, func(a, b candidate) int {
		return s.sources.compare(sample.records[a.combo][a.at], sample.records[b.combo][b.at])
	})
	return pairUp(moves, candidates, &sample, s.Heads, s.stop)
}

// InOrder sorts combinations by their least record, so that the partners do not depend on the order
// in which combinations were first seen.
func (s *datasetSwap) inOrder(group []int32, least func(m *combo) swapRecord) []int32 {
	slices.SortFunc(group, func(i, j int32) int { return s.sources.compare(least(&s.combos[i]), least(&s.combos[j])) })
	return group
}

// pairUp takes for each candidate, which is in the pool, a partner from the pool. If exchange is true
// for the candidate's coin, the two are exchanged: the values that they receive are appended to moves.
func pairUp(moves []move, candidates []candidate, all *pool, exchange func(coin uint64) bool,
	stop decision.Stop) []move {
	all.start()
	for i, c := range candidates {
		if stop.At(i) {
			break
		}
		if all.taken[c.combo][c.at] {
			continue
		}
		r := &all.records[c.combo][c.at]
		g, ok := all.pick(r.partner, int(c.combo))
		if !ok {
			continue
		}
		next := all.next[g]
		q := &all.records[g][next]
		all.take(int(c.combo), int(c.at))
		all.take(g, next)
		if exchange(r.coin) {
			moves = append(moves, move{r.row, r.source, q.value}, move{q.row, q.source, r.value})
		}
	}
	return moves
}

// pool is the records of a group that are in no pair, by combination. The weight of a
// combination is the number of its records, not all of which need be kept.
type pool struct {
	records [][]swapRecord
	weight  []int64
	next    []int // first of the records that is in no pair
	total   int64
	tree    matching.Fenwick
	taken   [][]bool
}

// add appends a combination.
func (p *pool) add(records []swapRecord, weight int64) {
	p.records, p.weight, p.next = append(p.records, records), append(p.weight, weight), append(p.next, 0)
	p.total += weight
}

// start makes the pool ready after the last add. A second call does nothing.
func (p *pool) start() {
	if p.taken != nil {
		return
	}
	count := 0
	for _, list := range p.records {
		count += len(list)
	}
	all := make([]bool, count)
	p.taken = make([][]bool, len(p.records))
	for g, list := range p.records {
		p.taken[g], all = all[:len(list)], all[len(list):]
	}
	p.tree.Ones(len(p.weight))
	for g, w := range p.weight {
		p.tree.Add(g, w-1)
	}
}

// pick chooses a combination other than own, with probabilities proportional to the weights.
func (p *pool) pick(word uint64, own int) (g int, ok bool) {
	n := p.total - p.weight[own]
	if n == 0 {
		return 0, false
	}
	r := matching.Below(word, n)
	if r >= p.tree.Prefix(own) {
		r += p.weight[own]
	}
	return p.tree.Find(r), true
}

// take removes a record from the pool.
func (p *pool) take(g, at int) {
	p.taken[g][at] = true
	for p.next[g] < len(p.records[g]) && p.taken[g][p.next[g]] {
		p.next[g]++
	}
	d := int64(-1)
	if p.next[g] == len(p.records[g]) {
		d = -p.weight[g] // none of its kept records is left
	}
	p.weight[g] += d
	p.total += d
	p.tree.Add(g, d)
}

// sortSpread returns the list in the order of compare, which must compare word first. The time is
// proportional to the length of the list if the words are spread evenly between the least and
// the greatest, and otherwise not greater than that of a comparison sort.
func sortSpread[T any](list []T, word func(T) uint64, compare func(a, b T) int) []T {
	const few = 64 // for fewer, a comparison sort is as fast
	if len(list) <= few {
		slices.SortFunc(list, compare)
		return list
	}
	least, greatest := word(list[0]), word(list[0])
	for _, x := range list {
		least, greatest = min(least, word(x)), max(greatest, word(x))
	}
	shift := 0
	for (greatest-least)>>shift >= uint64(len(list)) {
		shift++
	}
	ends := make([]int, (greatest-least)>>shift+2)
	for _, x := range list {
		ends[(word(x)-least)>>shift+1]++
	}
	for i := range ends[1:] {
		ends[i+1] += ends[i]
	}
	to := make([]T, len(list))
	for _, x := range list {
		b := (word(x) - least) >> shift
		to[ends[b]] = x
		ends[b]++
	}
	from := 0
	for _, end := range ends[:len(ends)-1] {
		if end-from > 1 {
			slices.SortFunc(to[from:end], compare)
		}
		from = end
	}
	return to
}
