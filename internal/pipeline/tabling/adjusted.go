package tabling

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/adjust"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// window is what everybody knows of adjusted values, in units of the cells: by how much a value can have changed, and
// of counts, which can only be unsafe below a threshold, where unsafe ones are published.
type window struct {
	absolute, share float64
	threshold       float64 // counts below it are unsafe, and published as 0 or at least as beyond; 0: not known
	beyond          float64
}

// most returns by how much a value can change.
func (w window) most(v float64) float64 { return math.Floor(max(w.absolute, w.share*v) + 1e-9) }

// ends returns the least and the greatest value that can be published as x. A change is at most the greater of two
// amounts, so the value is at least the lesser of two bounds.
func (w window) ends(x float64) (low, high float64) {
	low = max(math.Ceil(min(x-w.absolute, x/(1+w.share))-1e-9), 0)
	high = math.Inf(1)
	if w.share < 1 {
		high = math.Floor(max(x+w.absolute, x/(1-w.share)) + 1e-9)
	}
	return low, high
}

// may reports whether a count can be published as x.
func (w window) may(count, x float64) bool {
	switch {
	case count == 0:
		return x == 0
	case count < w.threshold && x != 0 && x < w.beyond:
		return false
	}
	return math.Abs(x-count) <= w.most(count)
}

// window returns the window of the tables.
func (p *protected) window() (w window) {
	within, unit := p.table.AdjustedWithin(p.options.Decimals), math.Pow10(p.options.Decimals)
	w.absolute, w.share = math.Floor(within.Absolute*unit+1e-9), within.Percent/100
	if !p.question.Counts || p.options.Holdings || p.table.Apriori != "" {
		return w
	}
	for _, u := range p.table.Unsafe {
		if u.Threshold == 0 {
			return w
		}
		w.threshold = max(w.threshold, float64(u.Threshold))
	}
	level := w.threshold
	if i := p.table.Interval; i != nil {
		level = max(math.Ceil(i.Absolute), math.Ceil(i.Percent/100*(w.threshold-1)), 1)
	}
	w.beyond = w.threshold - 1 + level
	return w
}

// adjust publishes values that are changed as little as the protection of unsafe cells allows, and audits them.
func (r *records) adjust(p *protected) error {
	at := fmt.Sprintf("tables[%d].protect.adjust", p.of[0])
	if p.cells.Negative != nil {
		r.wrong(at, "must be suppress: contributions are negative, and adjusted values are not")
		return r.check()
	}
	w := p.window()
	a, err := adjust.Solve(p.adjusting(w))
	if errors.Is(err, adjust.ErrNone) {
		r.wrong(at, "must be another method, or have greater changes (within) or coarser classifications: %v with changes %s",
			err, p.within())
		return r.check()
	}
	if err != nil {
		return err
	}
	p.adjustment, p.cutShort, p.published = a, a.Short, a.Value
	if p.question.Counts {
		return p.auditPublished(func(cell int, published int64) (int64, []float64) {
			if p.published[cell] == p.question.Value[cell] { // most are: somebody could take those that are for true
				return published, []float64{1}
			}
			return w.likelihood(published)
		}, false)
	}
	return p.auditAdjusted(w)
}

// adjusting returns what the adjusted values must be. Cells without a contributor, and those that are published in any
// case, stay as they are.
func (p *protected) adjusting(w window) adjust.Problem {
	n := len(p.question.Value)
	a := adjust.Problem{
		Set: p.set, Value: p.question.Value, Least: make([]float64, n), Most: make([]float64, n), Unsafe: make([]bool, n),
		Down: make([]float64, n), Up: make([]float64, n), Weight: p.adjustmentCosts(), Stop: p.question.Stop,
	}
	if d := time.Duration(p.table.Protect.Adjust.Patience); d > 0 {
		a.Until = time.Now().Add(d)
	}
	for cell, v := range p.question.Value {
		if p.stays(int32(cell)) {
			continue
		}
		most := w.most(v)
		a.Least[cell], a.Most[cell] = -min(most, v), most
		if p.rules.Status[cell] != tables.Primary {
			continue
		}
		a.Unsafe[cell], a.Down[cell], a.Up[cell] = true, max(p.rules.Down[cell], 1), p.rules.Up[cell]
		if w.threshold > 0 { // all unsafe counts alike, or the published one would tell which it is
			a.Down[cell], a.Up[cell] = v, w.beyond-v
		}
	}
	return a
}

// stays reports whether a cell is published with its value: one without a contributor, with the value 0 unless that is
// unsafe, or that must be published.
func (p *protected) stays(cell int32) bool {
	unsafe := p.rules.Status[cell] == tables.Primary
	return p.question.Value[cell] == 0 && !unsafe || p.rules.Published != nil && p.rules.Published[cell]
}

// adjustmentCosts returns the cost of a change by one unit of each cell, at most 1.
func (p *protected) adjustmentCosts() []float64 {
	costs := make([]float64, len(p.question.Value))
	greatest := 0.0
	for cell, v := range p.question.Value {
		switch costs[cell] = 1; {
		case p.costs != nil:
			costs[cell] = p.costs[cell]
		case p.table.Protect.Adjust.Cost == "relative":
			costs[cell] = 1 / max(v, 1)
		}
		greatest = max(greatest, costs[cell])
	}
	for cell := range costs { // linear programs do not tell smaller ones from 0
		costs[cell] = max(costs[cell]/max(greatest, math.SmallestNonzeroFloat64), 1e-6)
	}
	return costs
}

// likelihood is the change of an adjusted count: each count that can be published as the given one is as likely to be.
func (w window) likelihood(published int64) (first int64, p []float64) {
	low, high := w.ends(float64(published))
	for count := low; count <= high; count++ {
		is := 0.0
		if w.may(count, float64(published)) {
			is = 1
		}
		if is == 0 && len(p) == 0 {
			continue
		}
		if len(p) == 0 {
			first = int64(count)
		}
		p = append(p, is)
	}
	return first, p
}

// auditAdjusted computes what can be inferred of unsafe values by somebody who knows by how much values can have
// changed: the range of all values whose sums hold and that can be published as they are. The true table is one of
// them. As few values as possible change, totals least of all, so somebody could take values for true that are: the
// audit lets everybody know which. It also computes what respondents can infer, who know their cells exactly, and that
// others are at least their own part.
func (p *protected) auditAdjusted(w window) (err error) {
	p.status = p.rules.Status
	q := p.question
	n := len(q.Value)
	q.Hidden, q.Lower, q.Upper = make([]bool, n), make([]float64, n), make([]float64, n)
	for cell, x := range p.published {
		q.Lower[cell], q.Upper[cell] = w.ends(x)
		q.Hidden[cell] = !p.stays(int32(cell)) && x != q.Value[cell]
	}
	if p.ranges, err = audit.Audit(q); err != nil {
		return err
	}
	if p.verdict, err = audit.Judge(q, p.ranges, p.rules); err != nil || p.knowers == nil {
		return err
	}
	needs := *p.rules
	needs.Down = slices.Clone(needs.Down)
	p.insiders, err = audit.Insiders(q, p.reaching(&needs), p.knowers)
	return err
}

// reaching lowers what is required of ranges to what respondents need not infer, because they know it in any case.
func (p *protected) reaching(needs *primary.Result) *primary.Result {
	for cell, v := range p.knownParts(make([]float64, len(p.question.Value))) {
		needs.Down[cell] = min(needs.Down[cell], max(p.question.Value[cell]-v, 0))
	}
	return needs
}

// within says in words by how much values can have changed.
func (p *protected) within() string {
	w := p.table.AdjustedWithin(p.options.Decimals)
	switch {
	case w.Percent == 0:
		return fmt.Sprintf("each by at most %v", w.Absolute)
	case w.Absolute == 0:
		return fmt.Sprintf("each by at most %v %%", w.Percent)
	}
	return fmt.Sprintf("each by at most %v, or %v %% if that is more", w.Absolute, w.Percent)
}

// changes returns how the adjusted values of table t differ from the true ones; nil for other methods.
func (p *protected) changes(t int) *Changed {
	if p.adjustment == nil {
		return nil
	}
	c := &Changed{Cost: assess.Float(p.adjustment.Cost), AtLeast: assess.Float(p.adjustment.AtLeast)}
	n := 0
	for cell := range p.cellsOf(t) {
		v, x := p.question.Value[cell], p.published[cell]
		if p.status[cell] == tables.Primary && p.beliefs == nil && !p.bothSides(cell) {
			c.OneSided++
		}
		if v == 0 {
			continue
		}
		d := assess.Float(math.Abs(x-v) / v)
		c.Mean, c.Greatest = c.Mean+d, max(c.Greatest, d)
		n++
	}
	c.Mean /= assess.Float(max(n, 1))
	return c
}

// bothSides reports whether an unsafe value can be lower than the published one by as much as it had to be raised, and
// higher by as much as it had to be lowered.
func (p *protected) bothSides(cell int32) bool {
	x, r := p.published[cell], p.ranges
	return r.ShownLow[cell] <= x-p.rules.Up[cell]+roundoff(x) &&
		r.ShownHigh[cell] >= x+max(p.rules.Down[cell], 1)-roundoff(x)
}
