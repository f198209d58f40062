package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Open implements connectors.SourceConfig: what the topics hold now, from the
// group's offsets on, as a source that ends. It joins no group, and commits
// nothing before the release is acknowledged. The logger is that of ctx, if there is one.
//
// Brokers that do not answer are waited for until ctx ends.
func (c *SourceConfig) Open(ctx context.Context) (connectors.Source, error) {
	log := *zerolog.Ctx(ctx)
	o, err := openReader(ctx, c, log)
	if err != nil {
		return nil, err
	}
	s := &Source{config: c, log: log, opened: o, group: c.groupName(c.pipeline)}
	if c.spans != nil {
		s.group, err = "", s.stretch(ctx, c.spans)
	} else {
		err = s.bound(ctx)
	}
	if err != nil {
		o.close()
		return nil, err
	}
	return s, nil
}

// Source is what some topics held when it was opened, partition after partition
// in the order of topic and number, up to the last stable offset.
type Source struct {
	*opened
	config  *SourceConfig
	log     zerolog.Logger
	group   string // "": offsets are neither asked for nor committed
	spans   []span
	carried atomic.Bool // a sink of this package takes the messages as they are
}

// span is the stretch of a partition that is read.
type span struct {
	Partition
	from, end int64
}

// bound finds where each partition begins and ends.
func (s *Source) bound(ctx context.Context) error {
	names := s.names()
	starts, err := s.config.startOffsets(ctx, s.admin, s.log, names)
	if err != nil {
		return err
	}
	firsts, err := offsets(ctx, s.log, "asking for the first offsets", names, s.admin.ListStartOffsets)
	if err != nil {
		return err
	}
	done := map[Partition]int64{}
	if s.group != "" {
		if done, err = committed(ctx, s.admin, s.log, s.group); err != nil {
			return err
		}
	}
	// The ends come last, so that none lies before the partition's start.
	ends, err := offsets(ctx, s.log, "asking for the last stable offsets", names, s.admin.ListCommittedOffsets)
	if err != nil {
		return err
	}
	highs, err := offsets(ctx, s.log, "asking for the end offsets", names, s.admin.ListEndOffsets)
	if err != nil {
		return err
	}
	for _, t := range s.topics {
		for n := range t.partitions {
			p := Partition{Topic: t.name, Number: n}
			from, resumed := done[p]
			switch {
			case !resumed:
				from = starts[p]
			case from > highs[p]:
				return &FinalError{
					Text: fmt.Sprintf(
						"%s: the consumer group %q has read up to offset %d, and the partition ends at %d: the topic has been made anew or has lost records; reset the group's offsets or name another group", p, s.group, from, highs[p])}
			case from < firsts[p]:
				s.log.Warn().Str("partition", p.String()).Int64("records", firsts[p]-from).Msg(
					"records that the group has not read have been deleted (retention)")
			}
			s.spans = append(s.spans, span{p, max(from, firsts[p]), ends[p]})
		}
	}
	return nil
}

// Schema implements connectors.Source.
func (s *Source) Schema() *microdata.Schema { return s.reader.Schema() }

// Abilities implements connectors.Source. When what a topic holds changed is not known; to sinks of files all
// partitions go into one file, and a partition holds the records of many keys, by a hash of them.
func (s *Source) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{
		Unchanged: s.unchanged, At: connectors.NoFiles, PartitionKeys: noKeys, Folder: func() bool { return false },
		JSONText: message.JSONText(s.reader), StreamName: s.streamName, Acknowledge: s.acknowledge, Numbered: s, Holding: s,
	}
}

func noKeys() []string { return nil }

// unchanged is of connectors.SourceAbilities: what a topic holds under an offset stays
// as it is. Where records are deleted before they are read, the reader says so. But the registry may have been made
// anew, so that numbers of schemas mean others.
func (s *Source) unchanged() error { return sameSchemas(s.registry) }

// sameWithin is how long the registry may take to show its schemas again. Without an answer the schemas are those that
// it showed.
const sameWithin = 2 * time.Second

// sameSchemas returns an error if a registry has other schemas by now under the numbers that were asked for.
func sameSchemas(r *registry.Client) error {
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sameWithin)
	defer cancel()
	return r.Same(ctx)
}

// Streams implements connectors.Source: "survey/0", one a partition. Block.Stream
// is no index of it; streamName says what a block's stream is called.
func (s *Source) Streams() []string {
	names := make([]string, len(s.spans))
	for i := range s.spans {
		names[i] = s.spans[i].String()
	}
	return names
}

// streamName returns the name of the stream that a block has the number of.
func (s *Source) streamName(number int) string {
	var names []string // in one of 32768 pairs of topics two share a number
	for i := range s.spans {
		if p := s.spans[i].Partition; streamNumber(p.Topic, p.Number) == number {
			names = append(names, p.String())
		}
	}
	if len(names) == 0 {
		return streamName(number)
	}
	return strings.Join(names, " or ")
}

// Records implements connectors.Source: markers and compaction leave gaps, so
// that offsets do not count records.
func (s *Source) Records() int64 { return -1 }

// Rewindable implements connectors.Source.
func (s *Source) Rewindable() bool { return true }

// Close implements connectors.Source.
func (s *Source) Close() error {
	s.close()
	return nil
}

// Read implements connectors.Source.
func (s *Source) Read(_ context.Context, layout *microdata.Layout, cut connectors.Cut) (connectors.Reader, error) {
	if cut.Exact && several(s.config.format()) {
		return nil,
			&FinalError{Text: "windows for swapping need a format of one record a message, and in arrow a message holds many"}
	}
	carry := s.carried.Load() || slices.ContainsFunc(layout.Release, func(o microdata.Output) bool { return o.Column < 0 })
	decoder, err := s.reader.Decoder(layout, carry)
	if err != nil {
		return nil, err
	}
	client, err := s.config.connect(s.log,
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		// Markers and the gaps that they end show how far a partition has been read.
		kgo.KeepControlRecords(),
		// Records that have gone meanwhile must not be passed over in silence.
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxPartitionBytes(4<<20),
		kgo.FetchMaxWait(tick),
	)
	if err != nil {
		return nil, err
	}
	r := &reader{source: s, client: client, decoder: decoder, size: runRecordsBounded, bytes: runBytes}
	if cut.Records > 0 {
		r.size = cut.Records
	}
	if cut.Exact {
		r.bytes = 0
	}
	return r, nil
}

// acknowledge commits the end of what was read to the group, so that the next run begins
// there. Call it after the release has been published. It is a final error if the group has
// members of its own: they would have read the records, too.
func (s *Source) acknowledge(ctx context.Context) error {
	if s.group == "" {
		return &FinalError{Text: "there is no consumer group to commit offsets to"}
	}
	what := fmt.Sprintf("committing offsets to the consumer group %q", s.group)
	var to kadm.Offsets
	for _, p := range s.spans {
		to.AddOffset(p.Topic, p.Number, max(p.from, p.end), -1)
	}
	return persist(ctx, s.log, what, func(ctx context.Context) error {
		err := s.admin.CommitAllOffsets(ctx, s.group, to)
		for _, busy := range []error{kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress,
			kerr.FencedMemberEpoch, kerr.StaleMemberEpoch} {
			if errors.Is(err, busy) {
				return &FinalError{
					Text: what +
						": the group has active members; a run with an end needs a group of its own, or one whose members have stopped. The release is published, and the next run reads the same records again", Err: err}
			}
		}
		return explain(err, what, subject{group: s.group, right: "Read"})
	})
}

const (
	runRecordsBounded = 4096
	runBytes          = 1 << 20
	tick              = 250 * time.Millisecond // without records, after which a partition's rest is looked at
)
