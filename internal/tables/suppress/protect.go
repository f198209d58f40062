package suppress

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// Cost is the cost function of a suppressed cell.
type Cost uint8

// Unit: 1 per cell, to minimise the number of suppressed cells. Value: the absolute
// value of the cell, to minimise the suppressed total. Log: log(1 + absolute value), a
// compromise.
const (
	Unit Cost = iota
	Value
	Log
)

// Options of a suppression.
type Options struct {
	Cost  Cost
	Own   []float64 // cost of each cell, in place of Cost; nil: use Cost
	Zeros bool      // cells of value 0 may be suppressed as well

	// Knowers are the respondents who know the values of cells exactly, as their only
	// contributors do (tables.NewKnowers). Primary cells are protected also against each
	// coalition of them, who see the cells that they know as published, except for these
	// cells themselves. nil: against outsiders only.
	Knowers *tables.Knowers

	// Patience is the time limit of the search for cells to publish; 0: no limit. Cells
	// that were not tried within the limit stay suppressed; this does not reduce the
	// protection.
	Patience time.Duration

	// Optimal requests a search for the cheapest pattern, with a lower bound of its cost, for
	// small sets (MaxOptimal). Work limits this search, in units of lp.System.Work; 0: some ten
	// seconds.
	Optimal bool
	Work    int64
}

// Pattern is a choice of suppressed cells with its audit.
type Pattern struct {
	Status  []tables.Status
	Primary int // number of primary suppressions
	Second  int // number of secondary suppressions
	Ranges  *audit.Ranges
	Verdict audit.Verdict

	// Insiders lists the primary cells that respondents can infer too closely; nil if
	// Options.Knowers is nil.
	Insiders []audit.Insider

	Optimum *Optimum // nil unless Options.Optimal

	Short bool // Patience ended the search: some cells may be suppressed without need

	Trials, Programs int // batches tried and linear programs solved in the search
}

// Protect finds a pattern and audits it. It overwrites q.Hidden with the suppressed
// cells. It returns a problem for each cell for which it finds no protection even with
// all candidates suppressed, and the error of q.Stop or of the solver. The caller must
// check the Verdict before publishing.
func Protect(q audit.Question, p *primary.Result, o Options) (*Pattern, check.Problems, error) {
	var candidates []int32
	for cell := range q.Value {
		q.Hidden[cell] = p.Status[cell] == tables.Primary
		if o.may(q, p, cell) {
			candidates = append(candidates, int32(cell))
		}
	}
	var until time.Time
	if o.Patience > 0 {
		until = time.Now().Add(o.Patience)
	}
	score := lines(q, p, 2)
	outside := q
	q = audit.Facing(q, p, o.Knowers)
	e, open, unmet, err := newEngine(q, needsOf(p), levels(score, candidates), o.Knowers, searchLast)
	if err != nil {
		return nil, nil, err
	}
	if len(unmet) > 0 {
		return nil, unprotectable(q, unmet), nil
	}
	o.order(q, score, open)
	e.until = until
	if err := e.publishAll(open); err != nil {
		return nil, nil, err
	}
	pattern := &Pattern{Trials: e.Trials, Programs: e.Programs, Short: e.short}
	if o.Optimal {
		if e, err = pattern.improve(q, p, o, e); err != nil {
			return nil, nil, err
		}
	}
	if err := pattern.audit(outside, p, e, o.Knowers); err != nil {
		return nil, nil, err
	}
	return pattern, nil, nil
}

// Audit audits the pattern in q.Hidden, which another tool may have made, as Protect does its own: tables that prove
// the protection are searched for as for a pattern, before those are that the audit alone would look for, which takes
// far longer for many unsafe counts, and misses some.
func Audit(q audit.Question, p *primary.Result, knowers *tables.Knowers) (*Pattern, error) {
	last := searchLast
	if q.Counts && len(needsOf(p)) > mendingNeeds {
		last = searchTrial
	}
	e, _, _, err := newEngine(audit.Facing(q, p, knowers), needsOf(p), [][]int32{nil}, knowers, last)
	if err != nil {
		return nil, err
	}
	pattern := &Pattern{Trials: e.Trials, Programs: e.Programs}
	return pattern, pattern.audit(q, p, e, knowers)
}

// improve replaces the pattern in q.Hidden by the cheapest one found and returns an
// engine for it.
func (pt *Pattern) improve(q audit.Question, p *primary.Result, o Options, e *engine) (*engine, error) {
	hidden, found, err := o.improve(q, p, e.until)
	if err != nil {
		return nil, err
	}
	pt.Optimum = found
	if !slices.Equal(hidden, q.Hidden) {
		copy(q.Hidden, hidden)
		pt.Short = false
		if e, _, _, err = newEngine(q, needsOf(p), nil, o.Knowers, searchLast); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// may reports whether a cell is a candidate for secondary suppression.
func (o Options) may(q audit.Question, p *primary.Result, cell int) bool {
	return p.Status[cell] == tables.Free && (p.Published == nil || !p.Published[cell]) && (o.Zeros || q.Value[cell] != 0)
}

// lines returns, for every cell, the number of its sums that have a primary cell. A sum
// with only one primary cell counts single times, because it needs another hidden cell
// in any case. A cell that serves several sums at once saves other cells.
func lines(q audit.Question, p *primary.Result, single int) []int {
	score := make([]int, len(q.Value))
	for i := range q.Set.Sums() {
		s := q.Set.Sum(i)
		n := 0
		if p.Status[s.Total] == tables.Primary {
			n++
		}
		for _, c := range s.Parts {
			if p.Status[c] == tables.Primary {
				n++
			}
		}
		switch {
		case n == 0:
			continue
		case n == 1:
			n = single
		default:
			n = 1
		}
		score[s.Total] += n
		for _, c := range s.Parts {
			score[c] += n
		}
	}
	return score
}

// order sorts cells in the order of publication: the most costly first, where each sum
// that a cell serves halves its cost. Among cells of equal cost the largest comes
// first.
func (o Options) order(q audit.Question, score []int, cells []int32) {
	key := make(map[int32]float64, len(cells))
	for _, c := range cells {
		key[c] = math.Ldexp(o.CostOf(q, c), -score[c])
	}
	slices.SortFunc(cells, func(a, b int32) int {
		return cmp.Or(cmp.Compare(key[b], key[a]), cmp.Compare(math.Abs(q.Value[b]), math.Abs(q.Value[a])), cmp.Compare(a, b))
	})
}

// CostOf returns the cost of suppressing cell c.
func (o Options) CostOf(q audit.Question, c int32) float64 {
	v := math.Abs(q.Value[c])
	switch {
	case o.Own != nil:
		return o.Own[c]
	case o.Cost == Value:
		return v
	case o.Cost == Log:
		return math.Log1p(v)
	}
	return 1
}

// levels groups cells by score, the greatest first.
func levels(score []int, cells []int32) [][]int32 {
	most := 0
	for _, c := range cells {
		most = max(most, score[c])
	}
	l := make([][]int32, most+1)
	for _, c := range cells {
		l[most-score[c]] = append(l[most-score[c]], c)
	}
	return l
}

func needsOf(p *primary.Result) []need {
	var needs []need
	for cell, s := range p.Status {
		if s == tables.Primary {
			needs = append(needs, need{cell: int32(cell), up: true, amount: p.Up[cell]},
				need{cell: int32(cell), amount: p.Down[cell]})
		}
	}
	return needs
}

func unprotectable(q audit.Question, unmet []need) check.Problems {
	var problems check.Problems
	seen := map[int32]bool{}
	for _, n := range unmet {
		if !seen[n.cell] {
			seen[n.cell] = true
			problems.Addf(q.Set.Name(int(n.cell)),
				"it could not be protected as its rule asks, even with all cells held back that may be")
		}
	}
	return problems
}

// audit sets the statuses and audits the pattern in q.Hidden.
func (pt *Pattern) audit(q audit.Question, p *primary.Result, e *engine, knowers *tables.Knowers) (err error) {
	pt.Status = slices.Clone(p.Status)
	pt.Primary, pt.Second = 0, 0
	for cell, hidden := range q.Hidden {
		switch {
		case p.Status[cell] == tables.Primary:
			pt.Primary++
		case hidden:
			pt.Status[cell] = tables.Secondary
			pt.Second++
		}
	}
	if pt.Ranges, err = audit.Audit(q); err != nil {
		return err
	}
	e.search, e.quick = e.last, false
	for i := range e.needs { // the ends that the audit's own vertices do not prove
		n := &e.needs[i]
		x := q.Value[n.cell]
		if n.up && pt.Ranges.ShownHigh[n.cell] >= x+n.amount || !n.up && pt.Ranges.ShownLow[n.cell] <= x-n.amount {
			continue
		}
		w, ok := witness{}, true
		ws := e.agreeing(n)
		if at := slices.IndexFunc(ws, n.meets); at >= 0 {
			w = ws[at]
		} else {
			w, ok = e.table(n)
		}
		if ok {
			if err := pt.Ranges.Show(q, w.cells, w.by); err != nil {
				return err
			}
		}
	}
	if err := q.Stopped(); err != nil { // Stop may have ended the searches for tables
		return err
	}
	if pt.Verdict, err = audit.Judge(q, pt.Ranges, p); err != nil || knowers == nil {
		return err
	}
	var shown []audit.Table
	for i := range e.needs {
		for _, w := range e.needs[i].witnesses {
			shown = append(shown, audit.Table{Of: e.needs[i].cell, Cells: w.cells, By: w.by})
		}
	}
	pt.Insiders, err = audit.Insiders(q, p, knowers, shown...)
	return err
}
