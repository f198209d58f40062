package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// The lag is reported for newly assigned partitions only: from the first offset to read to the end
// of the committed records. It is never negative.
func TestLagIsTold(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(3, "in"), kfake.SeedTopics(1, "too", "other"))
	cl := newClient(t, c)
	for n, records := range []int{10, 4, 7} {
		fill(t, cl, "in", int32(n), 0, records)
	}
	fill(t, cl, "too", 0, 0, 3)
	open := newClient(t, c, kgo.TransactionalID("open"))
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	fill(t, open, "in", 0, 10, 5)
	s := asking(t, c)
	watch := &observer{lag: map[Partition]int64{}}
	s.config.Watch = watch
	in2, too := Partition{Topic: "in", Number: 2}, Partition{Topic: "too"}
	s.at[in0], s.at[in1], s.at[in2], s.at[too] = 6, 5, 0, 1
	questions := c.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
			return slices.ContainsFunc(r.(*kmsg.ListOffsetsRequest).Topics, func(t kmsg.ListOffsetsRequestTopic) bool {
				return t.Topic != "in" && t.Topic != "too"
			})
		}})
	s.watchLag(limited(t), []Partition{in0, in1, too})
	if want := (map[Partition]int64{in0: 4, in1: 0, too: 2}); !maps.Equal(watch.lag, want) {
		t.Errorf("reported %v, want %v", watch.lag, want)
	}
	if questions.Hits() > 0 {
		t.Error("topics of other members were asked for")
	}
	watch.lag = map[Partition]int64{}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if s.watchLag(ended, []Partition{in0}); len(watch.lag) > 0 {
		t.Errorf("reported %v without an answer", watch.lag)
	}
	s.config.Watch = nil
	s.watchLag(limited(t), []Partition{in0})
}

// A fetch from a leader returns committed records only: aborted records do not count, and records
// of an open transaction are not returned.
func TestFetchOfATail(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "a"))
	fill(t, newClient(t, c), "a", 0, 0, 4)
	transaction(t, c, "a", 0, 4, 2, kgo.TryAbort) // offsets 4 and 5, marker at 6
	open := newClient(t, c, kgo.TransactionalID("open"))
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	fill(t, open, "a", 0, 7, 5)
	s := asking(t, c)
	admin := kadm.NewClient(s.client)
	details, err := admin.ListTopics(limited(t), "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		partition     int32
		at, next      int64
		records, last int64
	}{{0, 0, 0, 5, 7}, {0, 3, 3, 2, 7}, {0, 4, 6, 1, 7}, {0, 6, 6, 1, 7}, {0, 7, 7, 0, 7}, {1, 0, 0, 0, 0}} {
		p := Partition{Topic: "a", Number: test.partition}
		next, got,
			err := tails{s.client, admin, zerolog.Nop()}.fetch(limited(t), p, details["a"].Partitions[test.partition].Leader,
			details["a"].ID, test.at)
		if err != nil || got.Err != nil || next != test.next || int64(len(got.Records)) != test.records ||
			got.LastStableOffset != test.last {
			t.Errorf("%s from %d: next %d, %d records, stable to %d, %v, %v; want %d, %d, %d", p, test.at, next,
				len(got.Records), got.LastStableOffset, err, got.Err, test.next, test.records, test.last)
		}
	}
}

// If a broker closes the connection several times in a row, the error is final (probably the wrong
// port or protocol). Any other answer in between restarts the count, except the other form of a
// closed connection (a reset).
func TestRebuffsAreCounted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers []error // the last one repeats
		calls   int
	}{
		"closed":           {[]error{io.EOF}, 6},
		"closed and reset": {[]error{io.EOF, fmt.Errorf("read: %w", syscall.ECONNRESET), fmt.Errorf("read: %w", io.EOF)}, 7},
		"closed, refused":  {[]error{io.EOF, syscall.ECONNREFUSED, io.EOF}, 8},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			err := greet(t.Context(), zerolog.Nop(), "asking", func(context.Context) error {
				calls++
				return test.answers[min(calls, len(test.answers))-1]
			})
			if calls != test.calls || !Final(err) || !errors.Is(err, io.EOF) ||
				!strings.HasPrefix(err.Error(), "asking: brokers close the connection at once") {
				t.Errorf("%s: after %d calls: %v; want %d", name, calls, err, test.calls)
			}
		})
	}
}

// If a registry cannot be opened as configured, that is an error of the source. The connections of
// both registries are closed with the stream.
func TestRegistriesOfAStream(t *testing.T) {
	t.Parallel()
	s := offline()
	if _, err := s.Source(t.Context(),
		&SourceConfig{Registry: &registry.Config{URL: "http://localhost:1", CA: "/gone"}}); err == nil || s.registry != nil {
		t.Errorf("a registry without its certificate: %v", err)
	}
	var closed atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	for i, into := range []**registry.Client{&s.registry, &s.released} {
		client, err := registry.New(&registry.Config{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Latest(limited(t), fmt.Sprint("subject-", i)); err == nil {
			t.Fatal("there is no such subject")
		}
		*into = client
	}
	if n := closed.Load(); n != 0 {
		t.Fatalf("%d connections are closed before the stream is", n)
	}
	s.Close()
	eventually.True(t, "both registries' connections are closed", func() bool { return closed.Load() == 2 })
}

// If the client cannot be created, joining returns an error.
func TestJoiningWithoutAClient(t *testing.T) {
	for _, delivery := range []string{"", atLeastOnce} {
		for what, change := range map[string]func(*SourceConfig){
			"options":   func(c *SourceConfig) { c.tuning = []kgo.Opt{kgo.MaxBufferedRecords(0)} },
			"settings":  func(c *SourceConfig) { c.Brokers = nil },
			"beginning": func(c *SourceConfig) { c.Start = "some day" },
		} {
			s := offline()
			s.config.Sink.Delivery = delivery
			s.config.Source.Connection = Connection{Brokers: []string{"127.0.0.1:1"}}
			change(s.config.Source)
			if err := s.Join(nil, false); err == nil {
				t.Errorf("%s, delivery %q: it has joined", what, delivery)
				s.Leave()
			}
		}
	}
}

// Two processes with the same instance name are detected at the end of a transaction as well as at
// a message.
func TestRivalAtTheEnd(t *testing.T) {
	t.Parallel()
	for n, final := range map[int]bool{rivals - 1: true, rivals - 2: false} {
		c, cl := streamCluster(t)
		fill(t, cl, "in", 0, 20, 5)
		m := newMember(t, c, func(s *StreamConfig) { s.Source.Instance = "a" })
		if err := m.transaction(t, false); err != nil {
			t.Fatal(err)
		}
		for range n {
			m.rivalries = append(m.rivalries, began.Add(time.Duration(m.begunAt.Load()-1)))
		}
		refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.ProducerFenced})
		committed, err := m.End(limited(t), true)
		if committed || !errors.Is(err, kerr.ProducerFenced) || Final(err) != final || final &&
			!strings.Contains(err.Error(), "same `instance`") || refused.Hits() == 0 {
			t.Errorf("after %d: committed %v, %v", n, committed, err)
		}
	}
}

// A transaction that takes longer than its timeout is ended by the brokers. The next membership has twice the
// time, up to what a release has, and the last that the brokers allow.
func TestLateTransactionsGetMoreTime(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 20, 5)
	asked := make(chan time.Duration, 100)
	c.ControlKey(int16(kmsg.InitProducerID), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if request := r.(*kmsg.InitProducerIDRequest); request.TransactionalID != nil {
			asked <- time.Duration(request.TransactionTimeoutMillis) * time.Millisecond
		}
		return nil, nil, false
	})
	const shortest = 18 * time.Second // 15 s and three intervals
	m := newMember(t, c, nil)
	// ends ends a transaction by the brokers after so long, and returns the timeout that it had.
	ends := func(took time.Duration, key kmsg.Key, err *kerr.Error) (timeout time.Duration) {
		t.Helper()
		if err := m.transaction(t, false); err != nil {
			t.Fatal(err)
		}
		for len(asked) > 0 {
			timeout = <-asked
		}
		m.begunAt.Add(-int64(took))
		refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: err})
		if committed, err := m.End(limited(t), true); committed || err == nil || Final(err) || refused.Hits() == 0 {
			t.Errorf("after %v: committed %v, %v", took, committed, err)
		}
		m.Leave()
		m.join(t)
		return timeout
	}
	for _, step := range []struct {
		took, want time.Duration
		key        kmsg.Key
		err        *kerr.Error
	}{
		{shortest - 5*time.Second, shortest, kmsg.EndTxn, kerr.ProducerFenced},
		{shortest, shortest, kmsg.EndTxn, kerr.InvalidTxnState},
		{shortest, shortest, kmsg.EndTxn, kerr.ProducerFenced},
		{shortest, 2 * shortest, kmsg.EndTxn, kerr.ProducerFenced},
		{2 * shortest, 2 * shortest, kmsg.EndTxn, kerr.InvalidProducerEpoch},
	} {
		if got := ends(step.took, step.key, step.err); got != step.want {
			t.Errorf("a timeout of %v, want %v", got, step.want)
		}
	}
	m.doubled.Store(6)
	m.late.Store(true)
	m.lengthen()
	if got := m.transactionTimeout(); got != releaseTimeout || m.doubled.Load() != 6 {
		t.Errorf("a timeout of %v after %d late transactions", got, m.doubled.Load())
	}
	// The brokers allow no longer one: the next membership has the last that they allowed.
	m.doubled.Store(2)
	refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.InvalidTransactionTimeout})
	if err := m.Begin(limited(t)); !errors.Is(err, errShort) || Final(err) || refused.Hits() == 0 {
		t.Errorf("too long a timeout: %v", err)
	}
	m.Leave()
	m.join(t)
	for len(asked) > 0 {
		<-asked
	}
	if err := m.transaction(t, true); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; got != 2*shortest {
		t.Errorf("after the brokers have refused it: a timeout of %v", got)
	}
	// A timeout that the configuration asks for is refused for good.
	m.Leave()
	m.doubled.Store(0)
	m.join(t)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, Err: kerr.InvalidTransactionTimeout})
	if err := m.Begin(limited(t)); !Final(err) {
		t.Errorf("the configuration's timeout is too long: %v", err)
	}
}

// Finish returns an error if the brokers have not acknowledged the release in time.
func TestSinkIsNotFinished(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "in", "out"))
	fill(t, newClient(t, c), "in", 0, 0, 3)
	seen, release := hold(t, c, kmsg.Produce, func(kmsg.Request) bool { return true })
	sink := writeHeld(t, c)
	<-seen
	cancelled, cancel := context.WithCancel(limited(t))
	cancel()
	if err := sink.Finish(cancelled); !errors.Is(err, context.Canceled) || Final(err) ||
		!strings.HasPrefix(err.Error(), "writing to out: ") {
		t.Errorf("cancelled: %v", err)
	}
	if err := sink.Finish(WithPatience(limited(t), 50*time.Millisecond)); !errors.Is(err, errImpatient) {
		t.Errorf("out of patience: %v", err)
	}
	release()
	if err := sink.Finish(limited(t)); err != nil {
		t.Error(err)
	}
}

// writeHeld returns a sink to which all records of "in" have been written.
func writeHeld(t *testing.T, c *kfake.Cluster) connectors.Sink {
	t.Helper()
	src := open(t, sourceOf(c, "in"))
	layout := layoutOf(src.Schema())
	sink, err := sinkOf(c, "out").Create(limited(t), connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sink.Abort() })
	r, err := src.Read(limited(t), layout, connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		raw, err := r.Next(limited(t))
		if errors.Is(err, io.EOF) {
			return sink
		}
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			t.Fatal(err)
		}
		e, err := sink.Encode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(limited(t), e); err != nil {
			t.Fatal(err)
		}
	}
}

// A topic may have as many partitions as a stream's number can distinguish, and no more.
func TestWidestTopic(t *testing.T) {
	t.Parallel()
	for n, fits := range map[int]bool{1 << 16: true, 1<<16 + 1: false} {
		c := newCluster(t)
		c.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
			if !asksFor("wide")(r) {
				return nil, nil, false
			}
			c.KeepControl()
			answer := r.ResponseKind().(*kmsg.MetadataResponse)
			name := "wide"
			topic := kmsg.NewMetadataResponseTopic()
			topic.Topic, topic.TopicID = &name, [16]byte{1}
			topic.Partitions = make([]kmsg.MetadataResponseTopicPartition, n)
			for i := range topic.Partitions {
				topic.Partitions[i].Partition = int32(i)
			}
			answer.Topics = append(answer.Topics, topic)
			return answer, nil, true
		})
		topics, err := describe(limited(t), kadm.NewClient(newClient(t, c)), zerolog.Nop(), []string{"wide"})
		switch {
		case fits && (err != nil || len(topics) != 1 || topics[0].partitions != int32(n)):
			t.Errorf("%d partitions: %v, %v", n, topics, err)
		case !fits &&
			(!Final(err) || err.Error() != `the topic "wide" has 65537 partitions, and at most 65536 are supported`):
			t.Errorf("%d partitions: %v", n, err)
		}
	}
}
