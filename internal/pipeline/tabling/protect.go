package tabling

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/adjust"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
	"github.com/sdlfilter/sdlfilter/internal/tables/rounding"
	"github.com/sdlfilter/sdlfilter/internal/tables/suppress"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// protected is a family with the protection of its cells.
type protected struct {
	*family
	rules *primary.Result
	// the respondents who know cells of tables that are protected by suppression; nil for other methods
	knowers    *tables.Knowers
	costs      []float64 // of suppressing each cell; nil if no list has costs
	question   audit.Question
	status     []tables.Status
	ranges     *audit.Ranges
	verdict    audit.Verdict
	insiders   []audit.Insider
	published  []float64 // published in place of each cell's value; nil: the value itself
	adjustment *adjust.Adjustment
	noise      *perturb.Noise                     // of changes by cell keys
	beliefs    func(cell int32) *tablerisk.Belief // with published: about unsafe counts
	// with published values: about the largest contributor of each unsafe cell
	contributors map[int32]contributorBelief
	// of tables in which records exchange codes: whether a cell keeps its value; else nil
	margin     func(cell int32) bool
	cutShort   bool                  // the search for cells to publish after all was cut short
	rounding   *rounding.Controlling // nil with other methods
	optimum    *suppress.Optimum     // bound of the least possible cost; nil if it was not requested
	totalKnown bool                  // everybody knows the grand total, whatever is published for it
	related    []string              // relations between this value and those of other tables
	// tables on which this one depends, itself included, if they could not be protected together
	unjoined      []*protected
	system        *group         // the group with earlier releases of the value; nil if there are none
	unprotectable check.Problems // why there is no pattern: cells that cannot be protected
}

// protect finds the unsafe cells of a family, protects them by the configured method, and audits
// the result over all of its tables at once.
func (r *records) protect(ctx context.Context, f *family) (*protected, error) {
	p, err := r.unsafe(ctx, f)
	if err != nil {
		return nil, err
	}
	p.setBounds(p.table.Protect.Suppress != nil && p.table.Protect.Suppress.Zeros != "never" || p.hidesZeros())
	switch {
	case f.table.Protect.None != nil:
		return p, p.auditAlone()
	case f.table.Protect.CellKey != nil && f.table.Protect.CellKey.Values != nil:
		return p, r.valuesByCellKey(p)
	case f.table.Protect.CellKey != nil:
		return p, r.byCellKey(p)
	case f.table.Protect.Round != nil:
		return p, r.round(p)
	case f.table.Protect.Adjust != nil:
		return p, r.adjust(p)
	case f.table.Protect.Sample != nil:
		return p, p.sample()
	case f.table.Protect.Exchanges():
		return p, r.exchange(p)
	}
	return p, p.suppress(p.costs)
}

// unsafe finds the cells of a family that break a rule.
func (r *records) unsafe(ctx context.Context, f *family) (*protected, error) {
	p := &protected{family: f, totalKnown: r.totalKnown(f)}
	list, costs := r.apriori(f)
	p.costs = costs
	o := primary.Options{Rules: tabulation.PrimaryRules(f.table.Unsafe), List: list, Interval: f.interval()}
	if f.table.Zeros == "unsafe" {
		o.Zeros = primary.ZerosUnsafe
	}
	rules, problems := primary.Apply(f.cells, o)
	for _, problem := range problems {
		r.wrong(f.place(), "%s", problem.Error())
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	p.rules = rules
	if s, a := f.table.Protect.Suppress, f.table.Protect.Adjust; s != nil && s.Respondents == "protect" || a != nil &&
		a.Respondents == "protect" {
		p.knowers = tables.NewKnowers(r.config.Coalition, f.cells)
	}
	if r.totalKnown(f) && rules.Status[p.grand()] == tables.Free {
		if rules.Published == nil {
			rules.Published = make([]bool, len(rules.Status))
		}
		rules.Published[p.grand()] = true
	}
	p.question = audit.Question{
		Set: f.set, Value: f.cells.Value, Hidden: make([]bool, f.set.Cells()), Counts: f.options.Counts &&
			f.table.Weight == "",
		Stop: func() error { return context.Cause(ctx) },
	}
	return p, nil
}

// place returns the place in the configuration of the rules of a family, or of the releases that have it alone.
func (f *family) place() string {
	if len(f.of) == 0 {
		return "releases"
	}
	return fmt.Sprintf("tables[%d].unsafe", f.of[0])
}

// interval returns the configured interval in units of the cells.
func (f *family) interval() *primary.Interval {
	if f.table.Interval == nil {
		return nil
	}
	return &primary.Interval{Absolute: f.table.Interval.Absolute * math.Pow10(f.options.Decimals),
		Percent: f.table.Interval.Percent}
}

// setBounds sets the bounds of every cell that everybody is assumed to know a priori. If some
// contribution is negative there are none. If zeros (cells of value 0) are never suppressed,
// which everybody may know about the method, a suppressed cell is at least one unit: inferences
// are computed with this bound, and a range need not reach below it.
func (p *protected) setBounds(zeros bool) {
	n := len(p.question.Value)
	if p.cells.Negative != nil {
		p.question.Lower = make([]float64, n)
		for i := range p.question.Lower {
			p.question.Lower[i] = math.Inf(-1)
		}
		return
	}
	s := p.table.Protect.Suppress
	if s == nil {
		return
	}
	least := make([]float64, n)
	if !zeros {
		p.question.Lower = make([]float64, n)
		for cell, v := range p.question.Value {
			p.question.Lower[cell] = min(v, 1)
		}
		least = p.leastTotals()
		p.reachNoLower(least)
	}
	if p.knowers != nil {
		p.reachNoLower(p.knownParts(least))
	}
}

// hidesZeros reports whether a cell of value 0 is unsafe, and therefore suppressed.
func (p *protected) hidesZeros() bool {
	for cell, status := range p.rules.Status {
		if status == tables.Primary && p.question.Value[cell] < 1 {
			return true
		}
	}
	return false
}

// reachNoLower raises the lower ends of the required ranges to the least value that is known of
// each cell in any case.
func (p *protected) reachNoLower(least []float64) {
	for cell, v := range least {
		p.rules.Down[cell] = min(p.rules.Down[cell], max(p.question.Value[cell]-v, 0))
	}
}

// knownParts returns the least value that each cell can have to the respondents who know most
// about it: the contributors of other cells, whose own cells have their values, while the others
// have their least values.
func (p *protected) knownParts(least []float64) []float64 {
	known := slices.Clone(least)
	above := p.sumsAbove()
	for _, who := range p.knowers.Sets() {
		for cell, more := range p.gains(who, least, above) {
			if !p.knowers.Knows(who, cell) { // her own cell needs no protection from her
				known[cell] = max(known[cell], least[cell]+more)
			}
		}
	}
	return known
}

// gains returns how much more than the least values respondents know that cells have at least, for all cells of
// which they know more.
func (p *protected) gains(who []int32, least []float64, above map[int32][]int32) map[int32]float64 {
	gain := map[int32]float64{}
	var changed []int32
	for _, cell := range p.knowers.KnownTo(who) {
		gain[cell] = p.question.Value[cell] - least[cell]
		changed = append(changed, cell)
	}
	for ; len(changed) > 0; changed = changed[1:] {
		for _, i := range above[changed[0]] {
			s := p.set.Sum(int(i))
			more := -least[s.Total]
			for _, part := range s.Parts {
				more += least[part] + gain[part]
			}
			if more > gain[s.Total]+1e-9 {
				gain[s.Total] = more
				changed = append(changed, s.Total)
			}
		}
	}
	return gain
}

// sumsAbove returns the sums that each cell is a part of.
func (p *protected) sumsAbove() map[int32][]int32 {
	above := map[int32][]int32{}
	for i := range p.set.Sums() {
		for _, part := range p.set.Sum(i).Parts {
			above[part] = append(above[part], int32(i))
		}
	}
	return above
}

// leastTotals returns the least value of each cell if every cell other than 0 is at least one
// unit. For a total it is the sum of the least values of its parts.
func (p *protected) leastTotals() []float64 {
	least := slices.Clone(p.question.Lower)
	for changed := true; changed; {
		changed = false
		for i := range p.set.Sums() {
			s := p.set.Sum(i)
			sum := 0.0
			for _, part := range s.Parts {
				sum += least[part]
			}
			if sum > least[s.Total] {
				least[s.Total], changed = sum, true
			}
		}
	}
	return least
}

// isEmpty reports whether a cell has no contributor.
func (p *protected) isEmpty(cell int32) bool {
	return p.cells.Contributors[cell] == 0 && p.cells.Value[cell] == 0
}

// mayHideEmpty makes cells without contributors candidates if cells of value 0 may be suppressed.
func (p *protected) mayHideEmpty() {
	if p.table.Protect.Suppress.Zeros != "may" {
		return
	}
	for cell, status := range p.rules.Status {
		if status == tables.Empty {
			p.rules.Status[cell] = tables.Free
		}
	}
}

// suppression returns the options of suppression.
func (p *protected) suppression(costs []float64) suppress.Options {
	s := p.table.Protect.Suppress
	o := suppress.Options{Own: costs, Zeros: s.Zeros == "may", Optimal: s.Effort == "optimal", Knowers: p.knowers,
		Patience: time.Duration(s.Patience)}
	switch s.Cost {
	case "value":
		o.Cost = suppress.Value
	case "log":
		o.Cost = suppress.Log
	}
	return o
}

// suppress suppresses cells.
func (p *protected) suppress(costs []float64) error {
	p.mayHideEmpty()
	pattern, problems, err := suppress.Protect(p.question, p.rules, p.suppression(costs))
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		p.leaveOpen(problems)
		return nil
	}
	p.status, p.ranges, p.verdict, p.insiders, p.cutShort = pattern.Status, pattern.Ranges, pattern.Verdict,
		pattern.Insiders, pattern.Short
	p.optimum = pattern.Optimum
	return nil
}

// leaveOpen says that there is no pattern, and why.
func (p *protected) leaveOpen(problems check.Problems) {
	p.unprotectable = problems
	p.status = p.rules.Status
	for cell, status := range p.status {
		p.question.Hidden[cell] = status == tables.Primary
	}
}

// auditAlone audits tables without suppressed cells: each unsafe cell is disclosed.
func (p *protected) auditAlone() (err error) {
	p.status = p.rules.Status
	if p.ranges, err = audit.Audit(p.question); err != nil {
		return err
	}
	p.verdict, err = audit.Judge(p.question, p.ranges, p.rules)
	return err
}

// hidden reports whether a cell is suppressed.
func (p *protected) hidden(cell int32) bool { return p.question.Hidden[cell] }

// ranged reports whether there is a range of what can be inferred about a cell.
func (p *protected) ranged(cell int32) bool {
	return p.ranges != nil && (p.hidden(cell) || p.published != nil && p.status[cell] == tables.Primary)
}

// ruleName returns the rule that a cell breaks, in the words of the configuration; "" if it
// breaks none.
func (p *protected) ruleName(cell int32) string {
	switch k := p.rules.Rule[cell]; {
	case k == primary.ByZero:
		return "zeros"
	case k == primary.ByList:
		return "apriori"
	case k < 0:
		return ""
	default:
		return ruleWord(p.table.Unsafe[k])
	}
}

func ruleWord(u tabulation.Unsafe) string {
	switch {
	case u.Threshold != 0:
		return "threshold"
	case u.PPercent != 0:
		return "p_percent"
	case u.PQ != nil:
		return "pq"
	case u.Dominance != nil:
		return "dominance"
	}
	return "request"
}
