package pipeline

import (
	"context"
	"maps"
	"slices"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Frequencies returns the frequencies of original categories that masks need, after Settle.
func (pl *Plan) Frequencies() map[string]*transform.Frequencies { return pl.frequencies }

// settleFrequencies counts the original categories of the columns for which a mask needs the
// frequencies.
func (pl *Plan) settleFrequencies(ctx context.Context, progress *Progress) error {
	layout := &microdata.Layout{Schema: pl.Source.Schema()}
	counted := map[string]*transform.Frequencies{}
	paths := map[string]string{}
	for i, m := range pl.Config.Masks {
		field := transform.NeedsFrequencies(m.Params)
		if field == "" {
			continue
		}
		if !pl.Source.Rewindable() {
			return config.Errors{
				pl.Config.Errorf(pl.MaskPath(i)+"."+field,
					"reads the source twice, which this source does not allow: give frequencies")}
		}
		columns := wantArrays(layout, append(slices.Clone(m.Params.Masks()), m.Params.Reads()...))
		list, err := transform.NewFrequencies(m.Params, columns)
		if err != nil {
			return config.Errors{pl.Config.Errorf(pl.MaskPath(i), "%v", err)}
		}
		maps.Copy(counted, list)
		for name := range list {
			paths[name] = pl.MaskPath(i)
		}
	}
	if len(counted) == 0 {
		return nil
	}
	progress.Start("survey", pl.Source.Records())
	names := slices.Sorted(maps.Keys(counted))
	pass := Flow{
		Source: pl.Source, Layout: layout,
		Stages: []func(*Parcel) error{func(p *Parcel) error {
			progress.Add(p.Block.N)
			for _, name := range names {
				if err := counted[name].Count(p.Block); err != nil {
					return config.Errors{pl.Config.Errorf(paths[name], "%v", err)}
				}
			}
			return nil
		}},
	}
	if err := pass.Run(ctx); err != nil {
		return err
	}
	var errs config.Errors
	for _, name := range names {
		if err := counted[name].Check(); err != nil {
			errs = append(errs, pl.Config.Errorf(paths[name], "%v", err))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	pl.frequencies = counted
	return nil
}

// wantArrays asks for each of the columns in array form, which can hold any type.
func wantArrays(layout *microdata.Layout, names []string) (columns []transform.ColumnInfo) {
	for _, name := range names {
		w := microdata.Want{Field: layout.Schema.Index(name), As: microdata.Array}
		at := slices.Index(layout.Read, w)
		if at < 0 {
			at = len(layout.Read)
			layout.Read = append(layout.Read, w)
		}
		columns = append(columns, transform.ColumnInfo{Name: name, Index: at, Field: layout.Schema.Fields[w.Field]})
	}
	return columns
}
