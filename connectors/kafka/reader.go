package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/message"
)

// reader is a pass over a source's partitions, one at a time.
type reader struct {
	source  *Source
	client  *kgo.Client
	decoder message.Decoder
	size    int // records of a run
	bytes   int // of values, after which a run ends early; 0: it does not

	at      int   // the partition, an index of source.spans
	open    bool  // it is being fetched
	next    int64 // the offset that comes next in it
	pending []*kgo.Record
}

// Next implements connectors.Reader.
func (r *reader) Next(ctx context.Context) (connectors.Raw, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if n := r.full(); n > 0 {
			return r.take(n), nil
		}
		if r.at == len(r.source.spans) {
			return nil, io.EOF
		}
		p := &r.source.spans[r.at]
		if !r.open {
			r.open, r.next = true, p.from
			if r.next < p.end {
				r.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{p.Topic: {p.Number: kgo.NewOffset().At(p.from)}})
			}
		}
		if r.next < p.end {
			if err := r.poll(ctx, p); err != nil {
				return nil, err
			}
			continue
		}
		if n := len(r.pending); n > 0 {
			return r.take(n), nil
		}
		r.client.RemoveConsumePartitions(map[string][]int32{p.Topic: {p.Number}})
		r.open = false
		r.at++
	}
}

// Close implements connectors.Reader.
func (r *reader) Close() error {
	r.client.Close()
	return nil
}

// full returns how many of the pending records make a run; 0: too few.
func (r *reader) full() int {
	if r.bytes > 0 {
		size := 0
		for i, m := range r.pending[:min(r.size, len(r.pending))] {
			if size += len(m.Value); size >= r.bytes {
				return i + 1
			}
		}
	}
	if len(r.pending) >= r.size {
		return r.size
	}
	return 0
}

func (r *reader) take(n int) connectors.Raw {
	raw := newRaw(r.pending[:n:n], r.decoder, false)
	r.pending = r.pending[n:]
	return raw
}

// poll waits for records of a partition and moves past them, or past what holds
// none: markers, aborted records, what compaction has left empty.
func (r *reader) poll(ctx context.Context, p *span) error {
	pollCtx, cancel := context.WithTimeout(ctx, tick)
	fetches := r.client.PollRecords(pollCtx, max(r.size, runRecordsBounded))
	cancel()
	before := r.next
	what := "reading " + p.Topic
	var failure error
	for _, e := range fetches.Errors() {
		switch {
		case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, context.Canceled):
		case Final(e.Err), errors.Is(e.Err, kgo.ErrClientClosed):
			failure = Explain(e.Err, what)
		default:
			r.source.log.Warn().Str("error", e.Err.Error()).Msg(what + " is interrupted; it is tried again")
		}
	}
	if failure != nil {
		return failure
	}
	fetches.EachRecord(func(m *kgo.Record) {
		if m.Topic != p.Topic || m.Partition != p.Number || m.Offset < r.next {
			return
		}
		r.next = m.Offset + 1
		if m.Offset < p.end && !m.Attrs.IsControl() {
			r.pending = append(r.pending, m)
		}
	})
	if r.next > before || ctx.Err() != nil {
		return nil
	}
	next, err := r.source.beyond(ctx, p.Partition, r.next, p.end)
	r.next = next
	return err
}

// beyond returns how far a partition holds no record from offset `at` on, at most
// `end`: the consumer does not tell of batches that aborting or compaction has
// left without one. Where a record comes, or where it cannot be known yet, it
// returns at.
func (s *Source) beyond(ctx context.Context, p Partition, at, end int64) (int64, error) {
	what := fmt.Sprintf("reading the end of %s", p)
	next := at
	err := persist(ctx, s.log, what, func(ctx context.Context) error {
		details, err := s.admin.ListTopics(ctx, p.Topic)
		if err != nil {
			return err
		}
		t := details[p.Topic]
		if t.Err != nil {
			return explain(t.Err, what, subject{right: "Read", topic: p.Topic})
		}
		leader, ok := t.Partitions[p.Number]
		if !ok || leader.Leader < 0 {
			return kerr.LeaderNotAvailable
		}
		for next < end {
			got, answer, err := s.fetch(ctx, p, leader.Leader, t.ID, next)
			switch {
			case err != nil:
				return err
			case answer.Err != nil:
				return explain(answer.Err, what, subject{right: "Read", topic: p.Topic})
			case len(answer.Records) > 0:
				// What comes before the first one is empty; the consumer brings the rest.
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

// fetch asks a leader for what comes at an offset. It returns the offset behind
// what it got.
func (s *Source) fetch(ctx context.Context, p Partition, leader int32, id [16]byte, at int64) (int64, kgo.FetchPartition, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MaxBytes, req.IsolationLevel = 100, 1<<20, 1
	req.SessionEpoch = -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = p.Topic, id
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = p.Number, at, 1<<20
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	answer, err := s.client.Broker(int(leader)).RetriableRequest(ctx, req)
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
