package kafka

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// hold answers the next request of a kind that is one of those only when release is called;
// seen is closed when it has come. The connection that it came on is answered nothing
// meanwhile.
func hold(t *testing.T, c *kfake.Cluster, key kmsg.Key, one func(kmsg.Request) bool) (seen <-chan struct{}, release func()) {
	t.Helper()
	came, over := make(chan struct{}), make(chan struct{})
	var done atomic.Bool
	c.ControlKey(int16(key), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if one(r) && done.CompareAndSwap(false, true) {
			close(came)
			c.SleepControl(func() { <-over })
		}
		return nil, nil, false
	})
	release = sync.OnceFunc(func() { close(over) })
	t.Cleanup(release)
	return came, release
}

// asksFor tells requests that ask about a topic.
func asksFor(topic string) func(kmsg.Request) bool {
	return func(r kmsg.Request) bool {
		return slices.ContainsFunc(r.(*kmsg.MetadataRequest).Topics, func(t kmsg.MetadataRequestTopic) bool { return t.Topic != nil && *t.Topic == topic })
	}
}

// The brokers end the transaction while the answer about a topic is on its way, and the
// topic is written to before and after: each record ends, and so do flushing and aborting.
// Without introduce the last record of "beside" is never given up.
func TestNoRecordIsForgotten(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "out", "beside"), kfake.MaxVersions(kversion.V3_7_0())) // with AddPartitionsToTxn
	client := newClient(t, c, kgo.TransactionalID("x"))
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	box, ctx := newOutbox(client), limited(t)
	ended := make(chan error, 1)
	produce := func(topic string, partition int32) {
		box.produce(ctx, &kgo.Record{Topic: topic, Partition: partition, Value: []byte("v")}, func(_ *kgo.Record, err error) { ended <- err })
	}
	wait := func() error {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			t.Fatal("a record has not ended")
		}
		return nil
	}
	if err := box.introduce(ctx, "out", "beside", "missing"); err != nil || !box.knows("out") || !box.knows("beside") || box.knows("missing") || box.strange.Load() {
		t.Fatalf("introduced: %v, out %v, beside %v, missing %v, strange %v", err, box.knows("out"), box.knows("beside"), box.knows("missing"), box.strange.Load())
	}
	produce("out", 0)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.AddPartitionsToTxn}, Err: kerr.InvalidProducerEpoch})
	produce("out", 1)
	if err := wait(); !errors.Is(err, kerr.InvalidProducerEpoch) {
		t.Fatal(err)
	}
	_, release := hold(t, c, kmsg.Metadata, asksFor("beside"))
	for _, to := range []string{"beside", "out", "beside"} {
		produce(to, 0)
		if err := wait(); !errors.Is(err, kerr.InvalidProducerEpoch) {
			t.Errorf("to %s: %v", to, err)
		}
	}
	release()
	if err := client.Flush(ctx); err != nil {
		t.Error(err)
	}
	if err := client.AbortBufferedRecords(ctx); err != nil || client.BufferedProduceRecords() > 0 {
		t.Errorf("%v; %d records are left", err, client.BufferedProduceRecords())
	}
	// What cannot be learnt is an error of what was to be written, and of nothing else.
	if err := box.introduce(ctx, "missing", "out"); err == nil || !box.strange.Load() {
		t.Errorf("missing: %v, strange %v", err, box.strange.Load())
	}
}

// A stream has learnt all topics that it writes to before anything of it can fail.
func TestStreamLearnsItsTopicsFirst(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 20, 5)
	m := newMember(t, c, nil)
	if m.outbox.knows("out") {
		t.Error("out is known before anything was written")
	}
	if err := m.transaction(t, false); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"out", "held", m.config.Source.StateTopic("p")} {
		if !m.outbox.knows(topic) {
			t.Errorf("%s is not known", topic)
		}
	}
	m.end(t, true)
	same(t, "released", lines(t, c, "out", 0), wanted(20, 5))
}

// A topic that cannot be learnt fails the transaction, and the client is given up with it.
func TestStreamWithAStrangeTopic(t *testing.T) {
	t.Parallel()
	for _, delivery := range []string{"", atLeastOnce} {
		c, cl := streamCluster(t)
		fill(t, cl, "in", 0, 20, 5)
		m := newMember(t, c, func(s *StreamConfig) { s.Sink.Delivery = delivery })
		if err := m.transaction(t, false); err != nil {
			t.Fatal(err)
		}
		within, cancel := context.WithCancel(limited(t))
		cancel()
		m.Produce(within, &kgo.Record{Topic: "strange"})
		if committed, err := m.End(limited(t), true); committed || err == nil || Final(err) {
			t.Errorf("delivery %q: committed %v, %v", delivery, committed, err)
		}
		m.Leave()
		m.join(t)
		m.all(t)
		if got, want := lines(t, c, "out", 0), wanted(20, 5); !slices.Equal(got[len(got)-5:], want) || delivery == "" && len(got) != 5 {
			t.Errorf("delivery %q: released %v", delivery, got)
		}
	}
}

// An answer that does not come keeps a transaction that has failed no longer than its time:
// the client is given up, and the next one ends what this one has left open.
func TestStuckClientIsGivenUp(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 20, 5)
	m := newMember(t, c, nil)
	seen, _ := hold(t, c, kmsg.Produce, func(kmsg.Request) bool { return true })
	if err := m.transaction(t, false); err != nil {
		t.Fatal(err)
	}
	select {
	case <-seen:
	case <-limited(t).Done():
		t.Fatal("nothing is written")
	}
	lost := errors.New("lost")
	m.failed.Store(&lost)
	committed, err := m.End(context.Background(), true)
	if committed || !errors.Is(err, errStuck) || Final(err) || !strings.HasPrefix(err.Error(), "ending a transaction: ") {
		t.Errorf("committed %v, %v", committed, err)
	}
	m.Leave()
	m.join(t)
	m.all(t)
	same(t, "released", lines(t, c, "out", 0), wanted(20, 5))
}

// Without transactions nothing revives a client that the brokers have refused an id: it is
// given up.
func TestClientWithoutAnIdIsGivenUp(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 20, 5)
	refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.UnknownServerError})
	m := newMember(t, c, func(s *StreamConfig) { s.Sink.Delivery = atLeastOnce })
	err := m.transaction(t, false)
	if err == nil {
		_, err = m.End(limited(t), true)
	}
	if !errors.Is(err, kerr.UnknownServerError) || Final(err) || refused.Hits() != 1 {
		t.Errorf("%v, with %d refusals", err, refused.Hits())
	}
	m.Leave()
	m.join(t)
	m.all(t)
	same(t, "released", lines(t, c, "out", 0), wanted(20, 5))
}
