package audit

import (
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
)

// enumeration is a partial table: the ends of every column, and how to take back what
// narrowed them.
type enumeration struct {
	p       *Component
	whole   bool // ends are whole numbers, and hold exactly
	ends    []ends
	off     []float64 // of a row: its sum, were all columns at their nearest
	trail   []narrowed
	queue   []int32
	waiting []bool  // of a row: in the queue
	rows    []int32 // that a narrowed column stands in: no other can be broken
	met     []bool  // of a row: in rows
	listed  []bool  // of a column: among those that deviate
	broken  int     // rows whose sum is not 0
	steps   int
}

// ends are the least and the greatest deviation that is still possible.
type ends struct{ low, high float64 }

type narrowed struct {
	column int32
	ends   ends
}

// enumeration returns the partial table of the component in which nothing is narrowed.
// It is kept, since most questions touch few of its columns.
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

// reset sets the ends of a column to what is known of it before any question.
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

// forget takes back all that a question has narrowed.
func (e *enumeration) forget() {
	e.back(0)
	for _, i := range e.rows {
		e.met[i] = false
		e.off[i] = 0 // but for rounding it is
	}
	e.rows, e.broken = e.rows[:0], 0
}

// back takes back what was narrowed since the trail was so long.
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

// slack is what is taken for none beside ends of a size.
func (e *enumeration) slack(size float64) float64 {
	if e.whole {
		return 0
	}
	return 1e-3 + 1e-9*size
}

// nearest is the least deviation of a column within its ends.
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

// follow narrows the ends along the sums that wait, in so many visits: not possible
// where a column is left without any value, not ended where more visits were due.
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

// visit narrows the columns of one row; false where one is left without any value.
func (e *enumeration) visit(row []lp.Entry) bool {
	sum, widest := e.sumOf(row)
	// A column makes good what the others add up to, which is between sum.low less its
	// own low and sum.high less its own high.
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

// rowSum is what the signed columns of a row add up to: the sum of their finite ends, and
// how many have none.
type rowSum struct {
	ends
	openLow, openHigh int
}

// sumOf also returns the width of the widest column.
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

// without returns the ends of a column of the row, as far as the others' sum bounds it.
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

// size is the greatest end of a row that there is.
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
