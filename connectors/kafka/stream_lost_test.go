package kafka

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// hold delays the answer to the next request of a kind for which one returns true, until release is
// called. seen is closed when the request has arrived. The connection of the request gets no other
// answer meanwhile.
func hold(t *testing.T, c *kfake.Cluster, key kmsg.Key, one func(kmsg.Request) bool) (seen <-chan struct{},
	release func()) {
	t.Helper()
	arrived, over, awake := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var done atomic.Bool
	c.ControlKey(int16(key), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if one(r) && done.CompareAndSwap(false, true) {
			close(arrived)
			c.SleepControl(func() { <-over })
			close(awake)
		}
		return nil, nil, false
	})
	release = sync.OnceFunc(func() {
		close(over)
		if !done.Load() {
			return
		}
		// If the cluster were closed between the two events, it would wait for itself forever.
		select {
		case <-awake:
		case <-time.After(5 * time.Second): // the connection of the request is closed
		}
	})
	t.Cleanup(release)
	return arrived, release
}

// asksFor returns a condition that is true for metadata requests about a topic.
func asksFor(topic string) func(kmsg.Request) bool {
	return func(r kmsg.Request) bool {
		return slices.ContainsFunc(r.(*kmsg.MetadataRequest).Topics, func(t kmsg.MetadataRequestTopic) bool {
			return t.Topic != nil && *t.Topic == topic
		})
	}
}

// The brokers end the transaction while the answer about a topic is delayed, and records for the
// topic are written before and after. Each record must end, and flushing and aborting must return.
// Without introduce the last record of "beside" never ends.
func TestNoRecordIsForgotten(t *testing.T) {
	t.Parallel()
	// brokers with AddPartitionsToTxn
	c := newCluster(t, kfake.SeedTopics(2, "out", "beside"), kfake.MaxVersions(kversion.V3_7_0()))
	client := newClient(t, c, kgo.TransactionalID("x"))
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	box, ctx := newOutbox(client), limited(t)
	ended := make(chan error, 1)
	produce := func(topic string, partition int32) {
		box.produce(ctx, &kgo.Record{Topic: topic, Partition: partition, Value: []byte("v")}, func(_ *kgo.Record, err error) {
			ended <- err
		})
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
	if err := box.introduce(ctx, "out", "beside", "missing"); err != nil || !box.hasLearnt("out") ||
		!box.hasLearnt("beside") || box.hasLearnt("missing") || box.strange.Load() {
		t.Fatalf("introduced: %v, out %v, beside %v, missing %v, strange %v", err, box.hasLearnt("out"),
			box.hasLearnt("beside"), box.hasLearnt("missing"), box.strange.Load())
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
	// If a topic cannot be learnt, only the records for this topic fail.
	if err := box.introduce(ctx, "missing", "out"); err == nil || !box.strange.Load() {
		t.Errorf("missing: %v, strange %v", err, box.strange.Load())
	}
}

// A stream learns all topics that it writes to before any of its requests can fail.
func TestStreamLearnsItsTopicsFirst(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 20, 5)
	m := newMember(t, c, nil)
	if m.outbox.hasLearnt("out") {
		t.Error("out is known before anything was written")
	}
	if err := m.transaction(t, false); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"out", "held", m.config.Source.StateTopic("p")} {
		if !m.outbox.hasLearnt(topic) {
			t.Errorf("%s is not known", topic)
		}
	}
	m.end(t, true)
	same(t, "released", lines(t, c, "out", 0), wantedLines(20, 5))
}

// If a topic cannot be learnt, the transaction fails and its client is replaced.
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
		if got, want := lines(t, c, "out", 0), wantedLines(20, 5); !slices.Equal(got[len(got)-5:], want) || delivery == "" &&
			len(got) != 5 {
			t.Errorf("delivery %q: released %v", delivery, got)
		}
	}
}

// If a broker never answers, a failed transaction lasts no longer than its time: the client is
// replaced, and the new client ends the transaction that the old one has left open.
func TestStuckClientIsGivenUp(t *testing.T) {
	racetest.Further(t)
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
	same(t, "released", lines(t, c, "out", 0), wantedLines(20, 5))
}

// Without transactions, a client that was refused a producer id cannot recover, so it is replaced.
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
	same(t, "released", lines(t, c, "out", 0), wantedLines(20, 5))
}

// If the client has received no producer id, it asks once more. A member without time left does not
// wait for the answer.
func TestBeginningHasAnEnd(t *testing.T) {
	t.Parallel()
	for name, patience := range map[string]time.Duration{"cancelled": 0, "patience": 200 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := streamCluster(t)
			refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.RequestTimedOut})
			m := newMember(t, c, nil)
			m.cleared = true // it has begun before
			requests := 0
			seen, _ := hold(t, c, kmsg.InitProducerID, func(kmsg.Request) bool { requests++; return requests == 2 })
			ctx, cancel := context.WithCancel(limited(t))
			defer cancel()
			if patience == 0 {
				go func() { <-seen; cancel() }()
			}
			err := m.Begin(WithPatience(ctx, patience))
			if patience == 0 && !errors.Is(err, context.Canceled) || patience > 0 && !errors.Is(err, errImpatient) {
				t.Errorf("began: %v", err)
			}
			select {
			case <-seen:
			default:
				t.Error("no second answer was waited for")
			}
			if refused.Hits() != 1 {
				t.Error("the first question was not refused")
			}
		})
	}
}

// If a new membership cannot end the transaction that the previous one has left open, it has not
// begun. Otherwise a reader that waits for the last open transaction would wait until the
// transaction times out.
func TestBeginningEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 20, 5)
	m := newMember(t, c, nil)
	if err := m.transaction(t, false); err != nil {
		t.Fatal(err)
	}
	open := func() int64 {
		stable, err := kadm.NewClient(cl).ListCommittedOffsets(limited(t), "out")
		if err != nil {
			t.Fatal(err)
		}
		end, err := kadm.NewClient(cl).ListEndOffsets(limited(t), "out")
		if err != nil {
			t.Fatal(err)
		}
		s, _ := stable.Lookup("out", 0)
		e, _ := end.Lookup("out", 0)
		return e.Offset - s.Offset
	}
	if err := m.Flush(limited(t)); err != nil {
		t.Fatal(err)
	}
	if open() != 5 {
		t.Fatalf("%d records are in an open transaction, want 5", open())
	}
	m.Leave() // with an open transaction, as if the brokers were unreachable at its end
	m.join(t)
	refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.RequestTimedOut})
	if err := m.Begin(limited(t)); !errors.Is(err, kerr.RequestTimedOut) || Final(err) || refused.Hits() != 1 {
		t.Errorf("began: %v, with %d refusals", err, refused.Hits())
	}
	if err := m.Begin(limited(t)); err != nil {
		t.Error(err)
	}
	if open() != 0 {
		t.Errorf("%d records are still in an open transaction", open())
	}
}

// After a failure, nothing is waited for that would still have to be written, however much it is.
func TestNothingIsLearntAfterAFailure(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "in", "out"))
	s := asking(t, c)
	lost := errors.New("lost")
	s.failed.Store(&lost)
	questions := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Observe: true, When: asksFor("missing")})
	for range 1000 {
		s.Produce(limited(t), &kgo.Record{Topic: "missing"})
	}
	if s.failure() != lost || questions.Hits() > 0 || s.client.BufferedProduceRecords() > 0 {
		t.Errorf("%v, %d questions, %d records are in the buffer", s.failure(), questions.Hits(),
			s.client.BufferedProduceRecords())
	}
}

// A member that was removed from the group does not know its partitions until it has joined again.
// A stream that has read everything must wait for that and must not end without its partitions.
func TestThrownOutAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, delivery := range []string{"", atLeastOnce} {
		t.Run("delivery "+delivery, func(t *testing.T) {
			t.Parallel()
			c, cl := streamCluster(t)
			fill(t, cl, "in", 0, 20, 5)
			fill(t, cl, "in", 1, 40, 5)
			m := newMember(t, c, func(s *StreamConfig) { s.Sink.Delivery = delivery })
			m.all(t)
			before := m.Owned()
			if len(before) != 2 || !m.Finished() {
				t.Fatalf("it has %v, finished %v", before, m.Finished())
			}
			_, release := hold(t, c, kmsg.JoinGroup, func(kmsg.Request) bool { return true })
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.UnknownMemberID})
			eventually.True(t, "the member is thrown out", func() bool { return len(m.Owned()) == 0 })
			if m.Settled() || m.Finished() {
				t.Errorf("settled %v, finished %v without partitions", m.Settled(), m.Finished())
			}
			release()
			m.all(t)
			after := m.Owned()
			if len(after) != 2 || after[in0] == before[in0] || after[in1] == before[in1] || !m.Settled() {
				t.Errorf("it had %v and has %v, settled %v", before, after, m.Settled())
			}
			same(t, "released", append(lines(t, c, "out", 0), lines(t, c, "out", 1)...),
				append(wantedLines(20, 5), wantedLines(40, 5)...))
		})
	}
}
