package kafka

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// outbox is what a client holds of the records that it is to write, and how much it may
// hold.
type outbox struct {
	client  *kgo.Client
	records int64
	bytes   int64 // 0: any number
	lost    atomic.Pointer[error]
}

func newOutbox(client *kgo.Client) *outbox {
	o := &outbox{client: client}
	o.records, _ = client.OptValue(kgo.MaxBufferedRecords).(int64)
	o.bytes, _ = client.OptValue(kgo.MaxBufferedBytes).(int64)
	return o
}

// produce hands a record over; promise is told what becomes of it. A client that is full
// lets nobody go before there is room, or the record's context ends, with which it would
// give up what it holds as well. Where there is a patience, the wait for room comes before
// the client's own, and ends with a *FinalError when the brokers have taken nothing for so
// long; so does, at once, what is handed over after that. Another goroutine may be faster to take the room: that one record then waits for
// the client.
func (o *outbox) produce(ctx context.Context, r *kgo.Record, promise func(*kgo.Record, error)) {
	if err := o.lost.Load(); err != nil {
		promise(r, *err)
		return
	}
	if patience := patienceOf(ctx); patience > 0 {
		if err := o.await(ctx, r, patience); err != nil {
			if Final(err) {
				o.lost.Store(&err)
			}
			promise(r, err)
			return
		}
	}
	o.client.Produce(ctx, r, promise)
}

// roomTick is how often a client that is full is looked at.
const roomTick = 2 * time.Millisecond

// await waits until there is room for a record.
func (o *outbox) await(ctx context.Context, r *kgo.Record, patience time.Duration) error {
	before, full := o.held(r)
	if !full {
		return nil
	}
	tick := time.NewTicker(roomTick)
	defer tick.Stop()
	for since := time.Now(); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case now := <-tick.C:
			held, full := o.held(r)
			switch {
			case !full:
				return nil
			case held < before: // the brokers take some
				since = now
			case now.Sub(since) >= patience:
				return impatient(ctx, "writing to "+r.Topic, nil)
			}
			before = held
		}
	}
}

// held returns how many records wait, and whether there is no room for one more. What is
// empty takes a record of any size: the client says which is too large.
func (o *outbox) held(r *kgo.Record) (records int64, full bool) {
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
