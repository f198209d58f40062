package suppress

import (
	"errors"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// cut is an inequality that holds for every pattern in which a certain need is met: Σ by·x ≥ 1,
// where x is 1 for a suppressed candidate, else 0 (Fischetti and Salazar 2001, capacity
// constraints).
type cut struct {
	at   []int32 // candidates
	by   []float64
	idle int // rounds in which it was not tight
}

func (c *cut) of(x []float64) (sum float64) {
	for k, i := range c.at {
		sum += c.by[k] * x[i]
	}
	return sum
}

// attacks holds the linear programs of intruders for the set in which all candidates
// are hidden.
type attacks struct {
	q         audit.Question
	knowers   *tables.Knowers
	candidate []int32 // of a cell: its index in the candidates, -1 if it is none
	parts     []audit.Component
	partOf    []int32
	column    []int32
	work      int64
}

func newAttacks(q audit.Question, status []tables.Status, candidates []int32, knowers *tables.Knowers) (*attacks,
	error) {
	a := &attacks{q: q, knowers: knowers, candidate: make([]int32, len(q.Value)), partOf: make([]int32, len(q.Value)),
		column: make([]int32, len(q.Value))}
	a.q.Hidden = make([]bool, len(q.Value))
	for c := range q.Value {
		a.candidate[c], a.partOf[c] = -1, -1
		a.q.Hidden[c] = status[c] == tables.Primary
	}
	for i, c := range candidates {
		a.candidate[c], a.q.Hidden[c] = int32(i), true
	}
	var err error
	a.parts, _, err = audit.Components(a.q)
	for i := range a.parts {
		for j, c := range a.parts[i].Cells {
			a.partOf[c], a.column[c] = int32(i), int32(j)
		}
	}
	return a, err
}

// separate checks whether a need is met against a coalition of knowers (nil: an outsider) if candidates are
// suppressed to the extent x. If it is not, separate returns a cut that x violates, nil if it
// finds none. If it is, reached lists the cells that a table which meets the need changes.
func (a *attacks) separate(n *need, who []int32, x []float64, whole bool) (c *cut, reached []int32, err error) {
	part := a.partOf[n.cell]
	if part < 0 {
		return nil, nil, nil
	}
	p, j := &a.parts[part], int(a.column[n.cell])
	s, err := p.Program()
	if err != nil {
		return nil, nil, err
	}
	for k, cell := range p.Cells {
		share := a.share(cell, who, x)
		low, high := p.Low[k], p.High[k]
		if !whole { // usually no cell has to deviate by more than the required amount
			low, high = max(low, -n.amount), min(high, n.amount)
		}
		if share == 0 {
			low, high = 0, 0
		}
		if err := s.SetBounds(k, share*low, share*high); err != nil {
			return nil, nil, err
		}
	}
	s.Reset()
	before := s.Work
	defer func() { a.work += s.Work - before }()
	sign := 1.0
	if !n.up {
		sign = -1
	}
	v, err := 0.0, error(nil)
	if n.up {
		v, err = s.Maximize(j, n.amount)
	} else {
		v, err = s.Minimize(j, -n.amount)
	}
	if err != nil && !errors.Is(err, lp.ErrStalled) {
		return nil, nil, err
	}
	if sign*v >= n.amount-1e-3-1e-13*n.amount {
		for k, z := range s.Point() {
			if math.Abs(z) > 1e-9 {
				reached = append(reached, p.Cells[k])
			}
		}
		return nil, reached, nil
	}
	y := s.Multipliers([]lp.Term{{Column: j, Weight: -sign}})
	c = a.cut(p, j, sign, n.amount, who, s, y)
	if c != nil && c.of(x) > 1-1e-6 {
		c = nil
	}
	return c, nil, nil
}

// share returns to what extent, 0 to 1, a cell is unknown: 1 for a primary cell, x for a
// candidate, 0 for a cell that the coalition knows.
func (a *attacks) share(cell int32, who []int32, x []float64) float64 {
	switch i := a.candidate[cell]; {
	case a.knowers.Knows(who, cell):
		return 0
	case i < 0:
		return 1
	case x[i] < 1e-9:
		return 0
	default:
		return min(x[i], 1)
	}
}

// cut returns the inequality that follows from multipliers y of the sums for a need. For every
// table that agrees with the sums, and for all multipliers, the deviation of the cell is Σ w·z,
// where w is the unit vector of the cell plus the rows times y. No z exceeds the shuttle's ends
// with all candidates hidden. So the ends of the hidden cells together must reach the required
// amount. A single coefficient is limited to 1. cut returns nil if the inequality excludes nothing.
func (a *attacks) cut(p *audit.Component, j int, sign, amount float64, who []int32, s *lp.System, y []float64) *cut {
	scale, exact := 1.0, make([]float64, len(y))
	for _, try := range [2]float64{1, 60} { // whole numbers avoid rounding errors
		whole := true
		for i, v := range y {
			exact[i] = math.Round(v * try)
			whole = whole && math.Abs(v*try-exact[i]) <= 1e-6
		}
		if scale = try; whole {
			break
		}
	}
	w := s.Combine(exact)
	w[j] += sign * scale
	if !a.q.Counts { // a table may miss the amount by a rounding error
		amount -= 2e-3 + 1e-12*amount
	}
	least := scale * amount
	c := &cut{}
	for k, cell := range p.Cells {
		end := 0.0
		switch {
		case w[k] == 0 || a.knowers.Knows(who, cell):
			continue
		case w[k] > 0:
			end = w[k] * p.High[k]
		default:
			end = w[k] * p.Low[k]
		}
		if i := a.candidate[cell]; i < 0 {
			least -= end
		} else if end > 0 {
			c.at, c.by = append(c.at, i), append(c.by, end)
		}
	}
	if !(least > 1e-9*scale*amount) || amount <= 0 {
		return nil
	}
	for k := range c.by {
		c.by[k] = min(c.by[k]/least, 1)
	}
	return c
}
