package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// StreamSource is what a stream reads, as a source: its columns, and the names
// of its partitions. It is not read by itself: Stream.Next does that.
type StreamSource struct {
	config *SourceConfig
	topics []string
	reader message.Reader

	registry *registry.Client // nil where none is configured
}

// Stream returns the names and places of what a configuration reads, without its columns.
func (c *SourceConfig) Stream() *StreamSource { return &StreamSource{config: c, topics: c.Topics} }

// Schema implements connectors.Source.
func (s *StreamSource) Schema() *microdata.Schema { return s.reader.Schema() }

// Streams implements connectors.Source. Topics and partitions may be added while a stream runs, so
// there is no list of them: streamName names one.
func (s *StreamSource) Streams() []string { return s.topics }

// Records implements connectors.Source.
func (s *StreamSource) Records() int64 { return -1 }

// Rewindable implements connectors.Source.
func (s *StreamSource) Rewindable() bool { return false }

// Read implements connectors.Source.
func (s *StreamSource) Read(context.Context, *microdata.Layout, connectors.Cut) (connectors.Reader, error) {
	return nil, errors.New("a stream is read by its member of the group")
}

// Close implements connectors.Source.
func (s *StreamSource) Close() error { return nil }

// Abilities implements connectors.Source: see Source.Abilities.
func (s *StreamSource) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{
		Unchanged: s.unchanged, At: connectors.NoFiles, PartitionKeys: noKeys, JSONText: message.JSONText(s.reader),
		StreamName: streamName, Numbered: s,
	}
}

// streamName names the partition of a block in messages.
func streamName(stream int) string {
	return fmt.Sprintf("partition %d", stream&(maxPartitions-1))
}

// PartitionOf returns where a block's records are from.
func (s *StreamSource) PartitionOf(b *microdata.Block) Partition {
	return Partition{Topic: b.Scope, Number: int32(b.Stream & (maxPartitions - 1))}
}

func (s *StreamSource) unchanged() error { return sameSchemas(s.registry) }

// Rows reports whether a message may hold several records.
func (s *StreamSource) Rows() bool { return several(s.config.format()) }

// Place is the place of an offset's first record.
func (s *StreamSource) Place(offset int64) int64 {
	if s.Rows() {
		return offset << message.RowBits
	}
	return offset
}

// Offset is the offset of the message whose first record has a place.
func (s *StreamSource) Offset(place int64) int64 {
	if s.Rows() {
		return place >> message.RowBits
	}
	return place
}

// Decoder prepares the decoding of messages.
func (s *StreamSource) Decoder(layout *microdata.Layout, carry bool) (message.Decoder, error) {
	return s.reader.Decoder(layout, carry)
}

// OpenStream finds the topics of a stream and checks that everything it writes to
// is there. Nothing is read.
func OpenStream(ctx context.Context, c StreamConfig) (*Stream, error) {
	s := &Stream{config: c, notePartitions: map[string]int32{}, began: map[Partition]int64{},
		failed: new(atomic.Pointer[error]), refused: new(refusals).anew()}
	s.draining, s.drain = context.WithCancel(context.Background())
	client, err := c.Source.connect(c.Log)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if s.topics, err = c.Source.resolve(ctx, admin, c.Log); err != nil {
		return nil, err
	}
	if c.Sink != nil {
		if err := c.sameCluster(ctx, admin); err != nil {
			return nil, err
		}
		if _, err := c.Sink.checkTopics(ctx, admin, c.Log, s.topics); err != nil {
			return nil, err
		}
	}
	widest := int32(0)
	for _, t := range s.topics {
		widest = max(widest, t.partitions)
	}
	if s.statePartitions, err = s.prepareState(ctx, admin, widest); err != nil {
		return nil, err
	}
	if !c.Look {
		if err := s.pinLatest(ctx, client, admin); err != nil {
			return nil, err
		}
	}
	if c.Source.Until != "" {
		err = s.bound(ctx, admin)
	}
	return s, err
}

// prepareState returns the number of partitions of the state topic; 0 if it is missing and
// must not be created.
func (s *Stream) prepareState(ctx context.Context, admin *kadm.Client, widest int32) (int32, error) {
	c := s.config
	name := c.Source.StateTopic(c.Name)
	if !c.Look {
		if err := ensureStateTopic(c.Log.WithContext(ctx), admin, name, widest); err != nil {
			return 0, err
		}
	}
	state, err := describe(ctx, admin, c.Log, []string{name})
	switch {
	case c.Look && (errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.TopicAuthorizationFailed)):
		return 0, nil // who may not Describe a topic is not told that it is missing either
	case err != nil:
		return 0, err
	}
	if c.Look {
		err = checkStateTopic(ctx, admin, c.Log, name)
	}
	return state[0].partitions, err
}

// Beside demands that the topics exist that are written beside the release: those of Note, and
// hold ("": there is none), in which records keep their partition.
func (s *Stream) Beside(ctx context.Context, notes []string, hold string) error {
	if len(notes) == 0 && hold == "" {
		return nil
	}
	client, err := s.config.Source.connect(s.config.Log)
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if len(notes) > 0 {
		topics, err := describe(ctx, admin, s.config.Log, notes)
		if err != nil {
			return err
		}
		for _, t := range topics {
			s.notePartitions[t.name] = t.partitions
		}
	}
	if hold != "" {
		_, err = (&SinkConfig{Topic: hold}).checkTopics(ctx, admin, s.config.Log, s.topics)
	}
	return err
}

// sameCluster demands that source and sink are topics of the same brokers: no
// transaction spans two clusters.
func (c StreamConfig) sameCluster(ctx context.Context, admin *kadm.Client) error {
	if slices.Equal(c.Source.Brokers, c.Sink.Brokers) {
		return nil
	}
	client, err := c.Sink.connect(c.Log)
	if err != nil {
		return err
	}
	defer client.Close()
	var ids [2]string
	for i, a := range []*kadm.Client{admin, kadm.NewClient(client)} {
		err := persist(ctx, c.Log, "asking for the cluster", func(ctx context.Context) error {
			m, err := a.BrokerMetadata(ctx)
			ids[i] = m.Cluster
			return err
		})
		if err != nil {
			return err
		}
	}
	if ids[0] != ids[1] {
		return &FinalError{
			Text: "source and sink are topics of two clusters, and a transaction cannot hold the offsets of one and the records of the other; copy the released topic to the other cluster instead"}
	}
	return nil
}

func (s *Stream) topicNames() []string {
	names := make([]string, len(s.topics))
	for i, t := range s.topics {
		names[i] = t.name
	}
	return names
}

// bound notes where a bounded stream begins and ends.
func (s *Stream) bound(ctx context.Context, admin *kadm.Client) (err error) {
	c, log, names := s.config.Source, s.config.Log, s.topicNames()
	if s.ends, err = offsets(ctx, log, "asking for the offsets to end at", names, admin.ListCommittedOffsets); err != nil {
		return err
	}
	if s.began, err = c.startOffsets(ctx, admin, log, names); err != nil {
		return err
	}
	group, err := committed(ctx, admin, log, c.groupName(s.config.Name))
	if err != nil {
		return err
	}
	for p, at := range group {
		if _, ours := s.ends[p]; ours {
			s.began[p] = at
		}
	}
	return nil
}

// Source is what the stream reads, with the columns that c was told of.
func (s *Stream) Source(ctx context.Context, c *SourceConfig) (*StreamSource, error) {
	src := &StreamSource{config: c, topics: s.topicNames()}
	if c.Registry != nil {
		if s.registry == nil {
			client, err := registry.New(c.Registry)
			if err != nil {
				return nil, err
			}
			s.registry = client
		}
	}
	src.registry = s.registry
	var err error
	src.reader, err = c.format().Reader(ctx, message.Request{
		Topics: src.topics, Columns: c.declared.columns, DropUnlisted: c.declared.dropUnlisted, Plain: c.declared.plain,
		Registry: s.registry,
	})
	return src, err
}

// sinkRegistry is the registry of what is released: the sink's, or else the
// source's; nil where none is configured.
func (s *Stream) sinkRegistry() (*registry.Client, error) {
	c := s.config.Sink.registry(s.config.Source)
	switch {
	case c == nil:
		return nil, nil
	case c == s.config.Source.Registry:
		return s.registry, nil
	case s.released == nil:
		client, err := registry.New(c)
		if err != nil {
			return nil, err
		}
		s.released = client
	}
	return s.released, nil
}

// Close ends what OpenStream and Source have opened, after Leave.
func (s *Stream) Close() {
	if s.registry != nil {
		s.registry.Close()
	}
	if s.released != nil {
		s.released.Close()
	}
}

// Note adds a message for people or programs beside the release (a quarantine
// entry, a snapshot) to the open transaction.
func (s *Stream) Note(ctx context.Context, topic string, p Partition, value []byte) {
	s.Produce(ctx, &kgo.Record{Topic: topic, Partition: p.Number % max(1, s.notePartitions[topic]), Value: value})
}

// explainRead writes an error of reading in words; without a topic it is an error of the
// group.
func (s *Stream) explainRead(e kgo.FetchError) error {
	if e.Topic != "" {
		return explainError(e.Err, "reading "+e.Topic)
	}
	group := s.config.Source.groupName(s.config.Name)
	return explain(e.Err, fmt.Sprintf("reading as the consumer group %q", group), subject{group: group})
}
