package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/message/arrow"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// asking returns a stream with a client that has joined no group, for tests that only ask
// questions.
func asking(t *testing.T, c *kfake.Cluster) *Stream {
	t.Helper()
	s := offline()
	s.config.Source.Connection, s.config.Sink.Connection = connection(c), connection(c)
	client, err := s.config.Source.connect(zerolog.Nop(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s.client = client
	s.member.Store(client)
	s.outbox, s.promise = newOutbox(client), s.onWritten(s.failed)
	return s
}

func commit(t *testing.T, cl *kgo.Client, at map[Partition]int64) {
	t.Helper()
	var to kadm.Offsets
	for p, o := range at {
		to.AddOffset(p.Topic, p.Number, o, -1)
	}
	if err := kadm.NewClient(cl).CommitAllOffsets(limited(t), "g", to); err != nil {
		t.Fatal(err)
	}
}

// groupAt returns the group's offset, −1 if it has none.
func groupAt(t *testing.T, cl *kgo.Client, p Partition) int64 {
	t.Helper()
	all, err := kadm.NewClient(cl).FetchOffsets(limited(t), "g")
	if err != nil || all.Error() != nil {
		t.Fatal(err, all.Error())
	}
	if o, ok := all.Lookup(p.Topic, p.Number); ok {
		return o.At
	}
	return -1
}

// If the group has no offset, the start offset is committed before anything is read. Existing
// offsets do not change. A partition that has none after the group's first start has appeared later:
// `latest` is not for it.
func TestPlacesToStartAtAreCommitted(t *testing.T) {
	racetest.Further(t)
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "in", "also"))
	cl := newClient(t, c)
	day := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for i := range 6 {
		r := messageOf("in", 0, i)
		r.Timestamp = day.Add(time.Duration(i-4) * time.Hour)
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, cl, "in", 1, 0, 9)
	fill(t, cl, "also", 1, 0, 3)
	if err := c.DeleteRecords("in", 0, 2); err != nil {
		t.Fatal(err)
	}
	also1 := Partition{Topic: "also", Number: 1}
	for i, test := range []struct {
		start string
		want  [2]int64 // offsets of in/0 and also/1
	}{{"", [2]int64{2, 0}}, {latest, [2]int64{2, 0}}, {"2026-01-31", [2]int64{4, 0}}} {
		s := asking(t, c)
		s.config.Source.Group, s.config.Source.Start = fmt.Sprint("group", i), test.start
		start, err := s.config.Source.startOffset()
		if err != nil {
			t.Fatal(err)
		}
		four := kgo.NewOffset().At(4)
		got, err := s.pin(start)(limited(t), map[string]map[int32]kgo.Offset{"in": {0: start, 1: four}, "also": {1: start}})
		want := map[string]map[int32]kgo.Offset{"in": {0: kgo.NewOffset().At(test.want[0]), 1: four},
			"also": {1: kgo.NewOffset().At(test.want[1])}}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("start %q: %v, %v, want %v", test.start, got, err, want)
		}
		offsets, err := kadm.NewClient(cl).FetchOffsets(limited(t), s.config.Source.Group)
		if err != nil {
			t.Fatal(err)
		}
		at := map[Partition]int64{}
		offsets.Each(func(o kadm.OffsetResponse) { at[Partition{Topic: o.Topic, Number: o.Partition}] = o.At })
		if want := (map[Partition]int64{in0: test.want[0], also1: test.want[1]}); !maps.Equal(at, want) {
			t.Errorf("start %q: the group is at %v, want %v", test.start, at, want)
		}
		// A partition with a known offset needs no question.
		known := map[string]map[int32]kgo.Offset{"in": {0: four}}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if got, err := s.pin(start)(ended, known); err != nil || fmt.Sprint(got) != fmt.Sprint(known) {
			t.Errorf("start %q: known offsets become %v, %v", test.start, got, err)
		}
	}
}

// If the start offsets cannot be committed, the error says why and the partition is not read.
func TestPlacesToStartAtAreRefused(t *testing.T) {
	racetest.Further(t)
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "in"))
	s := asking(t, c)
	start := kgo.NewOffset().AtStart()
	ask := func(n int32) error {
		_, err := s.pin(start)(limited(t), map[string]map[int32]kgo.Offset{"in": {n: start, 1: start}})
		return err
	}
	if err := ask(7); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("an unknown partition: %v", err)
	}
	for _, test := range []struct {
		key  kmsg.Key
		err  *kerr.Error
		want string
	}{
		{kmsg.OffsetCommit, kerr.GroupAuthorizationFailed,
			`committing the offsets to start at: the user may not Read consumer group "g"`},
		{kmsg.OffsetCommit, kerr.TopicAuthorizationFailed,
			"committing the offsets to start at: the user may not Read the topic"},
		{kmsg.OffsetCommit, kerr.UnknownMemberID, "committing the offsets to start at: UNKNOWN_MEMBER_ID"},
		{kmsg.ListOffsets, kerr.TopicAuthorizationFailed,
			"asking for the offsets to start at: the user may not Describe the topic"},
	} {
		fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{test.key}, Err: test.err, Count: -1})
		if err := ask(0); err == nil || !strings.HasPrefix(err.Error(), test.want) || !errors.Is(err, test.err) {
			t.Errorf("%v: %v, want %s", test.err, err, test.want)
		}
		fault.Remove()
	}
	// The answer for each partition is checked, and the request contains the member's identity.
	var mu sync.Mutex
	var instance, member []string
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Count: -1, Observe: true, When: func(r kmsg.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if q := r.(*kmsg.OffsetCommitRequest); q.InstanceID != nil {
			instance = append(instance, *q.InstanceID)
		} else {
			member = append(member, q.Group)
		}
		return true
	}})
	if err := ask(0); err != nil {
		t.Fatal(err)
	}
	s.config.Source.Instance = "i"
	_ = ask(0) // a group without members does not know that name
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(slices.Compact(instance), slices.Compact(member)) != "[i] [g]" {
		t.Errorf("asked as %v, without a name for %v", instance, member)
	}
}

// A bounded stream ends although others read its partitions: when the group has reached the end, or
// when the remaining offsets contain no record and the others make no progress.
func TestEndInPartitionsOfOthers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(3, "in"))
	cl := newClient(t, c)
	in2 := Partition{Topic: "in", Number: 2}
	fill(t, cl, "in", 0, 0, 4)
	transaction(t, c, "in", 1, 0, 3, kgo.TryCommit) // the marker is at offset 3
	fill(t, cl, "in", 2, 0, 8)
	s := asking(t, c)
	s.assignedAt = time.Now()
	s.ends = map[Partition]int64{in0: 4, in1: 4, in2: 8}
	look := func(want map[Partition]int64) {
		t.Helper()
		for range 3 { // the first look only records the position, the second asks the leader
			if err := s.lookAhead(limited(t)); err != nil {
				t.Fatal(err)
			}
		}
		if !maps.Equal(s.at, want) || !maps.Equal(s.committed, want) {
			t.Fatalf("at %v, done %v, want %v", s.at, s.committed, want)
		}
	}
	look(map[Partition]int64{in0: 0, in1: 0, in2: 0}) // records remain
	commit(t, cl, map[Partition]int64{in0: 2, in1: 3})
	look(map[Partition]int64{in0: 2, in1: 3, in2: 0}) // the consumer returns the marker
	commit(t, cl, map[Partition]int64{in0: 4, in1: 4})
	look(map[Partition]int64{in0: 4, in1: 4, in2: 0})
	if s.Finished() {
		t.Fatal("of the last partition nothing has been read")
	}
	commit(t, cl, map[Partition]int64{in0: 1, in2: 1}) // a partition once seen at its end stays there
	look(map[Partition]int64{in0: 4, in1: 4, in2: 1})
	// The stream does not wait for deleted records, whether all or some of them are deleted.
	if err := c.DeleteRecords("in", 2, 6); err != nil {
		t.Fatal(err)
	}
	s.at[in2], s.committed[in2] = 1, 1
	look(map[Partition]int64{in0: 4, in1: 4, in2: 6})
	if err := c.DeleteRecords("in", 2, 8); err != nil {
		t.Fatal(err)
	}
	look(map[Partition]int64{in0: 4, in1: 4, in2: 8})
	if !s.Finished() {
		t.Error("it is at its end")
	}
}

// The stream asks the group for its offsets until it answers or refuses for good.
func TestOffsetsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	cl := newClient(t, c)
	fill(t, cl, "in", 0, 0, 4)
	commit(t, cl, map[Partition]int64{in0: 4})
	s := asking(t, c)
	s.ends = map[Partition]int64{in0: 4}
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.GroupAuthorizationFailed, Count: -1})
	if err := s.learn(limited(t), nil); !Final(err) ||
		!strings.HasPrefix(err.Error(), "asking for the group's offsets: ") || s.lookAhead(limited(t)) == nil {
		t.Errorf("the user may not: %v", err)
	}
	fault.Remove()
	cancelled, cancel := context.WithCancel(limited(t))
	cancel()
	if err := s.learn(cancelled, nil); err != nil || s.at[in0] != 0 {
		t.Errorf("no answer: %v, at %v", err, s.at)
	}
	if err := s.learn(limited(t), map[Partition]int{in0: 1}); err != nil || s.at[in0] != 0 {
		t.Errorf("the offset of a partition that it reads itself is not learnt: %v, at %v", err, s.at)
	}
	if err := s.learn(limited(t), nil); err != nil || s.at[in0] != 4 {
		t.Errorf("%v, at %v", err, s.at)
	}
	s.ends = nil
	if err := s.lookAhead(t.Context()); err != nil {
		t.Errorf("without an end nothing is asked: %v", err)
	}
}

// After an abort the group's offsets must not have changed. If they have, the transaction may have
// been committed.
func TestAbortedTransactionsAreVerified(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "in", "too"))
	cl := newClient(t, c)
	too0 := Partition{Topic: "too", Number: 0}
	for _, test := range []struct {
		what     string
		at, done map[Partition]int64
		group    map[Partition]int64
		want     string
	}{
		{"nothing is read", map[Partition]int64{in0: 5}, map[Partition]int64{in0: 5}, map[Partition]int64{in0: 9}, ""},
		{"as before", map[Partition]int64{in0: 7, too0: 2}, map[Partition]int64{in0: 5, too0: 1},
			map[Partition]int64{in0: 5, too0: 1, in1: 3}, ""},
		{"committed", map[Partition]int64{in0: 7}, map[Partition]int64{in0: 5}, map[Partition]int64{in0: 7},
			"the group is at offset 7 of in/0"},
		{"committed in the last one", map[Partition]int64{in0: 7, in1: 4, too0: 2},
			map[Partition]int64{in0: 5, in1: 4, too0: 1}, map[Partition]int64{in0: 5, in1: 2, too0: 2},
			"the group is at offset 2 of too/0"},
		{"another one has committed what was not read", map[Partition]int64{in0: 7, in1: 4},
			map[Partition]int64{in0: 5, in1: 4}, map[Partition]int64{in0: 5, in1: 2}, ""},
	} {
		s := asking(t, c)
		s.at, s.committed = test.at, test.done
		commit(t, cl, test.group)
		err := s.verifyAborted(limited(t))
		if got := fmt.Sprint(err); (test.want == "") != (err == nil) || !strings.HasSuffix(got, test.want) && err != nil {
			t.Errorf("%s: %v, want %q", test.what, err, test.want)
		}
	}
	s := asking(t, c)
	s.at, s.committed = map[Partition]int64{in0: 7}, map[Partition]int64{in0: 5}
	commit(t, cl, map[Partition]int64{in0: 5})
	// While the markers are being written the question is repeated. A permanent error is returned.
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.UnstableOffsetCommit, Count: 2})
	if err := s.verifyAborted(limited(t)); err != nil || fault.Hits() != 2 {
		t.Errorf("after %d passing states: %v", fault.Hits(), err)
	}
	fault.Remove()
	for _, key := range []kmsg.Key{kmsg.OffsetFetch, kmsg.InitProducerID} {
		s = asking(t, c)
		s.at, s.committed = map[Partition]int64{in0: 7}, map[Partition]int64{in0: 5}
		fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
		if err := s.verifyAborted(limited(t)); !errors.Is(err, kerr.ClusterAuthorizationFailed) {
			t.Errorf("%s is refused: %v", kmsg.NameForKey(int16(key)), err)
		}
		fault.Remove()
	}
}

// Partitions that are added later need a partition in the release topic, like the first ones.
func TestPartitionsThatComeLaterMustFit(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(3, "out", "new", "new-out"), kfake.SeedTopics(1, "narrow"))
	s := asking(t, c)
	s.topics = []topic{{"a", 2}, {"in", 1}}
	for _, test := range []struct {
		sink string
		of   []Partition
		want string // "": it fits
		then []topic
	}{
		{"out", []Partition{in0}, "", []topic{{"a", 2}, {"in", 1}}},
		{"narrow", []Partition{in0}, "", []topic{{"a", 2}, {"in", 1}}}, // as at the opening of the stream
		{"narrow", []Partition{in0, in1}, `the topic "narrow" has 1 partitions and must have at least the 2 of "in"`,
			[]topic{{"a", 2}, {"in", 1}}},
		{"missing", []Partition{in1}, `the topic "missing" does not exist`, []topic{{"a", 2}, {"in", 1}}},
		{"out", []Partition{{Topic: "in", Number: 3}}, `must have at least the 4 of "in"`, []topic{{"a", 2}, {"in", 1}}},
		{"out", []Partition{in0, {Topic: "in", Number: 2}}, "", []topic{{"a", 2}, {"in", 3}}},
		{"{topic}-out", []Partition{in1, {Topic: "new", Number: 1}}, "", []topic{{"a", 2}, {"in", 3}, {"new", 2}}},
		{"{topic}-out", []Partition{{Topic: "newer"}}, `the topic "newer-out" does not exist`,
			[]topic{{"a", 2}, {"in", 3}, {"new", 2}}},
	} {
		s.config.Sink.Topic = test.sink
		err := s.fit(limited(t), test.of)
		if (err == nil) != (test.want == "") || err != nil && (!Final(err) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%v into %s: %v, want %q", test.of, test.sink, err, test.want)
		}
		if fmt.Sprint(s.topics) != fmt.Sprint(test.then) {
			t.Errorf("%v into %s: topics %v, want %v", test.of, test.sink, s.topics, test.then)
		}
	}
	if s.config.Sink = nil; s.fit(t.Context(), []Partition{{Topic: "newer"}}) != nil {
		t.Error("where nothing is released everything fits")
	}
}

// A transaction cannot span two clusters. One cluster may be configured with different addresses.
func TestSourceAndSinkAreOfOneCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.NumBrokers(2), kfake.ClusterID("one"))
	other := newCluster(t, kfake.ClusterID("two"))
	config := StreamConfig{Source: &SourceConfig{Connection: connection(c)}, Sink: &SinkConfig{Connection: connection(c)},
		Log: zerolog.Nop()}
	admin := kadm.NewClient(newClient(t, c))
	if err := config.sameCluster(t.Context(), nil); err != nil {
		t.Errorf("the same addresses: %v", err)
	}
	config.Source.Brokers, config.Sink.Brokers = c.ListenAddrs()[:1], c.ListenAddrs()[1:]
	if err := config.sameCluster(limited(t), admin); err != nil {
		t.Errorf("two brokers of one cluster: %v", err)
	}
	config.Sink.Connection = connection(other)
	if err := config.sameCluster(limited(t), admin); !Final(err) ||
		!strings.Contains(err.Error(), "topics of two clusters") {
		t.Errorf("two clusters: %v", err)
	}
	config.Sink.Brokers = nil
	if err := config.sameCluster(limited(t), admin); !Final(err) {
		t.Errorf("no address: %v", err)
	}
	config.Sink.Connection = connection(other)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := config.sameCluster(cancelled, admin); !errors.Is(err, context.Canceled) {
		t.Errorf("without an answer: %v", err)
	}
}

// Topics for notes and held messages must exist, and must have enough partitions if records keep
// their partition. A note goes to the partition with the same number as its subject, modulo the
// number of partitions.
func TestTopicsBesideTheRelease(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "notes", "held"), kfake.SeedTopics(1, "narrow"))
	s := asking(t, c)
	s.topics = []topic{{"in", 2}}
	if err := s.Beside(t.Context(), nil, ""); err != nil || len(s.notePartitions) > 0 {
		t.Errorf("no other topics: %v", err)
	}
	for _, test := range []struct {
		notes []string
		hold  string
		want  string
	}{
		{[]string{"notes", "missing"}, "", `the topic "missing" does not exist`},
		{nil, "missing", `the topic "missing" does not exist`},
		{nil, "narrow", "must have at least the 2"}, {nil, "in", `the topic "in" does not exist`},
		{nil, "held", ""}, {[]string{"narrow", "notes"}, "held", ""}, {[]string{"notes", "narrow"}, "", ""},
	} {
		if err := s.Beside(limited(t), test.notes, test.hold); (err == nil) != (test.want == "") || err != nil &&
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, held in %q: %v, want %q", test.notes, test.hold, err, test.want)
		}
	}
	if want := (map[string]int32{"notes": 2, "narrow": 1}); !maps.Equal(s.notePartitions, want) {
		t.Errorf("they have %v partitions, want %v", s.notePartitions, want)
	}
	for _, n := range []int32{0, 1, 3} {
		s.Note(limited(t), "notes", Partition{Topic: "in", Number: n}, fmt.Append(nil, n))
		s.Note(limited(t), "narrow", Partition{Topic: "in", Number: n}, fmt.Append(nil, n))
	}
	if err := s.Flush(limited(t)); err != nil {
		t.Fatal(err)
	}
	same(t, "notes, of even ones", lines(t, c, "notes", 0), []string{"=0"})
	same(t, "notes, of odd ones", lines(t, c, "notes", 1), []string{"=1", "=3"})
	same(t, "notes of all", lines(t, c, "narrow", 0), []string{"=0", "=1", "=3"})
	s.config.Source.Brokers = nil
	if err := s.Beside(limited(t), []string{"notes"}, ""); !Final(err) {
		t.Errorf("no brokers: %v", err)
	}
}

// The maximum batch size is the topic's limit, within the range that the client supports. If the
// topic's limit is unknown, it is the brokers' default.
func TestLimitsOfBatches(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	s := asking(t, c)
	for size, want := range map[string]int32{"1000": 1000, "5": 512, "512": 512, "70000000": 64 << 20,
		"67108863": 64<<20 - 1} {
		if err := c.CreateTopic("t"+size, 1, map[string]string{"max.message.bytes": size}); err != nil {
			t.Fatal(err)
		}
		if got := s.limit("t" + size); got != 1_000_012 {
			t.Errorf("before it is asked: %d", got)
		}
		if s.findLimits(limited(t), "t"+size); s.limit("t"+size) != want {
			t.Errorf("%s bytes: %d, want %d", size, s.limit("t"+size), want)
		}
	}
	if s.findLimits(limited(t), "gone"); s.limit("gone") != 1_000_012 {
		t.Errorf("no topic: %d", s.limit("gone"))
	}
}

// A release goes to the topic with the name made from its source topic.
func TestTopicOfARelease(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "a", "b", "a-out", "b-out"))
	for _, topic := range []string{"a", "b"} {
		src := open(t, sourceOf(c, topic))
		made, err := sinkOf(c, "{topic}-out").Create(limited(t), connectors.Plan{Source: src, Layout: layoutOf(src.Schema())})
		if err != nil {
			t.Fatal(err)
		}
		if got := made.(*sink).topic; got != topic+"-out" {
			t.Errorf("the release of %s goes to %s", topic, got)
		}
		if !src.carried.Load() {
			t.Error("messages of one format are released unchanged, and the source is not told")
		}
		if err := made.Abort(); err != nil {
			t.Error(err)
		}
	}
	src := open(t, sourceOf(c, "a"))
	other := sinkOf(c, "a-out")
	other.Format.Arrow = new(arrow.Config)
	made, err := other.Create(limited(t), connectors.Plan{Source: src, Layout: layoutOf(src.Schema())})
	if err != nil {
		t.Fatal(err)
	}
	if src.carried.Load() {
		t.Error("messages of another format are written anew, and the source is told that they are released unchanged")
	}
	if err := made.Abort(); err != nil {
		t.Error(err)
	}
}
