package filejob

import (
	"context"
	"errors"
	"fmt"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
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
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	if _, err := pipeline.LoadProfile(p.Profile); err != nil {
		return err
	}
	whole := p
	if p.Copies() > 1 {
		p = p.OfCopy(1) // if the first can be written, so can the others
	}
	job := pipeline.Job{Config: p, Source: src, Carries: carries(p, src), Check: checkPartitions}
	pl, err := job.Plan()
	if err != nil {
		return err
	}
	sink, err := createSink(ctx, pl, key, "", 0)
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	defer func() { err = errors.Join(err, sink.Abort()) }()
	q, err := newQuarantine(p.Quarantine, src)
	if err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	defer func() { err = errors.Join(err, q.abort()) }()
	notes, err := openNotes(ctx, p)
	if err != nil {
		return err
	}
	if notes != nil {
		notes.Close()
	}
	var files account.Files
	defer func() { err = errors.Join(err, files.Abort()) }()
	if err := createReports(ctx, &files, whole.Report); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
