package audit

import (
	"cmp"
	"errors"
	"math"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/lp"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// Ranges holds the interval that can be inferred for each cell. A published cell has
// its value at both ends.
type Ranges struct {
	// Low and High: no value outside this interval agrees with the published cells. For
	// counts they are whole numbers.
	Low, High []float64
	// ShownLow and ShownHigh: both ends of this interval are values in tables that
	// agree with the published cells, for counts in tables of whole numbers. If it is
	// narrower than Low and High, the exact interval lies between the two.
	ShownLow, ShownHigh []float64

	Components, Largest int // number of components, and number of cells of the largest one
	Programs, Steps     int // linear programs solved, and simplex steps
	// number of ends with the shuttle's bound: programs that stopped at the limit of steps or were not solved in huge
	// components
	Unsolved int

	work    int64    // work of the programs
	checker *checker // nil until needed
}

// Audit computes the interval of every hidden cell. In a huge component it is the
// interval of the shuttle; Judge then searches for tables that prove the protection of
// primary cells. Audit does not solve the program of an end if a vertex of an earlier
// program already attains the shuttle's bound (Duncan et al. 2001, §4: "it obviates the
// need to perform a separate optimization"). It returns the error of q.Stop or of the
// solver.
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

// solve computes the intervals of one component.
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
		if q.Counts { // no table of whole numbers has values beyond these
			low, high = math.Ceil(low-1e-6), math.Floor(high+1e-6)
		}
		v := q.Value[cell]
		r.Low[cell], r.High[cell] = v+low, v+high
		r.ShownLow[cell], r.ShownHigh[cell] = v+max(shown.low[j], low), v+min(shown.high[j], high)
	}
	return nil
}

// programs narrows the ends of a component to values that tables attain, by linear
// programs.
func (r *Ranges) programs(q Question, p *Component, shown *shownRanges) error {
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

// attain narrows the upper or the lower end of column j to the value that tables attain, unless
// an earlier table already attains the end. In large components the work is limited.
func (r *Ranges) attain(p *Component, s *lp.System, j int, up bool, limit int64, shown *shownRanges) error {
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
		if p.mend != nil {
			p.mend.bound(j)
		}
	}
	if math.IsInf(v, 1) { // unbounded from any table on, also in steps of whole numbers
		shown.high[j] = v
	} else if math.IsInf(v, -1) {
		shown.low[j] = v
	}
	shown.look(s.Point())
	return nil
}

// auditWork is the work of an audit, several seconds, after which cells in large components keep
// the ends of the shuttle.
const auditWork = 1_000_000_000

// optimize maximises (up) or minimises the deviation of column j and stops when it
// reaches enough, a length of at least 0. It returns the deviation.
func optimize(s *lp.System, j int, up bool, enough float64) (float64, error) {
	if up {
		return s.Maximize(j, enough)
	}
	return s.Minimize(j, -enough)
}

// Show extends ShownLow and ShownHigh by a table, given by its deviations from the true
// values. It returns an error if the table does not agree with the published cells: if
// it changes a published cell, violates a sum or a bound, or is not of whole numbers
// for counts.
func (r *Ranges) Show(q Question, cells []int32, by []float64) error {
	if r.checker == nil {
		r.checker = newChecker(q)
	}
	z, err := r.checker.check(q, cells, by)
	if err != nil {
		return err
	}
	for c, v := range z {
		r.ShownLow[c], r.ShownHigh[c] = min(r.ShownLow[c], q.Value[c]+v), max(r.ShownHigh[c], q.Value[c]+v)
	}
	return nil
}

// shownRanges holds the least and the greatest deviation of each column among the points
// seen, for counts among points of whole numbers only.
type shownRanges struct {
	low, high []float64
	counts    bool
}

func newShown(p *Component, counts bool) *shownRanges {
	return &shownRanges{make([]float64, len(p.Cells)), make([]float64, len(p.Cells)), counts}
}

func (s *shownRanges) look(z []float64) {
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

// rounding returns the difference that counts as 0 beside a value x. It is far below
// one unit, the least protection.
func rounding(x float64) float64 { return 1e-3 + 1e-13*math.Abs(x) }

// Verdict is the result of an audit for the primary cells.
type Verdict struct {
	Disclosed []int32 // cells that can be computed exactly
	Narrow    []int32 // cells whose interval is narrower than required, or not proved to be wide enough
	Unproven  []int32 // cells of Narrow whose bounds are wide enough, but without a table that proves it
}

// Safe reports whether every primary cell is protected as its rule requires.
func (v Verdict) Safe() bool { return len(v.Disclosed) == 0 && len(v.Narrow) == 0 }

// Judge compares the intervals with the protection that the rules require. A primary
// cell is protected if tables prove that its interval contains value − Down and value +
// Up. If such a table, of whole numbers for counts, is missing for an end, Judge
// searches for one and extends r. It returns the error of q.Stop.
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
