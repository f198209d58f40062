// Package run chooses between the kinds of runs by what the configuration says.
package run

import (
	"context"
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// Pipeline runs a configuration: as a stream where its source is one, else as a file job.
func Pipeline(ctx context.Context, p *config.Pipeline, o pipeline.Options) (*account.Result, error) {
	if p.Streaming() {
		return stream.Run(patient(ctx, p, 0), p, o)
	}
	return filejob.Run(patient(ctx, p, jobPatience), p, o)
}

// How long brokers that do not answer are waited for where the configuration does not
// say. A stream outlives them; a job that waited all night would be missed by nobody.
const (
	jobPatience     = 5 * time.Minute
	connectPatience = 10 * time.Second
)

// patient gives a run the patience of its source, or of its sink.
func patient(ctx context.Context, p *config.Pipeline, patience time.Duration) context.Context {
	for _, connector := range []any{p.Source.Config, p.Sink.Config} {
		if c, ok := connector.(interface{ BrokerPatience() time.Duration }); ok && c.BrokerPatience() > 0 {
			return kafka.WithPatience(ctx, c.BrokerPatience())
		}
	}
	return kafka.WithPatience(ctx, patience)
}

// Connect holds a configuration against the world without reading a record or leaving
// anything behind: the key, the source and its columns, and every output.
func Connect(ctx context.Context, p *config.Pipeline) error {
	ctx = patient(ctx, p, connectPatience)
	if p.Streaming() {
		return stream.Connect(ctx, p)
	}
	return filejob.Connect(ctx, p)
}
