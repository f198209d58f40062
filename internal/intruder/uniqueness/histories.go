package uniqueness

import (
	"context"
	"maps"
	"slices"
)

// histories are the distinct multisets of tuples that persons have, as they are known and as they are released, by one
// numbering.
type histories struct {
	p       *panel
	tuples  *classes
	missing []uint64 // by tuple: the keys that it lacks; nil: none lacks any

	knownBy, releasedBy []int32 // by person
	of                  [][]int32
	lacks               []int32 // by history: the number of its tuples that lack keys
	bounded             bool    // histories that lack keys were matched with their like alone
}

func newHistories(p *panel, tuples *classes) *histories {
	h := &histories{p: p, tuples: tuples, missing: missing(tuples.keys)}
	n := 2 * len(p.records)
	nodes, number := newLookup(n), make([]int32, n+1) // of the history that ends in a node of the trie, + 1
	one := func(side []int32) []int32 {
		list := make([]int32, p.persons())
		var line []int32
		for who := range list {
			line = line[:0]
			for _, i := range p.of(who) {
				line = append(line, tuples.of[side[i]])
			}
			slices.Sort(line)
			node := 0
			for _, t := range line {
				key := uint64(node)<<32 | uint64(t)
				nodes.put(key)
				node = int(nodes.find(key)) + 1
			}
			if number[node] == 0 {
				h.of = append(h.of, slices.Clone(line))
				h.lacks = append(h.lacks, h.lacking(line))
				number[node] = int32(len(h.of))
			}
			list[who] = number[node] - 1
		}
		return list
	}
	h.knownBy = one(p.known)
	h.releasedBy = one(p.released)
	return h
}

func (h *histories) lacking(line []int32) (n int32) {
	for _, t := range line {
		if h.missing != nil && h.missing[t] != 0 {
			n++
		}
	}
	return n
}

// candidates are the persons by what is released of them, and what they sum up to.
type candidates struct {
	count        []int64   // by history as released
	weight       []float64 // nil without weights
	sum, weights []float64 // by history as known: of the histories that can be its
}

func (h *histories) released() *candidates {
	c := &candidates{count: make([]int64, len(h.of)), sum: make([]float64, len(h.of))}
	if h.p.weight != nil {
		c.weight, c.weights = make([]float64, len(h.of)), make([]float64, len(h.of))
	}
	for who, r := range h.releasedBy {
		c.count[r]++
		if c.weight != nil {
			c.weight[r] += h.p.weight[who]
		}
	}
	return c
}

func (c *candidates) take(k, r int, share float64) {
	c.sum[k] += share * float64(c.count[r])
	if c.weight != nil {
		c.weights[k] += share * c.weight[r]
	}
}

// maxSteps bounds the comparisons of histories that lack keys by all keys, and four times as many by sets of some: some
// seconds.
const maxSteps = 400_000_000

// add sums for each known history the released ones that can be its. same is false if there are too many that lack
// keys: each then is taken for its like alone, which makes k too small.
func (h *histories) add(ctx context.Context, c *candidates) (same bool, err error) {
	known := make([]bool, len(h.of))
	for _, k := range h.knownBy {
		known[k] = true
	}
	for k := range h.of {
		if known[k] && c.count[k] > 0 {
			c.take(k, k, 1)
		}
	}
	if h.missing == nil {
		return true, nil
	}
	byLength := map[int][2][]int{} // known and released ones
	for k, line := range h.of {
		both := byLength[len(line)]
		if known[k] {
			both[0] = append(both[0], k)
		}
		if c.count[k] > 0 {
			both[1] = append(both[1], k)
		}
		byLength[len(line)] = both
	}
	steps := 0
	for length, both := range byLength {
		pairs := len(both[0])*len(both[1]) - h.whole(both[0])*h.whole(both[1])
		if steps += min(pairs, maxSteps+1) * (length + 1); steps > h.p.steps {
			h.bounded = true
			return false, nil
		}
	}
	h.p.steps -= steps
	same = true
	for _, length := range slices.Sorted(maps.Keys(byLength)) {
		both := byLength[length]
		for _, k := range both[0] {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			for _, r := range both[1] {
				if k == r || h.lacks[k]+h.lacks[r] == 0 {
					continue
				}
				share, sure := h.share(k, r)
				if same = same && sure; share > 0 {
					c.take(k, r, share)
				}
			}
		}
	}
	return same, nil
}

// whole counts the histories that lack nothing.
func (h *histories) whole(list []int) (n int) {
	for _, k := range list {
		if h.lacks[k] == 0 {
			n++
		}
	}
	return n
}

// own is what add has counted of a person itself, whose history is known as k and released as r.
func (h *histories) own(k, r int) float64 {
	if k == r {
		return 1
	}
	if h.lacks[k]+h.lacks[r] == 0 || h.bounded {
		return 0
	}
	share, _ := h.share(k, r)
	return share
}

// mostOpen is the greatest number of tuples of a history that are assigned to those of another; histories of which more
// are neither equal nor complete are taken for different ones.
const mostOpen = 64

// share returns the weight with which a released history counts for a known one, which must have as many records: 1 if
// each released record can be a known one of its own, where it lacks no key that is known; alpha if it takes records
// that do; 0 if they contradict. sure is false where that was not found out.
func (h *histories) share(k, r int) (share float64, sure bool) {
	known, released, open := h.open(k, r)
	switch {
	case !open:
		return 0, true
	case len(known) > mostOpen:
		return 0, false
	case h.assigned(known, released, func(t, r int32) bool { return h.missing[r]&^h.missing[t] == 0 && h.agree(t, r) }):
		return 1, true
	case h.p.alpha > 0 && h.assigned(known, released, h.agree):
		return h.p.alpha, true
	}
	return 0, true
}

// open returns the tuples of a known and a released history without the complete ones that both have. These may be
// taken for each other: if an assignment gives a complete tuple t another partner a, and its like in the release to b,
// then a and b each agree with t in whatever they have, and so with each other. ok is false if more are left than those
// that lack keys could be assigned to.
func (h *histories) open(k, r int) (known, released []int32, ok bool) {
	a, b, most := h.of[k], h.of[r], int(h.lacks[k]+h.lacks[r])
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) > 0 && len(b) > 0 && a[0] == b[0] && h.missing[a[0]] == 0:
			a, b = a[1:], b[1:]
			continue
		case len(b) == 0 || len(a) > 0 && a[0] <= b[0]:
			known, a = append(known, a[0]), a[1:]
		default:
			released, b = append(released, b[0]), b[1:]
		}
		if max(len(known), len(released)) > most {
			return nil, nil, false
		}
	}
	return known, released, true
}

// agree reports whether two tuples are equal in the keys that both have.
func (h *histories) agree(t, r int32) bool {
	lacking := h.missing[t] | h.missing[r]
	for j, key := range h.tuples.keys {
		if lacking>>j&1 == 0 && key.codes[t] != key.codes[r] {
			return false
		}
	}
	return true
}

// assigned reports whether each known tuple has a released one of its own that fits, by augmenting paths (Kuhn 1955).
func (h *histories) assigned(known, released []int32, fits func(t, r int32) bool) bool {
	owner := make([]int, len(released)) // + 1; 0: none
	var seen []bool
	var seek func(a int) bool
	seek = func(a int) bool {
		for b, r := range released {
			if seen[b] || !fits(known[a], r) {
				continue
			}
			seen[b] = true
			if owner[b] == 0 || seek(owner[b]-1) {
				owner[b] = a + 1
				return true
			}
		}
		return false
	}
	for a := range known {
		if seen = make([]bool, len(released)); !seek(a) {
			return false
		}
	}
	return true
}
