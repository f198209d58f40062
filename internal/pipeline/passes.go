package pipeline

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Settle finds all that the masks must know about the columns, such as decimals and, for
// percentages, standard deviations. These come from the configuration and the types, from the
// profile file, and for columns that are then still unknown from a first pass.
func (pl *Plan) Settle(ctx context.Context, progress *Progress) error {
	known := pl.amounts
	if known == nil {
		var err error
		if known, err = LoadProfile(pl.Config.Profile); err != nil {
			return err
		}
	}
	open := pl.settleCorrelations(known, pl.settleFrom(known))
	if err := pl.settleValues(ctx, progress); err != nil {
		return err
	}
	if err := pl.settlePeople(ctx, progress); err != nil {
		return err
	}
	if err := pl.settleHouseholds(ctx, progress); err != nil {
		return err
	}
	if err := pl.settleAreas(ctx, progress); err != nil {
		return err
	}
	if err := pl.settleFrequencies(ctx, progress); err != nil || len(open) == 0 {
		return err
	}
	if !pl.Source.Rewindable() {
		var problems config.Errors
		for _, name := range open {
			problems = append(problems,
				pl.Config.Errorf("columns."+name,
					"the source can be read only once, so `decimals` and absolute amounts, or a `profile`, must be given"))
		}
		return problems
	}
	progress.Start("profile", pl.Source.Records())
	profile, err := profileColumns(ctx, pl, open, progress)
	if err != nil {
		return err
	}
	pl.take(profile, known, open)
	pl.takeCorrelations(profile)
	return pl.checkAmounts()
}

// settleFrom uses the configuration, the types and a profile file, and returns the columns
// that are still unknown.
func (pl *Plan) settleFrom(known *assess.Profile) (open []string) {
	needSD := transform.NeedsSD(pl.Config.Masks)
	for i := range pl.Columns {
		c := &pl.Columns[i]
		c.SD, c.Mean, c.Decimals = math.NaN(), math.NaN(), -1
		if !pl.arithmetic(c) {
			continue
		}
		decimalsKnown := false
		if d := pl.Config.Columns.Named(c.Name).Decimals; d != nil {
			c.Decimals, decimalsKnown = *d, true
		} else if c.Days {
			c.Decimals, decimalsKnown = transform.DecimalsOfDays(c.Field.Type), true
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
	return open
}

// take sets what a pass over the open columns has found.
func (pl *Plan) take(profile, known *assess.Profile, open []string) {
	needSD := transform.NeedsSD(pl.Config.Masks)
	for i := range pl.Columns {
		c := &pl.Columns[i]
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
				pl.Constant = append(pl.Constant, c.Name)
			}
		}
		if _, fixed := c.Field.Decimals(); !fixed && pl.Config.Columns.Named(c.Name).Decimals == nil &&
			known.Column(c.Name) == nil {
			c.Decimals = pc.Decimals
		}
	}
}

// warnOfConstant logs, after Settle, the columns for which a percentage of the standard
// deviation masks nothing, and which spelling of a missing value is chosen.
func (pl *Plan) warnOfConstant(log zerolog.Logger) {
	for _, name := range pl.Constant {
		log.Warn().Str("column",
			name).Msg(
			"all values are the same, so noise of a percentage of their standard deviation masks nothing; give sd in the column's unit")
	}
	for _, text := range pl.levels {
		log.Warn().Msg(text)
	}
	pl.warnOfDetermined(log)
	if names := pl.Config.Sink.Abilities().NamesMissing; names != nil && len(pl.Masked) > 0 {
		if text := names(pl.Config.Source.Config); text != "" {
			log.Info().Msg(text)
		}
	}
}

// checkAmounts returns an error for each column whose standard deviation a percentage needs
// and that has none.
func (pl *Plan) checkAmounts() error {
	var problems config.Errors
	for i, m := range pl.Config.Masks {
		field, columns := transform.RelativeTo(m.Params)
		for _, c := range pl.Columns {
			if c.SD != c.SD && slices.Contains(columns, c.Name) {
				problems = append(problems, pl.Config.Errorf(pl.MaskPath(i)+"."+field,
					"must be a number in the column's unit: the standard deviation of %s, which a percentage refers to, takes at least two values, and there are fewer", c.Name))
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// stable rounds a statistic to six significant digits. Its last bits depend on how the data
// are cut into blocks. The release must not: an amount of noise is part of the name of its
// keystream.
func stable(v float64) float64 {
	// no overflow: the greatest float64 rounds down to six digits; NaN and ±∞ survive the round trip
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 5, 64), 64)
	return rounded
}

// arithmetic reports whether a mask computes with the column.
func (pl *Plan) arithmetic(c *transform.ColumnInfo) bool {
	return slices.Contains(pl.Masked, c.Name) && pl.Layout.Read[c.Index].Counts()
}

// LoadProfile reads a profile file; path "" gives an empty profile.
func LoadProfile(path string) (*assess.Profile, error) {
	if path == "" {
		return &assess.Profile{}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, DataErrorf("profile: %v", err)
	}
	profile, err := assess.LoadProfile(data)
	if err != nil {
		return nil, DataErrorf("profile: %s: %v", path, err)
	}
	return profile, nil
}

// profileColumns reads the named numeric columns once.
func profileColumns(ctx context.Context, pl *Plan, names []string, progress *Progress) (*assess.Profile, error) {
	schema := pl.Source.Schema()
	layout := &microdata.Layout{Schema: schema}
	var columns []assess.Column
	for i, name := range names {
		layout.Read = append(layout.Read, microdata.Want{Field: schema.Index(name), As: microdata.Numbers, Measured: true})
		c := assess.Column{Name: name, Index: i, Single: schema.Fields[schema.Index(name)].Type.ID() == arrow.FLOAT32}
		if configured := pl.Config.Columns.Named(name); configured != nil {
			c.Unit = configured.Unit
		}
		columns = append(columns, c)
	}
	profiler := assess.NewProfiler(columns)
	pass := Flow{
		Source: pl.Source, Layout: layout,
		Stages: []func(*Parcel) error{func(p *Parcel) error {
			profiler.Add(p.Block)
			progress.Add(p.Block.N)
			return nil
		}},
	}
	if err := pass.Run(ctx); err != nil {
		return nil, err
	}
	return profiler.Profile(), nil
}

// setDecimals tells the sink how the masked numbers are written.
func (pl *Plan) setDecimals() {
	for i := range pl.Layout.Release {
		out := &pl.Layout.Release[i]
		for _, c := range pl.Columns {
			if out.Masked && c.Name == out.Field.Name && pl.arithmetic(&c) {
				out.Decimals = c.Decimals
			}
		}
	}
}

// BuildChain builds the masks. Those of scope dataset still need a survey of the data.
func (pl *Plan) BuildChain(key keystream.Key) (*transform.Chain, error) {
	chain, err := transform.NewChain(pl.Config.Masks, pl.Setup(key, pl.Columns))
	if err != nil {
		return nil, pl.maskError(err)
	}
	pl.setDecimals()
	pl.Displacer = chain.Displacer()
	return chain, nil
}

// maskError adds to an error of building the masks, which begins with the path of a parameter
// ("masks[1].recode.breaks: …"), its place in the configuration.
func (pl *Plan) maskError(err error) error {
	if of := (*transform.SurveyError)(nil); errors.As(err, &of) {
		return pl.SurveyError(err)
	}
	path, text, ok := strings.Cut(err.Error(), ": ")
	if ok && strings.HasPrefix(path, "columns.") {
		return config.Errors{pl.Config.Errorf(path, "%s", text)}
	}
	for i := range pl.Config.Masks {
		if of := pl.MaskPath(i); ok && (path == of || strings.HasPrefix(path, of+".")) {
			return config.Errors{pl.Config.Errorf(path, "%s", text)}
		}
	}
	return DataErrorf("%v", err)
}

// newChain builds the masks, and has those of scope dataset survey the data.
func (pl *Plan) newChain(ctx context.Context, key keystream.Key, progress *Progress) (*transform.Chain, error) {
	chain, err := pl.BuildChain(key)
	if err != nil || !chain.NeedsSurvey() {
		return chain, err
	}
	if !pl.Source.Rewindable() {
		return nil, pl.surveyTwice()
	}
	chain.Expect(pl.Source.Records())
	progress.Start("survey", pl.Source.Records())
	var also []func(b *microdata.Block)
	if pl.locator = pl.newLocator(); pl.locator != nil {
		also = append(also, pl.locator.Add)
	}
	if err := pl.Survey(ctx, chain, progress, also...); err != nil {
		return nil, err
	}
	if pl.Displacer != nil {
		pl.Displacer.EndSurvey()
	}
	return chain, pl.EndSurvey(ctx, chain)
}

// EndSurvey lets the masks of scope dataset make their decisions. It is cancelled when ctx ends.
func (pl *Plan) EndSurvey(ctx context.Context, chain *transform.Chain) error {
	defer context.AfterFunc(ctx, chain.Cancel)()
	err := chain.EndSurvey()
	if errors.Is(err, transform.ErrCancelled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return pl.SurveyError(err)
}

// Survey passes the records of the plan's source to the masks of scope dataset, and calls the
// functions in also with each block.
func (pl *Plan) Survey(ctx context.Context, chain *transform.Chain, progress *Progress,
	also ...func(b *microdata.Block)) error {
	pass := Flow{
		Source: pl.Source, Layout: pl.passLayout(), Cut: pl.Cut,
		Work: func(p *Parcel) (err error) {
			p.prepared, err = chain.Prepare(p.Block)
			return pl.SurveyError(err)
		},
		Stages: []func(*Parcel) error{func(p *Parcel) error {
			progress.Add(p.Block.N)
			return pl.SurveyError(chain.SurveyPrepared(p.prepared))
		}},
	}
	if !chain.NeedsSurvey() {
		pass.Work = func(p *Parcel) error { return chain.Admit(p.Block) }
		pass.Stages = []func(*Parcel) error{func(p *Parcel) error {
			progress.Add(p.Block.N)
			return nil
		}}
	}
	if pl.Displacer != nil && pl.Displacer.NeedsSurvey() {
		pass.Stages = append(pass.Stages, func(p *Parcel) error { return pl.Displacer.Survey(p.Block) })
	}
	for _, see := range also {
		pass.Stages = append(pass.Stages, func(p *Parcel) error {
			see(p.Block)
			return nil
		})
	}
	return pass.Run(ctx)
}

// surveyTwice returns an error for the first mask that looks at all records, if the source can
// be read only once.
func (pl *Plan) surveyTwice() error {
	for i, m := range pl.Config.Masks {
		if transform.ScopeOf(m.Params) == transform.ScopeDataset {
			return config.Errors{
				pl.Config.Errorf(pl.MaskPath(i),
					"looks at all records before it masks any, and this source can be read only once; use %s",
					transform.InsteadOf(m.Params))}
		}
	}
	return config.Errors{
		pl.Config.Errorf("masks", "a mask looks at all records before it masks any, and this source can be read only once")}
}

// SurveyError adds the place in the configuration to an error about data that do not fit a
// mask.
func (pl *Plan) SurveyError(err error) error {
	var of *transform.SurveyError
	if !errors.As(err, &of) {
		return err
	}
	path := pl.MaskPath(of.Mask)
	if of.Path != "" {
		path += "." + of.Path
	}
	return &refusal{config.Errors{pl.Config.Errorf(path, "%s", of.Text)}, of}
}

// refusal is an error of the configuration that only the data show. A map continues after it.
type refusal struct {
	config.Errors
	of *transform.SurveyError
}

// Unwrap returns the configuration error and the error of the mask.
func (r *refusal) Unwrap() []error { return []error{r.Errors, r.of} }

// SurveyLayout returns the layout of the run without released columns.
func (pl *Plan) SurveyLayout() *microdata.Layout {
	return &microdata.Layout{Schema: pl.Layout.Schema, Read: pl.Layout.Read}
}

// passLayout returns the layout of a pass over the originals before the run.
func (pl *Plan) passLayout() *microdata.Layout {
	return &microdata.Layout{Schema: pl.Layout.Schema, Read: pl.Layout.Read[:pl.passed]}
}

// newReplicate returns a function that gives the masks of replicate m. The sample holds numbers
// and codes of keys, so columns in array form that a swap moves are left out.
func (pl *Plan) newReplicate(masks []transform.Spec, key keystream.Key) (func(m int) assess.Masker, error) {
	return pl.replicateOf(masks, key, nil)
}

// newRepeated is newReplicate for respondents with several records; nil if nothing tells respondents apart.
func (pl *Plan) newRepeated(masks []transform.Spec, key keystream.Key) (func(m int) assess.Masker, error) {
	if len(pl.persons) == 0 {
		return nil, nil
	}
	return pl.replicateOf(masks, key, pl.persons)
}

// replicateOf is newReplicate where records of one respondent, told apart by columns, share the draws of equal values.
func (pl *Plan) replicateOf(masks []transform.Spec, key keystream.Key, persons []int) (func(m int) assess.Masker,
	error) {
	var columns []transform.ColumnInfo
	for _, c := range pl.Columns {
		if pl.Layout.Read[c.Index].Counts() || slices.Contains(pl.Carry, c.Index) ||
			slices.Contains(pl.Intruder.Carried, c.Index) {
			columns = append(columns, c)
		}
	}
	chain, err := transform.NewChain(masks, transform.Setup{
		Key: key, Columns: columns, Households: pl.household, Persons: persons, Window: pl.Config.Window.Records,
		Sorted: pl.sorted, Correlations: pl.correlations, Frequencies: pl.frequencies, People: pl.people,
	})
	if err != nil {
		return nil, DataErrorf("%v", err)
	}
	return func(m int) assess.Masker { return chain.Replicate(m) }, nil
}

// Persons returns the indexes, in a block's columns, of the columns by which replicates tell respondents apart.
func (pl *Plan) Persons() []int { return pl.persons }

// SD returns the standard deviation that a percentage of the column refers to; NaN if there is
// none.
func (pl *Plan) SD(column string) float64 {
	for _, c := range pl.Columns {
		if c.Name == column {
			return c.SD
		}
	}
	return math.NaN()
}
