package audit

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// searchSteps is the number of partial tables in the search for one table of whole
// numbers.
const searchSteps = 20_000

// reaches reports whether a table was found in which column j deviates by d (for values,
// by at least d).
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
	if p.large {
		if columns, _ := p.Near(j, d, searchNear); columns != nil {
			return true
		}
	}
	s, err := p.Program()
	if err != nil {
		return false
	}
	s.Reset()
	v, err := optimize(s, j, d > 0, math.Abs(d))
	return err == nil && math.Abs(v) >= math.Abs(d)-rounding(d)
}

// searchQuick is the number of steps of Quick for one question about a huge component.
const searchQuick = 100

// searchNear is the greatest number of columns in Near before a program over a whole large
// component is solved.
const searchNear = 300

// search searches for tables in which the missing cells deviate as far as required,
// extends ShownLow and ShownHigh of r, and adds the cells without such tables to v. It
// returns the error of q.Stop.
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
// deviates by d, by implicit enumeration with the shuttle (Dobra 2001). Every other
// column deviates as little as its current ends allow. While a sum is violated, the
// search fixes the column of such a sum with the fewest possible values, and tries its
// smallest deviations first. Fixed columns do not deviate. It returns nil if there is
// no such table, or if it has found none after the given number of partial tables.
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

// FewChanges is WholeTable with another form of the result: only the columns that
// deviate, and their deviations. In a large component these are few.
func (p *Component) FewChanges(j int, d float64, steps int) (columns []int32, by []float64) {
	e := p.enumeration(true)
	defer e.forget()
	e.steps = steps
	if d < e.ends[j].low || d > e.ends[j].high || !e.with(j, d) {
		return nil, nil
	}
	return e.changes()
}

// Quick searches for such a table in another order: it corrects violated sums by
// changing one column after the other, each by the amount by which one of its sums is
// wrong, and prefers the column that corrects the most sums and violates the fewest. If
// most columns can vary, this takes few steps. excluded reports that the shuttle alone
// proves that there is no such table.
func (p *Component) Quick(j int, d float64, steps int) (columns []int32, by []float64, excluded bool) {
	e := p.enumeration(true)
	defer e.forget()
	if e.excludes(j, d, visitsOfShuttle) {
		return nil, nil, true
	}
	if e.steps = steps; !e.mended() {
		return nil, nil, false
	}
	columns, by = e.changes()
	return columns, by, false
}

// Excludes reports whether the shuttle alone finds that column j cannot deviate by d,
// given the fixed columns. If it returns false, such a table need not exist.
func (p *Component) Excludes(j int, d float64) bool { return p.excludes(j, d, visitsOfShuttle) }

// ExcludesSoon is Excludes with fewer steps of the shuttle: it finds most of what Excludes finds.
func (p *Component) ExcludesSoon(j int, d float64) bool { return p.excludes(j, d, visitsOfShuttle/8) }

func (p *Component) excludes(j int, d float64, visits int) bool {
	e := p.enumeration(p.counts)
	defer e.forget()
	if !p.counts { // allow the same tolerance as for linear programs
		if d = math.Copysign(max(0, math.Abs(d)-rounding(d)), d); d == 0 {
			return false
		}
	}
	return e.excludes(j, d, visits)
}

// excludes narrows column j to d, follows the consequences and reports whether this is
// impossible.
func (e *enumeration) excludes(j int, d float64, visits int) bool {
	if slack := e.slack(math.Abs(d)); d < e.ends[j].low-slack || d > e.ends[j].high+slack {
		return true
	}
	e.narrow(int32(j), ends{d, d})
	possible, _ := e.follow(visits)
	return !possible
}

// visitsOfShuttle is the number of visits of sums to prove that a deviation is
// impossible.
const visitsOfShuttle = 1000

// Searched returns roughly the number of entries of sums that searches for tables of whole numbers have processed.
func (p *Component) Searched() (work int64) {
	if p.partial != nil {
		work += p.partial.work
	}
	if p.mend != nil {
		work += p.mend.work
	}
	return work
}

// changes returns the columns that deviate and their deviations; columns is not nil
// even if it is empty.
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

// with fixes column j at d, follows the consequences, and branches until every sum
// holds. If it returns false, it has undone all narrowing.
func (e *enumeration) with(j int, d float64) bool {
	if e.steps--; e.steps < 0 {
		return false
	}
	if stop := e.p.q.Stop; stop != nil && e.steps%64 == 0 && stop() != nil {
		e.steps = 0
		return false
	}
	mark := len(e.trail)
	e.narrow(int32(j), ends{d, d})
	if e.broken == 0 {
		e.drop()
		return true
	}
	// Without upper bounds, ends can increase without limit.
	visits := 10_000 + 10*len(e.p.rows)
	if e.p.Huge() { // the consequences of one column end after few visits or not at all
		visits = visitsOfShuttle
	}
	if possible, ended := e.follow(visits); possible && ended && (e.broken == 0 || e.branch(e.open())) {
		return true
	}
	e.back(mark)
	return false
}

// mended corrects all violated sums. It tries each chosen column at one corrected value
// and then at its present value, and reports success.
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
	if e.p.Huge() { // further columns are as useful as further consequences of this one
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

// branch tries the values of column k, the smallest deviations first, and reports
// success.
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

// mend returns the column whose change corrects or improves the most sums and worsens
// the fewest, and the change; -1 if no column can change.
func (e *enumeration) mend() (column int, by float64) {
	column = -1
	best := 0
	for _, i := range e.rows {
		if e.off[i] == 0 {
			continue
		}
		e.work += int64(len(e.p.rows[i]))
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

// open returns, among the columns of violated sums, the one with the fewest possible
// values.
func (e *enumeration) open() int {
	next, fewest := -1, math.Inf(1)
	for _, i := range e.rows {
		if e.off[i] == 0 {
			continue
		}
		e.work += int64(len(e.p.rows[i]))
		for _, x := range e.p.rows[i] {
			if open := e.ends[x.Column].high - e.ends[x.Column].low; open > 0 &&
				(open < fewest || open == fewest && x.Column < next || next < 0) {
				next, fewest = x.Column, open
			}
		}
	}
	return next
}
