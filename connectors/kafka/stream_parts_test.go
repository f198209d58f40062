package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
)

var (
	in0 = Partition{Topic: "in", Number: 0}
	in1 = Partition{Topic: "in", Number: 1}
)

// offline returns a stream that has joined, without brokers.
func offline() *Stream {
	s := &Stream{
		config: StreamConfig{
			Name: "p", Source: &SourceConfig{Group: "g", Topics: []string{"in"}}, Sink: &SinkConfig{Topic: "out"},
			Commit: Commit{Interval: connectors.Duration(time.Second), Records: 100}, Due: func() bool { return false },
			Watch: &observer{lag: map[Partition]int64{}}, Log: zerolog.Nop(),
		},
		owned: map[Partition]int{}, entered: map[Partition]int{}, at: map[Partition]int64{}, committed: map[Partition]int64{},
		failed: new(atomic.Pointer[error]), refused: new(refusals).anew(), pending: map[Partition][]*kgo.Record{},
		lastLook: map[Partition]int64{}, notePartitions: map[string]int32{},
	}
	s.arriving()
	s.draining, s.drain = context.WithCancel(context.Background())
	return s
}

// A transaction lasts for the longer of the interval and the linger. The brokers' timeout is three
// times that plus one session.
func TestTimesOfATransaction(t *testing.T) {
	for _, c := range []struct{ interval, linger, want time.Duration }{
		{time.Second, 0, time.Second}, {time.Second, 4 * time.Second, 4 * time.Second},
		{6 * time.Second, 4 * time.Second, 6 * time.Second},
	} {
		s := offline()
		s.config.Commit.Interval, s.config.Linger = connectors.Duration(c.interval), c.linger
		if got := s.interval(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		if got, want := s.transactionTimeout(), 15*time.Second+3*c.want; got != want {
			t.Errorf("%+v: the brokers wait %v, want %v", c, got, want)
		}
	}
	s := offline()
	s.config.Sink.Compression = "zstd"
	if got := s.compression(); got != "zstd" {
		t.Errorf("compression %q", got)
	}
	if s.config.Sink = nil; s.compression() != "" {
		t.Error("where nothing is released there is no compression")
	}
}

// Each reason to end a transaction is sufficient, and none ends a transaction too early.
func TestTransactionIsOver(t *testing.T) {
	settled := func(s *Stream) { s.assignedAt = time.Now() }
	for _, c := range []struct {
		what   string
		change func(s *Stream)
		want   bool
	}{
		{"nothing", func(*Stream) {}, false},
		{"records have come", func(s *Stream) { s.touched, s.polled, s.deadline = true, 99, time.Now().Add(time.Hour) },
			false},
		{"enough records", func(s *Stream) { s.touched, s.polled = true, 100 }, true},
		{"its time is up", func(s *Stream) { s.touched, s.deadline = true, time.Now().Add(-time.Second) }, true},
		{"the caller wants it", func(s *Stream) { s.config.Due = func() bool { return true } }, true},
		{"a rebalance waits, and it is empty", func(s *Stream) { s.blocked.Store(true) }, false},
		{"a rebalance waits", func(s *Stream) { s.touched = true; s.blocked.Store(true) }, true},
		{"draining, and it is empty, and the group has not said what this member has", func(s *Stream) { s.Drain() }, false},
		{"draining, and it is empty", func(s *Stream) { settled(s); s.Drain() }, true},
		{"draining, and the group has not said what this member has", func(s *Stream) { s.touched = true; s.Drain() }, true},
		{"draining for long", func(s *Stream) { s.Drain(); s.drainedAt.Add(-int64(settlePatience)) }, true},
		{"settled", settled, false},
		{"the end of all partitions", func(s *Stream) {
			settled(s)
			s.ends, s.at = map[Partition]int64{in0: 5, in1: 0}, map[Partition]int64{in0: 5}
		}, true},
		{"not yet the end of the last one", func(s *Stream) {
			settled(s)
			s.ends, s.at = map[Partition]int64{in0: 5, in1: 3}, map[Partition]int64{in0: 5, in1: 2}
		}, false},
		{"not yet the end of the first one", func(s *Stream) {
			settled(s)
			s.ends, s.at = map[Partition]int64{in0: 5, in1: 3}, map[Partition]int64{in0: 4, in1: 3}
		}, false},
		{"the end, before the group has said what this member has", func(s *Stream) {
			s.ends = map[Partition]int64{}
		}, false},
	} {
		s := offline()
		c.change(s)
		if got := s.over(); got != c.want {
			t.Errorf("%s: over is %v", c.what, got)
		}
	}
}

// Only the first call of Drain sets the time.
func TestDrainTwice(t *testing.T) {
	s := offline()
	s.Drain()
	s.drainedAt.Store(1)
	if s.Drain(); s.drainedAt.Load() != 1 || !s.Drained() {
		t.Errorf("the second call counts: %d", s.drainedAt.Load())
	}
}

// After reset a transaction contains nothing of the previous one.
func TestResetForgets(t *testing.T) {
	s := offline()
	s.polled, s.touched, s.deadline = 3, true, time.Now()
	s.blocked.Store(true)
	s.pending[in0] = []*kgo.Record{{}}
	s.queue = append(s.queue, newRaw([]*kgo.Record{{}}, nil, false))
	err := errors.New("lost")
	s.failed.Store(&err)
	before := elapsed()
	s.reset()
	if s.Polled() != 0 || s.Touched() || !s.deadline.IsZero() || s.blocked.Load() || len(s.pending) > 0 ||
		len(s.queue) > 0 || s.failure() != nil || s.begunAt.Load() < before {
		t.Errorf("left of it: %d records, touched %v, deadline %v, blocked %v, %d pending, %d queued, %v, begun at %d",
			s.Polled(), s.Touched(), s.deadline, s.blocked.Load(), len(s.pending), len(s.queue), s.failure(), s.begunAt.Load())
	}
}

func numbered(p Partition, from, n int64, markers ...int64) (all []*kgo.Record) {
	for o := from; o < from+n; o++ {
		r := &kgo.Record{Topic: p.Topic, Partition: p.Number, Offset: o}
		if slices.Contains(markers, o) {
			r.Attrs = kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Control: true})
		}
		all = append(all, r)
	}
	return all
}

// runs returns the places of the queued runs.
func (s *Stream) runs() string {
	var all []string
	for _, q := range s.queue {
		r := q.(*raw).records
		all = append(all, fmt.Sprintf("%d:%d-%d(%d)", r[0].Partition, r[0].Offset, r[len(r)-1].Offset, len(r)))
	}
	return strings.Join(all, " ")
}

// Polled records become runs, in order and without markers. A marker at the end still advances the
// position.
func TestTakeCutsRuns(t *testing.T) {
	s := offline()
	s.take(in0, numbered(in0, 10, 3))
	s.take(in1, numbered(in1, 0, 2*runRecords+1))
	s.take(in0, numbered(in0, 13, 4, 13, 16))
	s.take(in0, numbered(in0, 17, 1, 17))
	want := fmt.Sprintf("0:10-12(3) 1:0-%d(%d) 1:%d-%d(%[2]d) 1:%[5]d-%[5]d(1) 0:14-15(2)", runRecords-1, runRecords,
		runRecords, 2*runRecords-1, 2*runRecords)
	if got := s.runs(); got != want {
		t.Errorf("runs %s, want %s", got, want)
	}
	if s.polled != 3+2*runRecords+1+2 || s.at[in0] != 18 || s.at[in1] != 2*runRecords+1 || !s.touched {
		t.Errorf("%d records, at %v, touched %v", s.polled, s.at, s.touched)
	}
	for range 5 {
		if raw, err := s.Next(t.Context()); err != nil || raw == nil {
			t.Fatal(raw, err)
		}
	}
	s.Drain()
	if raw, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after all: %v, %v", raw, err)
	}
}

// A window waits until it is full, in each partition separately. When the transaction ends, the
// remaining records are handed out in the order of the partitions.
func TestTakeCutsWindows(t *testing.T) {
	s := offline()
	s.config.Window = 4
	s.take(in1, numbered(in1, 0, 3))
	s.take(in0, numbered(in0, 0, 9))
	s.take(in1, numbered(in1, 3, 1))
	s.take(in0, numbered(in0, 9, 1))
	if got, want := s.runs(), "0:0-3(4) 0:4-7(4) 1:0-3(4)"; got != want {
		t.Errorf("windows %s, want %s", got, want)
	}
	s.take(in1, numbered(in1, 4, 2))
	s.queue = nil
	if !s.flush() {
		t.Error("nothing is handed out")
	}
	if got, want := s.runs(), "0:8-9(2) 1:4-5(2)"; got != want {
		t.Errorf("the rest %s, want %s", got, want)
	}
	if s.queue = nil; s.flush() || len(s.queue) > 0 {
		t.Error("the rest is handed out twice")
	}
}

// A block of a stream has 4096 records.
func TestTakeCutsAt4096(t *testing.T) {
	s := offline()
	s.take(in0, numbered(in0, 0, 4097))
	if got, want := s.runs(), "0:0-4095(4096) 0:4096-4096(1)"; got != want {
		t.Errorf("runs %s, want %s", got, want)
	}
}

// A window of one record is handed out as a block of one record.
func TestTakeCutsWindowsOfOne(t *testing.T) {
	s := offline()
	s.config.Window = 1
	s.take(in0, numbered(in0, 0, 3, 1))
	if got, want := s.runs(), "0:0-0(1) 0:2-2(1)"; got != want {
		t.Errorf("windows %s, want %s", got, want)
	}
	if s.flush(); len(s.queue) != 2 {
		t.Errorf("windows %s in the end", s.runs())
	}
}

// A poll waits as long as the open transaction lasts. Without an open transaction it waits one
// second, or 250 ms if the stream may be at its end.
func TestPollsWait(t *testing.T) {
	s := offline()
	if got := s.pollWait(); got != time.Second {
		t.Errorf("without an end: %v", got)
	}
	if s.ends = map[Partition]int64{in0: 4}; s.pollWait() != 250*time.Millisecond {
		t.Errorf("with an end: %v", s.pollWait())
	}
	s.deadline = time.Now().Add(time.Hour)
	if got := s.pollWait(); got > time.Hour || got < time.Hour/2 {
		t.Errorf("an hour before its end: %v", got)
	}
	if s.deadline = time.Now().Add(-time.Hour); s.pollWait() != time.Millisecond {
		t.Errorf("an hour after its end: %v", s.pollWait())
	}
}

// Two processes with the same instance name end each other's transactions: the fifth time within a
// minute is an error. Other reasons for the end of a transaction do not count.
func TestRivals(t *testing.T) {
	now := time.Now()
	fenced := fmt.Errorf("x: %w", kerr.ProducerFenced)
	for _, c := range []struct {
		what     string
		instance string
		before   int           // number of earlier fencings
		ago      time.Duration // time since the first of them
		begun    time.Duration // time since the transaction began
		err      error
		want     bool
	}{
		{"the fifth, by its epoch", "i", 4, time.Second, 0, fmt.Errorf("x: %w", kerr.InvalidProducerEpoch), true},
		{"the fifth, fenced", "i", 4, 50 * time.Second, 0, fenced, true},
		{"the fourth", "i", 3, time.Second, 0, fenced, false},
		{"a long while", "i", 4, time.Minute + time.Second, 0, fenced, false},
		{"without a name", "", 4, time.Second, 0, fenced, false},
		{"another error", "i", 4, time.Second, 0, kerr.NotCoordinator, false},
		{"it took too long", "i", 4, 30 * time.Second, 18 * time.Second, fenced, false},
	} {
		s := offline()
		s.config.Source.Instance = c.instance
		for i := range c.before {
			s.rivalries = append(s.rivalries, now.Add(-c.ago+time.Duration(i)))
		}
		s.begunAt.Store(elapsed() - int64(c.begun))
		err := s.rival(c.err)
		if got := err != nil; got != c.want || got &&
			(!Final(err) || !errors.Is(err, c.err) || !strings.Contains(err.Error(), "the same `instance`")) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	// Each transaction counts once, however many errors it has. The last five are kept.
	s := offline()
	s.config.Source.Instance = "i"
	for i := range 9 {
		s.begunAt.Store(elapsed())
		for range 3 {
			if err := s.rival(fenced); (err != nil) != (i >= rivals-1) {
				t.Errorf("the %dth transaction that is ended: %v", i+1, err)
			}
		}
		if got := min(i+1, rivals); len(s.rivalries) != got {
			t.Errorf("%d are remembered after %d", len(s.rivalries), i+1)
		}
		if last := s.rivalries[len(s.rivalries)-1]; last.Before(began.Add(time.Duration(s.begunAt.Load()))) {
			t.Errorf("the last one remembered is not the %dth", i+1)
		}
	}
}

// The first lost message fails the transaction, with an explanation. Fencing by another process is
// reported in every case.
func TestLostMessagesFailATransaction(t *testing.T) {
	r := &kgo.Record{Topic: "out"}
	s := offline()
	if s.onWritten(s.failed)(r, nil); s.failure() != nil {
		t.Error("it was taken")
	}
	s.onWritten(s.failed)(r, errors.New("invalid record partitioning choice of 3 from 2"))
	s.onWritten(s.failed)(r, kerr.TopicAuthorizationFailed)
	if err := s.failure(); !Final(err) ||
		err.Error() !=
			"writing to out: the topic has fewer partitions than the source has now, and a record keeps its partition" {
		t.Errorf("the error is %v", err)
	}
	s = offline()
	s.onWritten(s.failed)(r, kerr.TopicAuthorizationFailed)
	s.onWritten(s.failed)(r, errors.New("later"))
	if err := s.failure(); !Final(err) || !strings.Contains(err.Error(), `may not Write to topic "out"`) {
		t.Errorf("the error is %v", err)
	}
	if _, err := s.Next(t.Context()); err == nil || err != s.failure() {
		t.Errorf("Next returns %v", err)
	}
	s = offline()
	s.config.Source.Instance = "i"
	for i := range rivals {
		s.begunAt.Store(elapsed())
		s.failed.Store(nil)
		s.onWritten(s.failed)(r, kerr.ProducerFenced)
		if err := s.failure(); err == nil || Final(err) != (i == rivals-1) {
			t.Errorf("the %dth: %v", i+1, err)
		}
	}
}

// Errors that a replaced client still reports for its messages do not fail later transactions.
func TestMessagesOfAClientThatWasLeft(t *testing.T) {
	s := offline()
	before := s.failed
	s.failed = new(atomic.Pointer[error])
	if s.onWritten(before)(&kgo.Record{Topic: "out"}, kgo.ErrClientClosed); s.failure() != nil {
		t.Errorf("the next one fails: %v", s.failure())
	}
}

// A member owns the partitions that were assigned and not revoked. The assignment is settled once
// the member has entered all of them, or after one session without news.
func TestAssignments(t *testing.T) {
	s := offline()
	if s.Settled() {
		t.Error("settled before the first assignment")
	}
	s.onAssigned(t.Context(), nil, map[string][]int32{})
	if !s.Settled() {
		t.Error("an empty assignment was reported")
	}
	s.onAssigned(t.Context(), nil, map[string][]int32{"in": {0, 1, 2}, "too": {3}})
	too := Partition{Topic: "too", Number: 3}
	if len(s.owned) != 4 || s.Settled() {
		t.Errorf("it has %v, settled %v", s.owned, s.Settled())
	}
	first := maps.Clone(s.owned)
	s.onRevoked(t.Context(), nil, map[string][]int32{"in": {1, 2}, "too": {3}})
	if len(s.owned) != 1 || s.owned[in0] != first[in0] || s.Settled() {
		t.Errorf("it has %v after %v", s.owned, first)
	}
	s.entered[in0] = s.owned[in0]
	if !s.Settled() {
		t.Error("all is taken up")
	}
	s.onAssigned(t.Context(), nil, map[string][]int32{"too": {3}})
	if s.owned[too] == first[too] || s.Settled() {
		t.Errorf("a new assignment of the same partition differs: %v, then %v", first, s.owned)
	}
	s.assignedAt = time.Now().Add(-sessionTimeout)
	if !s.Settled() {
		t.Error("after a session the assignment is not settled")
	}
	if s.Reenter(); len(s.entered) > 0 {
		t.Errorf("entered are still %v", s.entered)
	}
}

type observerView struct {
	observer
	times int
}

func (o *observerView) Assigned(parts map[string][]int32) { o.times++; o.observer.Assigned(parts) }

// The observer is told of each change of the assignment, in order, also of a change to no
// partition.
func TestObserverIsToldOfChanges(t *testing.T) {
	s, o := offline(), &observerView{}
	s.config.Watch = o
	for i, c := range []struct {
		owned map[Partition]int
		times int
		want  string
	}{
		{map[Partition]int{}, 1, "map[]"}, {map[Partition]int{}, 1, "map[]"},
		{map[Partition]int{in1: 2, in0: 1, {Topic: "a", Number: 7}: 3}, 2, "map[a:[7] in:[0 1]]"},
		{map[Partition]int{in1: 2, in0: 1, {Topic: "a", Number: 7}: 3}, 2, "map[a:[7] in:[0 1]]"},
		{map[Partition]int{in1: 4}, 3, "map[in:[1]]"}, {map[Partition]int{in1: 5}, 4, "map[in:[1]]"},
		{map[Partition]int{}, 5, "map[]"},
	} {
		s.show(c.owned)
		if got := fmt.Sprint(o.assigned); got != c.want || o.times != c.times {
			t.Errorf("%d: %s after %d calls, want %s after %d", i, got, o.times, c.want, c.times)
		}
	}
}

// The position of a transaction in a partition is known if the transaction has read a record there.
func TestPlaceInAPartition(t *testing.T) {
	s := offline()
	s.at, s.committed = map[Partition]int64{in0: 7, in1: 4}, map[Partition]int64{in0: 7, in1: 3}
	for p, want := range map[Partition]string{in0: "7 false", in1: "4 true", {Topic: "other"}: "0 false"} {
		next, ok := s.At(p)
		if got := fmt.Sprint(next, ok); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
	if s.Bounded() || s.Finished() {
		t.Error("it has no end")
	}
	s.assignedAt = time.Now()
	if s.ends = map[Partition]int64{}; !s.Bounded() || !s.Finished() {
		t.Error("it ends at once")
	}
}

// The key of an entry is parsed back into its parts, whatever the entry is called. Anything else is
// ignored.
func TestKeysOfState(t *testing.T) {
	of := StateOf{"p", Partition{Topic: "in", Number: 12}}
	for _, entry := range []string{"", "count", "a\x1fb"} {
		got, name, ok := parseStateKey(of.key(entry))
		if got != of || name != entry || !ok {
			t.Errorf("%q: %v, %q, %v", entry, got, name, ok)
		}
	}
	for _, key := range []string{"", "p", "p\x1fin\x1f12", "p\x1fin\x1ftwelve\x1fx", "p\x1fin\x1f4294967296\x1fx"} {
		if got, _, ok := parseStateKey([]byte(key)); ok {
			t.Errorf("%q is the key of %v", key, got)
		}
	}
	last := StateOf{"p", Partition{Topic: "in", Number: math.MaxInt32}}
	if got, _, ok := parseStateKey(last.key("x")); got != last || !ok {
		t.Errorf("the last partition: %v, %v", got, ok)
	}
	if got, _, ok := parseStateKey([]byte("p\x1fin\x1f2147483648\x1fx")); ok {
		t.Errorf("one more is %v", got)
	}
	// Partitions of a topic have adjacent homes.
	first := StateOf{"p", Partition{Topic: "in"}}.home(7)
	for n := range int32(20) {
		if got, want := (StateOf{"q", Partition{Topic: "in", Number: n}}).home(7), (first+n)%7; got != want {
			t.Errorf("partition %d is at home in %d, want %d", n, got, want)
		}
	}
	homes := map[int32]bool{}
	for i := range 50 {
		homes[StateOf{"p", Partition{Topic: fmt.Sprint("t", i)}}.home(7)] = true
	}
	if len(homes) != 7 {
		t.Errorf("topics are at home in %v alone", homes)
	}
	states := States{}
	for _, r := range []kgo.Record{
		{Key: of.key("a"), Value: []byte("1")}, {Key: of.key("b"), Value: []byte("2")},
		{Key: []byte("no key"), Value: []byte("x")},
		{Key: of.key("a"), Value: []byte("3")}, {Key: of.key("b")}, {Key: of.key("c"), Value: []byte{}},
	} {
		states.put(&r)
	}
	if got := fmt.Sprintf("%q", states); got != `map["in/12":map["a":"3" "c":""]]` {
		t.Errorf("states %s", got)
	}
	if got := (&SourceConfig{}).StateTopic("p") + " " + (&SourceConfig{Group: "g"}).StateTopic("p"); got !=
		"sdlfilter-p-state g-state" {
		t.Errorf("topics %s", got)
	}
}
