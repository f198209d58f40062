package audit

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// searchSteps is how many partial tables a search for one whole table looks at.
const searchSteps = 20_000

// reaches looks for a table in which column j deviates by d, or for values by at least as
// much.
func (p *Component) reaches(j int, d float64) bool {
	if d == 0 {
		return true
	}
	if p.Huge() {
		if columns, _ := p.few(j, d); columns != nil {
			return true
		}
	}
	if p.counts {
		return p.WholeTable(j, d, searchSteps) != nil
	}
	p.System.Reset()
	v, err := optimize(p.System, j, d > 0, math.Abs(d))
	return err == nil && math.Abs(v) >= math.Abs(d)-rounding(d)
}

// searchQuick is how many columns Quick makes good for one question about a huge component.
const searchQuick = 100

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
			up := r.ShownHigh[cell] >= x+p.Up[cell] || parts[i].reaches(j, p.Up[cell])
			if up {
				r.ShownHigh[cell] = max(r.ShownHigh[cell], x+p.Up[cell])
			}
			down := r.ShownLow[cell] <= x-p.Down[cell] || parts[i].reaches(j, -p.Down[cell])
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
	columns, by := p.FewChanges(j, d, steps)
	if columns == nil {
		return nil
	}
	z := make([]float64, len(p.Cells))
	for k, c := range columns {
		z[c] = by[k]
	}
	return z
}

// FewChanges is WholeTable for callers who want the columns that deviate, and by how
// much, alone: in a large component they are few.
func (p *Component) FewChanges(j int, d float64, steps int) (columns []int32, by []float64) {
	e := p.enumeration(true)
	defer e.forget()
	e.steps = steps
	if d < e.ends[j].low || d > e.ends[j].high || !e.with(j, d) {
		return nil, nil
	}
	return e.changes()
}

// Quick looks for such a table in another order: it makes the sums hold that do not, one
// column after the other, each by as much as one of its sums misses, that first which
// mends the most sums and breaks the fewest. Where much is open that takes few steps.
// excluded says that the shuttle alone finds that there is none.
func (p *Component) Quick(j int, d float64, steps int) (columns []int32, by []float64, excluded bool) {
	e := p.enumeration(true)
	defer e.forget()
	if e.excludes(j, d) {
		return nil, nil, true
	}
	if e.steps = steps; !e.mended() {
		return nil, nil, false
	}
	columns, by = e.changes()
	return columns, by, false
}

// Excludes reports whether the shuttle alone finds that column j cannot deviate by d,
// given the columns that are fixed. Where it does not, a table may still not be.
func (p *Component) Excludes(j int, d float64) bool {
	e := p.enumeration(p.counts)
	defer e.forget()
	if !p.counts { // what a linear program would take for d
		if d = math.Copysign(max(0, math.Abs(d)-rounding(d)), d); d == 0 {
			return false
		}
	}
	return e.excludes(j, d)
}

// excludes narrows column j to d and what follows of that.
func (e *enumeration) excludes(j int, d float64) bool {
	if slack := e.slack(math.Abs(d)); d < e.ends[j].low-slack || d > e.ends[j].high+slack {
		return true
	}
	e.narrow(int32(j), ends{d, d})
	possible, _ := e.follow(visitsOfShuttle)
	return !possible
}

// visitsOfShuttle is how many sums are visited to find that a deviation cannot be.
const visitsOfShuttle = 1000

// changes lists the columns that deviate; not nil, though there may be none.
func (e *enumeration) changes() (columns []int32, by []float64) {
	columns = []int32{}
	for _, t := range e.trail { // no other column has left 0
		if v := e.nearest(int(t.column)); v != 0 && !e.listed[t.column] {
			e.listed[t.column] = true
			columns, by = append(columns, t.column), append(by, v)
		}
	}
	for _, c := range columns {
		e.listed[c] = false
	}
	return columns, by
}

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
	e.narrow(int32(j), ends{d, d})
	if e.broken == 0 {
		e.drop()
		return true
	}
	// Ends rise for ever where nothing bounds them from above.
	visits := 10_000 + 10*len(e.p.rows)
	if e.p.Huge() { // what one column implies ends nearby, or not at all
		visits = visitsOfShuttle
	}
	if possible, ended := e.follow(visits); possible && ended && (e.broken == 0 || e.branch(e.open())) {
		return true
	}
	e.back(mark)
	return false
}

// mended makes all sums hold, each column that is to do so tried at one value alone
// before it is left where it is.
func (e *enumeration) mended() bool {
	if e.broken == 0 {
		e.drop()
		return true
	}
	k, by := e.mend()
	if k < 0 {
		return false
	}
	visits := visitsOfShuttle
	if e.p.Huge() { // the next column is as good a guess as what this one implies
		visits /= 20
	}
	at, mark := e.nearest(k), len(e.trail)
	for _, v := range [2]float64{at + by, at} {
		if e.steps--; e.steps < 0 {
			return false
		}
		e.narrow(int32(k), ends{v, v})
		if e.broken == 0 {
			e.drop()
			return true
		}
		if possible, _ := e.follow(visits); possible && e.mended() {
			return true
		}
		e.back(mark)
	}
	return false
}

// branch tries the values of a column, the least deviations first.
func (e *enumeration) branch(k int) bool {
	low, high, nearest := e.ends[k].low, e.ends[k].high, e.nearest(k)
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

// mend returns the column that makes the most sums hold, or miss by less, and the fewest
// miss by more, and how far it is to go; -1 where none can.
func (e *enumeration) mend() (column int, by float64) {
	column = -1
	best := 0
	for _, i := range e.rows {
		if e.off[i] == 0 {
			continue
		}
		for _, x := range e.p.rows[i] {
			at := e.nearest(x.Column)
			to := e.ends[x.Column]
			step := min(max(-x.Value*e.off[i], to.low-at), to.high-at)
			if step == 0 {
				continue
			}
			score := 0
			signs := e.p.signs[x.Column]
			for k, o := range e.p.rowsOf(x.Column) {
				switch was, is := e.off[o], e.off[o]+signs[k]*step; {
				case is == 0:
					score += 3
				case math.Abs(is) < math.Abs(was):
					score++
				default:
					score -= 2
				}
			}
			if column < 0 || score > best || score == best && x.Column < column {
				column, by, best = x.Column, step, score
			}
		}
	}
	return column, by
}

// open returns the column with the fewest values of the sums that do not hold.
func (e *enumeration) open() int {
	next, fewest := -1, math.Inf(1)
	for _, i := range e.rows {
		if e.off[i] == 0 {
			continue
		}
		for _, x := range e.p.rows[i] {
			if open := e.ends[x.Column].high - e.ends[x.Column].low; open > 0 && (open < fewest || open == fewest && x.Column < next || next < 0) {
				next, fewest = x.Column, open
			}
		}
	}
	return next
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
