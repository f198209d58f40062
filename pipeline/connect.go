package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
)

// Connect reads the key, opens the source and holds the configuration against
// its columns, and opens every output under its temporary name, without reading
// a record or leaving anything behind.
func Connect(ctx context.Context, p *config.Pipeline) (err error) {
	if _, err := p.Key.Resolve(); err != nil {
		return dataErrorf("%v", err)
	}
	src, err := openSource(ctx, p)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	if _, err := loadProfile(p.Profile); err != nil {
		return err
	}
	pl, err := newPlan(p, src, p.Sink.Config.Carries(src))
	if err != nil {
		return err
	}
	sink, err := p.Sink.Config.Create(ctx, connectors.Plan{Source: src, Layout: pl.layout})
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	defer func() { err = errors.Join(err, sink.Abort()) }()
	q, err := newQuarantine(p.Quarantine, src)
	if err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	defer func() { err = errors.Join(err, q.abort()) }()
	var files reportFiles
	defer func() { err = errors.Join(err, files.abort()) }()
	if err := files.create(p.Report); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
