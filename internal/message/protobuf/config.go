package protobuf

import (
	"context"
	"errors"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/message"
)

// Config is the format's configuration.
type Config struct {
	Message string `yaml:"message" doc:"the full name of the message type; by default the first type of the schema. In a sink whose source has another format: the name of the type that is created, by default derived from the topic's name"`
}

var _ message.Config = (*Config)(nil)

// Check implements message.Config.
func (c *Config) Check() check.Problems {
	var ps check.Problems
	if c.Message != "" && !protoreflect.FullName(c.Message).IsValid() {
		ps.Addf("message", "must be a message type's full name such as survey.Person, got %q", c.Message)
	}
	return ps
}

var errNoRegistry = errors.New(
	"protobuf: a schema registry must be configured: messages do not say what their fields are")

// Reader implements message.Config: it reads the newest schema of each topic.
func (c *Config) Reader(ctx context.Context, r message.Request) (message.Reader, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	if r.Registry == nil {
		return nil, errNoRegistry
	}
	return newReader(ctx, c, r)
}

// Writer implements message.Config: it registers the released forms of the newest
// schemas. Those of other schemas are registered when a message with such a schema
// arrives.
func (c *Config) Writer(ctx context.Context, r message.WriteRequest) (message.Writer, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	if r.Registry == nil {
		return nil, errNoRegistry
	}
	if src, ok := r.Reader.(*reader); ok {
		if err := message.CheckTypes(r.Layout); err != nil {
			return nil, err
		}
		return newWriter(ctx, r, src)
	}
	return newComposer(ctx, c, r)
}
