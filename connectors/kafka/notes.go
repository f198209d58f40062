package kafka

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Notes writes messages beside the release of a file job (quarantine entries, snapshots) into
// topics, with an idempotent producer: each once, and without waiting for the release. The
// messages of a topic keep their order.
type Notes struct {
	client *kgo.Client
	outbox *outbox // of the client
	failed atomic.Pointer[error]
}

// OpenNotes connects to the brokers. It is an error if a topic is missing. The logger is that
// of ctx, if there is one.
func (c *Connection) OpenNotes(ctx context.Context, topics []string) (*Notes, error) {
	log := *zerolog.Ctx(ctx)
	client, err := c.connect(log, kgo.RecordPartitioner(kgo.ManualPartitioner()), compressing(""))
	if err != nil {
		return nil, err
	}
	if _, err := describe(ctx, kadm.NewClient(client), log, slices.Compact(slices.Sorted(slices.Values(topics)))); err !=
		nil {
		client.Close()
		return nil, err
	}
	return &Notes{client: client, outbox: newOutbox(client)}, nil
}

// Add takes a message; Flush returns whether it was written. The value must not be changed
// afterwards.
func (n *Notes) Add(ctx context.Context, topic string, value []byte) error {
	n.outbox.produce(ctx, &kgo.Record{Topic: topic, Value: value}, func(r *kgo.Record, err error) {
		if err != nil {
			err = explainError(err, "writing to "+r.Topic)
			n.failed.CompareAndSwap(nil, &err)
		}
	})
	return n.failure()
}

// Flush waits until the brokers have everything, or ctx ends.
func (n *Notes) Flush(ctx context.Context) error {
	if err := await(ctx, "writing quarantine and snapshots", func(ctx context.Context) error {
		return flushed(ctx, n.client, n.failure)
	}); err != nil {
		return explainError(err, "writing notes")
	}
	return n.failure()
}

func (n *Notes) failure() error {
	if err := n.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Close ends the connection. What was not flushed is lost.
func (n *Notes) Close() { n.client.Close() }

// Abilities implements connectors.Sink.
func (s *sink) Abilities() connectors.SinkAbilities { return connectors.SinkAbilities{Note: s.note} }

// note adds a message beside the release (a quarantine entry, a snapshot) to the release's
// transaction. Call it before Finish.
func (s *sink) note(ctx context.Context, topic string, value []byte) error {
	s.outbox.produce(ctx, &kgo.Record{Topic: topic, Value: value}, func(r *kgo.Record, err error) {
		if err != nil {
			err = explainError(err, "writing to "+r.Topic)
			s.failed.CompareAndSwap(nil, &err)
		}
	})
	return s.failure()
}

// PartitionOf returns where a block's records are from.
func (s *Source) PartitionOf(b *microdata.Block) Partition {
	return Partition{Topic: b.Scope, Number: int32(b.Stream & (maxPartitions - 1))}
}

// Rows reports whether a message may hold several records.
func (s *Source) Rows() bool { return several(s.config.format()) }
