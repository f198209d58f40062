package kafka

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// streamNumber is the number that stands for a partition in Block.Stream: the
// partition's own, which must be below 65536, in the lower 16 bits, and above
// them the first 15 bits of SHA-256 of the topic's name, so that it does not
// depend on which other topics are read. It is no index of Source.Streams.
func streamNumber(topic string, partition int32) int {
	sum := sha256.Sum256([]byte(topic))
	return int(partition) | int(binary.BigEndian.Uint16(sum[:])>>1)<<16
}

// raw is a run of messages of one partition, not yet decoded.
type raw struct {
	records        []*kgo.Record
	decoder        message.Decoder
	keepTombstones bool

	messages   []*kgo.Record
	tombstones []*kgo.Record
	scope      string  // the source's topic
	offsets    []int64 // of messages
	buried     []int64 // of tombstones
}

// newRaw takes a run of messages of one partition, ascending, at least one, and
// no markers of transactions. Where the sink keeps tombstones, messages without a
// value are left out of what is decoded; elsewhere the decoder rejects them.
func newRaw(records []*kgo.Record, decoder message.Decoder, keepTombstones bool) *raw {
	return &raw{records: records, decoder: decoder, keepTombstones: keepTombstones}
}

// Decode implements connectors.Raw.
func (r *raw) Decode(b *microdata.Block) error {
	r.split()
	n := len(r.messages)
	first := r.records[0]
	run := message.Run{
		Scope: first.Topic, Stream: streamNumber(first.Topic, first.Partition),
		Offsets: make([]int64, n), Values: make([][]byte, n),
	}
	for i, m := range r.messages {
		run.Offsets[i], run.Values[i] = m.Offset, m.Value
	}
	r.scope, r.offsets = run.Scope, run.Offsets
	return r.decoder.Decode(context.Background(), b, &run)
}

func (r *raw) split() {
	r.messages = r.records
	if !r.keepTombstones {
		return
	}
	for i, m := range r.records {
		if m.Value != nil {
			continue
		}
		// From the first tombstone on, tombstones and messages are distinguished.
		r.messages = append(make([]*kgo.Record, 0, len(r.records)-1), r.records[:i]...)
		for _, m := range r.records[i:] {
			if m.Value == nil {
				r.tombstones = append(r.tombstones, m)
				r.buried = append(r.buried, m.Offset)
			} else {
				r.messages = append(r.messages, m)
			}
		}
		return
	}
}

// Bytes implements connectors.Raw: keys and values, decompressed.
func (r *raw) Bytes() int64 {
	n := 0
	for _, m := range r.records {
		n += len(m.Key) + len(m.Value)
	}
	return int64(n)
}

// Messages are the messages that were decoded, as message.Released.Source counts
// them. It comes after Decode.
func (r *raw) Messages() []*kgo.Record { return r.messages }

// Tombstones are the messages that were left out of what was decoded, ascending.
// It comes after Decode.
func (r *raw) Tombstones() []*kgo.Record { return r.tombstones }
