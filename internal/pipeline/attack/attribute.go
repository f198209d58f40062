package attack

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// attributeOf are the columns that a chain synthesises from a part of the records, with who was set
// aside; nil where it is not asked for, or no mask sets any aside.
func attributeOf(pl *pipeline.Plan, p assess.Pairs, chain *transform.Chain) *attack.Attribute {
	in := pl.Config.Assess.Intruder
	if in == nil || in.Attribute == nil || chain == nil {
		return nil
	}
	o := &attack.Attribute{Within: in.Attribute.Within}
	for _, h := range chain.HeldOut() {
		s := attack.Secret{Name: h.Column, Categories: h.Categories}
		if c := slices.IndexFunc(pl.Assessed, func(c assess.Column) bool { return c.Name == h.Column }); c >= 0 {
			s.Original, s.Released = p.Original[c], p.Released[c]
		} else if index, known := pl.Intruder.Index[h.Column]; known {
			i := slices.Index(p.CarriedColumns, index)
			s.Original, s.Released = p.Carried[i], p.CarriedReleased[i]
		}
		s.HeldOut = make([]bool, len(s.Original))
		for i := range s.HeldOut {
			s.HeldOut[i] = h.Of(p.Place(i))
		}
		o.Of = append(o.Of, s)
	}
	if len(o.Of) == 0 {
		return nil
	}
	return o
}
