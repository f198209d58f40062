package audit

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// searchSteps is how many partial tables a search for one whole table looks at.
const searchSteps = 20_000

// search looks for tables of whole numbers in which the cells reach as far as asked,
// and enters what it finds among what was shown.
func (v *Verdict) search(q Question, r *Ranges, p *primary.Result, missing []int32) error {
	parts, _, err := Components(q)
	if err != nil {
		return err
	}
	for i := range parts {
		if err := q.Stopped(); err != nil {
			return err
		}
		for j, cell := range parts[i].Cells {
			if _, wanted := slices.BinarySearch(missing, cell); !wanted {
				continue
			}
			x := q.Value[cell]
			up := r.ShownHigh[cell] >= x+p.Up[cell] || parts[i].WholeTable(j, p.Up[cell], searchSteps) != nil
			if up {
				r.ShownHigh[cell] = max(r.ShownHigh[cell], x+p.Up[cell])
			}
			down := r.ShownLow[cell] <= x-p.Down[cell] || parts[i].WholeTable(j, -p.Down[cell], searchSteps) != nil
			if down {
				r.ShownLow[cell] = min(r.ShownLow[cell], x-p.Down[cell])
			}
			if !up || !down {
				v.Narrow = append(v.Narrow, cell)
				v.Unproven = append(v.Unproven, cell)
			}
		}
	}
	slices.Sort(v.Narrow)
	slices.Sort(v.Unproven)
	return q.Stopped()
}

// WholeTable returns the deviations of a table of whole numbers in which column j
// deviates by d: by implicit enumeration with the shuttle (Dobra 2001). Every other
// column deviates as little as the ends found so far allow; as long as a sum does not
// hold with that, the column of such a sum that can take the fewest values is fixed, at
// the least deviations first. Columns that are fixed do not deviate. It gives up, and
// returns nil as where there is none, after as many partial tables as steps.
func (p *Component) WholeTable(j int, d float64, steps int) []float64 {
	n := len(p.Cells)
	e := enumeration{p: p, steps: steps, low: make([]float64, n), high: make([]float64, n), waiting: make([]bool, len(p.rows)), met: make([]bool, len(p.rows))}
	for k := range n {
		if p.fixed == nil || !p.fixed[k] {
			e.low[k], e.high[k] = math.Ceil(p.Low[k]-1e-6), math.Floor(p.High[k]+1e-6)
		}
	}
	if d < e.low[j] || d > e.high[j] || !e.with(j, d) {
		return nil
	}
	for k := range n {
		e.low[k] = e.nearest(k)
	}
	return e.low
}

// enumeration is a partial table: the ends of every column, and how to take back what
// narrowed them.
type enumeration struct {
	p         *Component
	low, high []float64
	trail     []narrowed
	queue     []int32
	waiting   []bool  // of a row: in the queue
	rows      []int32 // that a narrowed column stands in: no other can be broken
	met       []bool  // of a row: in rows
	steps     int
}

type narrowed struct {
	column    int32
	low, high float64
}

// nearest is the least deviation of a column within its ends.
func (e *enumeration) nearest(k int) float64 { return max(e.low[k], min(e.high[k], 0)) }

// with fixes column j at d, follows what that implies, and goes on until every sum
// holds. Where it returns false nothing is narrowed.
func (e *enumeration) with(j int, d float64) bool {
	if e.steps--; e.steps < 0 {
		return false
	}
	if stop := e.p.System.Stop; stop != nil && e.steps%64 == 0 && stop() != nil {
		e.steps = 0
		return false
	}
	mark := len(e.trail)
	e.narrow(int32(j), d, d)
	if e.follow() {
		next := e.open()
		if next < 0 || e.branch(next) {
			return true
		}
	}
	for len(e.trail) > mark {
		t := e.trail[len(e.trail)-1]
		e.trail = e.trail[:len(e.trail)-1]
		e.low[t.column], e.high[t.column] = t.low, t.high
	}
	return false
}

// branch tries the values of a column, the least deviations first.
func (e *enumeration) branch(k int) bool {
	low, high, nearest := e.low[k], e.high[k], e.nearest(k)
	for step := 0.0; nearest-step >= low || nearest+step <= high; step++ {
		if nearest+step <= high && e.with(k, nearest+step) || step > 0 && nearest-step >= low && e.with(k, nearest-step) {
			return true
		}
		if e.steps < 0 {
			return false
		}
	}
	return false
}

// open returns the column with the fewest values of the sums that do not hold; -1 where
// all hold.
func (e *enumeration) open() int {
	next, fewest := -1, math.Inf(1)
	for _, i := range e.rows {
		sum := 0.0
		for _, x := range e.p.rows[i] {
			sum += x.Value * e.nearest(x.Column)
		}
		if sum == 0 {
			continue
		}
		for _, x := range e.p.rows[i] {
			if open := e.high[x.Column] - e.low[x.Column]; open > 0 && (open < fewest || open == fewest && x.Column < next || next < 0) {
				next, fewest = x.Column, open
			}
		}
	}
	return next
}

func (e *enumeration) narrow(c int32, low, high float64) {
	e.trail = append(e.trail, narrowed{c, e.low[c], e.high[c]})
	e.low[c], e.high[c] = low, high
	for _, i := range e.p.rowsOf(int(c)) {
		if !e.met[i] {
			e.met[i] = true
			e.rows = append(e.rows, i)
		}
		if !e.waiting[i] {
			e.waiting[i] = true
			e.queue = append(e.queue, i)
		}
	}
}

// follow narrows the ends along the sums that wait; false where a column is left
// without any value, or where that takes too long.
func (e *enumeration) follow() bool {
	ok := true
	for n := 0; n < len(e.queue); n++ {
		i := e.queue[n]
		e.waiting[i] = false
		if n > 1000*len(e.p.rows) {
			ok = false // ends that rise for ever, as where nothing bounds them from above
		}
		ok = ok && e.visit(e.p.rows[i])
	}
	e.queue = e.queue[:0]
	return ok
}

// visit narrows the columns of one row; false where one is left without any value.
func (e *enumeration) visit(row []lp.Entry) bool {
	var low, high ends
	for _, x := range row {
		l, h := e.low[x.Column], e.high[x.Column]
		if x.Value < 0 {
			l, h = -h, -l
		}
		low.add(l)
		high.add(h)
	}
	for _, x := range row {
		c := x.Column
		l, h := e.low[c], e.high[c]
		if x.Value < 0 {
			l, h = -h, -l
		}
		// The others add up to between low − l and high − h, and all of them to 0.
		from, to := -high.without(h), -low.without(l)
		if from > h || to < l {
			return false
		}
		if from <= l && to >= h {
			continue
		}
		newLow, newHigh := max(l, from), min(h, to)
		low.replace(l, newLow)
		high.replace(h, newHigh)
		if x.Value < 0 {
			newLow, newHigh = -newHigh, -newLow
		}
		e.narrow(int32(c), newLow, newHigh)
	}
	return true
}

// ends is a total of ends, some of which may be infinite.
type ends struct {
	total    float64
	infinite int
	sign     float64
}

func (t *ends) add(v float64) {
	if math.IsInf(v, 0) {
		t.infinite++
		t.sign = v
	} else {
		t.total += v
	}
}

func (t *ends) replace(old, by float64) {
	if math.IsInf(old, 0) {
		t.infinite--
	} else {
		t.total -= old
	}
	t.add(by)
}

// without is the total of all ends but one.
func (t *ends) without(v float64) float64 {
	infinite := t.infinite
	if math.IsInf(v, 0) {
		if infinite--; infinite == 0 {
			return t.total
		}
		return t.sign
	}
	if infinite > 0 {
		return t.sign
	}
	return t.total - v
}
