package audit

import (
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// enumeration is a partial table: the ends of every column, and a trail to undo their
// narrowing.
type enumeration struct {
	p       *Component
	whole   bool // ends are whole numbers and exact
	ends    []ends
	off     []float64 // of a row: its sum with every column at its nearest
	trail   []narrowed
	queue   []int32
	waiting []bool  // of a row: in the queue
	rows    []int32 // rows of the narrowed columns: only these can be violated
	met     []bool  // of a row: in rows
	listed  []bool  // of a column: already in the list of changes
	broken  int     // rows whose sum is not 0
	steps   int
	work    int64 // entries processed, roughly
}

// ends holds the least and the greatest deviation that are still possible.
type ends struct{ low, high float64 }

type narrowed struct {
	column int32
	ends   ends
}

// enumeration returns the partial table of the component without any narrowing. The
// component keeps it, because most questions change few of its columns.
func (p *Component) enumeration(whole bool) *enumeration {
	e := p.partial
	if e != nil && e.whole == whole {
		return e
	}
	n := len(p.Cells)
	e = &enumeration{p: p, whole: whole, ends: make([]ends, n), listed: make([]bool, n),
		off: make([]float64, len(p.rows)), waiting: make([]bool, len(p.rows)), met: make([]bool, len(p.rows))}
	p.partial = e
	for j := range n {
		e.reset(j)
	}
	return e
}

// reset sets the ends of a column to their values before any question.
func (e *enumeration) reset(j int) {
	switch p := e.p; {
	case p.fixed != nil && p.fixed[j]:
		e.ends[j] = ends{}
	case e.whole:
		e.ends[j] = ends{math.Ceil(p.Low[j] - 1e-6), math.Floor(p.High[j] + 1e-6)}
	default:
		e.ends[j] = ends{p.Low[j], p.High[j]}
	}
}

// forget undoes all narrowing of a question.
func (e *enumeration) forget() {
	e.back(0)
	for _, i := range e.rows {
		e.met[i] = false
		e.off[i] = 0 // it is 0 already, up to rounding
	}
	e.rows, e.broken = e.rows[:0], 0
}

// back undoes the narrowing since the trail had length mark.
func (e *enumeration) back(mark int) {
	for len(e.trail) > mark {
		t := e.trail[len(e.trail)-1]
		e.trail = e.trail[:len(e.trail)-1]
		e.set(t.column, t.ends)
	}
}

func (e *enumeration) set(c int32, to ends) {
	before := e.nearest(int(c))
	e.ends[c] = to
	if by := e.nearest(int(c)) - before; by != 0 {
		signs := e.p.signs[c]
		for k, i := range e.p.of[c] {
			was := e.off[i]
			is := was + signs[k]*by
			if e.off[i] = is; was == 0 && is != 0 {
				e.broken++
			} else if was != 0 && is == 0 {
				e.broken--
			}
		}
	}
}

// slack returns the difference that counts as 0 beside ends of the given size.
func (e *enumeration) slack(size float64) float64 {
	if e.whole {
		return 0
	}
	return 1e-3 + 1e-9*size
}

// nearest returns the deviation of a column nearest to 0 within its ends.
func (e *enumeration) nearest(k int) float64 {
	switch x := &e.ends[k]; {
	case x.low > 0:
		return x.low
	case x.high < 0:
		return x.high
	}
	return 0
}

func (e *enumeration) narrow(c int32, to ends) {
	e.trail = append(e.trail, narrowed{c, e.ends[c]})
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
	e.set(c, to)
}

// follow narrows the ends along the sums in the queue, with a limited number of visits.
// possible is false if a column has no value left; ended is false if the visits did not
// suffice.
func (e *enumeration) follow(visits int) (possible, ended bool) {
	possible, ended = true, true
	for n := 0; n < len(e.queue); n++ {
		i := e.queue[n]
		e.waiting[i] = false
		if n > visits {
			ended = false
		}
		if possible && ended {
			possible = e.visit(e.p.rows[i])
		}
	}
	e.queue = e.queue[:0]
	return possible, ended
}

// drop empties the queue.
func (e *enumeration) drop() {
	for _, i := range e.queue {
		e.waiting[i] = false
	}
	e.queue = e.queue[:0]
}

// visit narrows the columns of one row. It returns false if a column has no value left.
func (e *enumeration) visit(row []lp.Entry) bool {
	e.work += int64(len(row))
	sum, widest := e.sumOf(row)
	// A column must offset the sum of the others, which is between sum.low minus its
	// own low and sum.high minus its own high.
	if sum.openLow > 1 && sum.openHigh > 1 || widest <= -sum.low && widest <= sum.high {
		return true
	}
	slack := 0.0
	if !e.whole {
		slack = e.slack(e.size(row))
	}
	for _, x := range row {
		s := e.signed(x)
		to := sum.without(s, slack)
		if to.low > to.high {
			return false
		}
		if to.low > s.low+slack || to.high < s.high-slack {
			if x.Value < 0 {
				to.low, to.high = -to.high, -to.low
			}
			e.narrow(int32(x.Column), to)
		}
	}
	return true
}

// rowSum is the sum of the signed columns of a row: the sums of their finite ends, and
// the numbers of infinite ends.
type rowSum struct {
	ends
	openLow, openHigh int
}

// sumOf returns the sum of a row and the width of its widest column.
func (e *enumeration) sumOf(row []lp.Entry) (sum rowSum, widest float64) {
	for _, x := range row {
		s := e.signed(x)
		if s.low >= -math.MaxFloat64 {
			sum.low += s.low
		} else {
			sum.openLow++
		}
		if s.high <= math.MaxFloat64 {
			sum.high += s.high
		} else {
			sum.openHigh++
		}
		if w := s.high - s.low; w > widest {
			widest = w
		}
	}
	return sum, widest
}

// without returns the ends of a column of the row, narrowed by the bounds on the sum of
// the others.
func (r *rowSum) without(s ends, slack float64) ends {
	to := s
	if r.openLow == 0 {
		to.high = min(s.high, s.low-r.low+slack)
	} else if r.openLow == 1 && s.low < -math.MaxFloat64 {
		to.high = min(s.high, slack-r.low)
	}
	if r.openHigh == 0 {
		to.low = max(s.low, s.high-r.high-slack)
	} else if r.openHigh == 1 && s.high > math.MaxFloat64 {
		to.low = max(s.low, -slack-r.high)
	}
	return to
}

func (e *enumeration) signed(x lp.Entry) ends {
	s := e.ends[x.Column]
	if x.Value < 0 {
		s.low, s.high = -s.high, -s.low
	}
	return s
}

// size returns the sum of the absolute finite ends of a row.
func (e *enumeration) size(row []lp.Entry) (size float64) {
	for _, x := range row {
		for _, v := range [2]float64{e.ends[x.Column].low, e.ends[x.Column].high} {
			if v = math.Abs(v); v <= math.MaxFloat64 {
				size += v
			}
		}
	}
	return size
}
