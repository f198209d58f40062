// Package run chooses between the kinds of runs by what the configuration says.
package run

import (
	"context"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// Pipeline runs a configuration: as a stream where its source is one, else as a file job.
func Pipeline(ctx context.Context, p *config.Pipeline, o pipeline.Options) (*account.Result, error) {
	if p.Streaming() {
		return stream.Run(ctx, p, o)
	}
	return filejob.Run(ctx, p, o)
}

// Connect holds a configuration against the world without reading a record or leaving
// anything behind: the key, the source and its columns, and every output.
func Connect(ctx context.Context, p *config.Pipeline) error {
	if p.Streaming() {
		return stream.Connect(ctx, p)
	}
	return filejob.Connect(ctx, p)
}
