package tabling

import (
	"iter"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
)

// change is the public knowledge about a method that publishes changed counts: for each possible
// true count the probability that it is published as the given count, p[0] for the count first.
// Other true counts are impossible. With p nil, all are possible.
type change func(cell int, published int64) (first int64, p []float64)

// certain is the probability above which a value counts as disclosed.
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

// auditPublished computes what can be inferred about the unsafe cells if all counts are published
// changed: the least and the greatest count that agree with all published ones, and the
// probability of each count between them for an intruder who knows the method.
func (p *protected) auditPublished(c change) error {
	p.status = p.rules.Status
	q := p.question
	n := len(q.Value)
	c = p.withTotal(c)
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
	possible, ranges, err := audit.Values(q, unsafe)
	if err != nil {
		return err
	}
	p.ranges = ranges
	p.beliefs = func(cell int32) []float64 { return p.belief(cell, possible[cell], c) }
	for cell := range unsafe {
		if !unsafe[cell] {
			continue
		}
		x := q.Value[cell]
		if slices.Max(p.beliefs(int32(cell))) > certain {
			p.verdict.Disclosed = append(p.verdict.Disclosed, int32(cell))
		} else if ranges.Low[cell] > x-p.rules.Down[cell] || ranges.High[cell] < x+p.rules.Up[cell] {
			p.verdict.Narrow = append(p.verdict.Narrow, int32(cell))
		}
	}
	if p.table.Protect.FacesRespondents() {
		return p.auditRespondents(q, c)
	}
	return nil
}

// withTotal returns the change with the true grand total, if everybody knows it.
func (p *protected) withTotal(c change) change {
	if !p.totalKnown {
		return c
	}
	total := int(p.grand())
	return func(cell int, published int64) (int64, []float64) {
		if cell == total {
			return int64(p.question.Value[total]), []float64{1}
		}
		return c(cell, published)
	}
}

// belief returns the belief of an intruder who knows the method and all published counts: the
// probability of each possible count, from ranges.Low on, in proportion to its likelihood.
func (p *protected) belief(cell int32, possible audit.Possible, c change) []float64 {
	first, likelihood := c(int(cell), int64(p.published[cell]))
	prior, l := make([]float64, len(possible.Value)), make([]float64, len(possible.Value))
	for i, can := range possible.Value {
		if can {
			prior[i] = 1
		}
		if k := possible.Low + int64(i) - first; likelihood == nil {
			l[i] = 1
		} else if k >= 0 && k < int64(len(likelihood)) {
			l[i] = likelihood[k]
		}
	}
	b, err := tablerisk.Posterior(prior, l)
	if err != nil { // cannot be: the true counts are possible
		return []float64{1}
	}
	return b
}

// publishedValue returns the published value of a cell.
func (p *protected) publishedValue(cell int32) float64 {
	if p.published != nil {
		return p.published[cell]
	}
	return p.question.Value[cell]
}

// riskOf measures some cells: the greatest 1/entropy and the least expected squared error of an
// intruder's belief about an unsafe cell, and 1/mean squared error of the users' values of the
// cells with contributors. For a suppressed cell, each value of its range has the same
// probability, and users take the middle.
func (p *protected) riskOf(cells iter.Seq[int32]) (risk, least, utility float64) {
	least = math.Inf(1)
	square, n := 0.0, 0
	for cell := range cells {
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

// cellsOf returns the cells of a table, in order.
func (p *protected) cellsOf(table int) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for at := range p.size(table) {
			if !yield(p.set.Cell(table, at)) {
				return
			}
		}
	}
}

// estimate returns the value that a user takes for a cell.
func (p *protected) estimate(cell int32) float64 {
	switch {
	case !p.hidden(cell):
		return p.publishedValue(cell)
	case p.ranges == nil:
		return math.Inf(1)
	}
	return (p.ranges.Low[cell] + p.ranges.High[cell]) / 2
}

// cellRisk returns 1/entropy and the expected squared error of the belief about a cell.
func (p *protected) cellRisk(cell int32) (risk, square float64) {
	v := p.question.Value[cell]
	switch {
	case p.beliefs != nil:
		b := p.beliefs(cell)
		for i, q := range b {
			d := p.ranges.Low[cell] + float64(i) - v
			square += q * d * d
		}
		return tablerisk.Risk(b), square
	case p.margin != nil: // drawn given the margins: all counts that these allow are equally probable
		return tablerisk.RangeRisk(p.ranges.Low[cell], p.ranges.High[cell], v)
	case p.hidden(cell) && p.ranges != nil && p.ranges.Unsolved > 0: // its range may be too wide
		return tablerisk.RangeRisk(p.ranges.ShownLow[cell], p.ranges.ShownHigh[cell], v)
	case p.hidden(cell) && p.ranges != nil:
		return tablerisk.RangeRisk(p.ranges.Low[cell], p.ranges.High[cell], v)
	}
	return math.Inf(1), 0
}
