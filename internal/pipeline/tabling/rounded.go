package tabling

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/tables/rounding"
)

// round publishes multiples of a base, or small counts as 0 or the base, and audits the
// result.
func (r *records) round(p *protected) error {
	c := p.table.Protect.Round
	base := int64(c.Base)
	at := fmt.Sprintf("tables[%d].protect.round.mode", p.of[0])
	var l rounding.Likelihood
	of := func(int) rounding.Likelihood { return l }
	p.published = make([]float64, len(p.question.Value))
	switch c.Mode {
	case "nearest":
		l = rounding.OfNearest(base)
		for cell, v := range p.question.Value {
			p.published[cell] = float64(rounding.Nearest(int64(v), base))
		}
	case "random":
		l = rounding.OfRandom(base)
		keys := r.recordKeys()
		for cell, v := range p.question.Value {
			p.published[cell] = float64(rounding.Random(int64(v), base, keys.Cell(p.cells.Keys[cell])))
		}
	case "controlled":
		l = rounding.OfControlled(base)
		var limits rounding.Limits
		if d := time.Duration(c.Patience); d > 0 {
			limits.Until = time.Now().Add(d)
		}
		found, err := rounding.Controlled(p.question, base, limits)
		switch {
		case errors.Is(err, rounding.ErrEnded):
			r.wrong(at,
				"must be small, random or nearest for these tables, or the search must have more time (patience): no rounding was found that takes each count to a neighbour and keeps all sums; beyond two dimensions there need not be one")
			return r.check()
		case errors.Is(err, rounding.ErrNone):
			r.wrong(at,
				"must be small, random or nearest for these tables: no rounding takes each count to a neighbour and keeps all sums")
			return r.check()
		}
		if err != nil {
			return err
		}
		p.rounding, p.cutShort, p.published = found, found.Short, found.Value
	case "small":
		inner, ok := p.inner()
		if !ok {
			r.wrong(at,
				"must be controlled, random or nearest, or one table must have all variables of the tables of its value, whose cells the others are sums of")
			return r.check()
		}
		l = rounding.OfSmall(base)
		p.published = rounding.Small(p.set, p.question.Value, inner, base)
		of = func(cell int) rounding.Likelihood {
			if inner[cell] {
				return l
			}
			return nil
		}
	}
	return p.auditPublished(func(cell int, published int64) (int64, []float64) {
		if l := of(cell); l != nil {
			return l(published)
		}
		return 0, nil
	}, c.Mode == "random")
}

// inner returns which cells are not sums; ok is false unless one table has all variables of the
// family.
func (p *protected) inner() (inner []bool, ok bool) {
	var all []string
	for _, t := range p.set.Tables {
		for _, d := range t.Dimensions {
			if !slices.Contains(all, d.Name) {
				all = append(all, d.Name)
			}
		}
	}
	for t, table := range p.set.Tables {
		if len(table.Dimensions) != len(all) {
			continue
		}
		inner = make([]bool, p.set.Cells())
		for at := range p.size(t) {
			leaf := true
			for k, rest := len(table.Dimensions)-1, at; k >= 0; k-- {
				d := table.Dimensions[k]
				leaf = leaf && d.IsLeaf(rest%len(d.Codes))
				rest /= len(d.Codes)
			}
			inner[p.set.Cell(t, at)] = leaf
		}
		return inner, true
	}
	return nil, false
}
