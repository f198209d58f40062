package tabling

import (
	"fmt"
	"iter"
	"math"
	"os"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/form"
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
func (r *records) byCellKey(p *protected) error {
	t, err := r.noise(p)
	if err != nil {
		return err
	}
	keys := r.recordKeys()
	noise := t.Noise()
	p.noise = &noise
	p.published = make([]float64, len(p.question.Value))
	for cell, v := range p.question.Value {
		p.published[cell] = float64(t.Perturb(int64(v), keys.Cell(p.cells.Keys[cell])))
	}
	return p.auditPublished(func(_ int, published int64) (int64, []float64) { return t.Likelihood(published) }, true)
}

// noise returns the distributions of the changes by cell keys.
func (r *records) noise(p *protected) (*perturb.Table, error) {
	c := p.table.Protect.CellKey
	if c.PTable == "" {
		t, problems := perturb.NewTable(c.Noise())
		if len(problems) > 0 {
			return nil, problems[0]
		}
		return t, nil
	}
	at := fmt.Sprintf("tables[%d].protect.cell_key.p_table", p.of[0])
	file, err := os.Open(c.PTable)
	if err != nil {
		r.wrong(at, "file %s %s", c.PTable, form.Reason(err))
		return nil, r.check()
	}
	defer file.Close()
	t, problems := perturb.ReadTable(file)
	for _, problem := range problems {
		r.wrong(at, "file %s: %s", c.PTable, problem.Error())
	}
	return t, r.check()
}

// auditPublished computes what can be inferred about the unsafe cells from all published counts together, for
// somebody who knows the method. same says that cells with the same records are changed alike.
func (p *protected) auditPublished(c change, same bool) error {
	p.status = p.rules.Status
	q := p.question
	release := tablerisk.Release{Set: p.set, Published: whole(p.published), Truth: whole(q.Value), Same: same,
		Limit: certain, Stop: q.Stop}
	c = p.withTotal(c)
	release.Likelihood = func(cell int32) (int64, []float64) { return c(int(cell), release.Published[cell]) }
	unsafe := p.unsafeCounts()
	p.ranges = &audit.Ranges{Low: slices.Clone(q.Value), High: slices.Clone(q.Value)}
	p.ranges.ShownLow, p.ranges.ShownHigh = p.ranges.Low, p.ranges.High
	if len(unsafe) == 0 {
		return q.Stopped()
	}
	wanted, parts := unsafe, []tablerisk.Part(nil)
	if p.table.Protect.FacesRespondents() {
		parts = p.ownParts(release.Likelihood)
		for _, part := range parts {
			if p.status[part.Cell] != tables.Primary {
				wanted = append(wanted[:len(wanted):len(wanted)], part.Cell)
			}
		}
	}
	joint, err := tablerisk.NewJoint(release, wanted)
	if err != nil {
		return err
	}
	p.beliefs = joint.Belief
	var uncertain []int32
	for _, cell := range unsafe {
		x, b := q.Value[cell], joint.Belief(cell)
		p.ranges.Low[cell], p.ranges.High[cell] = float64(b.First), float64(b.First)+float64(len(b.P)-1)
		if b.Highest() > certain {
			p.verdict.Disclosed = append(p.verdict.Disclosed, cell)
			continue
		}
		uncertain = append(uncertain, cell)
		if p.ranges.Low[cell] > x-p.rules.Down[cell] || p.ranges.High[cell] < x+p.rules.Up[cell] {
			p.verdict.Narrow = append(p.verdict.Narrow, cell)
		}
	}
	if joint.Short {
		return q.Stopped() // disclosed to everybody, whatever respondents know
	}
	return p.auditRespondents(joint, parts, uncertain)
}

func whole(values []float64) []int64 {
	list := make([]int64, len(values))
	for i, v := range values {
		list[i] = int64(v)
	}
	return list
}

// withTotal returns the change with the true grand total, if everybody knows it.
func (p *protected) withTotal(c change) change {
	if !p.totalKnown {
		return c
	}
	total := int(p.grand())
	return func(cell int, published int64) (int64, []float64) {
		if cell != total {
			return c(cell, published)
		}
		known := int64(p.question.Value[total])
		// its change says whether its records are those of a part
		if first, likelihood := c(cell, published); likelihood != nil {
			return known, []float64{likelihood[known-first]}
		}
		return known, []float64{1}
	}
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

// riskError returns by how much the greatest risk of some cells is above its estimate; 0 if it is exact.
func (p *protected) riskError(cells iter.Seq[int32]) (by float64) {
	if p.beliefs == nil {
		return 0
	}
	greatest := 0.0
	for cell := range cells {
		if p.status[cell] != tables.Primary {
			continue
		}
		if risk, error := p.beliefs(cell).Risk(); risk > greatest {
			greatest, by = risk, error
		}
	}
	return by
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
	case p.contributors != nil:
		b := p.contributors[cell]
		return b.risk, b.square
	case p.beliefs != nil:
		b := p.beliefs(cell)
		risk, _ = b.Risk()
		return risk, b.SquaredError(v)
	case (p.hidden(cell) || p.adjustment != nil) && p.ranges != nil && p.ranges.Unsolved > 0: // its range may be too wide
		return tablerisk.RangeRisk(p.ranges.ShownLow[cell], p.ranges.ShownHigh[cell], v)
	case (p.hidden(cell) || p.adjustment != nil) && p.ranges != nil:
		return tablerisk.RangeRisk(p.ranges.Low[cell], p.ranges.High[cell], v)
	}
	return math.Inf(1), 0
}
