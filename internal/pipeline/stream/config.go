package stream

import (
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
)

// streamCommit is how often a stream commits: as the sink says, or, if that is files, when
// these are complete.
func streamCommit(p *config.Pipeline) kafka.Commit {
	switch sink := p.Sink.Config.(type) {
	case *kafka.SinkConfig:
		return sink.Commit
	case *parquet.SinkConfig:
		// Files are cut by their own records; this bounds those of all together.
		return kafka.Commit{Interval: sink.Roll.Interval, Records: 64 * sink.Roll.Records}
	}
	return kafka.Commit{}
}

// CommitInterval is how long a turn of a stream ordinarily takes.
func CommitInterval(p *config.Pipeline) time.Duration {
	return max(time.Duration(streamCommit(p).Interval), time.Duration(p.Window.Linger))
}
