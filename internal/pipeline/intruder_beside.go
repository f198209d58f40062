package pipeline

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// carryInferred asks for the released columns of categories, other than keys, whose original category a mask is to
// hide, and for the strata of the masks.
func (pl *Plan) carryInferred(b *layoutBuilder) {
	at := &pl.Intruder
	if !pl.Config.Inverts() {
		return
	}
	for _, m := range pl.Config.Masks {
		for _, name := range m.Params.Masks() {
			c, f := pl.Config.Columns.Named(name), b.field(name)
			if c == nil || c.Role == microdata.Identifier || f.Numeric() || f.Nested() || transform.InDays(pl.Config.Masks, f) ||
				slices.Contains(at.Counted, name) || slices.Contains(at.Inferred, name) {
				continue
			}
			switch transform.ActionOf(m.Params, name, 1).(type) {
			case transform.Recoding:
				if c.Role != microdata.Sensitive {
					continue // a name for what is no secret
				}
			case transform.Randomising:
			default:
				continue
			}
			at.Inferred = append(at.Inferred, name)
			if _, carried := at.Index[name]; !carried {
				at.count(b, name)
			}
		}
	}
	for _, m := range pl.Config.Masks {
		for _, name := range m.Params.Masks() {
			r, ok := transform.ActionOf(m.Params, name, 1).(transform.Randomising)
			if !ok || !slices.Contains(at.Counted, name) && !slices.Contains(at.Inferred, name) {
				continue
			}
			for _, by := range r.By {
				_, carried := at.Index[by]
				if _, masked := b.masked[by]; !carried && !masked && !b.field(by).Nested() {
					at.carry(b, by, microdata.Array)
				}
			}
		}
	}
}

// carryBeside asks for all released columns that the intruder does not have yet, if the inversion
// infers the categories of a key, or masks hide cells of one: whoever has the record sees them beside it.
func (pl *Plan) carryBeside(b *layoutBuilder) {
	at := &pl.Intruder
	infers := pl.Config.Inverts() && (len(at.Inferred) > 0 || slices.ContainsFunc(at.Counted, pl.infersCategories))
	if !infers && !(pl.fromSnooper() && slices.ContainsFunc(at.Keys, pl.hidesCells)) {
		return
	}
	for _, f := range b.schema.Fields {
		c := pl.Config.Columns.Named(f.Name)
		switch _, masked := b.masked[f.Name]; {
		case c == nil || c.Role == microdata.Identifier || f.Nested() || slices.Contains(at.Counted, f.Name) ||
			slices.Contains(at.Inferred, f.Name):
		case slices.Contains(at.Linked, f.Name) || masked && pl.assesses(f.Name): // the numbers that the inversion has
		default:
			at.Beside = append(at.Beside, f.Name)
			if _, carried := at.Index[f.Name]; !carried { // for what it is besides: weights, a household, a sensitive category
				at.count(b, f.Name)
			}
			if !f.Numeric() && pl.whole() < mostBeside {
				pl.show(f, at.Index[f.Name], b.masked[f.Name] == microdata.Array)
			}
		}
	}
}

// assesses reports whether R and U of a column are measured.
func (pl *Plan) assesses(name string) bool {
	return slices.ContainsFunc(pl.Assessed, func(c assess.Column) bool { return c.Name == name })
}

// infersCategories reports whether a mask recodes or randomises a column.
func (pl *Plan) infersCategories(name string) bool {
	return slices.ContainsFunc(pl.Config.Masks, func(m transform.Spec) bool {
		if !slices.Contains(m.Params.Masks(), name) {
			return false
		}
		switch transform.ActionOf(m.Params, name, 1).(type) {
		case transform.Recoding, transform.Randomising:
			return true
		}
		return false
	})
}

// hidesCells reports whether a mask sets cells of a column missing, or puts them into a coarser coding.
func (pl *Plan) hidesCells(name string) bool {
	return slices.ContainsFunc(pl.Config.Masks, func(m transform.Spec) bool {
		if !slices.Contains(m.Params.Masks(), name) {
			return false
		}
		switch transform.ActionOf(m.Params, name, 1).(type) {
		case transform.Suppression, transform.Recoding, transform.Rounding, transform.Bounding:
			return true
		}
		return false
	})
}
