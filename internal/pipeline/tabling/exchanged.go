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
	counts, err := perturbed.Counts(p.unsafeCounts(), p.table.Protect.FacesRespondents(), p.question.Stop)
	if err != nil {
		return err
	}
	return p.auditExchanged(func(cell int32, respondent func(*tablerisk.Belief)) *tablerisk.Belief {
		if p.table.Protect.FacesRespondents() {
			counts[cell].Respondents(respondent)
		}
		return counts[cell].Belief()
	}, nil)
}

// unsafeCounts returns the cells that break a rule.
func (p *protected) unsafeCounts() (list []int32) {
	for cell, status := range p.rules.Status {
		if status == tables.Primary {
			list = append(list, int32(cell))
		}
	}
	return list
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
			return exchange.NewFrame(p.set, t, slices.IndexFunc(table.Dimensions, func(d *tables.Dimension) bool {
				return d.Name == p.exchangedVariable()
			})), true
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
	truth := whole(value)
	alike, err := tablerisk.Exactly(tablerisk.Release{
		Set: p.set, Published: truth, Truth: truth, Stop: p.question.Stop, Likelihood: func(cell int32) (int64, []float64) {
			if frame.Kept(cell) {
				return truth[cell], []float64{1}
			}
			return 0, nil
		},
	}, p.unsafeCounts())
	if err != nil {
		return err
	}
	return p.auditExchanged(func(cell int32, respondent func(*tablerisk.Belief)) *tablerisk.Belief {
		if !frame.Kept(cell) && p.table.Protect.FacesRespondents() {
			for place := range 4 {
				if place == 0 && value[cell] == 1 {
					continue // a respondent who is alone in the cell knows its count
				}
				if b := frame.Believed(value, cell, place); b != nil {
					respondent(b)
				}
			}
		}
		b := frame.Believed(value, cell, -1)
		if alike != nil && alike.Belief(cell).Highest() > b.Highest() {
			b = alike.Belief(cell) // of an outsider to whom all tables with the margins are alike
		}
		return b
	}, func(cell int32) (low, high int64) { return frame.Possible(value, cell) })
}

// auditExchanged judges the beliefs about the unsafe counts. believe returns that of an outsider, and calls its
// argument with those of respondents who are not the only ones in the cell. With possible, the margins alone say what
// an outsider believes, and which counts are possible: that a count is probably another than it is, as it is 0 in most
// cells of a sparse table, then discloses nothing.
func (p *protected) auditExchanged(believe func(cell int32, respondent func(*tablerisk.Belief)) *tablerisk.Belief,
	possible func(cell int32) (low, high int64)) error {
	p.status = p.rules.Status
	value := p.question.Value
	p.ranges = &audit.Ranges{Low: slices.Clone(value), High: slices.Clone(value)}
	p.ranges.ShownLow, p.ranges.ShownHigh = p.ranges.Low, p.ranges.High
	beliefs := map[int32]*tablerisk.Belief{}
	p.beliefs = func(cell int32) *tablerisk.Belief { return beliefs[cell] }
	for _, cell := range p.unsafeCounts() {
		if err := p.question.Stopped(); err != nil {
			return err
		}
		v, inferred := value[cell], false
		b := believe(cell, func(b *tablerisk.Belief) { inferred = inferred || b.UpTo(int64(v)) > certain })
		beliefs[cell] = b
		low, high, sure := b.First, b.First+int64(len(b.P))-1, b.Highest()
		if possible != nil {
			low, high = possible(cell)
			sure = b.UpTo(int64(v))
		}
		p.ranges.Low[cell], p.ranges.High[cell] = float64(low), float64(high)
		switch {
		case sure > certain:
			p.verdict.Disclosed = append(p.verdict.Disclosed, cell)
			continue
		case p.ranges.Low[cell] > v-p.rules.Down[cell] || p.ranges.High[cell] < v+p.rules.Up[cell]:
			p.verdict.Narrow = append(p.verdict.Narrow, cell)
		}
		if inferred {
			p.insiders = append(p.insiders, audit.Insider{Infers: cell, Disclosed: true})
		}
	}
	return p.question.Stopped()
}
