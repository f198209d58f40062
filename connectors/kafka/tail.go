package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// tails finds out which partitions hold no more records. A consumer cannot tell: it waits for
// the next one.
type tails struct {
	client *kgo.Client
	admin  *kadm.Client
	log    zerolog.Logger
}

func (s *Source) tails() tails { return tails{s.client, s.admin, s.log} }

// beyond returns the end of the stretch without records that begins at offset `at`, at most
// `end`. Consumers do not report batches that an abort or compaction has left empty. If a
// record follows, or nothing is known yet, it returns at.
func (t tails) beyond(ctx context.Context, p Partition, at, end int64) (int64, error) {
	what := fmt.Sprintf("reading the end of %s", p)
	next := at
	err := persist(ctx, t.log, what, func(ctx context.Context) error {
		details, err := t.admin.ListTopics(ctx, p.Topic)
		topic := details[p.Topic]
		if err = errors.Join(err, topic.Err); err != nil {
			return explain(err, what, subject{right: "Describe", topic: p.Topic})
		}
		leader, ok := topic.Partitions[p.Number]
		if !ok || leader.Leader < 0 {
			return kerr.LeaderNotAvailable
		}
		for next < end {
			got, answer, err := t.fetch(ctx, p, leader.Leader, topic.ID, next)
			switch {
			case err != nil:
				return err
			case answer.Err != nil:
				return explain(answer.Err, what, subject{right: "Read", topic: p.Topic})
			case len(answer.Records) > 0:
				// What comes before the first batch is empty; the consumer reads the rest.
				return nil
			case got > next:
				next = got
			case answer.LastStableOffset >= end:
				next = end // not even an empty batch is left
			default:
				return nil // a leader that has just taken over; the consumer goes on
			}
		}
		return nil
	})
	if err != nil {
		return at, err
	}
	return min(next, max(end, at)), nil
}

// fetch asks a leader for the batches at an offset. It returns the offset after the last of
// them.
func (t tails) fetch(ctx context.Context, p Partition, leader int32, id [16]byte, at int64) (int64, kgo.FetchPartition,
	error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MaxBytes, req.IsolationLevel = 100, 1<<20, 1
	req.SessionEpoch = -1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = p.Topic, id
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = p.Number, at, 1<<20
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answer, err := t.client.Broker(int(leader)).RetriableRequest(ctx, req)
	if err != nil {
		return at, kgo.FetchPartition{}, err
	}
	resp := answer.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return at, kgo.FetchPartition{}, err
	}
	for _, t := range resp.Topics {
		for i := range t.Partitions {
			if t.Partitions[i].Partition != p.Number {
				continue
			}
			got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
				KeepControlRecords: true, Offset: at, IsolationLevel: kgo.ReadCommitted(), Topic: p.Topic, Partition: p.Number,
			}, &t.Partitions[i], kgo.DefaultDecompressor(), nil)
			if next < at {
				next = at
			}
			if len(got.Records) > 0 {
				next = max(at, got.Records[0].Offset)
			}
			return next, got, nil
		}
	}
	return at, kgo.FetchPartition{}, errors.New("the answer to a fetch lacks the partition")
}

// drop removes the partitions of a topic that hold no more records between at and their ends.
func (t tails) drop(ctx context.Context, topic string, at, ends map[int32]int64) error {
	for n, from := range at {
		next, err := t.beyond(ctx, Partition{Topic: topic, Number: n}, from, ends[n])
		if err != nil {
			return err
		}
		if next >= ends[n] {
			delete(at, n)
		}
	}
	return nil
}
