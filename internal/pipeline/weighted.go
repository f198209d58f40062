package pipeline

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// wantWeight asks for the sampling weights of each pair, and for those that leave where a mask changes them. The sample
// holds them beside the columns that are measured.
func (pl *Plan) wantWeight(b *layoutBuilder) {
	name := pl.Config.Weight
	if name == "" || b.schema.Index(name) < 0 || !b.field(name).Numeric() || pl.Config.Streaming() ||
		slices.ContainsFunc(pl.Assessed, func(c assess.Column) bool { return c.Name == name }) {
		return
	}
	if form, masked := b.masked[name]; !masked {
		pl.weight.carry = []int{b.want(name, microdata.Numbers, true)}
	} else if form == microdata.Numbers {
		pl.weight.carry = []int{b.want(name, form, false)}
		pl.weight.released = pl.weight.carry
	} else {
		return
	}
	pl.weight.index, pl.weight.known = pl.weight.carry[0], true
	if slices.Contains(slices.Concat(pl.Carry, pl.Intruder.Carried), pl.weight.index) {
		pl.weight.carry = nil
	}
	if slices.Contains(pl.Intruder.Released, pl.weight.index) {
		pl.weight.released = nil
	}
}

// Weighted returns the measures with the sampling weights; nil if there are none.
func (pl *Plan) Weighted(p assess.Pairs) *assess.Weighted {
	name := pl.Config.Weight
	var names []string
	var original, released [][]float64
	var before, after []float64
	for i, c := range pl.Assessed {
		if c.Name == name {
			before, after = p.Original[i], p.Released[i]
			continue
		}
		names, original, released = append(names, c.Name), append(original, p.Original[i]), append(released, p.Released[i])
	}
	if before == nil && pl.weight.known {
		if i := slices.Index(p.CarriedColumns, pl.weight.index); i >= 0 {
			if before, after = p.Carried[i], p.CarriedReleased[i]; after == nil {
				after = before
			}
		}
	}
	if name == "" || before == nil || len(names) == 0 || p.Len() == 0 {
		return nil
	}
	return assess.NewWeighted(name, names, original, released, before, after, p.Records)
}
