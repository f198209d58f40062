package main

import (
	"context"
	"errors"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/lineage"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/project"
)

// recorded makes a release, and sends the events of its lineage where the configuration wants them. The last one is
// sent whatever ends the run, when it is decided what was published.
func (s *state) recorded(ctx context.Context, p *config.Pipeline, release func() (*account.Result, error)) (
	result *account.Result, err error) {
	events := lineage.Start(lineage.Job{Name: p.Name, Lineage: p.Lineage, Tables: []*config.Pipeline{p}}, version(),
		s.logger())
	defer func() { events.End(endingOf(ctx, []*account.Result{result}, err)) }()
	return release()
}

// recordedProject is recorded for the tables of a project.
func (s *state) recordedProject(ctx context.Context, c *project.Config, o pipeline.Options) (
	result *project.Result, err error) {
	events := lineage.Start(lineage.Job{Name: c.Name, Lineage: c.Lineage, Tables: c.Pipelines(), Demanded: true},
		version(), s.logger())
	var tables []*account.Result
	defer func() { events.End(endingOf(ctx, tables, err)) }()
	if result, err = project.Run(ctx, c, o); err == nil {
		tables = result.Tables
	}
	return result, err
}

func endingOf(ctx context.Context, results []*account.Result, err error) lineage.Ending {
	var (
		published *filejob.PublishedError
		signalled *signalError
	)
	e := lineage.Ending{Published: errors.As(err, &published), Signalled: errors.As(context.Cause(ctx), &signalled)}
	if err == nil {
		e.Results = results
	}
	return e
}
