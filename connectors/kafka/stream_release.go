package kafka

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
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
func (s *Stream) Release(ctx context.Context, source *StreamSource, layout *microdata.Layout, key keystream.Key, hold string) (*Release, error) {
	r := &Release{stream: s, source: source, layout: layout, hold: hold, writers: map[string]message.Writer{}}
	var err error
	if r.policy, err = newPolicy(s.config.Sink, layout, source, key); err != nil {
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
func (r *Release) bury(ctx context.Context, m *kgo.Record, to string) {
	r.policy.tombstone(m, m)
	m.Topic = to
	r.stream.send(ctx, m)
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
	w, err := c.Sink.format(c.Source).Writer(ctx, message.WriteRequest{Topic: to, Layout: r.layout, Reader: r.source.reader, Registry: client})
	if err != nil {
		return nil, err
	}
	r.stream.sinks.Store(to, true)
	r.stream.findLimit(ctx, to)
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
// are written: from is not read again.
func (r *Release) Write(ctx context.Context, from connectors.Raw, b *microdata.Block, e connectors.Encoded, held bool) error {
	w, ok := from.(*raw)
	if !ok {
		return fmt.Errorf("a block of %T is no block of a topic", from)
	}
	released := e.(message.Released)
	to := r.destination(w.records[0].Topic, held)
	limit := int(r.stream.limit(to))
	messages, tombstones := w.Messages(), w.Tombstones()
	if len(released.Values)+len(tombstones) > 0 && !r.stream.ready(ctx, to) {
		return r.stream.failure()
	}
	for k, value := range released.Values {
		at := int(released.Source[k])
		m := messages[at]
		for len(tombstones) > 0 && tombstones[0].Offset < m.Offset {
			r.bury(ctx, tombstones[0], to)
			tombstones = tombstones[1:]
		}
		place := m.Offset
		r.policy.apply(m, m, b, at) // where a message holds several records, no column is its key
		if size := sizeOf(m, value); size > limit {
			return &FinalError{Text: fmt.Sprintf("writing to %s: what is released of %s, offset %d, has %d bytes with its key and headers, and the topic takes %d (max.message.bytes)",
				to, Partition{Topic: b.Scope, Number: m.Partition}, place, size, limit)}
		}
		m.Topic, m.Value = to, value
		r.stream.send(ctx, m)
	}
	for _, m := range tombstones {
		r.bury(ctx, m, to)
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

// findLimit learns how large a batch a topic takes. A user without the right to ask learns
// nothing.
func (s *Stream) findLimit(ctx context.Context, topic string) {
	client, err := s.config.Source.connect(s.config.Log)
	if err != nil {
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	configs, err := kadm.NewClient(client).DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return
	}
	c, err := configs.On(topic, nil)
	if err != nil || c.Err != nil {
		return
	}
	for _, setting := range c.Configs {
		if setting.Key != "max.message.bytes" {
			continue
		}
		if n, err := strconv.ParseInt(setting.MaybeValue(), 10, 32); err == nil {
			s.limits.Store(topic, int32(min(max(n, 512), 64<<20))) // the range that the client accepts
		}
	}
}

// limit is how large a batch of a topic may be, in bytes.
func (s *Stream) limit(topic string) int32 {
	if n, known := s.limits.Load(topic); known {
		return n.(int32)
	}
	return 1_000_012 // below the brokers' default
}
