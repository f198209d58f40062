package filejob

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Rehearse masks, measures and judges all records as Run would, and returns the gate's
// verdict. It writes nothing and does not look at the configuration's outputs, which may be
// missing. paths are the places of the masks in the configuration, if they are not its own
// list. src must be a source that can be read again.
func Rehearse(ctx context.Context, p *config.Pipeline, paths []string, src connectors.Source, key keystream.Key, progress *pipeline.Progress) (*assess.Verdict, error) {
	silent := *p
	silent.Assess.Emit, silent.Quarantine = nil, config.Quarantine{}
	r := &run{
		config: &silent, options: pipeline.Options{Log: zerolog.Nop(), Progress: progress}, key: key,
		source: src, streams: src.Streams(), started: time.Now(), quarantine: counted(src),
	}
	var err error
	if r.plan, err = pipeline.NewPlanAt(&silent, paths, src, p.Sink.Config == nil || carries(p, src)); err != nil {
		return nil, err
	}
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	progress.Start("rehearse", src.Records())
	pass := pipeline.Flow{
		Source: src, Layout: r.plan.SurveyLayout(), Cut: r.plan.Cut,
		Work: func(p *pipeline.Parcel) error { return r.masked.Mask(p.Block) },
		Stages: []func(*pipeline.Parcel) error{func(p *pipeline.Parcel) error {
			r.counts = r.counts.Plus(p.Block.Counts())
			progress.Add(p.Block.N)
			return r.quarantine.add(p.Block)
		}, r.assess(ctx)},
	}
	if err := pass.Run(ctx); err != nil {
		return nil, err
	}
	rep, err := r.judged(ctx)
	if err != nil {
		return nil, err
	}
	return &rep.Gate, nil
}
