package adjust

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/tables"
)

// Problem is what an adjustment must be. All amounts are in units of the table.
type Problem struct {
	Set         *tables.Set
	Value       []float64
	Least, Most []float64 // bounds of the change of each cell, whole numbers: Least ≤ 0 ≤ Most
	Unsafe      []bool
	// of an unsafe cell: it must change by at least Down > 0 downwards or by at least Up > 0 upwards; whole numbers
	Down, Up []float64
	Weight   []float64 // cost of a change by one unit, above 0 and at most 1

	Work  int64     // limit of the search for better directions, in units of lp.System.Work; 0: some seconds
	Until time.Time // ends this search, too; zero: no limit
	Stop  func() error
}

// Adjustment is one that was found.
type Adjustment struct {
	Value   []float64 // of all cells
	Cost    float64   // sum of the changes, each times its weight
	AtLeast float64   // no adjustment has a lower cost
	Short   bool      // Until ended the search
}

// ErrNone reports that no adjustment was found.
var ErrNone = errors.New("no adjustment was found")

const (
	searchWork = 1_000_000_000 // of the search for better directions
	wholeWork  = 1_000_000_000 // of the search for whole numbers
	mostKept   = 10            // choices of directions that are tried for whole numbers
)

// Solve returns changed values such that every sum holds, every unsafe cell is as far from its value as it must be, in
// one direction or the other, and the cost of all changes is small. Directions come from a heuristic that lets the
// changes of a sum cancel each other, are reversed one by one while this helps, and then chosen by branch and bound.
// All values are whole numbers.
func Solve(p Problem) (*Adjustment, error) {
	g, err := newProgram(&p)
	if err != nil {
		return nil, err
	}
	s := &search{program: g, limit: cmp.Or(p.Work, searchWork), least: math.Inf(1)}
	for k, c := range g.cells {
		if p.Unsafe[c] {
			s.unsafe = append(s.unsafe, k)
		}
	}
	root, err := s.root()
	if err != nil {
		return nil, err
	}
	if err := s.local(); err != nil {
		return nil, err
	}
	bound, err := s.branch(root)
	if err != nil {
		return nil, err
	}
	until := s.work + wholeWork
	for _, choice := range s.kept {
		z, cost, err := s.integers(choice.up, until)
		if err != nil {
			return nil, err
		}
		if z == nil {
			continue
		}
		a := &Adjustment{Value: slices.Clone(p.Value), Cost: cost, AtLeast: min(bound, cost), Short: s.cut}
		for k, c := range g.cells {
			a.Value[c] += z[k]
		}
		return a, p.check(a.Value)
	}
	return nil, ErrNone
}

// check returns an error if values are not an adjustment.
func (p *Problem) check(x []float64) error {
	if problems := p.Set.CheckSums(x, 0); len(problems) > 0 {
		return fmt.Errorf("%w that adds up", ErrNone) // without the difference, which tells of values
	}
	for c, v := range x {
		z := v - p.Value[c]
		if z < p.Least[c] || z > p.Most[c] || z != math.Trunc(z) || p.Unsafe[c] && z > -p.Down[c] && z < p.Up[c] {
			return fmt.Errorf("%w that keeps all bounds", ErrNone)
		}
	}
	return nil
}

// search is the search for directions.
type search struct {
	*program
	unsafe []int // cells of the program
	limit  int64
	cut    bool    // Until ended it
	least  float64 // cost of the cheapest choice so far
	kept   []choice
}

// choice is a direction for each unsafe cell, up or down.
type choice struct {
	up   []bool
	cost float64
}

// over reports whether the search has reached its limit.
func (s *search) over() bool {
	if !s.Until.IsZero() && !time.Now().Before(s.Until) {
		s.cut = true
	}
	return s.cut || s.work >= s.limit
}

// root returns the lower bound of the cost with all directions open. It returns ErrNone if a cell can change in no
// direction as far as it must.
func (s *search) root() (float64, error) {
	for _, k := range s.unsafe {
		c, all := s.cells[k], s.spans[k]
		switch up, down := all.high >= s.Up[c], all.low <= -s.Down[c]; {
		case !up && !down:
			return 0, fmt.Errorf("%w: %s cannot change as far as it must", ErrNone, s.Set.Name(int(c)))
		case !up:
			all.high = -s.Down[c]
		case !down:
			all.low = s.Up[c]
		}
		if err := s.bound(k, all); err != nil {
			return 0, err
		}
	}
	for c, unsafe := range s.Problem.Unsafe {
		if unsafe && s.Least[c] == 0 && s.Most[c] == 0 {
			return 0, fmt.Errorf("%w: %s cannot change", ErrNone, s.Set.Name(c))
		}
	}
	a, err := s.solve()
	if err != nil || a == nil {
		return 0, err
	}
	if a.short > 0 {
		return 0, ErrNone
	}
	return a.cost, nil
}

// direct lets unsafe cell i change in one direction only.
func (s *search) direct(i int, up bool) error {
	k := s.unsafe[i]
	c := s.cells[k]
	if up {
		return s.bound(k, span{min(s.Up[c], s.Most[c]), s.Most[c]})
	}
	return s.bound(k, span{s.Least[c], max(-s.Down[c], s.Least[c])})
}

// possible reports whether unsafe cell i can change in a direction as far as it must.
func (s *search) possible(i int, up bool) bool {
	c := s.cells[s.unsafe[i]]
	if up {
		return s.Most[c] >= s.Up[c]
	}
	return s.Least[c] <= -s.Down[c]
}

// balanced chooses directions such that the changes of each sum cancel each other: the largest first, each against what
// its sums have until then.
func (s *search) balanced() []bool {
	sums := map[int32][]int32{}
	sign := map[[2]int32]float64{}
	for i := range s.Set.Sums() {
		sum := s.Set.Sum(i)
		for j, c := range append([]int32{sum.Total}, sum.Parts...) {
			if s.Unsafe[c] {
				sums[c] = append(sums[c], int32(i))
				if sign[[2]int32{c, int32(i)}] = 1; j == 0 {
					sign[[2]int32{c, int32(i)}] = -1
				}
			}
		}
	}
	order := make([]int, len(s.unsafe))
	for i := range order {
		order[i] = i
	}
	size := func(i int) float64 { c := s.cells[s.unsafe[i]]; return s.Up[c] + s.Down[c] }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	excess, up := make([]float64, s.Set.Sums()), make([]bool, len(s.unsafe))
	for _, i := range order {
		c := s.cells[s.unsafe[i]]
		cost := func(d float64) (more float64) {
			for _, sum := range sums[c] {
				v := d * sign[[2]int32{c, sum}]
				more += math.Abs(excess[sum]+v) - math.Abs(excess[sum])
			}
			return more
		}
		d := -s.Down[c]
		if !s.possible(i, false) || s.possible(i, true) && cost(s.Up[c]) < cost(d) {
			d, up[i] = s.Up[c], true
		}
		for _, sum := range sums[c] {
			excess[sum] += d * sign[[2]int32{c, sum}]
		}
	}
	return up
}

// local starts with balanced directions and reverses single ones while this reduces what is missing or the cost.
func (s *search) local() error {
	up := s.balanced()
	for i, d := range up {
		if err := s.direct(i, d); err != nil {
			return err
		}
	}
	value := func() (float64, error) {
		a, err := s.solve()
		if err != nil || a == nil {
			return math.Inf(1), err
		}
		if a.short == 0 {
			s.keep(up, a.cost)
		}
		return a.cost + reward*a.short, nil
	}
	best, err := value()
	if err != nil {
		return err
	}
	for turned := true; turned && !s.over(); {
		turned = false
		for i := range up {
			if s.over() {
				break
			}
			if !s.possible(i, !up[i]) {
				continue
			}
			up[i] = !up[i]
			if err := s.direct(i, up[i]); err != nil {
				return err
			}
			v, err := value()
			if err != nil {
				return err
			}
			if v < best-1e-9*(1+math.Abs(best)) {
				best, turned = v, true
				continue
			}
			up[i] = !up[i]
			if err := s.direct(i, up[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep notes a choice if it is one of the cheapest.
func (s *search) keep(up []bool, cost float64) {
	s.least = min(s.least, cost)
	if slices.ContainsFunc(s.kept, func(c choice) bool { return slices.Equal(c.up, up) }) {
		return
	}
	at, _ := slices.BinarySearchFunc(s.kept, cost, func(c choice, v float64) int { return cmp.Compare(c.cost, v) })
	s.kept = slices.Insert(s.kept, at, choice{slices.Clone(up), cost})
	s.kept = s.kept[:min(len(s.kept), mostKept)]
}

// part is a part of the search: the directions of the first unsafe cells are chosen.
type part struct {
	up    []bool
	bound float64
}

// branch chooses the directions of one unsafe cell after the other, depth first, and leaves out parts that cannot have
// a cheaper choice. It returns a lower bound of the cost of every choice.
func (s *search) branch(root float64) (bound float64, err error) {
	stack := []part{{nil, root}}
	order := []bool(nil)
	if len(s.kept) > 0 {
		order = s.kept[0].up
	}
	bound = math.Inf(1)
	for len(stack) > 0 {
		p := stack[len(stack)-1]
		if s.over() {
			bound = min(bound, p.bound)
			stack = stack[:len(stack)-1]
			continue
		}
		stack = stack[:len(stack)-1]
		if p.bound >= s.least-1e-9 {
			bound = min(bound, p.bound)
			continue
		}
		a, err := s.part(p.up)
		if err != nil {
			return 0, err
		}
		if a != nil && a.short > 0 {
			continue
		}
		if a != nil {
			p.bound = max(p.bound, a.cost)
		}
		switch {
		case len(p.up) == len(s.unsafe):
			if a != nil {
				s.keep(p.up, a.cost)
			}
			bound = min(bound, p.bound)
		case p.bound >= s.least-1e-9:
			bound = min(bound, p.bound)
		default:
			i := len(p.up)
			first := order != nil && order[i]
			for _, up := range [2]bool{!first, first} { // the last is searched first
				if s.possible(i, up) {
					stack = append(stack, part{append(slices.Clone(p.up), up), p.bound})
				}
			}
		}
	}
	return bound, nil
}

// part solves the program with the directions of the first unsafe cells.
func (s *search) part(up []bool) (*answer, error) {
	for i, k := range s.unsafe {
		c := s.cells[k]
		var err error
		switch {
		case i < len(up):
			err = s.direct(i, up[i])
		case !s.possible(i, true):
			err = s.direct(i, false)
		case !s.possible(i, false):
			err = s.direct(i, true)
		default:
			err = s.bound(k, span{s.Least[c], s.Most[c]})
		}
		if err != nil {
			return nil, err
		}
	}
	return s.solve()
}

// restriction keeps the change of a cell of the program within a span.
type restriction struct {
	k    int
	span span
}

// integers returns changes of whole numbers with the given directions: it divides the span of a cell whose change is
// none, and searches the half that is nearer first. In tables of two variables the first program gives whole numbers.
func (s *search) integers(up []bool, until int64) (z []float64, cost float64, err error) {
	stack := [][]restriction{nil}
	for len(stack) > 0 && (s.work < until || len(stack[0]) == 0) {
		r := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for k, c := range s.cells {
			if !s.Unsafe[c] && s.spans[k] != (span{s.Least[c], s.Most[c]}) {
				if err := s.bound(k, span{s.Least[c], s.Most[c]}); err != nil {
					return nil, 0, err
				}
			}
		}
		for i, d := range up {
			if err := s.direct(i, d); err != nil {
				return nil, 0, err
			}
		}
		for _, x := range r {
			if err := s.bound(x.k, x.span); err != nil {
				return nil, 0, err
			}
		}
		a, err := s.solve()
		if err != nil {
			return nil, 0, err
		}
		if a == nil || a.short > 0 {
			continue
		}
		k := fractional(a.z)
		if k < 0 {
			for k := range a.z {
				a.z[k] = math.Round(a.z[k])
			}
			return a.z, a.cost, nil
		}
		if z, cost := s.rounded(a.z); z != nil {
			return z, cost, nil
		}
		low, high := s.spans[k], s.spans[k]
		low.high, high.low = math.Floor(a.z[k]), math.Ceil(a.z[k])
		halves := [2]span{low, high}
		if a.z[k]-low.high < 0.5 {
			halves = [2]span{high, low}
		}
		for _, half := range halves {
			stack = append(stack, append(slices.Clone(r), restriction{k, half}))
		}
	}
	return nil, 0, nil
}

// rounded rounds the changes of cells that are no totals, which keeps their bounds, and adds up those of the totals. It
// returns nil if one of these then does not keep its bounds, or if the totals of linked tables contradict each other.
func (s *search) rounded(z []float64) (whole []float64, cost float64) {
	x := slices.Clone(s.Value)
	open := make([]int, len(x)) // sums of a total that were not added up
	for i := range s.Set.Sums() {
		open[s.Set.Sum(i).Total]++
	}
	for k, c := range s.cells {
		if open[c] == 0 {
			x[c] += math.Round(z[k])
		}
	}
	added := make([]bool, s.Set.Sums())
	for again := true; again; {
		again = false
		for i := range added {
			sum := s.Set.Sum(i)
			if added[i] || slices.ContainsFunc(sum.Parts, func(c int32) bool { return open[c] > 0 }) {
				continue
			}
			x[sum.Total] = 0
			for _, c := range sum.Parts {
				x[sum.Total] += x[c]
			}
			open[sum.Total]--
			added[i], again = true, true
		}
	}
	if s.check(x) != nil {
		return nil, 0
	}
	whole = make([]float64, len(z))
	for k, c := range s.cells {
		whole[k] = x[c] - s.Value[c]
		cost += s.Weight[c] * math.Abs(whole[k])
	}
	return whole, cost
}

// fractional returns the cell whose change is nearest to a whole number without being one; −1 if there is none.
func fractional(z []float64) (at int) {
	at, least := -1, 1.0
	for k, v := range z {
		if d := math.Abs(v - math.Round(v)); d > 1e-6 && d < least {
			at, least = k, d
		}
	}
	return at
}
