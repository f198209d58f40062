package stream

import (
	"time"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
)

// streamCommit returns how often a stream commits: as the sink says, or, if the sink writes
// files, when these are complete.
func streamCommit(p *config.Pipeline) kafka.Commit {
	switch sink := p.Sink.Config.(type) {
	case *kafka.SinkConfig:
		return sink.Commit
	case *parquet.SinkConfig:
		// Each file ends by its own number of records; this bounds the records of all open files.
		return kafka.Commit{Interval: sink.Roll.Interval, Records: 64 * sink.Roll.Records}
	}
	return kafka.Commit{}
}

// CommitInterval returns how long a transaction of a stream usually takes.
func CommitInterval(p *config.Pipeline) time.Duration {
	return max(time.Duration(streamCommit(p).Interval), time.Duration(p.Window.Linger))
}
