package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// step runs one transaction, with or without records. It calls at before each part.
func (m *member) step(t *testing.T, at func(moment string)) {
	t.Helper()
	ctx := limited(t)
	if err := m.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	at("begun")
	for {
		raw, err := m.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		at("read")
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			t.Fatal(err)
		}
		wages := b.Columns[0].Mutable()
		for i := range b.N {
			wages.Values[i] += 1000
		}
		e, err := m.release.Encode(ctx, &b, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.release.Write(ctx, raw, &b, e, false); err != nil {
			t.Fatal(err)
		}
		at("written")
	}
	at("ended")
	if _, err := m.End(ctx, m.Touched()); err != nil {
		t.Fatal(err)
	}
}

// Two members share the partitions, whenever the second one joins and leaves. Each message is
// released once, in order, and both members know when all is done.
func TestMembersShareThePartitions(t *testing.T) {
	t.Parallel()
	for _, comes := range []string{"begun", "read", "written", "ended"} {
		for _, stays := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stays %v", comes, stays), func(t *testing.T) {
				t.Parallel()
				c, cl := streamCluster(t)
				fill(t, cl, "in", 0, 20, 30)
				fill(t, cl, "in", 1, 100, 30)
				few := func(s *StreamConfig) { s.Commit.Records = 4 }
				first := newMember(t, c, few)
				var second *member
				for second == nil {
					first.step(t, func(moment string) {
						if second == nil && moment == comes {
							second = newMember(t, c, few)
						}
					})
				}
				leave := !stays
				for !first.Finished() || second.client != nil && !second.Finished() {
					first.step(t, func(string) {})
					if second.client != nil {
						second.step(t, func(string) {})
					}
					if leave && len(second.entered) > 0 {
						second.Leave()
						second.Leave() // the member has no partition to give up
						if len(second.watch.assigned) > 0 {
							t.Errorf("after it has left it reads %v", second.watch.assigned)
						}
						leave = false
					}
				}
				same(t, "partition 0", lines(t, c, "out", 0), wantedLines(20, 30))
				same(t, "partition 1", lines(t, c, "out", 1), wantedLines(100, 30))
				if at := []int64{groupAt(t, cl, in0), groupAt(t, cl, in1)}; !slices.Equal(at, []int64{30, 30}) {
					t.Errorf("the group is at %v", at)
				}
			})
		}
	}
}

// If a member waits to take partitions, the other ends its open transaction long before its normal
// time, although records keep arriving.
func TestRebalanceEndsATransaction(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	long := func(s *StreamConfig) {
		s.Source.Until, s.Commit.Records, s.Commit.Interval = "", 1_000_000, connectors.Duration(4*time.Minute)
	}
	fill(t, cl, "in", 0, 0, 1)
	first := newMember(t, c, long)
	ctx := limited(t)
	if err := first.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		if _, err := first.Next(ctx); errors.Is(err, io.EOF) {
			if first.Touched() {
				break
			}
			if _, err := first.End(ctx, false); err != nil { // no record has arrived yet
				t.Fatal(err)
			}
			if err := first.Begin(ctx); err != nil {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		if first.Touched() && n > 0 {
			n = -1 << 40
			newMember(t, c, long)
		}
		fill(t, cl, "in", 0, n&0xffff, 1)
	}
	if _, err := first.End(ctx, false); err != nil {
		t.Error(err)
	}
}

// A process with the same instance name takes over. The first process can no longer commit its open
// transaction, and the second one releases these records, once.
func TestInstanceTakesOver(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 20, 30)
	named := func(s *StreamConfig) { s.Source.Instance, s.Commit.Records = "i", 8 }
	first := newMember(t, c, named)
	if err := first.transaction(t, false); err != nil {
		t.Fatal(err)
	}
	first.end(t, true)
	if err := first.transaction(t, false); err != nil {
		t.Fatal(err)
	}
	second := newMember(t, c, named)
	if first.transactional != second.transactional || first.transactional != "g-i" {
		t.Errorf("they write as %q and %q", first.transactional, second.transactional)
	}
	second.step(t, func(string) {}) // the start of the second process ends the first one's transaction
	if committed, err := first.End(limited(t), true); committed {
		t.Errorf("the first has committed, %v", err)
	}
	second.all(t)
	same(t, "released", lines(t, c, "out", 0), wantedLines(20, 30))
}

// A transaction that has lost a record is not committed. If a retry may help, the records are read
// again; otherwise the error is returned.
func TestLostMessagesAreNotCommitted(t *testing.T) {
	t.Parallel()
	for _, delivery := range []string{"", atLeastOnce} {
		t.Run("delivery "+delivery, func(t *testing.T) {
			t.Parallel()
			c, cl := streamCluster(t)
			fill(t, cl, "in", 0, 20, 30)
			m := newMember(t, c, func(s *StreamConfig) { s.Sink.Delivery = delivery })
			for _, lost := range []error{errors.New("a passing state"), &FinalError{Text: "for good"}} {
				if err := m.transaction(t, false); err != nil {
					t.Fatal(err)
				}
				m.failed.Store(&lost)
				committed, err := m.End(limited(t), true)
				if committed || Final(lost) != (err != nil) || err != nil && !errors.Is(err, lost) {
					t.Errorf("%v: committed %v, %v", lost, committed, err)
				}
				if next, read := m.At(in0); next != 0 || read {
					t.Errorf("%v: at %d", lost, next)
				}
				if at := groupAt(t, cl, in0); at != 0 {
					t.Errorf("%v: the group is at %d", lost, at)
				}
				if Final(lost) {
					m.Leave() // an error leaves the result of the commit unknown
					m.join(t)
				}
			}
			// A transaction whose time has ended is not committed either.
			if err := m.transaction(t, false); err != nil {
				t.Fatal(err)
			}
			cancelled, cancel := context.WithCancel(limited(t))
			cancel()
			if committed, err := m.End(cancelled, true); committed || err == nil {
				t.Errorf("cancelled: committed %v, %v", committed, err)
			}
			m.Leave()
			m.join(t)
			m.all(t)
			if delivery == "" {
				same(t, "released", lines(t, c, "out", 0), wantedLines(20, 30))
			} else if got, want := lines(t, c, "out", 0), wantedLines(20, 30); !slices.Equal(got[len(got)-30:], want) {
				t.Errorf("released in the end: %v", got)
			}
		})
	}
}

// If brokers refuse to end a transaction, the error contains the refusal, and does not say that the
// client is stuck.
func TestEndIsRefused(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 20, 5)
	m := newMember(t, c, nil)
	if err := m.transaction(t, false); err != nil {
		t.Fatal(err)
	}
	refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.TransactionalIDAuthorizationFailed})
	committed, err := m.End(limited(t), true)
	if committed || !errors.Is(err, kerr.TransactionalIDAuthorizationFailed) || errors.Is(err, errStuck) ||
		!strings.HasPrefix(err.Error(), "ending a transaction: ") || refused.Hits() == 0 {
		t.Errorf("committed %v, %v, with %d refusals", committed, err, refused.Hits())
	}
	m.Leave()
	m.join(t)
	m.all(t)
	same(t, "released", lines(t, c, "out", 0), wantedLines(20, 5))
}

// Without transactions the offsets are committed. If that fails for a time, the records are read
// again; if it fails for good, the error is returned.
func TestOffsetsAreNotCommitted(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 20, 10)
	m := newMember(t, c, func(s *StreamConfig) { s.Sink.Delivery = atLeastOnce })
	for _, refusal := range []*kerr.Error{kerr.RebalanceInProgress, kerr.GroupAuthorizationFailed} {
		if err := m.transaction(t, false); err != nil {
			t.Fatal(err)
		}
		fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: refusal, Count: -1})
		committed, err := m.End(limited(t), true)
		fault.Remove()
		final := refusal == kerr.GroupAuthorizationFailed
		if committed || final != (err != nil) || final &&
			(!Final(err) || !strings.HasPrefix(err.Error(), "committing offsets: ")) {
			t.Errorf("%v: committed %v, %v", refusal, committed, err)
		}
		if fault.Hits() == 0 {
			t.Fatal("no question was asked")
		}
		if next, read := m.At(in0); next != 0 || read || groupAt(t, cl, in0) != 0 {
			t.Errorf("%v: at %d, read %v, the group at %d", refusal, next, read, groupAt(t, cl, in0))
		}
	}
	m.Leave()
	m.join(t)
	m.all(t)
	want := wantedLines(20, 10)
	same(t, "released", lines(t, c, "out", 0), slices.Concat(want, want, want))
}

// A partition that ends in aborted or deleted records has an end as well.
func TestStreamEndsInAGap(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 20, 5)
	transaction(t, c, "in", 0, 25, 3, kgo.TryAbort)
	transaction(t, c, "in", 1, 100, 3, kgo.TryAbort)
	m := newMember(t, c, nil)
	m.all(t)
	same(t, "partition 0", lines(t, c, "out", 0), wantedLines(20, 5))
	same(t, "partition 1", lines(t, c, "out", 1), nil)
	m.Leave()
	fill(t, cl, "in", 1, 200, 6)
	m = newMember(t, c, nil)
	if err := c.DeleteRecords("in", 1, 10); err != nil { // after it has read the end offsets
		t.Fatal(err)
	}
	m.all(t)
	if len(lines(t, c, "out", 1)) > 6 || !m.Finished() {
		t.Error("more than there was")
	}
}

// If a stream receives a final error, its error says so and names the group.
func TestReadingIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		key  kmsg.Key
		err  *kerr.Error
		want string
	}{
		{kmsg.JoinGroup, kerr.GroupAuthorizationFailed,
			`reading as the consumer group "g": the user may not Read consumer group "g"`},
		{kmsg.JoinGroup, kerr.GroupMaxSizeReached,
			`reading as the consumer group "g": the consumer group has as many members`},
		{kmsg.Fetch, kerr.TopicAuthorizationFailed, `reading in: the user may not Read topic "in"`},
	} {
		c, cl := streamCluster(t)
		fill(t, cl, "in", 0, 20, 5)
		c.Fault(kfake.Fault{Keys: []kmsg.Key{test.key}, Err: test.err, Count: -1})
		m := newMember(t, c, nil)
		if err := m.transaction(t, false); !Final(err) || !errors.Is(err, test.err) ||
			!strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v: %v, want %s", test.err, err, test.want)
		}
		m.Leave()
		if m.Leave(); len(lines(t, c, "out", 0)) > 0 {
			t.Error("something is released")
		}
	}
}

// If the caller returns an error when a partition is entered, the stream returns it, and the
// partition is not entered.
func TestTakingUpFails(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fill(t, cl, "in", 1, 20, 5)
	broken := errors.New("no room")
	entered := []Partition{}
	m := newMember(t, c, func(s *StreamConfig) {
		s.Enter = func(p Partition, _ Arrival, _ map[string][]byte) error {
			if entered = append(entered, p); p == in1 {
				return broken
			}
			return nil
		}
	})
	err := m.transaction(t, false)
	var enter *EnterError
	if !errors.As(err, &enter) || enter.Partition != in1 || !errors.Is(err, broken) ||
		err.Error() != "taking up in/1: no room" {
		t.Errorf("the error is %v", err)
	}
	if !slices.Equal(entered, []Partition{in0, in1}) || m.Settled() {
		t.Errorf("entered %v, settled %v", entered, m.Settled())
	}
}

// Notes report whether they were written. A lost note makes the following ones fail.
func TestNotesAreLost(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "notes"))
	connection := connection(c)
	if n, err := connection.OpenNotes(limited(t), []string{"notes", "missing"}); err == nil {
		n.Close()
		t.Error("a topic is missing")
	}
	if n, err := new(Connection).OpenNotes(limited(t), []string{"notes"}); !Final(err) {
		t.Errorf("no brokers: %v, %v", n, err)
	}
	n, err := connection.OpenNotes(limited(t), []string{"notes", "notes"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := errors.Join(n.Add(limited(t), "notes", []byte("a")), n.Flush(limited(t))); err != nil {
		t.Fatal(err)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	_ = n.Add(limited(t), "notes", []byte("b"))
	for range 2 {
		if err := n.Flush(limited(t)); !Final(err) || !strings.Contains(err.Error(), `may not Write to topic "notes"`) {
			t.Errorf("it is lost: %v", err)
		}
	}
	if err := n.Add(limited(t), "notes", []byte("c")); !Final(err) {
		t.Errorf("after one that is lost: %v", err)
	}
	cancelled, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-cancelled.Done()
	if err := n.Flush(cancelled); err == nil {
		t.Error("cancelled")
	}
	same(t, "notes", lines(t, c, "notes", 0), []string{"=a"})
}
