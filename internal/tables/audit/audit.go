package audit

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// Ranges is what can be inferred of each cell; a published cell has its value at
// both ends.
type Ranges struct {
	// Low and High: no value outside agrees with what is published. For counts they
	// are whole numbers.
	Low, High []float64
	// ShownLow and ShownHigh: both ends of this range are values in tables that agree
	// with what is published, for counts in tables of whole numbers. Where they are
	// narrower than Low and High the truth lies in between.
	ShownLow, ShownHigh []float64

	Components, Largest int // parts, and the number of cells of the largest one
	Programs, Steps     int // linear programs solved, and simplex steps
	Unsolved            int // ends that are those of the shuttle: programs stopped at the limit of steps, or left out of huge components

	work   int64             // of the programs
	sumsOf map[int32][]int32 // of a hidden cell: the sums that it stands in; nil until they are asked for
}

// Audit computes the range of every hidden cell; in a huge component what the shuttle
// leaves of it, where Judge still looks for tables that show what an unsafe cell can be.
// Programs are not solved where the shuttle's bound has been attained already by a vertex
// on the way (Duncan et al. 2001, §4: "it obviates the need to perform a separate
// optimization").
func Audit(q Question) (*Ranges, error) {
	parts, _, err := Components(q)
	if err != nil {
		return nil, err
	}
	r := &Ranges{Components: len(parts)}
	r.Low, r.High = append([]float64(nil), q.Value...), append([]float64(nil), q.Value...)
	r.ShownLow, r.ShownHigh = append([]float64(nil), q.Value...), append([]float64(nil), q.Value...)
	for i := range parts {
		p := &parts[i]
		r.Largest = max(r.Largest, len(p.Cells))
		if err := r.solve(q, p); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// solve finds the ranges of one component.
func (r *Ranges) solve(q Question, p *Component) error {
	shown := newShown(p, q.Counts)
	if p.Huge() {
		for j := range p.Cells {
			if p.High[j] > p.Low[j] {
				r.Unsolved += 2
			}
		}
	} else if err := r.programs(q, p, shown); err != nil {
		return err
	}
	for j, cell := range p.Cells {
		low, high := p.Low[j], p.High[j]
		if q.Counts { // no whole table lies beyond
			low, high = math.Ceil(low-1e-6), math.Floor(high+1e-6)
		}
		v := q.Value[cell]
		r.Low[cell], r.High[cell] = v+low, v+high
		r.ShownLow[cell], r.ShownHigh[cell] = v+max(shown.low[j], low), v+min(shown.high[j], high)
	}
	return nil
}

// programs narrows the ends of a component to those that tables attain.
func (r *Ranges) programs(q Question, p *Component, shown *shown) error {
	s, err := p.Program()
	if err != nil {
		return err
	}
	limit := cmp.Or(q.Work, auditWork)
	defer func() { s.Limit, r.Steps = 0, r.Steps+s.Total }()
	for j := range p.Cells {
		if err := q.Stopped(); err != nil {
			return err
		}
		for _, up := range [2]bool{true, false} {
			if err := r.attain(p, s, j, up, limit, shown); err != nil {
				return err
			}
		}
	}
	if !q.Counts {
		for j := range p.Cells {
			shown.low[j], shown.high[j] = min(shown.low[j], s.Low[j]), max(shown.high[j], s.High[j])
		}
	}
	return nil
}

// attain narrows one end of a column, the upper one or the lower, to the one that tables attain,
// unless a table that was found attains it already. The work of large components is limited.
func (r *Ranges) attain(p *Component, s *lp.System, j int, up bool, limit int64, shown *shown) error {
	end, attained := &p.High[j], s.High[j]
	if !up {
		end, attained = &p.Low[j], s.Low[j]
	}
	if math.Abs(*end-attained) <= 10*s.Tolerance() {
		return nil
	}
	before := s.Work
	if p.large {
		if r.work >= limit {
			r.Unsolved++
			return nil
		}
		s.Limit = before + limit - r.work
	}
	r.Programs++
	v, err := optimize(s, j, up, math.Inf(1))
	if p.large {
		r.work += s.Work - before
	}
	switch {
	case errors.Is(err, lp.ErrStalled):
		r.Unsolved++
	case err != nil:
		return err
	default:
		*end = v
	}
	if math.IsInf(v, 1) { // from any table on, by whole steps as well
		shown.high[j] = v
	} else if math.IsInf(v, -1) {
		shown.low[j] = v
	}
	shown.look(s.Point())
	return nil
}

// auditWork is the work of an audit after which the ends of cells in large components are those of
// the shuttle: several seconds.
const auditWork = 1_000_000_000

// optimize moves the system to where column j deviates most in a direction, or
// until it deviates by enough (a length, not below 0).
func optimize(s *lp.System, j int, up bool, enough float64) (float64, error) {
	if up {
		return s.Maximize(j, enough)
	}
	return s.Minimize(j, -enough)
}

// Show enters a table that agrees with what is published, given by its deviations
// from the true values, among what was shown. It refuses one that does not: that
// changes a published cell, breaks a sum or a bound, or is not whole for counts.
func (r *Ranges) Show(q Question, cells []int32, by []float64) error {
	z := make(map[int32]float64, len(cells))
	for i, c := range cells {
		v := by[i]
		if v == 0 {
			continue
		}
		if q.Counts {
			v = math.Round(v)
		}
		if !(math.Abs(v-by[i]) <= 1e-6) || !q.Within(c, v) {
			return fmt.Errorf("%s: the table shown cannot be", q.Set.Name(int(c)))
		}
		z[c] = v
	}
	r.index(q)
	for _, c := range cells {
		for _, i := range r.sumsOf[c] {
			s := q.Set.Sum(int(i))
			difference, size := -z[s.Total], math.Abs(z[s.Total])
			for _, p := range s.Parts {
				difference += z[p]
				size += math.Abs(z[p])
			}
			if math.Abs(difference) > rounding(size) {
				return fmt.Errorf("%s: the table shown does not add up", q.Set.Name(int(s.Total)))
			}
		}
	}
	for c, v := range z {
		r.ShownLow[c], r.ShownHigh[c] = min(r.ShownLow[c], q.Value[c]+v), max(r.ShownHigh[c], q.Value[c]+v)
	}
	return nil
}

// index lists the sums of every hidden cell: no other can a table that is shown break.
func (r *Ranges) index(q Question) {
	if r.sumsOf != nil {
		return
	}
	r.sumsOf = map[int32][]int32{}
	for i := range q.Set.Sums() {
		s := q.Set.Sum(i)
		if q.Hidden[s.Total] {
			r.sumsOf[s.Total] = append(r.sumsOf[s.Total], int32(i))
		}
		for _, p := range s.Parts {
			if q.Hidden[p] {
				r.sumsOf[p] = append(r.sumsOf[p], int32(i))
			}
		}
	}
}

// shown collects the deviations that have been seen in points, for counts in points
// of whole numbers only.
type shown struct {
	low, high []float64
	counts    bool
}

func newShown(p *Component, counts bool) *shown {
	return &shown{make([]float64, len(p.Cells)), make([]float64, len(p.Cells)), counts}
}

func (s *shown) look(z []float64) {
	if s.counts && !whole(z) {
		return
	}
	for j, v := range z {
		if s.counts {
			v = math.Round(v)
		}
		s.low[j], s.high[j] = min(s.low[j], v), max(s.high[j], v)
	}
}

func whole(z []float64) bool {
	for _, v := range z {
		if math.Abs(v-math.Round(v)) > 1e-7 {
			return false
		}
	}
	return true
}

// rounding is what is taken for none beside a value: far below the one unit that is the
// least protection, whatever the value.
func rounding(x float64) float64 { return 1e-3 + 1e-13*math.Abs(x) }

// Verdict is what an audit says of the primary cells.
type Verdict struct {
	Disclosed []int32 // can be computed exactly
	Narrow    []int32 // what can be inferred does not reach as far as asked, or was not shown to
	Unproven  []int32 // of Narrow: bounds reach far enough, but no table of whole numbers was found that does
}

// Safe reports whether every primary cell is protected as its rule asks.
func (v Verdict) Safe() bool { return len(v.Disclosed) == 0 && len(v.Narrow) == 0 }

// Judge holds the ranges against the protection that the rules ask for. A primary
// cell is protected where its range was shown to reach from value − Down to value +
// Up; where a table at each end is missing, of whole numbers for counts, one is searched
// for.
func Judge(q Question, r *Ranges, p *primary.Result) (Verdict, error) {
	var v Verdict
	var missing []int32
	for cell := range q.Value {
		if p.Status[cell] != tables.Primary {
			continue
		}
		c := int32(cell)
		x := q.Value[cell]
		eps := rounding(x)
		reaches := func(low, high float64) bool { return low <= x-p.Down[cell]+eps && high >= x+p.Up[cell]-eps }
		switch {
		case r.High[cell]-r.Low[cell] <= eps:
			v.Disclosed = append(v.Disclosed, c)
		case reaches(r.ShownLow[cell], r.ShownHigh[cell]):
		case (q.Counts || r.Unsolved > 0) && reaches(r.Low[cell], r.High[cell]):
			missing = append(missing, c)
		default:
			v.Narrow = append(v.Narrow, c)
		}
	}
	if len(missing) == 0 {
		return v, nil
	}
	err := v.search(q, r, p, missing)
	return v, err
}
