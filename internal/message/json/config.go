package json

import (
	"context"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/message"
)

// Config is the format's configuration. It has no parameters.
type Config struct{}

// Check implements message.Config.
func (c *Config) Check() check.Problems { return nil }

// Reader implements message.Config.
func (c *Config) Reader(ctx context.Context, r message.Request) (message.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newReader(r)
}

// Writer implements message.Config.
func (c *Config) Writer(ctx context.Context, r message.WriteRequest) (message.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var tree *members.Tree
	if from, ok := r.Reader.(*reader); ok {
		tree = from.tree
	}
	w, err := members.NewWriter(r.Layout, tree, message.JSONText(r.Reader))
	if err != nil {
		return nil, err
	}
	return &writer{members: w, carries: tree != nil}, nil
}
