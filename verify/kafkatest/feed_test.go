package kafkatest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
	"github.com/twmb/franz-go/pkg/kgo"
)

// feeder produces a survey at a rate and up to a limit that the test raises: a fault after
// everything has been released would test nothing, however slow the machine is.
type feeder struct {
	trial *trial
	limit atomic.Int64
	done  chan error
}

// feed begins to produce the records from the from-th on, with a rate per second (0: unlimited),
// and for now at most limit records of the whole survey.
func (c *trial) feed(t *testing.T, from, limit int64, rate float64) *feeder {
	t.Helper()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(c.cluster.Addresses()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(5*time.Millisecond), kgo.MetadataMinAge(100*time.Millisecond),
		kgo.ProducerBatchMaxBytes(4_000_000),
	)
	if err != nil {
		t.Fatal(err)
	}
	f := &feeder{trial: c, done: make(chan error, 1)}
	f.limit.Store(limit)
	ctx := t.Context()
	go func() {
		defer client.Close()
		f.done <- f.run(ctx, client, from, rate)
	}()
	return f
}

func (f *feeder) run(ctx context.Context, client *kgo.Client, from int64, rate float64) error {
	c := f.trial
	next := make([]int64, c.records.Partitions)
	for i := range from {
		next[c.records.Home(i)]++
	}
	var failed atomic.Pointer[error]
	promise := func(_ *kgo.Record, err error) {
		if err != nil {
			failed.CompareAndSwap(nil, &err)
		}
	}
	due, last := 0.0, time.Now()
	for i := from; i < c.n && ctx.Err() == nil; {
		now := time.Now()
		due = min(due+rate*now.Sub(last).Seconds(), rate/10)
		last = now
		if i >= f.limit.Load() || rate > 0 && due < 1 {
			wait.Elapse(ctx, 2*time.Millisecond) // the rate
			continue
		}
		due--
		p := c.records.Home(i)
		r := c.records.At(p, next[p])
		next[p]++
		i++
		value := r.AppendJSON(nil)
		if bad, ok := c.poisoned[r.ID]; ok {
			value = bad
		}
		// The key and the header would identify a respondent if they were released.
		client.Produce(ctx, &kgo.Record{
			Topic: c.in, Partition: p, Value: value, Key: []byte(r.Name), Timestamp: c.stamped[r.ID],
			Headers: []kgo.RecordHeader{{Key: "who", Value: []byte(r.Name)}},
		}, promise)
		if c.batch > 0 && (i-from)%int64(c.batch) == 0 {
			if err := client.Flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return ctx.Err()
}

// allow raises the limit to a share of the survey.
func (f *feeder) allow(share float64) { f.limit.Store(int64(share * float64(f.trial.n))) }

// finish removes the limit and waits until the last record has been accepted.
func (f *feeder) finish(t *testing.T) {
	t.Helper()
	f.limit.Store(f.trial.n)
	f.wait(t)
}

// feedAll produces the records from the from-th to before the to-th as fast as possible, and waits
// until all have been accepted.
func (c *trial) feedAll(t *testing.T, from, to int64) {
	t.Helper()
	part := *c
	part.n = to
	part.feed(t, from, to, 0).wait(t)
}

func (f *feeder) wait(t *testing.T) {
	t.Helper()
	select {
	case err := <-f.done:
		if err != nil {
			t.Fatalf("feeding: %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("feeding takes longer than 5 minutes")
	}
}
