package connectors

import (
	"context"
	"time"
)

// Topics describes a source or sink of topics, for the checks of a whole pipeline.
type Topics struct {
	Names   []string // that are read, or the one that is written
	Pattern string   // of a source: a regular expression of further ones; "" where there is none
	Endless bool     // of a source: it goes on when what is there has been read
	Anew    bool     // of a source: it begins anew with a topic that was deleted and made again
	Key     string   // of a sink: what the messages' key is

	Brokers       []string
	Files         []NamedFile // that the connection reads
	PlainPassword bool        // a password goes over a connection that is not encrypted
	Patience      Duration    // how long to wait for brokers that do not answer; 0: it is not said
	StartPatience Duration    // how long a run waits at its start for topics that do not exist
	Format        string      // of the messages, where it needs a schema registry; else ""
	Registry      bool        // whether there is one
}

// NamedFile is a file that a field of a configuration names.
type NamedFile struct {
	Field string // below the connector's
	Path  string
	Words string // what it is
}

// Span is a stretch of the offsets of a partition: From is the first one, End the one after the
// last. Not every offset holds a record: markers of transactions, aborted records and those
// removed by compaction leave gaps.
type Span struct {
	Partition
	From, End int64
}

// HeldPartition is what a partition holds at a moment.
type HeldPartition struct {
	Partition
	TopicID string // of the topic, another one if it is made anew; "" if the brokers give none
	First   int64  // the first offset that has not been deleted
	Start   int64  // where reading begins by the configuration, without a consumer group
	End     int64  // the last stable offset: what lies before it does not change
}

// Holding is a source of topics that finds out what they hold, again and again.
type Holding interface {
	// Held returns all partitions, by topic and number.
	Held(ctx context.Context) ([]HeldPartition, error)
	// Since returns of each partition the offset of the first record, in the order of offsets, whose
	// timestamp is at or after a time; without such a record the offset after the last.
	Since(ctx context.Context, at time.Time) (map[Partition]int64, error)
}
