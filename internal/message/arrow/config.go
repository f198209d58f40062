package arrow

import (
	"context"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/internal/message"
)

// DefaultRecords is the greatest number of records of a message if the source is not a
// topic. It is small enough for a broker's usual limit of 1 MB.
const DefaultRecords = 1000

// Config is the format's configuration.
type Config struct {
	Schema      string `yaml:"schema" doc:"in a source: an Arrow IPC file or stream with the schema of the messages; records in it are ignored"`
	Compression string `yaml:"compression" doc:"in a sink: compression of the buffers; by default none, because the broker's client compresses" enum:"none,zstd,lz4"`
	Records     int    `yaml:"records" doc:"in a sink: the greatest number of records in a message, if the source is not a topic; 1000 by default"`
}

var _ message.Config = (*Config)(nil)

// Check implements message.Config. Reader checks that a source has a schema; a sink
// needs none.
func (c *Config) Check() check.Problems {
	var ps check.Problems
	if c.Compression != "" {
		ps.OneOf("compression", c.Compression, "none", "zstd", "lz4")
	}
	if c.Records < 0 || c.Records > 1<<message.RowBits {
		ps.Addf("records", "must be between 1 and %d, got %d", 1<<message.RowBits, c.Records)
	}
	return ps
}

// CheckSource returns the problems if the format is that of a source.
func (c *Config) CheckSource() check.Problems {
	ps := c.Check()
	if c.Schema == "" {
		ps.Addf("schema", "must name an Arrow IPC file or stream with the schema of the messages: "+
			"each message brings its own, so that nothing else tells the columns before the first one comes")
	}
	return ps
}

// Reader implements message.Config: it reads the schema's file.
func (c *Config) Reader(ctx context.Context, r message.Request) (message.Reader, error) {
	if ps := c.CheckSource(); len(ps) > 0 {
		return nil, ps[0]
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newReader(c.Schema, r)
}

// Writer implements message.Config.
func (c *Config) Writer(ctx context.Context, r message.WriteRequest) (message.Writer, error) {
	if ps := c.Check(); len(ps) > 0 {
		return nil, ps[0]
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newWriter(c, r)
}
