package rounding

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// program is the integer program of a component: each count goes to the multiple below it (down) or above it (up) such
// that every sum holds. It is searched by branch and bound. What the sums force is followed without linear programs;
// the program that is left is solved from the point of the one before it: a choice is not a bound, but a reward that
// exceeds all costs.
type program struct {
	q    audit.Question
	b    float64
	p    *audit.Component
	s    *lp.System
	rows []row     // of the sums
	of   [][]int32 // rows of a column
	cost []float64 // of a change by one unit
	base float64   // the sum of all changes at the point 0

	choice []int8 // of a column: -1 down, 1 up, 0 open
	trail  []int32

	limit int64 // of s.Work
	cut   bool  // the time ended the search
	best  []float64
	least float64 // the sum of changes of best
	root  float64 // no rounding has less
	whole bool    // the search was not cut short
}

// row is a sum: the columns that go up, each times its sign, add up to rhs.
type row struct {
	columns []int32
	signs   []int8
	rhs     int
}

// reward is that of a choice, beside costs of at most 1 for a change by one unit.
const reward = 1e4

// newProgram returns the program of a component with its linear program.
func newProgram(q audit.Question, p *audit.Component, s *lp.System, b float64) *program {
	n := len(p.Cells)
	g := &program{q: q, b: b, p: p, s: s, of: make([][]int32, n), cost: make([]float64, n), choice: make([]int8, n),
		least: math.Inf(1)}
	at := map[int32]int32{}
	for j, c := range p.Cells {
		at[c] = int32(j)
		rest := q.Value[c] - q.Lower[c]
		g.cost[j] = (b - 2*rest) / b
		g.base += 2*rest - 2*rest*rest/b
	}
	for i := range q.Set.Sums() {
		var r row
		sum, off := q.Set.Sum(i), 0.0
		add := func(c int32, sign int8) {
			if j, in := at[c]; in {
				r.columns, r.signs = append(r.columns, j), append(r.signs, sign)
			}
			off += float64(sign) * q.Lower[c]
		}
		add(sum.Total, -1)
		for _, c := range sum.Parts {
			add(c, 1)
		}
		if len(r.columns) == 0 {
			continue
		}
		r.rhs = -int(math.Round(off / b))
		for _, j := range r.columns {
			g.of[j] = append(g.of[j], int32(len(g.rows)))
		}
		g.rows = append(g.rows, r)
	}
	return g
}

// choose makes a choice that is open and all that follow from it. It returns false if they contradict the sums.
func (g *program) choose(j int32, up int8) bool {
	g.choice[j] = up
	g.trail = append(g.trail, j)
	for k := len(g.trail) - 1; k < len(g.trail); k++ {
		for _, i := range g.of[g.trail[k]] {
			if !g.follow(&g.rows[i]) {
				return false
			}
		}
	}
	return true
}

// follow makes the choices that a sum forces.
func (g *program) follow(r *row) bool {
	low, high := 0, 0 // of what the columns can add up to
	for k, j := range r.columns {
		s := int(r.signs[k])
		switch g.choice[j] {
		case 1:
			low, high = low+s, high+s
		case 0:
			low, high = low+min(s, 0), high+max(s, 0)
		}
	}
	if low > r.rhs || high < r.rhs {
		return false
	}
	if low < r.rhs && high > r.rhs {
		return true
	}
	for k, j := range r.columns {
		if g.choice[j] == 0 {
			up := r.signs[k] // at the high end all that add are up
			if low == r.rhs {
				up = -up
			}
			g.choice[j] = up
			g.trail = append(g.trail, j)
		}
	}
	return true
}

// back undoes all choices but the first n.
func (g *program) back(n int) {
	for _, j := range g.trail[n:] {
		g.choice[j] = 0
	}
	g.trail = g.trail[:n]
}

// relax returns the least sum of changes if counts may also end between the multiples; +Inf if the choices are not
// possible.
func (g *program) relax() (float64, error) {
	terms := make([]lp.Term, len(g.cost))
	rewarded := func(costs float64) (short float64, err error) {
		for j, c := range g.cost {
			terms[j] = lp.Term{Column: j, Weight: costs*c - reward*float64(g.choice[j])}
		}
		if _, err := g.s.MinimizeSum(terms); err != nil {
			return 0, err
		}
		z := g.s.Point()
		for _, j := range g.trail {
			short += math.Abs(z[j] - g.end(j, g.choice[j]))
		}
		return short, nil
	}
	short, err := rewarded(1)
	if err != nil {
		return 0, err
	}
	if short > 1e-6 { // or a reward is not enough
		if short, err = rewarded(0); err != nil || short > 1e-6 {
			return math.Inf(1), err
		}
	}
	value := g.base
	for j, z := range g.s.Point() {
		value += g.cost[j] * z
	}
	return value, nil
}

// end is the change of a column that goes up, or down.
func (g *program) end(j int32, up int8) float64 {
	c := g.p.Cells[j]
	if up > 0 {
		return g.q.Upper[c] - g.q.Value[c]
	}
	return g.q.Lower[c] - g.q.Value[c]
}

// pump looks for a rounding near the optimum of the linear program (feasibility pump: Fischetti, Glover and Lodi 2005):
// it moves from the point to the nearest one to its own rounding, as long as this changes, and else turns over the
// counts that are farthest from it. The costs bear less with every step.
func (g *program) pump() error {
	n := len(g.cost)
	target := make([]int8, n)
	terms := make([]lp.Term, n)
	costs := 1.0
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for step := range pumpSteps {
		if g.s.Work > g.limit {
			return nil
		}
		z, same, away := g.s.Point(), true, []int32(nil)
		for j := range target {
			to := int8(1)
			if z[j]-g.end(int32(j), -1) < g.b/2 {
				to = -1
			}
			same = same && target[j] == to
			target[j] = to
			if math.Abs(z[j]-g.end(int32(j), to)) > 1e-6 {
				away = append(away, int32(j))
			}
		}
		if len(away) == 0 {
			g.found()
			return nil
		}
		if same && step > 0 {
			slices.SortFunc(away, func(a, b int32) int {
				return cmp.Compare(math.Abs(z[b]-g.end(b, target[b])), math.Abs(z[a]-g.end(a, target[a])))
			})
			for _, j := range away[:min(len(away), 5+rng.IntN(20))] {
				target[j] = -target[j]
			}
			for range rng.IntN(4) * len(away) / 40 {
				j := rng.IntN(n)
				target[j] = -target[j]
			}
		}
		for j, c := range g.cost {
			terms[j] = lp.Term{Column: j, Weight: costs*c - float64(target[j])}
		}
		costs *= 0.9
		if _, err := g.s.MinimizeSum(terms); err != nil {
			return err
		}
	}
	return nil
}

// pumpSteps is the limit of its steps.
const pumpSteps = 1000

// found remembers the present point, which is a rounding, if it is the best one.
func (g *program) found() {
	changes := 0.0
	for _, z := range g.s.Point() {
		changes += math.Abs(z)
	}
	if changes < g.least-1e-6 {
		g.best, g.least = append(g.best[:0], g.s.Point()...), math.Round(changes)
	}
}

// search looks for the rounding with the least sum of changes, and remembers the best one.
func (g *program) search() error {
	for i := range g.rows {
		if !g.follow(&g.rows[i]) {
			g.whole = true
			return nil
		}
	}
	type branch struct {
		trail int // choices before it
		j     int32
		up    int8
	}
	var open []branch
	for first, possible := true, true; ; first = false {
		if err := g.q.Stopped(); err != nil {
			if g.cut = errors.Is(err, errLate); g.cut {
				return nil
			}
			return err
		}
		if possible {
			j, up, err := g.visit(first)
			if first && err == nil {
				err = g.pump()
			}
			if g.cut = errors.Is(err, errLate); g.cut || errors.Is(err, lp.ErrStalled) {
				return nil
			}
			if err != nil {
				return err
			}
			if j >= 0 {
				open = append(open, branch{len(g.trail), j, -up}, branch{len(g.trail), j, up})
			}
		}
		if len(open) == 0 {
			g.whole = true
			return nil
		}
		if g.s.Work > g.limit {
			return nil
		}
		next := open[len(open)-1]
		open = open[:len(open)-1]
		g.back(next.trail)
		possible = g.choose(next.j, next.up)
	}
}

// visit solves the present program and returns the next choice, −1 if there is none: the program has no better
// rounding, or its solution is one.
func (g *program) visit(first bool) (j int32, up int8, err error) {
	value, err := g.relax()
	if err != nil {
		return -1, 0, err
	}
	if first {
		g.root = math.Ceil(value - 1e-6)
	}
	if value > g.least-1+1e-6 { // sums of changes are whole numbers
		return -1, 0, nil
	}
	j, nearest := int32(-1), 1.0
	for k, z := range g.s.Point() {
		down, above := g.end(int32(k), -1), g.end(int32(k), 1)
		d, to := z-down, int8(-1)
		if above-z < d {
			d, to = above-z, 1
		}
		if d > 1e-6 && d < nearest*g.b {
			j, up, nearest = int32(k), to, d/g.b
		}
	}
	if j < 0 {
		g.found()
	}
	return j, up, nil
}
