package parquet

import (
	"time"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
)

// Roll says when the open files of a stream are completed: as soon as one of them
// has the number of records or bytes, or the interval has passed since the first
// record.
type Roll struct {
	Records  int                 `yaml:"records" default:"1000000" doc:"complete the files when one of them has this many records: 1000000"`
	Size     Size                `yaml:"size" default:"128MB" doc:"or when one of them has this size: 128MB; the units kB, GB, KiB, MiB and GiB are also possible"`
	Interval connectors.Duration `yaml:"interval" default:"5m" doc:"or when this much time has passed since their first record: 5m. Only when the files are complete are their records visible and the offsets committed"`
}

// DefaultRoll returns the limits for a stream if none are configured.
func DefaultRoll() *Roll {
	return &Roll{Records: 1_000_000, Size: 128_000_000, Interval: connectors.Duration(5 * time.Minute)}
}

// Check reports what is wrong with the limits.
func (r *Roll) Check() check.Problems {
	var ps check.Problems
	if r.Records < 1 {
		ps.Addf("records", "must be at least 1, got %d", r.Records)
	}
	if r.Size < 1 {
		ps.Addf("size", "must be at least 1, got %d", int64(r.Size))
	}
	if r.Interval <= 0 {
		ps.Addf("interval", "must be a positive length of time, got %v", time.Duration(r.Interval))
	}
	return ps
}

// Size is a number of bytes.
type Size = connectors.Size

func (c *SinkConfig) rollByDefault() {
	if c.Roll == nil {
		c.Roll = DefaultRoll()
	}
}
