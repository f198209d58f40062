package pipeline

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// mostBeside is the number of released columns, beside the measured ones, whose values the sample holds.
const mostBeside = 200

// wantBeside asks for the released columns that are not measured: an intruder who knows which record is
// the target's uses all of them. Nested columns, and those beyond the first 200 (numbers first), are
// named as not seen.
func (pl *Plan) wantBeside(b *layoutBuilder) {
	if !slices.ContainsFunc(pl.Assessed, func(c assess.Column) bool { return c.Masked }) {
		return
	}
	released := map[string]bool{}
	for _, numeric := range []bool{true, false} {
		for _, out := range b.layout.Release {
			f := b.schema.Fields[out.Source]
			released[f.Name] = true
			if f.Numeric() != numeric || pl.assesses(f.Name) {
				continue
			}
			if f.Nested() || len(pl.Beside) == mostBeside {
				pl.Unseen = append(pl.Unseen, f.Name)
				continue
			}
			form, masked := b.masked[f.Name]
			if !masked {
				form = microdata.Array
				if numeric {
					form = microdata.Numbers
				}
			}
			index, read := b.read(out.Source)
			if !read {
				index = b.want(f.Name, form, !masked && numeric)
			}
			pl.Beside = append(pl.Beside, assess.BesideColumn{Name: f.Name, Index: index})
		}
	}
	for i := range pl.Assessed {
		pl.Assessed[i].Withheld = !released[pl.Assessed[i].Name]
	}
	if name := pl.Config.HouseholdColumn(); name != "" && !released[name] && b.schema.Index(name) >= 0 && !b.field(name).Nested() {
		pl.Beside = append(pl.Beside, assess.BesideColumn{Name: name, Index: b.want(name, microdata.Array, false), GroupOnly: true})
	}
}

// read returns the index of a field that is decoded already, in whatever form.
func (b *layoutBuilder) read(field int) (int, bool) {
	i := slices.IndexFunc(b.layout.Read, func(w microdata.Want) bool { return w.Field == field })
	return i, i >= 0
}
