package suppress

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// Optimum is the result of a search for the cheapest pattern.
type Optimum struct {
	Cost    float64 // cost of the secondary suppressions
	AtLeast float64 // lower bound of the cost of every pattern that protects all primary cells
	Nodes   int     // nodes of the search tree
	Cuts    int     // inequalities found
}

// Proven reports whether no pattern is cheaper.
func (o *Optimum) Proven() bool { return o.Cost <= o.AtLeast+1e-6*(1+math.Abs(o.AtLeast)) }

// MaxOptimal is the largest number of cells of a set for the search for the cheapest
// pattern.
const MaxOptimal = 3000

// optimalWork is the limit of the work of a search for the cheapest pattern: some ten seconds,
// but the same work on every machine.
const optimalWork = 6_000_000_000

// optimum searches for the cheapest pattern by branch and cut (Fischetti and Salazar 2001).
// It computes the cheapest x that satisfies all cuts found so far and adds cuts from the
// attacks that x does not resist, until there are none. Then it branches on a candidate.
type optimum struct {
	*attacks
	primary    *primary.Result
	options    Options
	needs      []need
	candidates []int32
	cost       []float64
	whole      bool // all costs are whole numbers
	cuts       []cut
	best       []bool // by candidate
	least      float64
	frozen     float64 // the bound at which a pattern was rejected without a proof; +Inf if none was
	limit      int64
	until      time.Time
	result     Optimum
}

// improve searches for a cheaper pattern than the one in q.Hidden and returns the hidden
// cells of the cheapest one found.
func (o Options) improve(q audit.Question, p *primary.Result, until time.Time) ([]bool, *Optimum, error) {
	s, err := o.optimum(q, p, until)
	if err != nil {
		return nil, nil, err
	}
	if err := s.search(); err != nil {
		return nil, nil, err
	}
	s.result.Cost = s.least
	return s.hidden(s.best), &s.result, nil
}

// optimum returns a search that starts with the pattern in q.Hidden.
func (o Options) optimum(q audit.Question, p *primary.Result, until time.Time) (*optimum, error) {
	s := &optimum{primary: p, options: o, needs: needsOf(p), frozen: math.Inf(1), whole: true, until: until,
		limit: cmp.Or(o.Work, optimalWork)}
	for cell := range q.Value {
		if !o.may(q, p, cell) {
			continue
		}
		c := o.CostOf(q, int32(cell))
		s.candidates, s.cost = append(s.candidates, int32(cell)), append(s.cost, c)
		s.best = append(s.best, q.Hidden[cell])
		s.whole = s.whole && c == math.Trunc(c)
		if q.Hidden[cell] {
			s.least += c
		}
	}
	var err error
	s.attacks, err = newAttacks(q, p.Status, s.candidates, o.Knowers)
	return s, err
}

// hidden returns the hidden cells of a pattern of suppressed candidates.
func (o *optimum) hidden(held []bool) []bool {
	hidden := make([]bool, len(o.q.Value))
	for c, s := range o.primary.Status {
		hidden[c] = s == tables.Primary
	}
	for i, c := range o.candidates {
		hidden[c] = held[i]
	}
	return hidden
}

// over reports whether the search has reached its limit of work or time.
func (o *optimum) over() bool {
	return o.work >= o.limit || !o.until.IsZero() && !time.Now().Before(o.until)
}

// better returns the greatest cost of a pattern that improves on the best one.
func (o *optimum) better() float64 {
	if o.whole {
		return o.least - 1 + 1e-6
	}
	return o.least * (1 - 1e-6)
}

func (o *optimum) search() error {
	open := []*node{{bound: 0}}
	bound := func() float64 { // lower bound over the open nodes
		b := o.least
		for _, n := range open {
			b = min(b, n.bound)
		}
		return min(b, o.frozen)
	}
	for len(open) > 0 && !o.over() {
		k := 0
		for i, n := range open {
			if n.bound < open[k].bound {
				k = i
			}
		}
		n := open[k]
		if n.bound > o.better() {
			break
		}
		o.result.Nodes++
		x, err := o.tighten(n, bound)
		if err != nil {
			return err
		}
		if x != nil && o.over() {
			break // the node stays open
		}
		open = slices.Delete(open, k, k+1)
		if x == nil || n.bound > o.better() {
			continue
		}
		i := undecided(x)
		open = append(open, n.with(i, true, n.bound), n.with(i, false, n.bound))
	}
	o.result.AtLeast = min(bound(), o.least)
	return o.q.Stopped()
}

// undecided returns the candidate whose x is nearest to ½.
func undecided(x []float64) (at int32) {
	least := 2.0
	for i, v := range x {
		if d := math.Abs(v - 0.5); d < least {
			at, least = int32(i), d
		}
	}
	return at
}

// tighten adds cuts until x of a node violates none. It returns nil if the node cannot contain a
// better pattern.
func (o *optimum) tighten(n *node, bound func() float64) (x []float64, err error) {
	for round := 0; ; round++ {
		x, below, err := o.relax(n)
		if err != nil {
			return nil, err
		}
		n.bound = max(n.bound, below)
		if x == nil || n.bound > o.better() {
			return nil, nil
		}
		if o.over() {
			return x, nil
		}
		whole := isWhole(x)
		if !whole && round%roundsBetween == roundsBetween-1 {
			if err := o.guided(x); err != nil {
				return nil, err
			}
		}
		o.forget(x)
		more, err := o.broken(x, whole)
		if err != nil {
			return nil, err
		}
		if len(more) > 0 {
			o.result.Cuts += len(more)
			o.cuts = append(o.cuts, more...)
			continue
		}
		if !whole {
			return x, o.guided(x)
		}
		if ok, err := o.accept(x); err != nil || ok {
			return nil, err
		}
		// The linear programs say that the pattern protects, but no tables of whole numbers prove
		// it.
		o.frozen = min(o.frozen, bound())
		c := cut{}
		for i, v := range x {
			if v < 0.5 {
				c.at, c.by = append(c.at, int32(i)), append(c.by, 1)
			}
		}
		if len(c.at) == 0 {
			return nil, nil
		}
		o.cuts = append(o.cuts, c)
	}
}

// roundsBetween is the number of rounds between two calls of guided.
const roundsBetween = 8

// broken returns cuts that x violates, at most one for each need against outsiders or
// else against a coalition of the knowers.
func (o *optimum) broken(x []float64, whole bool) (more []cut, err error) {
	for i := range o.needs {
		n := &o.needs[i]
		if n.amount <= 0 {
			continue
		}
		if err := o.q.Stopped(); err != nil {
			return nil, err
		}
		a := &attack{optimum: o, n: n, x: x, whole: whole}
		c, err := a.by(nil)
		if err != nil {
			return nil, err
		}
		if c != nil {
			more = append(more, *c)
		}
	}
	return more, nil
}

// attack is the search for a cut that x violates, against outsiders or else against a coalition.
type attack struct {
	*optimum
	n     *need
	x     []float64
	whole bool
	done  [][]int32 // coalitions
}

// by attacks a need by what who knows and then by what larger coalitions know.
func (a *attack) by(who []int32) (*cut, error) {
	c, reached, err := a.separate(a.n, who, a.x, a.whole)
	if c != nil || err != nil {
		return c, err
	}
	for _, cell := range reached {
		more := a.knowers.Joined(who, cell)
		if more == nil || a.knowers.Knows(more, a.n.cell) || slices.ContainsFunc(a.done, func(o []int32) bool {
			return slices.Equal(o, more)
		}) {
			continue
		}
		a.done = append(a.done, more)
		if c, err := a.by(more); c != nil || err != nil {
			return c, err
		}
	}
	return nil, nil
}

// forget drops cuts that were not tight for more than 20 rounds: they are found again if x
// violates them.
func (o *optimum) forget(x []float64) {
	o.cuts = slices.DeleteFunc(o.cuts, func(c cut) bool { return c.idle > 20 })
	for k := range o.cuts {
		c := &o.cuts[k]
		if c.idle++; c.of(x) <= 1+1e-6 {
			c.idle = 0
		}
	}
}

func isWhole(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.Abs(v-math.Round(v)) > 1e-6 })
}

// accept takes over the pattern of x if it meets all needs, and reports whether it
// does.
func (o *optimum) accept(x []float64) (bool, error) {
	held, cost := make([]bool, len(x)), 0.0
	for i, v := range x {
		if held[i] = v > 0.5; held[i] {
			cost += o.cost[i]
		}
	}
	q := o.q
	q.Hidden = o.hidden(held)
	_, _, unmet, err := newEngine(q, needsOf(o.primary), nil, o.options.Knowers, searchLast)
	if err != nil || len(unmet) > 0 {
		return false, err
	}
	o.take(held, cost)
	return true, nil
}

func (o *optimum) take(held []bool, cost float64) {
	if cost < o.least {
		o.best, o.least = held, cost
	}
}

// guided searches for a pattern in the same way as Protect, but publishes first the candidates
// with the smallest x.
func (o *optimum) guided(x []float64) error {
	q := o.q
	q.Hidden = o.hidden(make([]bool, len(x)))
	var some, rest []int32
	for i, c := range o.candidates {
		if x[i] > 1e-6 {
			some = append(some, c)
		} else {
			rest = append(rest, c)
		}
	}
	e, open, unmet, err := newEngine(q, needsOf(o.primary), [][]int32{some, rest}, o.options.Knowers, searchLast)
	if err != nil || len(unmet) > 0 {
		return err
	}
	share := func(c int32) float64 { return x[o.candidate[c]] }
	slices.SortFunc(open, func(a, b int32) int {
		return cmp.Or(cmp.Compare(share(a), share(b)), cmp.Compare(o.cost[o.candidate[b]], o.cost[o.candidate[a]]),
			cmp.Compare(a, b))
	})
	if err := e.publishAll(open); err != nil {
		return err
	}
	held, cost := make([]bool, len(x)), 0.0
	for i, c := range o.candidates {
		if held[i] = q.Hidden[c]; held[i] {
			cost += o.cost[i]
		}
	}
	o.take(held, cost)
	return nil
}
