package main

import (
	"context"
	"errors"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/lineage"
)

// recorded makes a release, and sends the events of its lineage where the configuration wants them. The last one is
// sent whatever ends the run, when it is decided what was published.
func (s *state) recorded(ctx context.Context, p *config.Pipeline, release func() (*account.Result, error)) (
	result *account.Result, err error) {
	events := lineage.Start(p, version(), s.logger())
	defer func() { events.End(endingOf(ctx, result, err)) }()
	return release()
}

func endingOf(ctx context.Context, result *account.Result, err error) lineage.Ending {
	var (
		published *filejob.PublishedError
		signalled *signalError
	)
	e := lineage.Ending{Published: errors.As(err, &published), Signalled: errors.As(context.Cause(ctx), &signalled)}
	if err == nil {
		e.Result = result
	}
	return e
}
