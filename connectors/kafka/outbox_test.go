package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// If the client's buffer is full, by records or by bytes, and the brokers accept nothing for the
// time of the patience, produce stops waiting. The records in the buffer stay with the client.
func TestFullOutboxIsBounded(t *testing.T) {
	const patience = 200 * time.Millisecond
	for name, limit := range map[string]kgo.Opt{"records": kgo.MaxBufferedRecords(3),
		"bytes": kgo.MaxBufferedBytes(3*11 + 10)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, kfake.SeedTopics(1, "a"))
			client := newClient(t, c, limit)
			if err := client.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.Close()
			box, ctx := newOutbox(client), WithPatience(context.Background(), patience)
			var ended atomic.Int64
			record := func() *kgo.Record {
				return &kgo.Record{Topic: "a", Key: []byte("k"), Value: []byte("value"),
					Headers: []kgo.RecordHeader{{Key: "head", Value: []byte("1")}}}
			}
			for range 3 { // 11 bytes each
				box.produce(ctx, record(), func(*kgo.Record, error) { ended.Add(1) })
			}
			if n := ended.Load(); n != 0 {
				t.Fatalf("%d of 3 records were not taken though there is room", n)
			}
			var got error
			begin := time.Now()
			box.produce(ctx, record(), func(_ *kgo.Record, err error) { got = err })
			var final *FinalError
			if !errors.As(got, &final) ||
				!strings.HasPrefix(got.Error(), "writing to a: no broker has answered for 200ms; are") {
				t.Errorf("the fourth record: %v", got)
			}
			if took := time.Since(begin); took < patience {
				t.Errorf("ended after %v", took)
			}
			// Later records wait no longer: a block has thousands of records.
			first := got
			box.produce(WithPatience(context.Background(), time.Hour), record(), func(_ *kgo.Record, err error) { got = err })
			if got != first {
				t.Errorf("the fifth record: %v", got)
			}
			// The end of the run is reported differently from the end of the patience.
			over, cancel := context.WithCancel(WithPatience(context.Background(), time.Hour))
			cancel()
			newOutbox(client).produce(over, record(), func(_ *kgo.Record, err error) { got = err })
			if errors.As(got, &final) || !errors.Is(got, context.Canceled) {
				t.Errorf("after the run's end: %v", got)
			}
			if n := ended.Load(); n != 0 || client.BufferedProduceRecords() != 3 {
				t.Errorf("%d of the 3 accepted records have ended, %d are in the buffer", n, client.BufferedProduceRecords())
			}
		})
	}
}

// Slow brokers that accept a little at a time do not exhaust the patience, however long the whole
// release takes.
func TestSlowBrokersAreNotGivenUp(t *testing.T) {
	racetest.Further(t)
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		eventually.Elapse(t, 100*time.Millisecond)
		return nil, nil, false
	})
	client := newClient(t, c, kgo.MaxBufferedRecords(2))
	const patience = 4 * time.Second // time for 40 answers
	box, ctx, begin := newOutbox(client), WithPatience(t.Context(), patience), time.Now()
	var taken atomic.Int64
	n := int64(0)
	for ; time.Since(begin) < 2*patience; n++ {
		box.produce(ctx, &kgo.Record{Topic: "a", Value: fmt.Append(nil, n)}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("after %v: %v", time.Since(begin), err)
			}
			taken.Add(1)
		})
	}
	if err := client.Flush(t.Context()); err != nil || taken.Load() != n {
		t.Errorf("%d of %d records were taken, %v", taken.Load(), n, err)
	}
	if n < 6 {
		t.Errorf("only %d records: the client was not full", n)
	}
}

// Stagnation lasts since the last time that the number of buffered records fell between two looks.
// A rise of the number does not count as progress, and neither does a number that is smaller than
// at the beginning.
func TestStagnation(t *testing.T) {
	begin := time.Now()
	s := stagnation{10, begin}
	for i, c := range []struct {
		held  int64
		after int
		want  int
	}{
		{10, 1, 1}, {10, 5, 5}, {9, 6, 0}, {9, 8, 2}, {9, 9, 3}, {10, 11, 5}, {9, 12, 0}, {8, 13, 0}, {8, 20, 7}, {11, 21, 8},
		{11, 25, 12},
	} {
		if got := s.lasts(c.held, begin.Add(time.Duration(c.after)*time.Second)); got != time.Duration(c.want)*time.Second {
			t.Errorf("look %d, %d in the buffer: for %v, want %d s", i, c.held, got, c.want)
		}
	}
}

// A record too large even for an empty client is refused by the client at once.
func TestOutboxOfOneLargeRecord(t *testing.T) {
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	client := newClient(t, c, kgo.MaxBufferedBytes(10))
	got := make(chan error, 1)
	newOutbox(client).produce(WithPatience(t.Context(), time.Hour), &kgo.Record{Topic: "a", Value: make([]byte, 11)},
		func(_ *kgo.Record, err error) { got <- err })
	if err := <-got; !Final(err) {
		t.Error(err)
	}
}

// A poll returns at most as many records as the open transaction still accepts, but at least one.
func TestSizeOfAPoll(t *testing.T) {
	for _, c := range []struct{ records, polled, want int }{
		{5, 0, 5}, {5, 3, 2}, {5, 4, 1}, {5, 5, 1}, {5, 9, 1}, {1, 0, 1}, {100_000, 0, 60_000},
		{pollRecords, 0, pollRecords}, {pollRecords + 1, 0, pollRecords}, {pollRecords + 1, 1, pollRecords},
		{pollRecords + 1, 2, pollRecords - 1},
	} {
		s := &Stream{polled: c.polled}
		s.config.Commit.Records = c.records
		if got := s.pollSize(); got != c.want {
			t.Errorf("%d of %d records are polled: %d more, want %d", c.polled, c.records, got, c.want)
		}
	}
}
