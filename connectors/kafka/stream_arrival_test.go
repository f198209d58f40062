package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Offsets that were removed before they were read are counted once, however they are noticed; gaps
// behind the first record are those of compaction. An aborted transaction counts nothing.
func TestRemovedRecordsAreCounted(t *testing.T) {
	t.Parallel()
	s := offline()
	p := Partition{Topic: "in", Number: 1}
	want := func(what string, passed, ahead int64) {
		t.Helper()
		if a, b := s.Lost(p); a != passed || b != ahead {
			t.Errorf("%s: %d passed and %d ahead, want %d and %d", what, a, b, passed, ahead)
		}
	}
	s.at[p] = 10
	s.arrived(p, Arrival{Next: 10, First: 3, TopicID: "a"})
	want("nothing is removed", 0, 0)
	s.passOver(p, 14, 3)
	want("compacted", 0, 0)
	s.at[p] = 20
	s.removed(p, 26)
	s.removed(p, 26)
	want("removed, and not passed", 0, 6)
	s.passOver(p, 20, 3) // what was fetched before is still read
	s.at[p] = 24
	want("some was read all the same", 0, 2)
	s.passOver(p, 30, 27)
	s.at[p] = 31
	want("passed", 3, 0)
	s.committed, s.lostBefore = maps.Clone(s.at), maps.Clone(s.lost)
	s.passOver(p, 40, 40)
	s.at[p] = 41
	want("in the open transaction", 12, 0)
	s.at, s.lost = maps.Clone(s.committed), maps.Clone(s.lostBefore)
	want("aborted", 3, 9)
	s.arrived(p, Arrival{Next: 31, First: 40})
	want("entered again", 0, 9)
}

// What the brokers say of a partition is what Enter gets: offsets, id, and whether records were read up
// to the group's offset.
func TestArrivals(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fillWith(t, cl, 0, 0, 30)
	m := newMember(t, c, nil)
	m.all(t)
	if err := c.DeleteRecords("in", 0, 12); err != nil {
		t.Fatal(err)
	}
	zero, one := Partition{Topic: "in", Number: 0}, Partition{Topic: "in", Number: 1}
	got, err := GroupArrivals(limited(t), m.config.Source, "p", m.config.Log)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if a := got[zero]; a.Next != 30 || a.First != 12 || a.End != 30 || !a.Reached || a.TopicID == "" {
		t.Errorf("read: %+v", a)
	}
	if a := got[one]; a.Next != 0 || a.First != 0 || a.End != 0 || a.Reached || a.TopicID != got[zero].TopicID {
		t.Errorf("not read: %+v", a)
	}
	admin := kadm.NewClient(cl)
	if end, known := epochEnd(limited(t), admin, zero, 0); !known || end != 30 {
		t.Errorf("the end of the epoch is %d, %v", end, known)
	}
	if _, known := epochEnd(limited(t), admin, zero, -1); known {
		t.Error("an unknown epoch has an end")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, known := epochEnd(ended, admin, zero, 0); known {
		t.Error("without an answer there is an end")
	}
}

// A topic that is made again while it is read is noticed when it is looked at, and by what the brokers
// answer.
func TestTopicsAreLookedAt(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fillWith(t, cl, 0, 0, 3)
	m := newMember(t, c, nil)
	m.all(t)
	look := func() error {
		m.lookedAt = time.Now().Add(-2 * lookEvery)
		return m.look(limited(t))
	}
	if err := look(); err != nil {
		t.Fatal(err)
	}
	m.watch.lag = map[Partition]int64{}
	fillWith(t, cl, 1, 0, 4)
	if err := look(); err != nil ||
		m.watch.lag[Partition{Topic: "in", Number: 1}] != 4-m.at[Partition{Topic: "in", Number: 1}] {
		t.Errorf("%v, lag %v", err, m.watch.lag)
	}
	admin := kadm.NewClient(cl)
	if _, err := admin.DeleteTopics(t.Context(), "in"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateTopic(t.Context(), 2, 1, nil, "in"); err != nil {
		t.Fatal(err)
	}
	if err := m.look(limited(t)); err != nil {
		t.Errorf("it is looked at too often: %v", err)
	}
	if err := look(); !errors.Is(err, errAnew) || Final(err) {
		t.Errorf("made again: %v", err)
	}
	for _, err := range []error{kerr.UnknownTopicID, kerr.InconsistentTopicID, &kgo.ErrDataLoss{}} {
		if got := m.interrupted(kgo.FetchError{Topic: "in", Err: err}); !errors.Is(got, errAnew) {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// The first start of a group with `latest` commits the ends of all partitions, those without records
// included. Later starts, and those of a group with members, commit nothing.
func TestLatestIsPinnedOnce(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fillWith(t, cl, 0, 0, 5)
	at := func() string {
		got, err := committed(limited(t), kadm.NewClient(cl), asking(t, c).config.Log, "g")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(got)
	}
	open := func(start string) {
		t.Helper()
		source := sourceOf(c, "in")
		source.Group, source.Start = "g", start
		s, err := OpenStream(limited(t), StreamConfig{Name: "p", Source: source, Sink: sinkOf(c, "out")})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	if open(earliest); at() != "map[]" {
		t.Errorf("earliest: %s", at())
	}
	first := fmt.Sprint(map[Partition]int64{{Topic: "in", Number: 0}: 5, {Topic: "in", Number: 1}: 0})
	if open(latest); at() != first {
		t.Errorf("the first start: %s, want %s", at(), first)
	}
	fillWith(t, cl, 1, 0, 3)
	if open(latest); at() != first {
		t.Errorf("the second start: %s", at())
	}
	for _, err := range []*kerr.Error{kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.RebalanceInProgress} {
		fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: err, Count: -1})
		source := sourceOf(c, "in")
		source.Group, source.Start = "h", latest
		s, got := OpenStream(limited(t), StreamConfig{Name: "p", Source: source, Sink: sinkOf(c, "out")})
		if got != nil {
			t.Errorf("%v: %v", err, got)
		} else {
			s.Close()
		}
		fault.Remove()
	}
}
