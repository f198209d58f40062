package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The state of partitions is read from all their homes. Removed entries, and entries of aborted
// transactions, are not returned.
func TestStatesAreRead(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if err := c.CreateTopic("g-state", 3, map[string]string{"cleanup.policy": "compact"}); err != nil {
		t.Fatal(err)
	}
	s := asking(t, c)
	s.statePartitions = 3
	cl := newClient(t, c)
	put := func(n int32, entry, value string) {
		t.Helper()
		var bytes []byte
		if value != "" {
			bytes = []byte(value)
		}
		s.PutState(limited(t), Partition{Topic: "in", Number: n}, entry, bytes)
		if err := s.Flush(limited(t)); err != nil {
			t.Fatal(err)
		}
	}
	get := func(of ...Partition) string {
		t.Helper()
		states, err := s.states(limited(t), of)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%q", states)
	}
	in4 := Partition{Topic: "in", Number: 4} // stored at the home of in/1
	if got := get(in0, in1); got != "map[]" {
		t.Errorf("before anything is kept: %s", got)
	}
	put(0, "a", "1")
	put(0, "b", "2")
	put(0, "a", "3")
	put(0, "b", "")
	put(1, "a", "4")
	put(4, "a", "5")
	put(4, "a", "")
	put(4, "c", "6")
	if got, want := get(in0), `map["in/0":map["a":"3"]]`; got != want {
		t.Errorf("of in/0: %s, want %s", got, want)
	}
	if got, want := get(in1), `map["in/1":map["a":"4"] "in/4":map["c":"6"]]`; got != want {
		t.Errorf("of in/1 and its neighbours: %s, want %s", got, want)
	}
	all := `map["in/0":map["a":"3"] "in/1":map["a":"4"] "in/4":map["c":"6"]]`
	if got := get(in0, in1, in4); got != all {
		t.Errorf("of all: %s, want %s", got, all)
	}
	// The reader waits for an open transaction; if it is aborted, its entries are dropped.
	open := newClient(t, c, kgo.TransactionalID("open"))
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	of := StateOf{"p", in0}
	if err := open.ProduceSync(limited(t),
		&kgo.Record{Topic: "g-state", Partition: of.home(3), Key: of.key("a"), Value: []byte("lost")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(cl)
	starts, ends, err := bounds(limited(t), admin, "g-state")
	if err != nil || starts[of.home(3)] != 0 || ends[of.home(3)] != 5 || len(ends) != 3 || len(starts) != 3 {
		t.Fatalf("bounds %v, %v, %v", starts, ends, err)
	}
	left := map[int32]int64{of.home(3): 4}
	if stable(limited(t), admin, "g-state", left, ends) {
		t.Error("the records of an open transaction count as stable")
	}
	read := make(chan string)
	go func() {
		states, err := s.states(context.WithoutCancel(t.Context()), []Partition{in0})
		read <- fmt.Sprintf("%q %v", states, err)
	}()
	if err := open.EndTransaction(limited(t), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	if got, want := <-read, `map["in/0":map["a":"3"]] <nil>`; got != want {
		t.Errorf("after an abort: %s, want %s", got, want)
	}
	if !stable(limited(t), admin, "g-state", left, ends) {
		t.Error("no transaction is open")
	}
	if stable(limited(t), admin, "g-state", map[int32]int64{7: 0}, ends) ||
		stable(limited(t), admin, "missing", left, ends) {
		t.Error("an unknown offset counts as stable")
	}
	// Compaction leaves an empty end; the remaining entries are still read.
	put(0, "a", "7")
	put(0, "a", "")
	if states, err := ReadStates(limited(t), s.config.Source, "p", zerolog.Nop()); err != nil ||
		fmt.Sprintf("%q", states) != `map["in/0":map[] "in/1":map["a":"4"] "in/4":map["c":"6"]]` {
		t.Errorf("all states: %q, %v", states, err)
	}
	cancelled, cancel := context.WithCancel(limited(t))
	cancel()
	if _, err := s.states(cancelled, []Partition{in0}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// If a state cannot be read, the result is an error with an explanation.
func TestStatesAreRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "g-state"))
	source := &SourceConfig{Connection: connection(c), Group: "g"}
	missing := &SourceConfig{Connection: connection(c), Group: "h"}
	if _, err := ReadStates(limited(t), missing, "p", zerolog.Nop()); !Final(err) ||
		err.Error() != `the consumer group "h" has kept no assessment: the topic "h-state" does not exist` {
		t.Errorf("no topic: %v", err)
	}
	if got, err := ReadStates(limited(t), source, "p", zerolog.Nop()); err != nil || len(got) > 0 {
		t.Errorf("an empty topic: %v, %v", got, err)
	}
	if _, err := ReadStates(limited(t), &SourceConfig{}, "p", zerolog.Nop()); !Final(err) {
		t.Errorf("no brokers: %v", err)
	}
	fill(t, newClient(t, c), "g-state", 0, 0, 1)
	for _, key := range []kmsg.Key{kmsg.ListOffsets, kmsg.Fetch} {
		fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: kerr.TopicAuthorizationFailed, Count: -1})
		if _, err := ReadStates(limited(t), source, "p", zerolog.Nop()); !Final(err) ||
			!errors.Is(err, kerr.TopicAuthorizationFailed) {
			t.Errorf("%s is refused: %v", kmsg.NameForKey(int16(key)), err)
		}
		if key == kmsg.ListOffsets && stable(limited(t), kadm.NewClient(newClient(t, c)), "g-state", nil, nil) {
			t.Error("it counts as stable without an answer")
		}
		fault.Remove()
	}
}

// A read-only caller does not create the state topic, and refuses one that deletes entries.
func TestStateTopicIsLookedFor(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	admin := kadm.NewClient(newClient(t, c))
	s := asking(t, c)
	s.config.Look = true
	if n, err := s.prepareState(limited(t), admin, 2); n != 0 || err != nil {
		t.Errorf("it is missing: %d, %v", n, err)
	}
	s.config.Look = false
	if n, err := s.prepareState(limited(t), admin, 2); n != 2 || err != nil {
		t.Errorf("it is made: %d, %v", n, err)
	}
	s.config.Look = true
	if n, err := s.prepareState(limited(t), admin, 5); n != 2 || err != nil {
		t.Errorf("it is found: %d, %v", n, err)
	}
	forgets := "delete"
	if _, err := admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "cleanup.policy", Value: &forgets}},
		"g-state"); err != nil {
		t.Fatal(err)
	}
	for _, look := range []bool{true, false} {
		s.config.Look = look
		if _, err := s.prepareState(limited(t), admin, 2); !Final(err) || !strings.Contains(err.Error(), "got delete") {
			t.Errorf("it forgets, and is only looked at %v: %v", look, err)
		}
	}
	s.config.Look = true
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Err: kerr.TopicAuthorizationFailed, Topic: "g-state", Count: -1})
	if n, err := s.prepareState(limited(t), kadm.NewClient(newClient(t, c)), 2); n != 0 || err != nil {
		t.Errorf("it may not be read: %d, %v", n, err)
	}
}
