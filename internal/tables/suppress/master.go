package suppress

import (
	"errors"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// node is a node of the search tree: some candidates are fixed as suppressed, others as
// published.
type node struct {
	fixed map[int32]bool // true: suppressed, false: published
	bound float64        // lower bound of the cost of its patterns
}

// with returns the node with one more fixed candidate.
func (n *node) with(i int32, held bool, bound float64) *node {
	m := &node{fixed: make(map[int32]bool, len(n.fixed)+1), bound: bound}
	for k, v := range n.fixed {
		m.fixed[k] = v
	}
	m.fixed[i] = held
	return m
}

// start returns a pattern of a node that satisfies all cuts: the best known pattern plus the
// node's suppressed candidates, or else all candidates except the node's published ones. ok is
// false if the latter violates a cut; then every pattern of the node does.
func (o *optimum) start(n *node) (x []float64, ok bool) {
	x = make([]float64, len(o.candidates))
	ok = true
	for i, held := range o.best {
		fixed, is := n.fixed[int32(i)]
		if held && is && !fixed {
			ok = false
		}
		if held || is && fixed {
			x[i] = 1
		}
	}
	if ok {
		return x, true
	}
	for i := range x {
		x[i] = 1
		if fixed, is := n.fixed[int32(i)]; is && !fixed {
			x[i] = 0
		}
	}
	for k := range o.cuts {
		if o.cuts[k].of(x) < 1-1e-9 {
			return nil, false
		}
	}
	return x, true
}

// relax returns the cheapest x of a node, between 0 and 1, that satisfies all cuts, and a lower
// bound of the cost of the node's patterns. x is nil if there is none.
func (o *optimum) relax(n *node) (x []float64, bound float64, err error) {
	x, ok := o.start(n)
	if !ok {
		return nil, math.Inf(1), nil
	}
	columns, m := len(x), len(o.cuts)
	lower, upper := make([]float64, columns+m), make([]float64, columns+m)
	terms := make([]lp.Term, 0, columns)
	for i := range x {
		if _, is := n.fixed[int32(i)]; !is {
			lower[i], upper[i] = -x[i], 1-x[i]
		}
		terms = append(terms, lp.Term{Column: i, Weight: o.cost[i]})
	}
	rows, own := make([][]lp.Entry, m), make([]int, m)
	for k := range o.cuts {
		c := &o.cuts[k]
		for e, i := range c.at {
			rows[k] = append(rows[k], lp.Entry{Column: int(i), Value: c.by[e]})
		}
		own[k] = columns + k
		rows[k] = append(rows[k], lp.Entry{Column: own[k], Value: -1})
		lower[own[k]], upper[own[k]] = -max(c.of(x)-1, 0), math.Inf(1)
	}
	a, err := lp.NewMatrix(columns+m, rows)
	if err != nil {
		return nil, 0, err
	}
	s, err := lp.New(a, lower, upper)
	if err != nil {
		return nil, 0, err
	}
	s.Stop = o.q.Stop
	s.Begin(own)
	_, err = s.MinimizeSum(terms)
	o.work += s.Work
	if err != nil && !errors.Is(err, lp.ErrStalled) {
		return nil, 0, err
	}
	for i, z := range s.Point()[:columns] {
		x[i] = min(max(x[i]+z, 0), 1)
	}
	return x, o.below(n, s, s.Multipliers(terms)), nil
}

// below returns a lower bound of the cost of every x of a node, from any nonnegative
// multipliers y of the cuts: Σ y plus, for each candidate, the minimum over its possible x
// of its reduced cost (its cost minus the cuts times y) times x.
func (o *optimum) below(n *node, s *lp.System, y []float64) (bound float64) {
	for k := range y {
		y[k] = max(y[k], 0)
		bound += y[k]
	}
	sums := s.Combine(y)
	for i, c := range o.cost {
		rest := c - sums[i]
		fixed, is := n.fixed[int32(i)]
		switch {
		case is && fixed:
			bound += rest
		case !is:
			bound += min(rest, 0)
		}
	}
	bound -= 1e-9 * (1 + math.Abs(bound))
	if o.whole { // the cheapest pattern has a whole cost
		bound = math.Ceil(bound - 1e-6)
	}
	return bound
}
