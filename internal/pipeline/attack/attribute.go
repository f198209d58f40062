package attack

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// attributeOf returns the columns that a chain synthesises from a part of the records, with the records that
// were held out; nil if attribute disclosure is not requested, or no mask holds out records.
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
