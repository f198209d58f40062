package kafka

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// outbox is the records that a client still has to write, with a limit on their number and
// bytes.
type outbox struct {
	client  *kgo.Client
	records int64
	bytes   int64 // 0: any number
	lostErr atomic.Pointer[error]

	introducing  sync.Mutex
	learntTopics sync.Map    // topics whose partitions the client has learnt
	strange      atomic.Bool // a topic could not be learnt: see introduce
}

func newOutbox(client *kgo.Client) *outbox {
	o := &outbox{client: client}
	o.records, _ = client.OptValue(kgo.MaxBufferedRecords).(int64)
	o.bytes, _ = client.OptValue(kgo.MaxBufferedBytes).(int64)
	return o
}

// produce gives a record to the client, which calls promise with the outcome. If the client is
// full it waits until there is room, or the context of the record ends; the client then gives
// up the records that it holds as well. Under a patience, the wait here comes before that of
// the client. It ends with a *FinalError if the brokers have taken nothing for that long, and
// so does, without a wait, every later call. If another goroutine takes the room first, the
// record waits in the client.
func (o *outbox) produce(ctx context.Context, r *kgo.Record, promise func(*kgo.Record, error)) {
	if err := o.lostErr.Load(); err != nil {
		promise(r, *err)
		return
	}
	if patience := patienceOf(ctx); patience > 0 {
		if err := o.await(ctx, r, patience); err != nil {
			if Final(err) {
				o.lostErr.Store(&err)
			}
			promise(r, err)
			return
		}
	}
	o.client.Produce(ctx, r, promise)
}

// roomTick is the time between two looks at a client that is full.
const roomTick = 2 * time.Millisecond

// await waits until there is room for a record.
func (o *outbox) await(ctx context.Context, r *kgo.Record, patience time.Duration) error {
	before, full := o.waiting(r)
	if !full {
		return nil
	}
	tick := time.NewTicker(roomTick)
	defer tick.Stop()
	room := stagnation{before, time.Now()}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case now := <-tick.C:
			held, full := o.waiting(r)
			if !full {
				return nil
			}
			if room.lasts(held, now) >= patience {
				return impatient(ctx, "writing to "+r.Topic, nil)
			}
		}
	}
}

// stagnation is how long the brokers have taken none of the records of a client.
type stagnation struct {
	before int64 // records held when it was last looked at
	since  time.Time
}

// lasts notes how many records the client holds now. If there are fewer than before, the
// brokers take some.
func (s *stagnation) lasts(held int64, now time.Time) time.Duration {
	if held < s.before {
		s.since = now
	}
	s.before = held
	return now.Sub(s.since)
}

// waiting returns the number of waiting records, and whether there is no room for one more. An
// empty outbox accepts a record of any size: the client refuses too large ones.
func (o *outbox) waiting(r *kgo.Record) (records int64, full bool) {
	records = o.client.BufferedProduceRecords()
	if records == 0 || records < o.records && o.bytes == 0 {
		return records, false
	}
	size := int64(len(r.Key) + len(r.Value))
	for _, h := range r.Headers {
		size += int64(len(h.Key) + len(h.Value))
	}
	return records, records >= o.records || o.client.BufferedProduceBytes()+size > o.bytes
}

// hasLearnt reports whether a topic has been introduced.
func (o *outbox) hasLearnt(topic string) bool {
	_, known := o.learntTopics.Load(topic)
	return known
}

// introduce has the client learn the partitions of topics before a record goes to any of
// them.
//
// The client fails what it holds when the brokers end its transaction, and forgets the
// topics then whose partitions it has not learnt. Where one is written to again while the
// answer about it is still on its way, the record ends where the client does not look any
// more (franz-go 1.22.2: failBufferedRecords takes the topic out of producer.topics, and
// storePartitionsUpdate gives the new record to the partitions of the old entry): neither
// flushing nor aborting ever ends, or two sequences of numbers begin for one partition, of
// which the brokers drop one as repeated. What has been learnt is never forgotten.
//
// Only the error of the first topic counts: the others are asked for along with it, while
// nothing is under way that could fail, and are asked for again when they are written to.
func (o *outbox) introduce(ctx context.Context, topic string, others ...string) error {
	o.introducing.Lock()
	defer o.introducing.Unlock()
	requested := map[string]chan error{}
	for _, t := range append(others, topic) {
		if o.hasLearnt(t) || requested[t] != nil {
			continue
		}
		answer := make(chan error, 1)
		requested[t] = answer
		// The client learns a topic's partitions when it looks for that of a record, and refuses a
		// partition that no topic has.
		o.client.Produce(ctx, &kgo.Record{Topic: t, Partition: unassigned}, func(_ *kgo.Record, err error) { answer <- err })
	}
	var failed error
	for t, answer := range requested {
		switch err := <-answer; {
		case err == nil || strings.Contains(err.Error(), noPartition):
			o.learntTopics.Store(t, true)
		case t == topic:
			failed = err
			o.strange.Store(true)
		}
	}
	return failed
}

// noPartition is the client's error for a record whose partition its topic does not have.
const noPartition = "invalid record partitioning choice"

// flushTick is the time between two looks at whether a record failed while a client is being
// flushed.
const flushTick = 5 * time.Millisecond

// flushed waits until the client holds no record, or until failure reports that one has
// failed: the other records are then of no use, and might wait without end.
func flushed(ctx context.Context, client *kgo.Client, failure func() error) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan error, 1)
	go func() {
		defer bug.Guard()
		over <- client.Flush(within)
	}()
	tick := time.NewTicker(flushTick)
	defer tick.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-tick.C:
			if failure() != nil {
				return nil
			}
		}
	}
}
