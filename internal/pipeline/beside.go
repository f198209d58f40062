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
// named as not seen. Tables that are joined with others tell of the masked columns of these.
func (pl *Plan) wantBeside(b *layoutBuilder) {
	if len(pl.Config.Joins) == 0 && !slices.ContainsFunc(pl.Assessed, func(c assess.Column) bool { return c.Masked }) {
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
			if f.Nested() || pl.whole() >= mostBeside {
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
			pl.show(f, index, masked)
		}
	}
	for i := range pl.Assessed {
		pl.Assessed[i].Withheld = !released[pl.Assessed[i].Name]
	}
	if name := pl.Config.HouseholdColumn(); name != "" && !released[name] && b.schema.Index(name) >= 0 &&
		!b.field(name).Nested() {
		pl.Beside = append(pl.Beside,
			assess.BesideColumn{Name: name, Index: b.want(name, microdata.Array, false), GroupOnly: true})
	}
}

// whole is the number of columns of Beside.
func (pl *Plan) whole() int { return len(pl.Beside) - assess.Pieces*pl.pieces }

// mostPieces is the number of columns of texts of which the sample holds pieces.
const mostPieces = 20

// show has the sample hold what the release shows of a column that is not measured, each column once.
func (pl *Plan) show(f microdata.Field, index int, masked bool) {
	if slices.ContainsFunc(pl.Beside, func(c assess.BesideColumn) bool { return c.Name == f.Name }) {
		return
	}
	pl.Beside = append(pl.Beside, assess.BesideColumn{Name: f.Name, Index: index})
	if masked || !f.Text() || pl.pieces == mostPieces {
		return
	}
	pl.pieces++
	for piece := range assess.Pieces {
		pl.Beside = append(pl.Beside, assess.BesideColumn{Name: f.Name, Index: index, Piece: piece + 1})
	}
}

// read returns the index of a field that is decoded already, in whatever form.
func (b *layoutBuilder) read(field int) (int, bool) {
	i := slices.IndexFunc(b.layout.Read, func(w microdata.Want) bool { return w.Field == field })
	return i, i >= 0
}
