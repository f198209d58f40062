package filejob

import (
	"context"
	"fmt"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
)

// openNotes connects to the brokers of the topics for the quarantine and the snapshots of a
// file job: the sink's, or if that is not kafka the source's. It returns nil if no topic is
// named.
func openNotes(ctx context.Context, p *config.Pipeline) (*kafka.Notes, error) {
	topics := pipeline.AlsoWritten(p)
	if len(topics) == 0 {
		return nil, nil
	}
	var connection *kafka.Connection
	switch sink := p.Sink.Config.(type) {
	case *kafka.SinkConfig:
		connection = &sink.Connection
	default:
		source, ok := p.Source.Config.(*kafka.SourceConfig)
		if !ok {
			return nil,
				config.Errors{p.Errorf("quarantine.kafka", "needs a kafka source or sink, whose brokers it is written to")}
		}
		connection = &source.Connection
	}
	notes, err := connection.OpenNotes(ctx, topics)
	if err != nil {
		return nil, fmt.Errorf("quarantine, assess.emit: %w", err)
	}
	return notes, nil
}

// noteInRelease adds the entries of the quarantine to the sink's transaction.
func (r *run) noteInRelease(ctx context.Context) error {
	add := r.sink.Abilities().Note
	if add == nil {
		return nil
	}
	return r.quarantine.note(func(topic string, line []byte) error { return add(ctx, topic, line) })
}

// noteAfterwards writes the entries that are in no transaction, because the sink has none or its
// transaction was withheld.
func (r *run) noteAfterwards(ctx context.Context) func(released bool) ([]string, error) {
	return func(released bool) ([]string, error) {
		if released && r.sink.Abilities().Note != nil {
			return nil, nil
		}
		err := r.quarantine.note(func(topic string, line []byte) error { return r.notes.Add(ctx, topic, line) })
		if err == nil {
			err = r.flushNotes(ctx)
		}
		if err != nil {
			err = fmt.Errorf("quarantine: %w", err)
		}
		return nil, err
	}
}

func (r *run) flushNotes(ctx context.Context) error {
	if r.notes == nil {
		return nil
	}
	return r.notes.Flush(ctx)
}

func (r *run) closeNotes() {
	if r.notes != nil {
		r.notes.Close()
		r.notes = nil
	}
}

// acknowledge tells a source that stores its progress that the records which were read are
// released.
func (r *run) acknowledge(ctx context.Context) error {
	stored := r.source.Abilities().Acknowledge
	if stored == nil {
		return nil
	}
	if err := stored(ctx); err != nil {
		return &PublishedError{
			Err: fmt.Errorf(
				"the release is published, but the consumer group has not been told, and the next run reads the same records again: %w", err)}
	}
	return nil
}

// PublishedError is an error that occurred after the release was published.
type PublishedError = account.PublishedError
