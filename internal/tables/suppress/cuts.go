package suppress

import (
	"errors"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// cut is an inequality that every pattern meets in which a need is met: Σ by·x ≥ 1, x = 1 for a
// candidate that is held back, else 0 (Fischetti and Salazar 2001, capacity constraints).
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

// attacks is the linear programs of intruders where everything is hidden that may be.
type attacks struct {
	q         audit.Question
	knower    []int32
	candidate []int32 // of a cell: its number among the candidates, -1 for none
	parts     []audit.Component
	partOf    []int32
	column    []int32
	work      int64
}

func newAttacks(q audit.Question, status []tables.Status, candidates, knower []int32) (*attacks, error) {
	a := &attacks{q: q, knower: knower, candidate: make([]int32, len(q.Value)), partOf: make([]int32, len(q.Value)), column: make([]int32, len(q.Value))}
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

// separate looks whether a need is met against a knower (-1: an outsider) where candidates are
// held back to the extent of x, and returns a cut that x breaks where it is not. reached lists the
// cells that a table changes which meets it.
func (a *attacks) separate(n *need, knower int32, x []float64, whole bool) (c *cut, reached []int32, err error) {
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
		share := a.share(cell, knower, x)
		low, high := p.Low[k], p.High[k]
		if !whole { // no more than asked can go through a cell, as a rule
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
	c = a.cut(p, j, sign, n.amount, knower, s, y)
	if c != nil && c.of(x) > 1-1e-6 {
		c = nil
	}
	return c, nil, nil
}

// share is to what extent a cell is unknown: a primary one wholly, one that the knower knows not.
func (a *attacks) share(cell, knower int32, x []float64) float64 {
	switch i := a.candidate[cell]; {
	case knower >= 0 && a.knower[cell] == knower:
		return 0
	case i < 0:
		return 1
	case x[i] < 1e-9:
		return 0
	default:
		return min(x[i], 1)
	}
}

// cut is what multipliers of the sums say of a need. For any of them the deviation of the cell is
// Σ w·z, w = the unit of the cell plus the rows times y, for every table that agrees with the sums,
// and no z is beyond what the shuttle leaves where everything is hidden. So the ends that are
// hidden must make up what is asked; more than that none of them can.
func (a *attacks) cut(p *audit.Component, j int, sign, amount float64, knower int32, s *lp.System, y []float64) *cut {
	scale, exact := 1.0, make([]float64, len(y))
	for _, try := range [2]float64{1, 60} { // whole numbers are exact
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
	if !a.q.Counts { // a table may miss it by rounding
		amount -= 2e-3 + 1e-12*amount
	}
	least := scale * amount
	c := &cut{}
	for k, cell := range p.Cells {
		end := 0.0
		switch {
		case w[k] == 0 || knower >= 0 && a.knower[cell] == knower:
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
