package avro

import (
	"context"
	"errors"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/message"
)

// Config is the format's configuration. It has no parameters, because the registry
// provides the schemas.
type Config struct{}

// Check implements message.Config.
func (c *Config) Check() check.Problems { return nil }

// Reader implements message.Config: the columns are the fields of the latest
// schema of each topic's subject.
func (c *Config) Reader(ctx context.Context, r message.Request) (message.Reader, error) {
	if r.Registry == nil {
		return nil, errNoRegistry
	}
	if len(r.Topics) == 0 {
		return nil, errors.New("avro: there is no topic whose columns could be read")
	}
	return newReader(ctx, r)
}

// Writer implements message.Config.
func (c *Config) Writer(ctx context.Context, r message.WriteRequest) (message.Writer, error) {
	if r.Registry == nil {
		return nil, errNoRegistry
	}
	if from, ok := r.Reader.(*reader); ok {
		if err := message.CheckTypes(r.Layout); err != nil {
			return nil, err
		}
		return newSplicer(ctx, from, r)
	}
	return newComposer(ctx, r)
}

var errNoRegistry = errors.New("avro: messages of this format need a schema registry; name it under registry")
