package suppress

import (
	"errors"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// node is a part of the search: candidates that are held back for certain, and such as are
// published for certain.
type node struct {
	fixed map[int32]bool // held back or published
	bound float64        // no pattern of it costs less
}

// with is the node with one candidate more.
func (n *node) with(i int32, held bool, bound float64) *node {
	m := &node{fixed: make(map[int32]bool, len(n.fixed)+1), bound: bound}
	for k, v := range n.fixed {
		m.fixed[k] = v
	}
	m.fixed[i] = held
	return m
}

// start is a pattern of a node that meets all cuts: the best one known, with what the node holds
// back, or everything but what it publishes. ok is false where that breaks one: then so does
// every pattern of the node.
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

// relax finds the cheapest x of a node between 0 and 1 that meets all cuts, and what no pattern
// of it costs less than. nil: there is none.
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

// below is what no x of a node costs less than, by any multipliers of the cuts that are not
// negative: Σ y, and of each candidate what its cost less the cuts times y is at least.
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
	if o.whole { // so does what is cheapest
		bound = math.Ceil(bound - 1e-6)
	}
	return bound
}
