package tabling

import (
	"math/rand/v2"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables/exchange"
	"github.com/sdlfilter/sdlfilter/internal/tables/perturb"
	"github.com/sdlfilter/sdlfilter/internal/tables/tablerisk"
)

// swap publishes tables in which records of pairs of codes have exchanged all other codes, and
// audits them. There are two prior beliefs about a count (exchange.Prior); risk and ranges are
// those of the more certain posterior of the two.
func (p *protected) swap(frame *exchange.Frame, keys *perturb.Keys) error {
	c := p.table.Protect.Swap
	match := p.matched(frame)
	p.margin = func(cell int32) bool { return frame.KeptBeside(cell, match) }
	table := frame.Swap(p.question.Value, c.Rate, match, func(cells []int32, pass int) *rand.Rand {
		of := make([]uint64, 0, len(cells)+2)
		for _, cell := range cells {
			of = append(of, p.cells.Keys[cell])
		}
		return keys.Draws(append(of, uint64(pass), uint64(len(cells)))...)
	})
	p.published = table.Published
	priors := [...]exchange.Prior{exchange.Even, exchange.Independent}
	return p.auditExchanged(func(cell int32, respondent func(*tablerisk.Belief)) (surest *tablerisk.Belief) {
		count := table.Count(cell)
		for _, prior := range priors {
			if first, b := count.Belief(prior); surest == nil || slices.Max(b) > slices.Max(surest.P) {
				surest = &tablerisk.Belief{First: first, P: b}
			}
			if p.table.Protect.FacesRespondents() {
				count.Respondents(prior, func(first int64, b []float64) { respondent(&tablerisk.Belief{First: first, P: b}) })
			}
		}
		return surest
	}, nil)
}

// matched marks the dimensions of the inner cells in which exchanging records are equal.
func (p *protected) matched(frame *exchange.Frame) []bool {
	names := frame.Variables()
	match := make([]bool, len(names))
	for k, name := range names {
		match[k] = slices.Contains(p.table.Protect.Matched(), name)
	}
	return match
}
