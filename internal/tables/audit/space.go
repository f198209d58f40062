package audit

import (
	"cmp"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// Question is a set of tables with suppressed cells, and the prior knowledge of an
// intruder.
type Question struct {
	Set    *tables.Set
	Value  []float64 // true values, one per cell, in units of the table: whole numbers
	Hidden []bool    // suppressed

	// Lower and Upper are the bounds of each cell that an intruder knows beforehand.
	// nil: 0 and infinity.
	Lower, Upper []float64

	Counts bool // values are whole numbers

	// Huge is the number of cells above which a component is huge: a linear program
	// over it takes so long that most questions do not use one; 0: 10,000.
	Huge int

	// Large is the number of cells above which a component is large: programs over parts of
	// it are tried first, and Work limits its programs in an audit; 0: 1,000.
	Large int

	// Work is the limit of the work of linear programs (lp.System) over large components
	// in an audit; the remaining ends are those of the shuttle; 0: 1,000,000,000, some
	// seconds.
	Work int64

	// Stop, if not nil, is called regularly. If it returns an error, the computation
	// ends with this error.
	Stop func() error
}

// Stopped returns the error of Stop, nil if Stop is nil.
func (q Question) Stopped() error {
	if q.Stop == nil {
		return nil
	}
	return q.Stop()
}

// Within reports whether, for an intruder, a cell can deviate by d from its value: it is
// suppressed, and the deviation is within Lower and Upper.
func (q Question) Within(cell int32, d float64) bool {
	v := q.Value[cell] + d
	eps := rounding(q.Value[cell])
	return q.Hidden[cell] && v >= q.lower(cell)-eps && v <= q.upper(cell)+eps
}

func (q Question) lower(cell int32) float64 {
	if q.Lower == nil {
		return 0
	}
	return q.Lower[cell]
}

func (q Question) upper(cell int32) float64 {
	if q.Upper == nil {
		return math.Inf(1)
	}
	return q.Upper[cell]
}

// Component is a part of the hidden cells that shares no sum with other unknown hidden
// cells, so that it can be audited separately. It is described by deviations from the
// true values, one column per cell.
type Component struct {
	Cells     []int32
	Low, High []float64 // ends of the deviations after the shuttle

	q       Question
	system  *lp.System // nil until it is asked for
	rows    [][]lp.Entry
	of      [][]int32   // rows of each column; nil until needed
	signs   [][]float64 // signs of the column in these rows
	fixed   []bool      // nil if no column was ever fixed
	counts  bool
	huge    bool
	large   bool
	raised  map[int]float64 // of a column: its low end before Raise
	partial *enumeration    // nil until it is asked for
	around  *neighbourhood  // nil until it is asked for
	mend    *mending        // nil until it is asked for
}

// shuttle holds, for all hidden cells, the ends of the deviations from the true values
// that are still possible.
type shuttle struct {
	q         Question
	column    []int32 // of a cell, -1 if it is published
	cells     []int32 // of a column
	low, high []float64
	sums      []int32   // sums with a hidden cell
	sumsOf    [][]int32 // of a column: indices into sums
}

// Components splits the hidden cells into components. Cells that the shuttle alone
// determines are in none; known lists them. It returns the error of q.Stop.
func Components(q Question) (parts []Component, known []int32, err error) {
	s := newShuttle(q)
	s.narrow()
	if err := q.Stopped(); err != nil {
		return nil, nil, err
	}
	parts, known = s.split()
	return parts, known, nil
}

func newShuttle(q Question) *shuttle {
	s := &shuttle{q: q, column: make([]int32, len(q.Value))}
	for cell, hidden := range q.Hidden {
		if s.column[cell] = -1; hidden {
			s.column[cell] = int32(len(s.cells))
			s.cells = append(s.cells, int32(cell))
			s.low = append(s.low, min(q.lower(int32(cell))-q.Value[cell], 0))
			s.high = append(s.high, max(q.upper(int32(cell))-q.Value[cell], 0))
		}
	}
	of := make([]int32, len(s.cells)) // number of sums of a column
	for i := range q.Set.Sums() {
		s.each(i, func(c int32, _ float64) { of[c]++ })
	}
	s.sumsOf = parted[int32](of)
	for i := range q.Set.Sums() {
		any := false
		s.each(i, func(c int32, _ float64) {
			s.sumsOf[c] = append(s.sumsOf[c], int32(len(s.sums)))
			any = true
		})
		if any {
			s.sums = append(s.sums, int32(i))
		}
	}
	return s
}

// parted returns empty lists with the given capacities, in one piece of memory.
func parted[T any](room []int32) [][]T {
	total := 0
	for _, n := range room {
		total += int(n)
	}
	all, lists := make([]T, total), make([][]T, len(room))
	for i, n := range room {
		lists[i], all = all[:0:n], all[n:]
	}
	return lists
}

// each calls visit for the hidden cells of a sum with their signs: -1 for the total, 1
// for the parts.
func (s *shuttle) each(sum int, visit func(column int32, sign float64)) {
	t := s.q.Set.Sum(sum)
	if c := s.column[t.Total]; c >= 0 {
		visit(c, -1)
	}
	for _, p := range t.Parts {
		if c := s.column[p]; c >= 0 {
			visit(c, 1)
		}
	}
}

// narrow visits the sums in turn: a cell can deviate no further than the other cells of
// the sum can offset. It ends when nothing changes, or after forty visits per sum,
// because deviations of real numbers may change by ever smaller amounts without end.
func (s *shuttle) narrow() {
	queue := make([]int32, len(s.sums))
	waiting := make([]bool, len(s.sums))
	for i := range queue {
		queue[i], waiting[i] = int32(i), true
	}
	for n := 0; n < len(queue) && n < 40*len(s.sums); n++ {
		if n%visitsBetween == visitsBetween-1 && s.q.Stopped() != nil {
			return
		}
		i := queue[n]
		waiting[i] = false
		for _, c := range s.visit(int(s.sums[i])) {
			for _, o := range s.sumsOf[c] {
				if !waiting[o] {
					waiting[o] = true
					queue = append(queue, o)
				}
			}
		}
	}
}

// visitsBetween is the number of visits between two calls of Stop.
const visitsBetween = 4096

// visit narrows the cells of one sum and returns those that changed.
func (s *shuttle) visit(sum int) (changed []int32) {
	var low, high float64 // of the signed sum, without infinite ends
	openLow, openHigh := 0, 0
	add := func(v float64, total *float64, open *int) {
		if math.IsInf(v, 0) {
			*open++
		} else {
			*total += v
		}
	}
	s.each(sum, func(c int32, sign float64) {
		l, h := s.low[c], s.high[c]
		if sign < 0 {
			l, h = -h, -l
		}
		add(l, &low, &openLow)
		add(h, &high, &openHigh)
	})
	s.each(sum, func(c int32, sign float64) {
		l, h := s.low[c], s.high[c]
		if sign < 0 {
			l, h = -h, -l
		}
		// The cell must offset the sum of the others at their opposite ends.
		newLow, newHigh := l, h
		if others, closed := without(low, openLow, l); closed {
			newHigh = min(h, -others)
		}
		if others, closed := without(high, openHigh, h); closed {
			newLow = max(l, -others)
		}
		if newHigh < h || newLow > l {
			if sign < 0 {
				newLow, newHigh = -newHigh, -newLow
			}
			eps := 1e-9 * (1 + math.Abs(newLow) + math.Abs(newHigh))
			if !(newHigh < s.high[c]-eps || newLow > s.low[c]+eps) && !math.IsInf(s.high[c]-s.low[c], 1) {
				return
			}
			s.low[c], s.high[c] = min(newLow, 0), max(newHigh, 0) // 0 is always possible
			changed = append(changed, c)
		}
	})
	return changed
}

// without subtracts a cell's own end from a total of ends; closed reports whether all
// other ends are finite.
func without(total float64, open int, own float64) (others float64, closed bool) {
	if math.IsInf(own, 0) {
		return total, open == 1
	}
	return total - own, open == 0
}

// leaders returns for each column the least column of its component.
func (s *shuttle) leaders() []int32 {
	leader := make([]int32, len(s.cells))
	for c := range leader {
		leader[c] = int32(c)
	}
	find := func(c int32) int32 {
		for leader[c] != c {
			leader[c] = leader[leader[c]]
			c = leader[c]
		}
		return c
	}
	for _, sum := range s.sums {
		first := int32(-1)
		s.each(int(sum), func(c int32, _ float64) {
			switch {
			case s.fixed(c):
			case first < 0:
				first = find(c)
			default:
				a, b := find(c), find(first)
				leader[max(a, b)] = min(a, b)
			}
		})
	}
	for c := range leader {
		leader[c] = find(int32(c))
	}
	return leader
}

func (s *shuttle) fixed(c int32) bool { return s.high[c]-s.low[c] <= 0 }

// split returns the components of the cells that the shuttle has not fixed, and the
// fixed cells.
func (s *shuttle) split() (parts []Component, known []int32) {
	n := len(s.cells)
	leader := s.leaders()
	number := make([]int32, n)
	local := make([]int32, n)
	for c := range int32(n) {
		if s.fixed(c) {
			known = append(known, s.cells[c])
			continue
		}
		l := leader[c]
		if l == c {
			number[c] = int32(len(parts))
			parts = append(parts, Component{})
		}
		p := &parts[number[l]]
		number[c], local[c] = number[l], int32(len(p.Cells))
		p.Cells = append(p.Cells, s.cells[c])
		p.Low, p.High = append(p.Low, s.low[c]), append(p.High, s.high[c])
	}
	for _, sum := range s.sums {
		n := 0
		s.each(int(sum), func(c int32, _ float64) {
			if !s.fixed(c) {
				n++
			}
		})
		row := make([]lp.Entry, 0, n)
		part := int32(-1)
		s.each(int(sum), func(c int32, sign float64) {
			if !s.fixed(c) {
				row = append(row, lp.Entry{Column: int(local[c]), Value: sign})
				part = number[c]
			}
		})
		if part >= 0 {
			parts[part].rows = append(parts[part].rows, row)
		}
	}
	for i := range parts {
		p := &parts[i]
		p.q, p.counts = s.q, s.q.Counts
		p.large = len(p.Cells) > cmp.Or(s.q.Large, largeComponent)
		p.huge = len(p.Cells) > cmp.Or(s.q.Huge, hugeComponent)
	}
	return parts, known
}

// Program returns the linear program of the component in the deviations from the true values,
// one column per cell. It is built at the first call, because the program of a huge component
// needs much memory and is mostly not used.
func (p *Component) Program() (*lp.System, error) {
	if p.system != nil {
		return p.system, nil
	}
	lower, upper := make([]float64, len(p.Cells)), make([]float64, len(p.Cells))
	for j := range p.Cells {
		if p.fixed == nil || !p.fixed[j] {
			lower[j], upper[j] = p.bounds(p.q, j)
		}
	}
	a, err := lp.NewMatrix(len(p.Cells), p.rows)
	if err != nil {
		return nil, err
	}
	if p.system, err = lp.New(a, lower, upper); err != nil {
		return nil, err
	}
	p.system.Stop = p.q.Stop
	return p.system, nil
}

// largeComponent is the number of cells from which a linear program takes much longer than one
// over a part.
const largeComponent = 1000

// hugeComponent is the number of cells from which a linear program takes seconds.
const hugeComponent = 10_000

// Huge reports whether the component has more cells than the question's Huge.
func (p *Component) Huge() bool { return p.huge }

// bounds returns the bounds of the deviation of column j that are known beforehand or,
// where these are infinite, those of the shuttle.
func (p *Component) bounds(q Question, j int) (lower, upper float64) {
	cell := p.Cells[j]
	lower = min(q.lower(cell)-q.Value[cell], 0)
	upper = max(q.upper(cell)-q.Value[cell], 0)
	if math.IsInf(upper, 1) {
		upper = p.High[j]
	}
	if _, raised := p.raised[j]; raised || math.IsInf(lower, -1) {
		lower = p.Low[j]
	}
	return lower, upper
}

// rowsOf returns the rows of column j.
func (p *Component) rowsOf(j int) []int32 {
	if p.of == nil {
		room := make([]int32, len(p.Cells))
		for _, row := range p.rows {
			for _, x := range row {
				room[x.Column]++
			}
		}
		p.of, p.signs = parted[int32](room), parted[float64](room)
		for i, row := range p.rows {
			for _, x := range row {
				p.of[x.Column] = append(p.of[x.Column], int32(i))
				p.signs[x.Column] = append(p.signs[x.Column], x.Value)
			}
		}
	}
	return p.of[j]
}

// Fix fixes column j at deviation 0; Free undoes this.
func (p *Component) Fix(j int) error {
	if p.fixed == nil {
		p.fixed = make([]bool, len(p.Cells))
	}
	p.fixed[j] = true
	if p.mend != nil {
		p.mend.bound(j)
	}
	if p.partial != nil {
		p.partial.reset(j)
	}
	if p.system == nil {
		return nil
	}
	return p.system.SetBounds(j, 0, 0)
}

// Free undoes Fix.
func (p *Component) Free(q Question, j int) error {
	p.fixed[j] = false
	if p.mend != nil {
		p.mend.bound(j)
	}
	if p.partial != nil {
		p.partial.reset(j)
	}
	if p.system == nil {
		return nil
	}
	lower, upper := p.bounds(q, j)
	return p.system.SetBounds(j, lower, upper)
}

// Raise makes the low end of the deviation of column j at least low, which is at most 0; Lower undoes this.
func (p *Component) Raise(j int, low float64) error {
	if low <= p.Low[j] {
		return nil
	}
	if p.raised == nil {
		p.raised = map[int]float64{}
	}
	p.raised[j], p.Low[j] = p.Low[j], low
	return p.renew(j)
}

// Lower undoes Raise.
func (p *Component) Lower(j int) error {
	low, raised := p.raised[j]
	if !raised {
		return nil
	}
	delete(p.raised, j)
	p.Low[j] = low
	return p.renew(j)
}

// renew gives the search and the program the present bounds of column j.
func (p *Component) renew(j int) error {
	if p.mend != nil {
		p.mend.bound(j)
	}
	if p.partial != nil {
		p.partial.reset(j)
	}
	if p.system == nil || p.fixed != nil && p.fixed[j] {
		return nil
	}
	lower, upper := p.bounds(p.q, j)
	return p.system.SetBounds(j, lower, upper)
}

// While calls do for somebody who knows the values of the given columns, and that other columns deviate by at
// least the given negative amounts.
func (p *Component) While(known []int, least map[int]float64, do func()) error {
	for _, j := range known {
		if err := p.Fix(j); err != nil {
			return err
		}
	}
	for j, low := range least {
		if err := p.Raise(j, low); err != nil {
			return err
		}
	}
	do()
	for j := range least {
		if err := p.Lower(j); err != nil {
			return err
		}
	}
	for _, j := range known {
		if err := p.Free(p.q, j); err != nil {
			return err
		}
	}
	return nil
}

// Facing returns the question for respondents: each cell is at least what its small contributors can have together
// (tables.Knowers.Rest), but a primary cell may be as low as its rule requires.
func Facing(q Question, p *primary.Result, knowers *tables.Knowers) Question {
	rest := knowers.Rest()
	if rest == nil {
		return q
	}
	lower := make([]float64, len(q.Value))
	for c, v := range q.Value {
		lower[c] = q.lower(int32(c))
		least := min(rest[c], v)
		if p.Status[c] == tables.Primary {
			least = min(least, v-p.Down[c])
		}
		if rest[c] > 0 {
			lower[c] = max(lower[c], least)
		}
	}
	q.Lower = lower
	return q
}
