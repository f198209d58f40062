package attack

import (
	"context"
	"fmt"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// Run applies the masks of a configuration to its source, as a run would, and runs the
// configured intruder on what would be released. It writes nothing.
func Run(ctx context.Context, p *config.Pipeline, o pipeline.Options) (*attack.Result, attack.Data, error) {
	var none attack.Data
	ctx, o = o.Ready(ctx)
	switch {
	case p.Stream():
		return nil, none,
			config.Errors{
				p.Errorf("source",
					"is a stream without end, and an attack needs data that end: use `until: latest`, or a file of the same columns")}
	case !p.Assess.AttacksRelease():
		return nil, none,
			config.Errors{
				p.Errorf("assess.keys",
					"must be given, or columns must have the role key: what an intruder may know about a respondent")}
	}
	key, err := p.Key.Resolve()
	if err != nil {
		return nil, none, pipeline.DataErrorf("%v", err)
	}
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return nil, none, fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	r, err := masked(ctx, pipeline.Job{Config: p, Source: src, Carries: true, Key: key, Log: o.Log, Progress: o.Progress})
	if err != nil {
		return nil, none, err
	}
	o.Progress.Measuring()
	found, data, err := onPairs(ctx, r.Plan, r.Chain, r.Measured.Pairs())
	if err == nil && p.Ledger != "" {
		found.Alone = pipeline.NotTogether
	}
	return found, data, err
}

// masked applies the masks to the source and collects the pairs of original and released values.
func masked(ctx context.Context, job pipeline.Job) (*pipeline.Release, error) {
	job.Check = func(pl *pipeline.Plan) error {
		if left := pl.Intruder.Unmeasured(); left != "" {
			job.Log.Warn().Msg(left)
		}
		return nil
	}
	r, err := job.Open(ctx)
	if err != nil {
		return nil, err
	}
	if r.Measured == nil {
		return nil,
			pipeline.DataErrorf(
				"no numeric column is masked, sensitive or a key, and no key is counted: there is nothing to attack")
	}
	job.Progress.Start("mask", job.Source.Records())
	pass := pipeline.Flow{
		Source: job.Source, Layout: r.Plan.SurveyLayout(), Cut: r.Plan.Cut,
		Work: func(p *pipeline.Parcel) error { return r.Chain.Apply(p.Block) },
		Stages: []func(*pipeline.Parcel) error{func(p *pipeline.Parcel) error {
			job.Progress.Add(p.Block.N)
			r.Measured.Add(p.Block)
			return nil
		}},
	}
	if err := pass.Run(ctx); err != nil {
		return nil, err
	}
	if r.Measured.Records() == 0 {
		return nil, pipeline.DataErrorf("the source has no records")
	}
	return r, nil
}

// Judged lists the parts of the intruder whose results the gate judges, with their names in
// assess.intruder.
var Judged = []string{"linkage", "bayes", "uniqueness", "population", "inversion", "attribute", "utility"}

// Some runs parts of the configured intruder, named as in Judged, on pairs that masks have made
// of a sample. It returns the result, or nil if the configuration asks for none of the parts.
// The chain is the one that made the pairs.
func Some(ctx context.Context, pl *pipeline.Plan, chain *transform.Chain, p assess.Pairs,
	parts []string) (*attack.Result, error) {
	d := dataOf(pl, chain, p)
	o, err := optionsOf(pl, &d)
	if err != nil {
		return nil, err
	}
	only := attack.Options{Targets: o.Targets}
	for _, part := range parts {
		switch part {
		case "linkage":
			if only.Linkage = o.Linkage; o.Linkage != nil {
				only.Linkage = &attack.Linkage{Distance: o.Linkage.Distance} // no rule is about one-to-one links
			}
		case "bayes":
			only.Bayes = o.Bayes
		case "uniqueness":
			only.Uniqueness, only.Categories = counting(o.Uniqueness), o.Categories
		case "population":
			only.Population = o.Population
		case "inversion":
			only.Inversion = o.Inversion
		case "utility":
			only.Loss, only.Models = o.Loss, o.Models
		case "attribute":
			only.Attribute = attributeOf(pl, p, chain)
		}
	}
	if only.Linkage == nil && only.Bayes == nil && only.Uniqueness == nil && only.Population == nil &&
		only.Inversion == nil && only.Attribute == nil && only.Loss == nil {
		return nil, nil
	}
	r, err := attack.Run(ctx, d, only)
	if err != nil {
		return nil, fmt.Errorf("assess.intruder: %w", err)
	}
	return r, nil
}

// onPairs runs the intruder on the pairs of a release.
func onPairs(ctx context.Context, pl *pipeline.Plan, chain *transform.Chain, p assess.Pairs) (*attack.Result,
	attack.Data, error) {
	d := dataOf(pl, chain, p)
	o, err := optionsOf(pl, &d)
	if err != nil {
		return nil, d, err
	}
	o.Attribute = attributeOf(pl, p, chain)
	r, err := attack.Run(ctx, d, o)
	if err != nil {
		return nil, d, fmt.Errorf("assess.intruder: %w", err)
	}
	return r, d, nil
}

// Identify runs the configured intruder on the release of a file job, and enters into the
// measures what the gate judges. The chain is that of the release.
func Identify(ctx context.Context, pl *pipeline.Plan, chain *transform.Chain, acc *assess.Accumulator,
	m *assess.Measures) (*attack.Result, error) {
	inverts := pl.Config.InvertsUnasked() && invertible(pl)
	if !pl.Config.Assess.AttacksRelease() && !inverts || acc == nil || acc.Records() == 0 {
		return nil, nil
	}
	r, _, err := onPairs(ctx, pl, chain, acc.Pairs())
	if err != nil {
		return nil, err
	}
	m.Identity = r.Identity()
	m.Linked, err = together(ctx, pl, chain, acc.Pairs(), m.Identity)
	return r, err
}
