package tabling

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/exchange"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
)

// exchange publishes tables in which records have exchanged codes, and audits them.
func (r *records) exchange(p *protected) error {
	frame, ok := p.frame()
	if !ok {
		r.wrong(fmt.Sprintf("tables[%d].protect.%s", p.of[0], p.table.Protect.Name()),
			"must be another method, or one table must have all variables of the tables of its value, whose cells the others are sums of")
		return r.check()
	}
	p.margin = frame.Kept
	if p.table.Protect.Simulate != nil {
		return p.simulate(frame)
	}
	keys := r.recordKeys()
	if p.table.Protect.Swap != nil {
		return p.swap(frame, keys)
	}
	perturbed := frame.Perturb(p.question.Value, p.table.Protect.Markov.Theta, func(cells [4]int32, pass int) *rand.Rand {
		of := make([]uint64, 0, 5)
		for _, cell := range cells {
			of = append(of, p.cells.Keys[cell])
		}
		return keys.Draws(append(of, uint64(pass))...)
	})
	p.published = perturbed.Published
	beliefs := map[int32]*tablerisk.Belief{}
	p.beliefs = func(cell int32) *tablerisk.Belief { return beliefs[cell] }
	return p.auditExchanged(func(cell int32, add func(countBelief)) {
		count := perturbed.Count(cell)
		first, belief := count.Belief()
		beliefs[cell] = &tablerisk.Belief{First: first, P: belief}
		add(countBelief{first, int64(len(belief)), belief})
		if p.table.Protect.FacesRespondents() {
			count.Respondents(func(first int64, belief []float64) { add(countBelief{first, int64(len(belief)), belief}) })
		}
	})
}

// countBelief is a belief about a count: n values from first on, each with its probability, or
// all equally likely.
type countBelief struct {
	first, n int64
	p        []float64 // nil: equal probabilities
}

// sure reports whether one count is certain. of restricts which one: for a respondent it must be
// the true count.
func (b *countBelief) sure(of func(at int64) bool) bool {
	if b.p == nil {
		return b.n == 1
	}
	return slices.ContainsFunc(b.p, func(q float64) bool { return q > certain }) && (b.n == 1 || of(int64(slices.Index(b.p, slices.Max(b.p)))+b.first))
}

// exchangedVariable returns the variable that records exchange.
func (p *protected) exchangedVariable() string {
	if name := p.table.Protect.Exchanged(); name != "" {
		return name
	}
	return p.table.Rows[0]
}

// frame arranges the inner cells of a family in rows by the exchanged variable.
func (p *protected) frame() (*exchange.Frame, bool) {
	var all []string
	for _, t := range p.set.Tables {
		for _, d := range t.Dimensions {
			if !slices.Contains(all, d.Name) {
				all = append(all, d.Name)
			}
		}
	}
	for t, table := range p.set.Tables {
		if len(table.Dimensions) == len(all) && len(all) > 1 {
			return exchange.NewFrame(p.set, t, slices.IndexFunc(table.Dimensions, func(d *tables.Dimension) bool { return d.Name == p.exchangedVariable() })), true
		}
	}
	return nil, false
}

// simulate draws the tables at random given their margins. The draws depend on the margins
// only, so the drawn tables reveal nothing more, and no key is needed.
func (p *protected) simulate(frame *exchange.Frame) error {
	value := p.question.Value
	seed := sha256.New()
	seed.Write([]byte("sdlfilter: simulated tables"))
	for cell, v := range value {
		if frame.Kept(int32(cell)) {
			_ = binary.Write(seed, binary.BigEndian, v) // writing to a digest cannot fail
		}
	}
	p.published = frame.Simulate(value, rand.New(rand.NewChaCha8([32]byte(seed.Sum(nil)))))
	return p.auditExchanged(func(cell int32, add func(countBelief)) {
		between := func(low, high int64) { add(countBelief{low, high - low + 1, nil}) }
		between(frame.Possible(value, cell))
		if frame.Kept(cell) || !p.table.Protect.FacesRespondents() {
			return
		}
		rows, columns := frame.Margins(cell)
		n, all := value[cell], float64(frame.Records(value))
		for _, who := range []struct {
			inRows, inColumns bool
			records           float64
		}{
			{true, true, n - 1}, // a respondent who is alone in the cell knows its count
			{true, false, value[rows] - n}, {false, true, value[columns] - n}, {false, false, all - value[rows] - value[columns] + n},
		} {
			if who.records > 0 {
				between(frame.PossibleTo(value, cell, who.inRows, who.inColumns))
			}
		}
	})
}

// auditExchanged judges the beliefs about the unsafe counts. For each count, beliefs calls its
// argument first with the belief of an outsider, and then with those of respondents who are not
// the only ones in the cell.
func (p *protected) auditExchanged(beliefs func(cell int32, add func(countBelief))) error {
	p.status = p.rules.Status
	value := p.question.Value
	p.ranges = &audit.Ranges{Low: slices.Clone(value), High: slices.Clone(value)}
	p.ranges.ShownLow, p.ranges.ShownHigh = p.ranges.Low, p.ranges.High
	for c, status := range p.status {
		if status != tables.Primary {
			continue
		}
		if err := p.question.Stopped(); err != nil {
			return err
		}
		cell, v := int32(c), value[c]
		public, disclosed, inferred := true, false, false
		beliefs(cell, func(b countBelief) {
			if !public {
				inferred = inferred || b.sure(func(count int64) bool { return float64(count) == v })
				return
			}
			public, disclosed = false, b.sure(func(int64) bool { return true })
			p.ranges.Low[c], p.ranges.High[c] = float64(b.first), float64(b.first+b.n-1)
		})
		switch {
		case disclosed:
			p.verdict.Disclosed = append(p.verdict.Disclosed, cell)
			continue
		case p.ranges.Low[c] > v-p.rules.Down[c] || p.ranges.High[c] < v+p.rules.Up[c]:
			p.verdict.Narrow = append(p.verdict.Narrow, cell)
		}
		if inferred {
			p.insiders = append(p.insiders, audit.Insider{Infers: cell, Disclosed: true})
		}
	}
	return p.question.Stopped()
}
