package pipeline

import (
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// watch decides of which masked columns it is noted what the masks leave of all records together.
func (pl *Plan) watch(b *layoutBuilder) {
	for _, c := range pl.Columns {
		w := assess.WatchedColumn{
			Name: c.Name, Index: c.Index, Renamed: transform.Renames(pl.Config.Masks, c.Name),
			Dates: transform.RoundsDates(pl.Config.Masks, c.Name),
			Texts: b.layout.Read[c.Index].As == microdata.Array && !pl.suppressed(c.Name),
		}
		of := pl.Config.Columns.Named(c.Name)
		w.Judged = w.Texts && of != nil && of.Role == microdata.Sensitive
		if w.Texts || w.Renamed || w.Dates {
			pl.Watched = append(pl.Watched, w)
		}
	}
}

// suppressed reports whether a mask suppresses values of a column, which changes nothing if no combination is rare.
func (pl *Plan) suppressed(name string) bool {
	return slices.ContainsFunc(pl.Config.Masks, func(m transform.Spec) bool {
		_, spares := transform.ActionOf(m.Params, name, math.NaN()).(transform.Suppression)
		return spares && slices.Contains(m.Params.Masks(), name)
	})
}
