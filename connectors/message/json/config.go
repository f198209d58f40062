// Package json reads and writes messages of one format: a JSON object a message.
package json

import (
	"context"
	"errors"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors/message"
)

// Config is the format's configuration.
type Config struct{}

// Check implements message.Config.
func (c *Config) Check() check.Problems { return nil }

// Reader implements message.Config.
func (c *Config) Reader(ctx context.Context, r message.Request) (message.Reader, error) {
	return nil, errors.New("json: not built yet")
}

// Writer implements message.Config.
func (c *Config) Writer(ctx context.Context, r message.WriteRequest) (message.Writer, error) {
	return nil, errors.New("json: not built yet")
}
