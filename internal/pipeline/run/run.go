// Package run chooses the kind of run by the configuration.
package run

import (
	"context"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// Pipeline runs a configuration: as a stream where its source is one, else as a file job.
func Pipeline(ctx context.Context, p *config.Pipeline, o pipeline.Options) (*account.Result, error) {
	ctx = starting(ctx, p)
	if p.Streaming() {
		return stream.Run(patient(ctx, p, 0), p, o)
	}
	return filejob.Run(patient(ctx, p, jobPatience), p, o)
}

// How long a run waits for brokers that do not answer, if the configuration does not say. A
// stream waits without end; a job ends with an error, so that somebody notices it.
const (
	jobPatience     = 5 * time.Minute
	connectPatience = 10 * time.Second
)

// patient returns a context with the patience of the source, or else of the sink, or else the
// given one.
func patient(ctx context.Context, p *config.Pipeline, patience time.Duration) context.Context {
	for _, t := range []*connectors.Topics{p.Source.Abilities().Topics, p.Sink.Abilities().Topics} {
		if t != nil && t.Patience > 0 {
			return kafka.WithPatience(ctx, time.Duration(t.Patience))
		}
	}
	return kafka.WithPatience(ctx, patience)
}

// starting returns a context with the time for which source and sink are waited for at the start.
func starting(ctx context.Context, p *config.Pipeline) context.Context {
	longest := connectors.Duration(0)
	for _, t := range []*connectors.Topics{p.Source.Abilities().Topics, p.Sink.Abilities().Topics} {
		if t != nil {
			longest = max(longest, t.StartPatience)
		}
	}
	return kafka.Starting(ctx, time.Duration(longest))
}

// Connect checks the key, the source with its columns, and every output of a configuration,
// without reading a record or leaving anything behind.
func Connect(ctx context.Context, p *config.Pipeline) error {
	ctx = patient(ctx, p, connectPatience)
	if p.Streaming() {
		return stream.Connect(ctx, p)
	}
	return filejob.Connect(ctx, p)
}
