package pipeline

import (
	"context"
	"os"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// settle completes what the masks must know of the columns: decimals and, for
// percentages, standard deviations. They come from the configuration and the
// types, from the profile file, and where that leaves something open from a
// first pass over the columns in question.
func (pl *plan) settle(ctx context.Context, progress *Progress) error {
	known, err := loadProfile(pl.config.Profile)
	if err != nil {
		return err
	}
	needSD := transform.NeedsSD(pl.config.Masks)
	var open []string
	for i := range pl.columns {
		c := &pl.columns[i]
		c.SD, c.Mean, c.Decimals = nan, nan, -1
		if !pl.arithmetic(c) {
			continue
		}
		decimalsKnown := false
		if d := pl.config.Columns.Named(c.Name).Decimals; d != nil {
			c.Decimals, decimalsKnown = *d, true
		} else if d, fixed := c.Field.Decimals(); fixed {
			c.Decimals, decimalsKnown = d, true
		}
		if pc := known.Column(c.Name); pc != nil {
			c.SD, c.Mean = stable(float64(pc.SD)), stable(float64(pc.Mean))
			if !decimalsKnown {
				c.Decimals, decimalsKnown = pc.Decimals, true
			}
		}
		if !decimalsKnown || c.SD != c.SD && slices.Contains(needSD, c.Name) {
			open = append(open, c.Name)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if !pl.source.Rewindable() {
		var problems config.Errors
		for _, name := range open {
			problems = append(problems, pl.config.Errorf("columns."+name, "the source can be read only once, so `decimals` and absolute amounts, or a `profile`, must be given"))
		}
		return problems
	}
	progress.start("profile", pl.source.Records())
	profile, err := profileColumns(ctx, pl, open, progress)
	if err != nil {
		return err
	}
	for i := range pl.columns {
		c := &pl.columns[i]
		if !slices.Contains(open, c.Name) {
			continue
		}
		pc := profile.Column(c.Name)
		if c.SD != c.SD {
			c.SD, c.Mean = stable(float64(pc.SD)), stable(float64(pc.Mean))
			switch {
			case pc.N == 0:
				c.SD = 0 // there is nothing to mask
			case c.SD == 0 && slices.Contains(needSD, c.Name):
				pl.constant = append(pl.constant, c.Name)
			}
		}
		if _, fixed := c.Field.Decimals(); !fixed && pl.config.Columns.Named(c.Name).Decimals == nil && known.Column(c.Name) == nil {
			c.Decimals = pc.Decimals
		}
	}
	return pl.checkAmounts()
}

// checkAmounts demands the standard deviation of every column that a percentage
// refers to.
func (pl *plan) checkAmounts() error {
	var problems config.Errors
	for i, m := range pl.config.Masks {
		field, columns := transform.RelativeTo(m.Params)
		for _, c := range pl.columns {
			if c.SD != c.SD && slices.Contains(columns, c.Name) {
				problems = append(problems, pl.config.Errorf(pl.maskPath(i)+"."+field,
					"must be a number in the column's unit: the standard deviation of %s, which a percentage refers to, takes at least two values, and there are fewer", c.Name))
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// stable rounds a statistic to six significant digits. Its last bits depend on
// how the data are cut into blocks, and what is released must not: an amount of
// noise is part of the name of the keystream that it is drawn from.
func stable(v float64) float64 {
	if v != v {
		return v
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 5, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

// arithmetic reports whether a mask computes with the column.
func (pl *plan) arithmetic(c *transform.ColumnInfo) bool {
	return slices.Contains(pl.masked, c.Name) && pl.layout.Read[c.Index].As == microdata.Numbers
}

func loadProfile(path string) (*assess.Profile, error) {
	if path == "" {
		return &assess.Profile{}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, dataErrorf("profile: %v", err)
	}
	profile, err := assess.LoadProfile(data)
	if err != nil {
		return nil, dataErrorf("profile: %s: %v", path, err)
	}
	return profile, nil
}

// profileColumns reads the named numeric columns once.
func profileColumns(ctx context.Context, pl *plan, names []string, progress *Progress) (*assess.Profile, error) {
	schema := pl.source.Schema()
	layout := &microdata.Layout{Schema: schema}
	var columns []assess.Column
	for i, name := range names {
		layout.Read = append(layout.Read, microdata.Want{Field: schema.Index(name), As: microdata.Numbers, Measured: true})
		c := assess.Column{Name: name, Index: i, Single: schema.Fields[schema.Index(name)].Type.ID() == arrow.FLOAT32}
		if configured := pl.config.Columns.Named(name); configured != nil {
			c.Unit = configured.Unit
		}
		columns = append(columns, c)
	}
	profiler := assess.NewProfiler(columns)
	pass := flow{
		source: pl.source, layout: layout,
		stages: []func(*parcel) error{func(p *parcel) error {
			profiler.Add(p.block)
			progress.add(p.block.N)
			return nil
		}},
	}
	if err := pass.run(ctx); err != nil {
		return nil, err
	}
	return profiler.Profile(), nil
}

// newChain builds the masks, and lets a swap over the whole dataset see the data
// first.
func (pl *plan) newChain(ctx context.Context, key keystream.Key, progress *Progress) (*transform.Chain, error) {
	chain, err := transform.NewChain(pl.config.Masks, transform.Setup{
		Key: key, Columns: pl.columns, Identity: pl.identity, Window: pl.config.Window.Records,
	})
	if err != nil {
		return nil, dataErrorf("%v", err)
	}
	pl.displacer = chain.Displacer()
	if !chain.NeedsSurvey() {
		return chain, nil
	}
	if !pl.source.Rewindable() {
		return nil, config.Errors{pl.config.Errorf("masks", "a swap of scope dataset reads the source twice, which this source does not allow; use scope window")}
	}
	progress.start("survey", pl.source.Records())
	pass := flow{
		source: pl.source, layout: pl.surveyLayout(), cut: pl.cut,
		stages: []func(*parcel) error{func(p *parcel) error {
			progress.add(p.block.N)
			if err := chain.Survey(p.block); err != nil {
				return err
			}
			if pl.displacer == nil {
				return nil
			}
			return pl.displacer.Survey(p.block)
		}},
	}
	if err := pass.run(ctx); err != nil {
		return nil, err
	}
	if pl.displacer != nil {
		pl.displacer.EndSurvey()
	}
	return chain, chain.EndSurvey()
}

// surveyLayout is the run's layout without a release.
func (pl *plan) surveyLayout() *microdata.Layout {
	return &microdata.Layout{Schema: pl.layout.Schema, Read: pl.layout.Read}
}

// newReplicate gives the masks for replicate m. The sample that they run on
// holds numbers and the codes of keys, so columns in array form that a swap
// moves are left out.
func (pl *plan) newReplicate(masks []transform.Spec, key keystream.Key) (func(m int) assess.Masker, error) {
	var columns []transform.ColumnInfo
	for _, c := range pl.columns {
		if pl.layout.Read[c.Index].As == microdata.Numbers || slices.Contains(pl.carry, c.Index) {
			columns = append(columns, c)
		}
	}
	chain, err := transform.NewChain(masks, transform.Setup{
		Key: key, Columns: columns, Window: pl.config.Window.Records,
	})
	if err != nil {
		return nil, dataErrorf("%v", err)
	}
	return func(m int) assess.Masker { return chain.Replicate(m) }, nil
}
