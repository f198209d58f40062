package filejob

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Connect reads the key, opens the source and checks the configuration against its columns,
// and opens every output under its temporary name. It reads no record and leaves nothing
// behind. The logger is that of ctx, if there is one.
func Connect(ctx context.Context, p *config.Pipeline) (err error) {
	key, err := p.Key.Resolve()
	if err != nil {
		return pipeline.DataErrorf("%v", err)
	}
	if err := account.Probe(ctx, p); err != nil {
		return err
	}
	if err := entered.Connect(ctx, p, key, zerolog.Nop()); err != nil {
		return err
	}
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	if _, err := pipeline.LoadProfile(p.Profile); err != nil {
		return err
	}
	if p.Copies() > 1 {
		one := p.OfCopy(1) // if the first can be written, so can the others
		one.Report = p.Report
		p = one
	}
	r := &run{config: p, key: key, source: src, streams: src.Streams()}
	job := r.job()
	pl, err := job.Plan()
	if err != nil {
		return err
	}
	r.masked = &pipeline.Release{Plan: pl}
	if err = r.open(ctx); err == nil {
		err = r.openSnapshots()
	}
	return errors.Join(err, r.abort())
}

// openSnapshots opens the files of snapshots as a run does, but leaves what is under their names as it is.
func (r *run) openSnapshots() error {
	for _, e := range r.config.Assess.Emit {
		if e.JSONL == "" {
			continue
		}
		f, err := publish.Create(e.JSONL, publish.Confidential)
		if err == nil {
			err = f.Abort()
		}
		if err != nil {
			return fmt.Errorf("assess.emit: %w", err)
		}
	}
	return nil
}
