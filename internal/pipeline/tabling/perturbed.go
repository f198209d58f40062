package tabling

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
)

// change is what everybody may know of a method that publishes counts with other values:
// for every true count of a cell that may be published as the given one the probability of
// that, p[0] that of first. No other count may be; nil: any may be.
type change func(cell int, published int64) (first int64, p []float64)

// certain is the probability from which on a value counts as computed.
const certain = 0.9

// byCellKey changes every count by the key of its cell, and audits the result.
func (p *protected) byCellKey(keys *perturb.Keys) error {
	t, problems := perturb.NewTable(p.table.Protect.CellKey.Noise())
	if len(problems) > 0 {
		return problems[0]
	}
	p.published = make([]float64, len(p.question.Value))
	for cell, v := range p.question.Value {
		p.published[cell] = float64(t.Perturb(int64(v), keys.Cell(p.cells.Keys[cell])))
	}
	return p.auditPublished(func(_ int, published int64) (int64, []float64) { return t.Likelihood(published) })
}

// auditPublished computes what can be inferred of the unsafe cells of counts that are
// all published changed: the least and the greatest count that agree with all of them,
// and how probable each in between is to who knows the method.
func (p *protected) auditPublished(c change) error {
	p.status = p.rules.Status
	q := p.question
	n := len(q.Value)
	q.Hidden, q.Lower, q.Upper = make([]bool, n), make([]float64, n), make([]float64, n)
	for cell, y := range p.published {
		first, likelihood := c(cell, int64(y))
		q.Lower[cell], q.Upper[cell] = float64(first), float64(first)+float64(len(likelihood)-1)
		if likelihood == nil {
			q.Lower[cell], q.Upper[cell] = 0, math.Inf(1)
		}
		q.Hidden[cell] = q.Upper[cell] > q.Lower[cell]
	}
	unsafe := make([]bool, n)
	for cell, status := range p.status {
		unsafe[cell] = status == tables.Primary
	}
	var err error
	if p.ranges, err = audit.Of(q, unsafe); err != nil {
		return err
	}
	if err := p.judgePublished(q); err != nil {
		return err
	}
	for cell := range unsafe {
		if unsafe[cell] && !slices.Contains(p.verdict.Disclosed, int32(cell)) {
			if _, top := p.belief(cell, c); top > certain {
				p.verdict.Disclosed = append(p.verdict.Disclosed, int32(cell))
			}
		}
	}
	slices.Sort(p.verdict.Disclosed)
	p.beliefs = func(cell int) []float64 {
		b, _ := p.belief(cell, c)
		return b
	}
	return nil
}

// judgePublished finds the unsafe cells that have one value alone, and those whose range
// does not reach as far as their rule asks. A second value must have been shown by a
// whole table.
func (p *protected) judgePublished(q audit.Question) error {
	var single [2]audit.Verdict
	for i, ends := range [2][2]float64{{1, 0}, {0, 1}} { // one unit above, one unit below
		asked := &primary.Result{Status: p.status, Up: make([]float64, len(q.Value)), Down: make([]float64, len(q.Value))}
		for cell := range q.Value {
			asked.Up[cell], asked.Down[cell] = ends[0], ends[1]
		}
		var err error
		if single[i], err = audit.Judge(q, p.ranges, asked); err != nil {
			return err
		}
	}
	p.verdict = audit.Verdict{}
	for cell, status := range p.status {
		if status != tables.Primary {
			continue
		}
		c := int32(cell)
		alone := func(v audit.Verdict) bool { return slices.Contains(v.Disclosed, c) || slices.Contains(v.Narrow, c) }
		x := q.Value[cell]
		if alone(single[0]) && alone(single[1]) {
			p.verdict.Disclosed = append(p.verdict.Disclosed, c)
		} else if p.ranges.Low[cell] > x-p.rules.Down[cell] || p.ranges.High[cell] < x+p.rules.Up[cell] {
			p.verdict.Narrow = append(p.verdict.Narrow, c)
		}
	}
	return nil
}

// belief is what an intruder who knows the method and nothing else of a cell believes of
// its count, from ranges.Low on, and the greatest probability of a single one.
func (p *protected) belief(cell int, c change) (b []float64, top float64) {
	low, high := p.ranges.Low[cell], p.ranges.High[cell]
	first, likelihood := c(cell, int64(p.published[cell]))
	prior, l := make([]float64, int(high-low)+1), make([]float64, int(high-low)+1)
	for i := range prior {
		prior[i] = 1
		if likelihood == nil {
			l[i] = 1
		}
		if k := int64(low) + int64(i) - first; k >= 0 && k < int64(len(likelihood)) {
			l[i] = likelihood[k]
		}
	}
	b, err := tablerisk.Posterior(prior, l)
	if err != nil { // the truth itself agrees
		return []float64{1}, 1
	}
	return b, slices.Max(b)
}

// shown is the value that is published of a cell.
func (p *protected) shown(cell int32) float64 {
	if p.published != nil {
		return p.published[cell]
	}
	return p.question.Value[cell]
}

// riskOf measures a table: the greatest 1/entropy and the least expected squared error of
// what an intruder believes of an unsafe cell, and 1/mean squared error of what users are
// given of the cells with contributors. What is held back is anywhere in its range with
// the same probability, and users take the middle.
func (p *protected) riskOf(table int) (risk, least, utility float64) {
	least = math.Inf(1)
	square, n := 0.0, 0
	for at := range p.size(table) {
		cell := p.set.Cell(table, at)
		v := p.question.Value[cell]
		if !p.isEmpty(cell) {
			n++
			d := p.number(p.estimate(cell) - v)
			square += d * d
		}
		if p.status[cell] != tables.Primary {
			continue
		}
		r, e := p.cellRisk(cell)
		risk, least = max(risk, r), min(least, e)
	}
	unit := p.number(1)
	if math.IsInf(square, 1) {
		return risk, least * unit * unit, 0
	}
	return risk, least * unit * unit, float64(n) / square
}

// estimate is what a user takes a cell to be.
func (p *protected) estimate(cell int32) float64 {
	switch {
	case !p.hidden(cell):
		return p.shown(cell)
	case p.ranges == nil:
		return math.Inf(1)
	}
	return (p.ranges.Low[cell] + p.ranges.High[cell]) / 2
}

// cellRisk is 1/entropy and the expected squared error of what is believed of a cell.
func (p *protected) cellRisk(cell int32) (risk, square float64) {
	v := p.question.Value[cell]
	switch {
	case p.beliefs != nil:
		b := p.beliefs(int(cell))
		for i, q := range b {
			d := p.ranges.Low[cell] + float64(i) - v
			square += q * d * d
		}
		return tablerisk.Risk(b), square
	case p.hidden(cell) && p.ranges != nil:
		return tablerisk.RangeRisk(p.ranges.Low[cell], p.ranges.High[cell], v)
	}
	return math.Inf(1), 0
}
