package pipeline

import (
	"context"
	"slices"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Sorted returns, after Settle, the sorted original values that masks need, by column.
func (pl *Plan) Sorted() map[string][]float64 { return pl.sorted }

// settleValues reads all original values of the columns for which a mask needs them, for
// percentiles and means of the values beyond a limit. They take 8 bytes per record and column.
func (pl *Plan) settleValues(ctx context.Context, progress *Progress) error {
	var names []string
	for i, m := range pl.Config.Masks {
		field := transform.NeedsValues(m.Params)
		if field == "" {
			continue
		}
		if !pl.Source.Rewindable() {
			return config.Errors{
				pl.Config.Errorf(pl.MaskPath(i)+"."+field,
					"reads the source twice, which this source does not allow: give a bound in the column's unit, and replace: bound")}
		}
		for _, name := range m.Params.Masks() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	progress.Start("survey", pl.Source.Records())
	layout := &microdata.Layout{Schema: pl.Source.Schema()}
	values := make([][]float64, len(names))
	for k, name := range names {
		values[k] = []float64{}
		layout.Read = append(layout.Read,
			microdata.Want{Field: layout.Schema.Index(name), As: microdata.Numbers, Measured: true})
	}
	pass := Flow{
		Source: pl.Source, Layout: layout,
		Stages: []func(*Parcel) error{func(p *Parcel) error {
			progress.Add(p.Block.N)
			for k := range names {
				v := p.Block.Columns[k].Original
				for i, x := range v.Values {
					if v.Valid.Has(i) && x-x == 0 && !p.Block.Rejected(i) {
						values[k] = append(values[k], x)
					}
				}
			}
			return nil
		}},
	}
	if err := pass.Run(ctx); err != nil {
		return err
	}
	pl.sorted = map[string][]float64{}
	for k, name := range names {
		slices.Sort(values[k])
		pl.sorted[name] = values[k]
	}
	return nil
}
