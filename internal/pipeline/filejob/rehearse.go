package filejob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Rehearsals are those of several configurations with one ledger, on one source, which can be read again.
type Rehearsals struct {
	Source connectors.Source
	book   *entered.Ledger
	looked bool
}

// Rehearse masks, measures and judges all records as Run would, and returns the gate's
// verdict. It writes nothing and does not look at the configuration's outputs, which may be
// missing. paths are the places of the masks in the configuration, if they are not its own
// list. The releases of a ledger are judged with this one, as Simulate does; a ledger that is not there yet has none.
// It is read once, however many configurations are tried.
func (r *Rehearsals) Rehearse(ctx context.Context, p *config.Pipeline, paths []string, key keystream.Key,
	progress *pipeline.Progress) (*assess.Verdict, error) {
	if p.Ledger != "" && !r.looked {
		book, err := entered.Look(ctx, p, key, zerolog.Nop())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		r.book, r.looked = book, true
	}
	rep, err := rehearse(ctx, p, paths, r.Source, key, pipeline.Options{Log: zerolog.Nop(), Progress: progress},
		r.book.For(p), false)
	if err != nil {
		return nil, err
	}
	return &rep.Gate, nil
}

// JudgeAgain masks, measures and judges all records as Run would, with a ledger that is held, and returns the report.
// It writes nothing, and enters nothing into the ledger. src must be a source that can be read again.
func JudgeAgain(ctx context.Context, p *config.Pipeline, src connectors.Source, key keystream.Key,
	held *entered.Ledger) (*report.Report, error) {
	o := pipeline.Options{Log: zerolog.Nop(), Progress: &pipeline.Progress{}}
	return rehearse(ctx, p, nil, src, key, o, held, false)
}

// Simulate masks, measures and judges all records as Run would, together with the releases of the ledger, and returns
// the report. It writes nothing, and enters nothing into the ledger.
func Simulate(ctx context.Context, p *config.Pipeline, o pipeline.Options) (*report.Report, error) {
	ctx, o = o.Ready(ctx)
	if p.Ledger == "" {
		return nil, config.Errors{p.Errorf("ledger", "must be given: the releases with which the next one is judged")}
	}
	key, err := pipeline.Admit(p, o)
	if err != nil {
		return nil, err
	}
	book, err := entered.Look(ctx, p, key, o.Log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, config.Errors{p.Errorf("ledger", "is not there: no release was entered in it")}
	}
	if err != nil {
		return nil, err
	}
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	if !src.Rewindable() {
		return nil,
			config.Errors{
				p.Errorf("source", "can be read only once, and the run itself needs it: simulate with a file of the same records")}
	}
	return rehearse(ctx, p, nil, src, key, o, book, true)
}

// rehearse does what Rehearse and Simulate say; book may be nil. With outputs it looks at them.
func rehearse(ctx context.Context, p *config.Pipeline, paths []string, src connectors.Source, key keystream.Key,
	o pipeline.Options, book *entered.Ledger, outputs bool) (*report.Report, error) {
	r := &run{
		config: silent(p), whole: p, options: o, key: key, ledger: book,
		source: src, streams: src.Streams(), started: time.Now(),
	}
	job := r.job()
	if job.Paths = paths; !outputs {
		job.Check = nil // the point of a map looks at no outputs
	}
	var err error
	if r.masked, err = job.Open(ctx); err != nil {
		return nil, err
	}
	return r.rehearsed(ctx)
}

// silent is a configuration that writes nothing beside its release.
func silent(p *config.Pipeline) *config.Pipeline {
	s := *p
	s.Assess.Emit, s.Quarantine = nil, config.Quarantine{}
	return &s
}

// rehearsed masks, measures and judges the records, and writes nothing.
func (r *run) rehearsed(ctx context.Context) (*report.Report, error) {
	r.options.Progress.Start("rehearse", r.source.Records())
	pass := pipeline.Flow{
		Source: r.source, Layout: r.masked.Plan.SurveyLayout(), Cut: r.masked.Plan.Cut,
		Work: func(p *pipeline.Parcel) error { return r.masked.Mask(p.Block) },
		Stages: []func(*pipeline.Parcel) error{func(p *pipeline.Parcel) error {
			account.Count(&r.records, p.Block)
			r.options.Progress.Add(p.Block.N)
			return nil
		}, r.assess(ctx)},
	}
	if err := pass.Run(ctx); err != nil {
		return nil, err
	}
	return r.judged(ctx)
}
