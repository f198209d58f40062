package kafka

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
)

// Only the given ranges of partitions are read, whatever offsets the group has and whatever records
// have arrived since.
func TestSpans(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "a"))
	cl := newClient(t, c)
	fill(t, cl, "a", 0, 0, 30)
	fill(t, cl, "a", 1, 100, 10)
	part := func(n int32) Partition { return Partition{Topic: "a", Number: n} }
	whole := open(t, sourceOf(c, "a"))
	if err := whole.acknowledge(limited(t)); err != nil {
		t.Fatal(err)
	}
	spans := []connectors.Span{{Partition: part(0), From: 5, End: 8}, {Partition: part(1), From: 9, End: 10}}
	from := sourceOf(c, "a")
	s := open(t, from.withSpans(spans).(*SourceConfig))
	fill(t, cl, "a", 1, 110, 5)
	for range 2 {
		places, _ := readAll(t, s, connectors.Cut{})
		if got, want := fmt.Sprint(places), fmt.Sprint(
			[]place{{"a", streamNumber("a", 0), 5, 5.5}, {"a", streamNumber("a", 0), 6, 6.5},
				{"a", streamNumber("a", 0), 7, 7.5}, {"a", streamNumber("a", 1), 9, 109.5}}); got != want {
			t.Errorf("read %s, want %s", got, want)
		}
	}
	if err := s.acknowledge(limited(t)); err == nil || !strings.Contains(err.Error(), "there is no consumer group") {
		t.Errorf("stretches are committed to the group: %v", err)
	}
	if from.spans != nil {
		t.Error("the configuration itself has stretches")
	}
	none := open(t, from.withSpans(nil).(*SourceConfig))
	if places, _ := readAll(t, none, connectors.Cut{}); len(places) != 0 {
		t.Errorf("read %d records of no stretch", len(places))
	}
	before := kadm.Offsets{}
	before.AddOffset("a", 0, 6, -1)
	if _, err := whole.admin.DeleteRecords(limited(t), before); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		span connectors.Span
		want string
	}{
		{spans[0], "a/0: records from offset 5 on are to be read, and those below 6 have been deleted"},
		{connectors.Span{Partition: part(2), End: 3}, "a/2: is not there any more"},
		{connectors.Span{Partition: part(1), From: 3, End: 16},
			"records up to offset 16 are to be read, and the partition ends at 15"},
	} {
		if _, err := from.withSpans([]connectors.Span{test.span}).Open(limited(t)); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.span, err, test.want)
		}
	}
}

// Since returns the first offset with a time at or after the given one, for each partition
// separately.
func TestSince(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "a"))
	cl := newClient(t, c)
	begin := time.Date(2026, 3, 1, 7, 0, 0, 0, time.UTC)
	for _, minute := range []int{0, 30, 10, 90, 20, 60} {
		r := &kgo.Record{Topic: "a", Partition: 0, Timestamp: begin.Add(time.Duration(minute) * time.Minute),
			Value: []byte("{}")}
		if err := cl.ProduceSync(limited(t), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, sourceOf(c, "a").withSpans(nil).(*SourceConfig))
	for minute, want := range map[int]int64{-5: 0, 0: 0, 1: 1, 20: 1, 30: 1, 31: 3, 60: 3, 90: 3, 91: 6} {
		at, err := s.Since(limited(t), begin.Add(time.Duration(minute)*time.Minute))
		if err != nil || len(at) != 2 || at[Partition{Topic: "a"}] != want || at[Partition{Topic: "a", Number: 1}] != 0 {
			t.Errorf("minute %d: %v, %v, want %d", minute, at, err, want)
		}
	}
}

// Held asks the brokers each time: it does not count records of an open transaction, and it
// includes topics created later.
func TestHeld(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	cl := newClient(t, c)
	fill(t, cl, "a", 0, 0, 10)
	config := sourceOf(c)
	config.Topics, config.Pattern = nil, "^[ab]$"
	s := open(t, config.withSpans(nil).(*SourceConfig))
	tx := newClient(t, c, kgo.TransactionalID("open"))
	if err := tx.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	fill(t, tx, "a", 0, 10, 5)
	held := func() string {
		list, err := s.Held(limited(t))
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, h := range list {
			if h.TopicID == "" {
				t.Errorf("%s: no id", h.Partition)
			}
			words = append(words, fmt.Sprintf("%s %d %d %d", h.Partition, h.First, h.Start, h.End))
		}
		return strings.Join(words, ", ")
	}
	if got := held(); got != "a/0 0 0 10" {
		t.Errorf("an open transaction: %s", got)
	}
	if err := tx.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	if _, err := s.admin.CreateTopic(t.Context(), 2, 1, nil, "b"); err != nil {
		t.Fatal(err)
	}
	fill(t, cl, "b", 1, 0, 3)
	// The client refreshes its list of topics from time to time.
	if !eventually.Waits(eventually.Patience, func() bool { return held() == "a/0 0 0 16, b/0 0 0 0, b/1 0 0 3" }) {
		t.Errorf("a committed transaction and another topic: %s", held())
	}
	from := sourceOf(c, "a")
	from.Start = latest
	s = open(t, from.withSpans(nil).(*SourceConfig))
	if got := held(); got != "a/0 0 16 16" {
		t.Errorf("from the end on: %s", got)
	}
}
