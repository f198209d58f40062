package adjust

import (
	"errors"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// span is where the change of a cell must be.
type span struct{ low, high float64 }

// program is the linear program of all changes. Each cell that can change has three columns, whose bounds contain 0, so
// that no change at all is a point to start from:
//
//	middle  the part of the change that is free (of an unsafe cell whose direction is open) or that must be made
//	        (of a cell that must change), which is rewarded: the program is infeasible if it is not made in full
//	above   what is added beyond it
//	below   what is taken away beyond it
type program struct {
	*Problem
	cells []int32 // that can change
	s     *lp.System
	terms []lp.Term
	spans []span // of the cells
	work  int64
}

// reward is that of making a change that must be made, beside costs of at most 1.
const reward = 1e4

func newProgram(p *Problem) (*program, error) {
	g := &program{Problem: p}
	at := make([]int, len(p.Value))
	for c := range p.Value {
		if at[c] = -1; p.Least[c] < 0 || p.Most[c] > 0 {
			at[c] = len(g.cells)
			g.cells = append(g.cells, int32(c))
			g.spans = append(g.spans, span{p.Least[c], p.Most[c]})
		}
	}
	var rows [][]lp.Entry
	for i := range p.Set.Sums() {
		var row []lp.Entry
		add := func(c int32, sign float64) {
			if k := at[c]; k >= 0 {
				row = append(row, lp.Entry{Column: 3 * k, Value: sign}, lp.Entry{Column: 3*k + 1, Value: sign},
					lp.Entry{Column: 3*k + 2, Value: -sign})
			}
		}
		sum := p.Set.Sum(i)
		add(sum.Total, -1)
		for _, c := range sum.Parts {
			add(c, 1)
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	n := 3 * len(g.cells)
	a, err := lp.NewMatrix(n, rows)
	if err != nil {
		return nil, err
	}
	lower, upper := make([]float64, n), make([]float64, n)
	for k := range g.cells { // the widest, for the tolerance of the program
		lower[3*k], upper[3*k], upper[3*k+1], upper[3*k+2] = g.spans[k].low, g.spans[k].high, g.spans[k].high, -g.spans[k].low
	}
	if g.s, err = lp.New(a, lower, upper); err != nil {
		return nil, err
	}
	g.s.Stop = p.Stop
	g.terms = make([]lp.Term, n)
	for j := range g.terms {
		g.terms[j].Column = j
	}
	for k := range g.cells {
		if err := g.bound(k, g.spans[k]); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// open reports whether the direction of an unsafe cell is open within a span.
func (g *program) open(k int, s span) bool {
	c := g.cells[k]
	return g.Unsafe[c] && s.low <= -g.Down[c] && s.high >= g.Up[c]
}

// bound restricts the change of cell k to a span. While the direction of an unsafe cell is open, its cost is the
// greatest convex function that is at most the cost of every change that is allowed.
func (g *program) bound(k int, s span) error {
	g.spans[k] = s
	w := g.Weight[g.cells[k]]
	var middle span
	above, below, cost := s.high, -s.low, 0.0
	switch {
	case g.open(k, s):
		up, down := g.Up[g.cells[k]], g.Down[g.cells[k]]
		middle, above, below = span{-down, up}, s.high-up, -s.low-down
		cost = w * (up - down) / (up + down)
	case s.low > 0:
		middle, above, below, cost = span{0, s.low}, s.high-s.low, 0, -reward
	case s.high < 0:
		middle, above, below, cost = span{s.high, 0}, 0, s.high-s.low, reward
	}
	g.terms[3*k].Weight, g.terms[3*k+1].Weight, g.terms[3*k+2].Weight = cost, w, w
	return errors.Join(g.s.SetBounds(3*k, middle.low, middle.high), g.s.SetBounds(3*k+1, 0, above),
		g.s.SetBounds(3*k+2, 0, below))
}

// answer is an optimum of the program.
type answer struct {
	z     []float64 // the change of each cell
	cost  float64   // of the changes; a lower bound of it while directions are open
	short float64   // how much is missing of the changes that must be made
}

// solve returns the cheapest changes within the spans.
func (g *program) solve() (*answer, error) {
	before := g.s.Work
	_, err := g.s.MinimizeSum(g.terms)
	g.work += g.s.Work - before
	if err != nil {
		if errors.Is(err, lp.ErrStalled) {
			return nil, nil
		}
		return nil, err
	}
	a := &answer{z: make([]float64, len(g.cells))}
	point := g.s.Point()
	for k, c := range g.cells {
		middle, above, below := point[3*k], point[3*k+1], point[3*k+2]
		a.z[k] = middle + above - below
		s, w := g.spans[k], g.Weight[c]
		switch {
		case g.open(k, s):
			up, down := g.Up[c], g.Down[c]
			a.cost += w*(2*up*down+(up-down)*middle)/(up+down) + w*(above+below)
		case s.low > 0:
			a.short += s.low - middle
			a.cost += w * (s.low + above)
		case s.high < 0:
			a.short += middle - s.high
			a.cost += w * (below - s.high)
		default:
			a.cost += w * math.Abs(a.z[k])
		}
	}
	if a.short <= 1e-6 {
		a.short = 0
	}
	return a, nil
}
