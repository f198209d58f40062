package kafka

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Release turns the released columns of blocks into messages of the sink's
// topics. Encode is safe for concurrent use.
type Release struct {
	stream *Stream
	source *StreamSource
	layout *microdata.Layout
	policy *policy
	hold   string // the restricted topic, "" where there is none

	mu      sync.Mutex
	writers map[string]message.Writer // by topic of the sink
}

// Release prepares the release of a layout into the sink's topic, and into the
// topic where records are held back while the gate's rules do not hold ("": there
// is none). Topics that are missing or narrower than the source's are an error.
func (s *Stream) Release(ctx context.Context, source *StreamSource, layout *microdata.Layout, key keystream.Key,
	hold string) (*Release, error) {
	r := &Release{stream: s, source: source, layout: layout, hold: hold, writers: map[string]message.Writer{}}
	var err error
	if r.policy, err = newPolicy(s.config.Sink, layout, message.JSONText(source.reader), key); err != nil {
		return nil, err
	}
	for _, topic := range s.topicNames() {
		for _, held := range []bool{false, true} {
			if held && hold == "" {
				continue
			}
			if _, err := r.writer(ctx, topic, held); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// bury passes a message without a value on.
func (r *Release) bury(ctx context.Context, m *kgo.Record, to string, from *origin) error {
	offset := m.Offset
	r.policy.tombstone(m, m)
	m.Topic, m.Context = to, from
	return r.give(ctx, m, Partition{Topic: from.raw.scope, Number: m.Partition}, offset)
}

// give sends a released message, in a batch apart from the last one if that is how a refused message is
// found.
func (r *Release) give(ctx context.Context, m *kgo.Record, p Partition, offset int64) error {
	if r.stream.refused.cuts(p, offset) {
		if err := r.stream.Flush(ctx); err != nil {
			return err
		}
	}
	r.stream.send(ctx, m)
	return nil
}

// destination is where records of a topic go.
func (r *Release) destination(topic string, held bool) string {
	if held {
		return strings.ReplaceAll(r.hold, placeholder, topic)
	}
	return r.stream.config.Sink.topicFor(topic)
}

// writer returns the writer for what comes from a topic, made when it is first
// asked for: a pattern may match a topic that is new.
func (r *Release) writer(ctx context.Context, topic string, held bool) (message.Writer, error) {
	to := r.destination(topic, held)
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.writers[to]; w != nil {
		return w, nil
	}
	c := r.stream.config
	client, err := r.stream.sinkRegistry()
	if err != nil {
		return nil, err
	}
	w,
		err := c.Sink.format(c.Source).Writer(ctx,
		message.WriteRequest{Topic: to, Layout: r.layout, Reader: r.source.reader, Registry: client})
	if err != nil {
		return nil, err
	}
	r.stream.sinks.Store(to, true)
	r.stream.findLimits(ctx, to)
	r.writers[to] = w
	return w, nil
}

// Carries reports whether untouched columns leave as the bytes that they came in.
func (r *Release) Carries() bool { return r.stream.config.Sink.CarriesFrom(r.source.config) }

// KeepsTombstones reports whether messages without a value pass.
func (r *Release) KeepsTombstones() bool { return r.policy.keepsTombstones() }

// Encode makes the messages of a block.
func (r *Release) Encode(ctx context.Context, b *microdata.Block, held bool) (connectors.Encoded, error) {
	w, err := r.writer(ctx, b.Scope, held)
	if err != nil {
		return nil, err
	}
	return w.Encode(ctx, b)
}

// Write adds the messages of a block to the open transaction, each in the
// partition that it came from. It uses the records that were read for those that
// are written: from is not read again. The records of a message that the topic does not take are rejected
// in the block, unless the sink's on_refused is stop.
func (r *Release) Write(ctx context.Context, from connectors.Raw, b *microdata.Block, e connectors.Encoded,
	held bool) error {
	w, ok := from.(*raw)
	if !ok {
		return fmt.Errorf("a block of %T is no block of a topic", from)
	}
	released := e.(message.Released)
	to := r.destination(w.records[0].Topic, held)
	messages, tombstones := w.Messages(), w.Tombstones()
	if len(released.Values)+len(tombstones) > 0 && !r.stream.ready(ctx, to) {
		return r.stream.failure()
	}
	of, early := &origin{Context: ctx, raw: w}, &origin{Context: ctx, raw: w, early: true}
	now, f := time.Now(), r.stream.refused
	p, limits := Partition{Topic: b.Scope, Number: w.records[0].Partition}, r.stream.limitsOf(to)
	for k, value := range released.Values {
		at := int(released.Source[k])
		m := messages[at]
		place := m.Offset
		for len(tombstones) > 0 && tombstones[0].Offset < m.Offset {
			if err := r.bury(ctx, tombstones[0], to, of); err != nil {
				return err
			}
			tombstones = tombstones[1:]
		}
		r.policy.apply(m, m, b, at) // where a message holds several records, no column is its key
		from, reason := of, f.leftOut(p, place)
		if reason == "" {
			reason = limits.refusesSize(m, value)
		}
		if reason == "" {
			if reason = limits.refusesTime(m, now); reason != "" && !f.clock.tells(now) {
				from, reason = early, ""
			}
		}
		if reason != "" {
			if r.stream.config.Sink.OnRefused == Stop {
				return &FinalError{Text: fmt.Sprintf("writing to %s: the record at offset %d of %s: %s", to, place, p, reason)}
			}
			reject(b, place, r.source.Rows(), reason)
			continue
		}
		m.Topic, m.Value, m.Context = to, value, from
		if err := r.give(ctx, m, p, place); err != nil {
			return err
		}
	}
	for _, m := range tombstones {
		if err := r.bury(ctx, m, to, of); err != nil {
			return err
		}
	}
	if f.ends(p) {
		return r.stream.Flush(ctx)
	}
	return r.stream.failure()
}

// batchOverhead is what a batch of one message needs at least beside its content:
// the batch's header, and lengths of one byte each.
const batchOverhead = 61 + 7

// sizeOf is the least that a message needs in a batch, in bytes.
func sizeOf(m *kgo.Record, value []byte) int {
	size := batchOverhead + len(m.Key) + len(value)
	for _, h := range m.Headers {
		size += len(h.Key) + len(h.Value)
	}
	return size
}

// findLimits learns what a topic takes, and reports whether that has changed. A user without the right to
// ask learns nothing.
func (s *Stream) findLimits(ctx context.Context, topic string) (changed bool) {
	client, err := s.config.Source.connect(s.config.Log)
	if err != nil {
		return false
	}
	defer client.Close()
	found, err := askLimits(ctx, client, topic)
	if err != nil {
		return false
	}
	before, known := s.limits.Swap(topic, found)
	return known && before != found
}

// limitsOf returns what a topic takes, as far as it is known.
func (s *Stream) limitsOf(topic string) topicLimits {
	if l, known := s.limits.Load(topic); known {
		return l.(topicLimits)
	}
	return topicLimits{}
}

// limit is how large a batch of a topic may be, in bytes.
func (s *Stream) limit(topic string) int32 { return s.limitsOf(topic).batch() }
