package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// spans are the stretches of partitions that a source reads.
type spans struct{ list []connectors.Span }

func (c *SourceConfig) withSpans(list []connectors.Span) connectors.SourceConfig {
	other := *c
	other.spans = &spans{list}
	return &other
}

// identities returns the ids of topics, which a topic that is made anew does not keep. Topics of
// brokers that give none are left out.
func (s *Source) identities(ctx context.Context, names []string) (map[string]string, error) {
	ids := map[string]string{}
	const what = "asking for the ids of topics"
	err := persist(ctx, s.log, what, func(ctx context.Context) error {
		details, err := s.admin.ListTopics(ctx, names...)
		if err != nil {
			return explain(err, what, subject{right: "Describe"})
		}
		for name, d := range details {
			if d.ID != (kadm.TopicID{}) {
				ids[name] = d.ID.String()
			}
		}
		return nil
	})
	return ids, err
}

// Held implements connectors.Holding. Topics and partitions that were made after Open are
// among them.
func (s *Source) Held(ctx context.Context) ([]connectors.HeldPartition, error) {
	topics, err := s.config.resolve(ctx, s.admin, s.log)
	if err != nil {
		return nil, err
	}
	now := opened{topics: topics}
	names := now.names()
	ids, err := s.identities(ctx, names)
	if err != nil {
		return nil, err
	}
	starts, err := s.config.startOffsets(ctx, s.admin, s.log, names)
	if err != nil {
		return nil, err
	}
	firsts, err := offsets(ctx, s.log, "asking for the first offsets", names, s.admin.ListStartOffsets)
	if err != nil {
		return nil, err
	}
	ends, err := offsets(ctx, s.log, "asking for the last stable offsets", names, s.admin.ListCommittedOffsets)
	if err != nil {
		return nil, err
	}
	var list []connectors.HeldPartition
	for _, t := range topics {
		for n := range t.partitions {
			p := Partition{Topic: t.name, Number: n}
			end, known := ends[p]
			if !known {
				continue // a partition that was made in between
			}
			list = append(list,
				connectors.HeldPartition{Partition: p, TopicID: ids[t.name], First: firsts[p],
					Start: min(max(starts[p], firsts[p]), end), End: end})
		}
	}
	return list, nil
}

// Since implements connectors.Holding.
func (s *Source) Since(ctx context.Context, at time.Time) (map[Partition]int64, error) {
	topics, err := s.config.resolve(ctx, s.admin, s.log)
	if err != nil {
		return nil, err
	}
	now := opened{topics: topics}
	return offsets(ctx, s.log, "asking for the offsets at a time", now.names(),
		func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
			return s.admin.ListOffsetsAfterMilli(ctx, at.UnixMilli(), topics...)
		})
}

// stretch takes up the stretches that are to be read. All of what they hold must still be
// there, and stable.
func (s *Source) stretch(ctx context.Context, of *spans) error {
	if len(of.list) == 0 {
		return nil
	}
	held, err := s.Held(ctx)
	if err != nil {
		return err
	}
	at := map[Partition]connectors.HeldPartition{}
	for _, h := range held {
		at[h.Partition] = h
	}
	for _, w := range of.list {
		h, ok := at[w.Partition]
		switch {
		case !ok:
			return &FinalError{
				Text: fmt.Sprintf("%s: is not there any more, and offsets %d to %d of it are to be read", w.Partition, w.From,
					w.End)}
		case w.From == w.End:
		case h.First > w.From:
			return &FinalError{
				Text: fmt.Sprintf("%s: records from offset %d on are to be read, and those below %d have been deleted (retention)",
					w.Partition, w.From, h.First)}
		case h.End < w.End:
			return &FinalError{
				Text: fmt.Sprintf(
					"%s: records up to offset %d are to be read, and the partition ends at %d: the topic has been made anew or has lost records", w.Partition, w.End, h.End)}
		}
		s.spans = append(s.spans, span{w.Partition, w.From, w.End})
	}
	return nil
}
