package kafkatest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/survey"
)

// testKafkaGo: messages produced by another library are filtered correctly, and that library reads
// the release. Its reader asks for committed records only, but returns the markers that end
// transactions as messages.
func testKafkaGo(t *testing.T, s *site) {
	c := newTrial(t, s, 16, few)
	p := pipeline{group: c.in, out: c.in + "-out"}
	s.topic(t, p.out, partitions)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	next := make([]int64, partitions)
	var messages []kafka.Message
	for i := range c.n {
		home := c.records.Home(i)
		r := c.records.At(home, next[home])
		next[home]++
		messages = append(messages, kafka.Message{Key: []byte(r.Name), Value: r.AppendJSON(nil), WriterData: home})
	}
	w := &kafka.Writer{
		Addr: kafka.TCP(s.cluster.Addresses()...), Topic: c.in, RequiredAcks: kafka.RequireAll, Compression: kafka.Snappy,
		BatchSize: 500, BatchTimeout: 10 * time.Millisecond,
		Balancer: kafka.BalancerFunc(func(m kafka.Message, _ ...int) int { return int(m.WriterData.(int32)) }),
	}
	if err := w.WriteMessages(ctx, messages...); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	config := c.write(t, p)
	filter := c.run(t, config)
	c.await(t, p.group, time.Minute, filter)
	drain(t, filter)

	var rows []survey.Released
	ends, markers := c.decided(t, ctx, p.out), 0
	for part := range c.counts {
		r := kafka.NewReader(kafka.ReaderConfig{
			Brokers: s.cluster.Addresses(), Topic: p.out, Partition: part, IsolationLevel: kafka.ReadCommitted,
			MinBytes: 1, MaxBytes: 1 << 20, MaxWait: 100 * time.Millisecond,
		})
		for at := int64(-1); at+1 < ends[part]; {
			m, err := r.ReadMessage(ctx)
			if err != nil {
				t.Fatalf("partition %d after %d records: %v", part, len(rows), err)
			}
			if at = m.Offset; marker(m) {
				markers++
				continue
			}
			if len(m.Key) > 0 {
				t.Fatalf("partition %d at %d: a key was released", part, m.Offset)
			}
			rows = append(rows, survey.Released{Partition: int32(m.Partition), Value: m.Value})
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d markers of transactions were handed out as messages", markers)
	c.verdict(t, p, config, rows, c.expectation())
}

// marker reports whether a message is the control record that ends a transaction: its key is a
// version and the outcome, two bytes each.
func marker(m kafka.Message) bool {
	return bytes.Equal(m.Key, []byte{0, 0, 0, 1}) || bytes.Equal(m.Key, []byte{0, 0, 0, 0})
}
