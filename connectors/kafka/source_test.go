package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/arrowipc"
	"github.com/sdlfilter/sdlfilter/connectors/jsonl"
	"github.com/sdlfilter/sdlfilter/internal/message/arrow"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestSourceReadsPartitionsInOrder(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "b", "a"))
	cl := newClient(t, c)
	for _, topic := range []string{"a", "b"} {
		for n := range int32(2) {
			fill(t, cl, topic, n, 100*int(n), 30)
		}
	}
	s := open(t, sourceOf(c, "b", "a"))
	if got := strings.Join(s.Streams(), " "); got != "a/0 a/1 b/0 b/1" {
		t.Errorf("streams %s", got)
	}
	for range 2 { // a second pass starts at the beginning
		places, _ := readAll(t, s, connectors.Cut{})
		if len(places) != 120 {
			t.Fatalf("read %d records, want 120", len(places))
		}
		for i, p := range places {
			topic, partition := []string{"a", "b"}[i/60], int32(i/30%2)
			want := place{topic, streamNumber(topic, partition), int64(i % 30), float64(100*int(partition)+i%30) + 0.5}
			if p != want {
				t.Fatalf("record %d: %v, want %v", i, p, want)
			}
			if name := s.streamName(p.stream); name != fmt.Sprintf("%s/%d", topic, partition) {
				t.Fatalf("stream %d is called %s", p.stream, name)
			}
		}
	}
}

// Records that arrive after Open are not read. Records of an open transaction, and records after
// them, are not read either.
func TestSourceEndsAtTheLastStableOffset(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	cl := newClient(t, c)
	fill(t, cl, "a", 0, 0, 10)
	open1 := newClient(t, c, kgo.TransactionalID("open"))
	if err := open1.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	fill(t, open1, "a", 0, 10, 5)
	fill(t, cl, "a", 0, 15, 5)
	s := open(t, sourceOf(c, "a"))
	if err := open1.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	fill(t, cl, "a", 0, 20, 5)
	places, _ := readAll(t, s, connectors.Cut{})
	if len(places) != 10 {
		t.Fatalf("read %d records, want 10", len(places))
	}
}

// Markers, aborted records and compaction leave gaps, also at the end.
func TestSourceEndsInAGap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		write func(t *testing.T, c *kfake.Cluster)
		want  []int64 // offsets
	}{
		{"nothing", func(*testing.T, *kfake.Cluster) {}, nil},
		{"commit at the end", func(t *testing.T, c *kfake.Cluster) {
			transaction(t, c, "a", 0, 0, 2, kgo.TryCommit) // marker at 2
		}, []int64{0, 1}},
		{"abort at the end", func(t *testing.T, c *kfake.Cluster) {
			transaction(t, c, "a", 0, 0, 2, kgo.TryCommit)
			transaction(t, c, "a", 0, 3, 3, kgo.TryAbort)
		}, []int64{0, 1}},
		{"abort alone", func(t *testing.T, c *kfake.Cluster) {
			transaction(t, c, "a", 0, 0, 3, kgo.TryAbort)
		}, nil},
		{"abort in the middle", func(t *testing.T, c *kfake.Cluster) {
			transaction(t, c, "a", 0, 0, 2, kgo.TryCommit)
			transaction(t, c, "a", 0, 3, 2, kgo.TryAbort)
			transaction(t, c, "a", 0, 6, 2, kgo.TryCommit)
		}, []int64{0, 1, 6, 7}},
		{"deleted at the start", func(t *testing.T, c *kfake.Cluster) {
			fill(t, newClient(t, c), "a", 0, 0, 6)
			if err := c.DeleteRecords("a", 0, 4); err != nil {
				t.Fatal(err)
			}
		}, []int64{4, 5}},
		{"all deleted", func(t *testing.T, c *kfake.Cluster) {
			fill(t, newClient(t, c), "a", 0, 0, 6)
			if err := c.DeleteRecords("a", 0, 6); err != nil {
				t.Fatal(err)
			}
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, kfake.SeedTopics(1, "a"))
			test.write(t, c)
			s := open(t, sourceOf(c, "a"))
			began := time.Now()
			places, _ := readAll(t, s, connectors.Cut{})
			if waited := time.Since(began); waited > 30*time.Second {
				t.Errorf("took %v", waited)
			}
			var got []int64
			for _, p := range places {
				got = append(got, p.offset)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("offsets %v, want %v", got, test.want)
			}
		})
	}
}

// A compacted topic keeps its offsets and loses records. At the end there may be an empty range
// before the last batch.
func TestSourceReadsCompactedTopics(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if err := c.CreateTopic("a", 1,
		map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}); err != nil {
		t.Fatal(err)
	}
	cl := newClient(t, c)
	for i := range 6 {
		r := messageOf("a", 0, i)
		r.Key = []byte("same")
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	transaction(t, c, "a", 0, 6, 2, kgo.TryAbort)
	c.Compact()
	s := open(t, sourceOf(c, "a"))
	places, _ := readAll(t, s, connectors.Cut{})
	if len(places) != 1 || places[0].offset != 5 {
		t.Errorf("read %v, want offset 5 alone", places)
	}
}

// The consumer hides batches without records; the questions of beyond see them.
func TestBeyond(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	cl := newClient(t, c)
	fill(t, cl, "a", 0, 0, 4)
	transaction(t, c, "a", 0, 4, 2, kgo.TryAbort) // offsets 4 and 5, marker at 6
	s := open(t, sourceOf(c, "a"))
	p := Partition{Topic: "a", Number: 0}
	for _, test := range []struct{ at, end, want int64 }{
		{0, 7, 0}, // records follow
		{3, 7, 3},
		{4, 7, 4},    // a marker follows, and the consumer returns it
		{7, 7, 7},    // at the end
		{7, 10, 7},   // the leader's last stable offset is before the end, so the answer is not known yet
		{10, 10, 10}, // behind the end
	} {
		got, err := s.tails().beyond(limited(t), p, test.at, test.end)
		if err != nil || got != test.want {
			t.Errorf("from %d to %d: %d, %v, want %d", test.at, test.end, got, err, test.want)
		}
	}
}

func TestSourceCutsWindows(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "a"))
	cl := newClient(t, c)
	// 7 records in partition 0 with gaps, 5 in partition 1.
	transaction(t, c, "a", 0, 0, 2, kgo.TryCommit)
	transaction(t, c, "a", 0, 2, 4, kgo.TryAbort)
	transaction(t, c, "a", 0, 6, 2, kgo.TryCommit)
	fill(t, cl, "a", 0, 8, 3)
	fill(t, cl, "a", 1, 0, 5)
	s := open(t, sourceOf(c, "a"))
	for _, test := range []struct {
		cut  connectors.Cut
		want []int
	}{
		{connectors.Cut{Records: 3, Exact: true}, []int{3, 3, 1, 3, 2}},
		{connectors.Cut{Records: 100, Exact: true}, []int{7, 5}},
		{connectors.Cut{Records: 1, Exact: true}, slices.Repeat([]int{1}, 12)},
		{connectors.Cut{}, []int{7, 5}},
	} {
		if _, sizes := readAll(t, s, test.cut); !slices.Equal(sizes, test.want) {
			t.Errorf("%+v: blocks of %v, want %v", test.cut, sizes, test.want)
		}
	}
}

// If a message of the format has several records, messages are not windows.
func TestSourceCutsNoWindowsOfArrow(t *testing.T) {
	t.Parallel()
	s := &Source{config: &SourceConfig{Format: Format{Arrow: &arrow.Config{}}}}
	if _, err := s.Read(t.Context(), &microdata.Layout{}, connectors.Cut{Records: 10, Exact: true}); !Final(err) {
		t.Errorf("got %v", err)
	}
}

func TestSourceResumesAndAcknowledges(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "a"))
	cl := newClient(t, c)
	fill(t, cl, "a", 0, 0, 5)
	fill(t, cl, "a", 1, 0, 3)
	s := open(t, sourceOf(c, "a"))
	if places, _ := readAll(t, s, connectors.Cut{}); len(places) != 8 {
		t.Fatalf("read %d records, want 8", len(places))
	}
	// Nothing is committed before Acknowledge.
	if places, _ := readAll(t, open(t, sourceOf(c, "a")), connectors.Cut{}); len(places) != 8 {
		t.Fatalf("read %d records, want 8 again", len(places))
	}
	fill(t, cl, "a", 0, 5, 2)
	if err := s.acknowledge(limited(t)); err != nil {
		t.Fatal(err)
	}
	next := open(t, sourceOf(c, "a"))
	places, _ := readAll(t, next, connectors.Cut{})
	if len(places) != 2 || places[0].offset != 5 {
		t.Fatalf("after Acknowledge: %v, want offsets 5 and 6", places)
	}
	if err := next.acknowledge(limited(t)); err != nil {
		t.Fatal(err)
	}
	if places, _ := readAll(t, open(t, sourceOf(c, "a")), connectors.Cut{}); len(places) > 0 {
		t.Fatalf("read %v, want nothing", places)
	}
}

func TestAcknowledgeNeedsTheGroupAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	fill(t, newClient(t, c), "a", 0, 0, 5)
	s := open(t, sourceOf(c, "a"))
	member := newClient(t, c, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("a"), kgo.DisableAutoCommit())
	member.PollFetches(limited(t))
	err := s.acknowledge(limited(t))
	if !Final(err) || !strings.Contains(err.Error(), "active members") {
		t.Errorf("got %v", err)
	}
	nameless := sourceOf(c, "a")
	nameless.Group = ""
	if err := open(t, nameless).acknowledge(limited(t)); !Final(err) ||
		err.Error() != "there is no consumer group to commit offsets to" {
		t.Errorf("without a group: %v", err)
	}
	named := sourceOf(c, "a")
	named.Group = ""
	named.Abilities().SetPipeline("p")
	if err := open(t, named).acknowledge(limited(t)); err != nil {
		t.Errorf("with the pipeline's name: %v", err)
	}
	offsets, err := kadm.NewClient(newClient(t, c)).FetchOffsets(t.Context(), "sdlfilter-p")
	if o, ok := offsets.Lookup("a", 0); err != nil || !ok || o.At != 5 {
		t.Errorf("sdlfilter-p: %v, %v", offsets, err)
	}
}

func TestSourceStarts(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	cl := newClient(t, c)
	day := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for i := range 4 {
		r := messageOf("a", 0, i)
		r.Timestamp = day.Add(time.Duration(i-2) * time.Hour)
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for start, want := range map[string]int{"": 4, earliest: 4, latest: 0, "2026-01-31T00:00:00Z": 2, "2026-01-31": 2,
		"2026-02-01": 0, "2026-01-31T01:00:00+02:00": 3} {
		config := sourceOf(c, "a")
		config.Start = start
		if places, _ := readAll(t, open(t, config), connectors.Cut{}); len(places) != want {
			t.Errorf("from %q: %d records, want %d", start, len(places), want)
		}
	}
}

func TestSourceRefusesOffsetsBeyondTheEnd(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	cl := newClient(t, c)
	fill(t, cl, "a", 0, 0, 3)
	var at kadm.Offsets
	at.AddOffset("a", 0, 50, -1)
	if err := kadm.NewClient(cl).CommitAllOffsets(t.Context(), "g", at); err != nil {
		t.Fatal(err)
	}
	_, err := sourceOf(c, "a").Open(limited(t))
	if !Final(err) ||
		!strings.Contains(err.Error(), `a/0: the consumer group "g" has read up to offset 50, and the partition ends at 3`) {
		t.Errorf("got %v", err)
	}
}

func TestSourceRejectsTombstones(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	cl := newClient(t, c)
	fill(t, cl, "a", 0, 0, 1)
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "a", Key: []byte("key-0")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s := open(t, sourceOf(c, "a"))
	places, _ := readAll(t, s, connectors.Cut{})
	if len(places) != 2 || places[1].wage != 0 {
		t.Errorf("read %v", places)
	}
}

func TestSourceIsCancelled(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	fill(t, newClient(t, c), "a", 0, 0, 3)
	s := open(t, sourceOf(c, "a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := s.Read(t.Context(), layoutOf(s.Schema()), connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// If records are deleted during the read, that is an error and not a gap.
func TestSourceMissesDeletedRecords(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a"))
	fill(t, newClient(t, c), "a", 0, 0, 10)
	s := open(t, sourceOf(c, "a"))
	if err := c.DeleteRecords("a", 0, 5); err != nil {
		t.Fatal(err)
	}
	r, err := s.Read(t.Context(), layoutOf(s.Schema()), connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(limited(t)); !Final(err) || !strings.Contains(err.Error(), "deleted") {
		t.Errorf("got %v", err)
	}
}

func TestStreamNumber(t *testing.T) {
	t.Parallel()
	seen := map[int]string{}
	for _, topic := range []string{"survey", "survey-2", "x"} {
		for _, n := range []int32{0, 1, maxPartitions - 1} {
			number := streamNumber(topic, n)
			if number < 0 || number >= 1<<31 || number&(maxPartitions-1) != int(n) {
				t.Errorf("%s/%d: %d", topic, n, number)
			}
			if before, taken := seen[number]; taken {
				t.Errorf("%s/%d has the number of %s", topic, n, before)
			}
			seen[number] = fmt.Sprintf("%s/%d", topic, n)
		}
	}
	// SHA-256("survey") begins with these 15 bits. A release depends on this number, so it must not
	// change.
	if got := streamNumber("survey", 3); got != 1083113475 {
		t.Errorf("survey/3 is %d, want %d", got, 1083113475)
	}
}

// A topic can be released into files: one file for all partitions.
func TestSourceIntoFiles(t *testing.T) {
	racetest.Further(t)
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "a"))
	cl := newClient(t, c)
	fill(t, cl, "a", 0, 0, 30)
	fill(t, cl, "a", 1, 100, 20)
	config := sourceOf(c, "a")
	config.declare(declaredColumns, false, true)
	s := open(t, config)
	dir := t.TempDir()
	for name, to := range map[string]connectors.SinkConfig{
		"jsonl": &jsonl.SinkConfig{Path: dir + "/out.jsonl"}, "arrow": &arrowipc.SinkConfig{Path: dir + "/out.arrow"},
	} {
		t.Run(name, func(t *testing.T) {
			if to.Carries(s) {
				t.Error("files do not carry messages")
			}
			layout := layoutOf(s.Schema())
			sink, err := to.Create(t.Context(), connectors.Plan{Source: s, Layout: layout})
			if err != nil {
				t.Fatal(err)
			}
			defer sink.Abort()
			r, err := s.Read(t.Context(), layout, connectors.Cut{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for {
				raw, err := r.Next(limited(t))
				if errors.Is(err, io.EOF) {
					break
				}
				var b microdata.Block
				if err == nil {
					err = raw.Decode(&b)
				}
				var e connectors.Encoded
				if err == nil {
					e, err = sink.Encode(&b)
				}
				if err == nil {
					err = sink.Write(t.Context(), e)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, err := range []error{sink.Finish(t.Context()), sink.Commit()} {
				if err != nil {
					t.Fatal(err)
				}
			}
			info, err := os.Stat(to.Paths()[0])
			if err != nil || info.IsDir() || info.Size() == 0 {
				t.Fatalf("%v, %v", info, err)
			}
			if name == "jsonl" {
				text, _ := os.ReadFile(to.Paths()[0])
				if !strings.Contains(string(text), "r2") || strings.Count(string(text), "\n") < 50 {
					t.Errorf("wrote %d lines: %.100s", strings.Count(string(text), "\n"), text)
				}
			}
		})
	}
}
