package kafka

import (
	"context"
	"errors"
	"io"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message"
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
	if err := unreadable(r.source.log, "reading "+p.Topic, fetches.Errors()); err != nil {
		return err
	}
	fetches.EachRecord(func(m *kgo.Record) { r.accept(p, m) })
	if r.next > before || ctx.Err() != nil {
		return nil
	}
	next, err := r.source.tails().beyond(ctx, p.Partition, r.next, p.end)
	r.next = next
	return err
}

// unreadable is the first error of a poll that ends the pass. Others, which the client
// repeats, are logged, but for the end of the poll's own time.
func unreadable(log zerolog.Logger, what string, errs []kgo.FetchError) error {
	for _, e := range errs {
		switch {
		case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, context.Canceled):
		case Final(e.Err), errors.Is(e.Err, kgo.ErrClientClosed):
			return explainError(e.Err, what)
		default:
			log.Warn().Str("error", e.Err.Error()).Msg(what + " is interrupted; it is tried again")
		}
	}
	return nil
}

// accept takes up a record of the partition that is read, and passes over markers and what
// lies beyond the end. The client may still hand out others: those of a partition that has
// been read to its end.
func (r *reader) accept(p *span, m *kgo.Record) {
	if m.Topic != p.Topic || m.Partition != p.Number || m.Offset < r.next {
		return
	}
	r.next = m.Offset + 1
	if m.Offset < p.end && !m.Attrs.IsControl() {
		r.pending = append(r.pending, m)
	}
}
