package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// emptied returns a batch without records, as compaction leaves it: it covers n offsets starting at
// from.
func emptied(from int64, n int32) []byte {
	b := kmsg.RecordBatch{FirstOffset: from, Magic: 2, LastOffsetDelta: n - 1, ProducerID: -1, ProducerEpoch: -1,
		FirstSequence: -1}
	data := b.AppendTo(nil)
	binary.BigEndian.PutUint32(data[8:], uint32(len(data)-12))
	binary.BigEndian.PutUint32(data[17:], crc32.Checksum(data[21:], crc32.MakeTable(crc32.Castagnoli)))
	return data
}

// answering makes a leader answer every fetch of in/0 with the batch for its offset, and records
// the requests.
func answering(t *testing.T, c *kfake.Cluster, id [16]byte, stable int64,
	batches map[int64][]byte) *[]kmsg.FetchRequest {
	t.Helper()
	requests := new([]kmsg.FetchRequest)
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		q := r.(*kmsg.FetchRequest)
		*requests = append(*requests, *q)
		answer := r.ResponseKind().(*kmsg.FetchResponse)
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = "in", id
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.LastStableOffset, p.RecordBatches = stable, stable, batches[q.Topics[0].Partitions[0].FetchOffset]
		topic.Partitions = append(topic.Partitions, p)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	return requests
}

// tailOf returns a tails that asks the leaders of a cluster, and the details of topic "in".
func tailOf(t *testing.T, c *kfake.Cluster) (tails, kadm.TopicDetail) {
	t.Helper()
	client := newClient(t, c)
	admin := kadm.NewClient(client)
	details, err := admin.ListTopics(limited(t), "in")
	if err != nil {
		t.Fatal(err)
	}
	return tails{client, admin, zerolog.Nop()}, details["in"]
}

// Empty batches are skipped one after another. Each is skipped up to its last offset only, because
// a record may follow it. If the leader has nothing left before the end, everything is skipped once
// the leader's own end has reached the end, and not earlier.
func TestBeyondEmptyBatches(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stable   int64
		batches  map[int64][]byte
		want     int64
		requests int
	}{
		"two batches up to the end":            {9, map[int64][]byte{2: emptied(2, 3), 5: emptied(5, 4)}, 9, 2},
		"one that begins before the question":  {9, map[int64][]byte{2: emptied(0, 4), 4: emptied(4, 5)}, 9, 2},
		"one, and nothing behind it yet":       {8, map[int64][]byte{2: emptied(2, 3)}, 5, 2},
		"one, and nothing behind it any more":  {9, map[int64][]byte{2: emptied(2, 3)}, 9, 2},
		"one that reaches beyond the end":      {12, map[int64][]byte{2: emptied(2, 10)}, 9, 1},
		"nothing at all, and the end is there": {9, nil, 9, 1},
		"nothing at all, beyond the end":       {10, nil, 9, 1},
		"nothing at all, before the end":       {8, nil, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, kfake.SeedTopics(1, "in"))
			tail, in := tailOf(t, c)
			requests := answering(t, c, in.ID, test.stable, test.batches)
			at, err := tail.beyond(limited(t), in0, 2, 9)
			if err != nil || at != test.want || len(*requests) != test.requests {
				t.Errorf("at %d after %d questions, %v; want %d after %d", at, len(*requests), err, test.want, test.requests)
			}
		})
	}
}

// A fetch request to a leader asks for committed records only, at most 1 MiB, without a session,
// with a maximum wait of 100 ms.
func TestQuestionOfATail(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	tail, in := tailOf(t, c)
	requests := answering(t, c, in.ID, 9, nil)
	if _, _, err := tail.fetch(limited(t), in0, in.Partitions[0].Leader, in.ID, 7); err != nil || len(*requests) != 1 {
		t.Fatal(err, len(*requests))
	}
	q := (*requests)[0]
	p := q.Topics[0].Partitions[0]
	if q.IsolationLevel != 1 || q.MaxBytes != 1<<20 || q.MaxWaitMillis != 100 || q.SessionEpoch != -1 ||
		p.Partition != 0 || p.FetchOffset != 7 || p.PartitionMaxBytes != 1<<20 {
		t.Errorf("%+v", q)
	}
}

// A flush hands out a single waiting record in the same way as two.
func TestFlushOfOneRecord(t *testing.T) {
	s := offline()
	s.config.Window = 4
	s.take(in0, numbered(in0, 8, 1))
	if !s.flush() || s.runs() != "0:8-8(1)" {
		t.Errorf("handed out is %q", s.runs())
	}
}

// Numbers and booleans become keys as text: decimal digits, and "true" or "false".
func TestWordsOfKeys(t *testing.T) {
	for _, c := range []struct {
		of   arrow.DataType
		text string
	}{
		{arrow.PrimitiveTypes.Int64, "-9223372036854775808"}, {arrow.PrimitiveTypes.Int64, "11"},
		{arrow.PrimitiveTypes.Int32, "2147483647"}, {arrow.PrimitiveTypes.Int32, "-12"}, {arrow.PrimitiveTypes.Int16, "29"},
		{arrow.FixedWidthTypes.Boolean, "true"}, {arrow.FixedWidthTypes.Boolean, "false"},
		{arrow.PrimitiveTypes.Float64, "0.1"}, {arrow.PrimitiveTypes.Float32, "0.1"},
		{arrow.BinaryTypes.LargeString, "großer Text"}, {arrow.BinaryTypes.StringView, "ein Text, länger als zwölf"},
		{arrow.BinaryTypes.String, "Text"},
	} {
		got, ok := (&policy{}).appendValue([]byte("before "), arrayOf(t, c.of, "null!", c.text), 1)
		if !ok || string(got) != "before "+c.text {
			t.Errorf("%s of %s: %q, %v", c.text, c.of, got, ok)
		}
		if got, ok := (&policy{}).appendValue([]byte("before "), arrayOf(t, c.of, c.text, "null!"), 1); ok ||
			string(got) != "before " {
			t.Errorf("null of %s: %q, %v", c.of, got, ok)
		}
	}
}

// configured makes the brokers answer every DescribeConfigs request: settings returns the names and
// values for the resource with the given name.
func configured(c *kfake.Cluster, settings func(name string) ([][2]string, error)) {
	c.ControlKey(int16(kmsg.DescribeConfigs), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := r.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, resource := range r.(*kmsg.DescribeConfigsRequest).Resources {
			of := kmsg.NewDescribeConfigsResponseResource()
			of.ResourceType, of.ResourceName = resource.ResourceType, resource.ResourceName
			list, err := settings(resource.ResourceName)
			if err != nil {
				return nil, err, true
			}
			for _, s := range list {
				setting := kmsg.NewDescribeConfigsResponseResourceConfig()
				setting.Name, setting.Value = s[0], &s[1]
				of.Configs = append(of.Configs, setting)
			}
			answer.Resources = append(answer.Resources, of)
		}
		return answer, nil, true
	})
}

// A size limit above the largest possible int32, or one that is not a number, is ignored: the
// default applies.
func TestLimitBeyondAnyMessage(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int32{"2147483647": 64 << 20, "2147483648": 1_000_012, "4294967297": 1_000_012,
		"many": 1_000_012} {
		c := newCluster(t, kfake.SeedTopics(1, "in"))
		s := asking(t, c)
		configured(c, func(string) ([][2]string, error) {
			return [][2]string{{"retention.ms", "777"}, {"max.message.bytes", value}}, nil
		})
		if s.findLimits(limited(t), "in"); s.limit("in") != want {
			t.Errorf("%s: %d, want %d", value, s.limit("in"), want)
		}
	}
}

// The commit request contains no topic without a committed start.
func TestCommittedStartsAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "in", "too"))
	s := asking(t, c)
	var mu sync.Mutex
	commits := map[string]int64{}
	topics := map[string]bool{}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, of := range r.(*kmsg.OffsetCommitRequest).Topics {
			topics[fmt.Sprint(of.Topic, of.TopicID)] = true
			for _, p := range of.Partitions {
				commits[fmt.Sprintf("%s/%d", of.Topic, p.Partition)] = p.Offset
			}
		}
		return true
	}})
	if err := s.commitStarts(limited(t), s.client, map[Partition]int64{in1: 3}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(topics) != 1 || len(commits) != 1 {
		t.Errorf("asked for %v of %d topics", commits, len(topics))
	}
	for _, offset := range commits {
		if offset != 3 {
			t.Errorf("committed is %d", offset)
		}
	}
}

// PartitionOf and StreamName separate the number of the partition from the index of the topic; a
// stream's number combines both.
func TestPartitionOfABlock(t *testing.T) {
	for _, n := range []int32{0, 1, 2, 5, maxPartitions - 1} {
		for _, topic := range []int{0, 1, 6} {
			b := &microdata.Block{Scope: "in", Stream: topic*maxPartitions + int(n)}
			for name, got := range map[string]Partition{"a source": (&Source{}).PartitionOf(b),
				"a stream": (&StreamSource{}).PartitionOf(b)} {
				if got != (Partition{Topic: "in", Number: n}) {
					t.Errorf("%s: partition %d of topic %d: %v", name, n, topic, got)
				}
			}
			if got, want := streamName(b.Stream), fmt.Sprintf("partition %d", n); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
}

// A patience of 1 ns bounds a wait; a patience of 0 or less does not.
func TestShortestPatience(t *testing.T) {
	for patience, want := range map[time.Duration]bool{-1: false, 0: false, 1: true, time.Hour: true} {
		err := bounded(WithPatience(t.Context(), patience), time.Now(), func(ctx context.Context) error {
			if _, bounded := ctx.Deadline(); bounded != want {
				t.Errorf("patience %d: bounded %v", patience, bounded)
			}
			return nil
		})
		if err != nil {
			t.Errorf("patience %d: %v", patience, err)
		}
	}
}

// If the state topic may not be read, the error is immediate. A temporary error is retried.
func TestStatesThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "g-state"))
	of := StateOf{"p", in0}
	if err := newClient(t, c).ProduceSync(limited(t), &kgo.Record{Topic: "g-state", Key: of.key("e"), Value: []byte("v")}).
		FirstErr(); err != nil {
		t.Fatal(err)
	}
	source := &SourceConfig{Connection: connection(c), Group: "g"}
	passing := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: 1})
	if got, err := ReadStates(limited(t), source, "p", zerolog.Nop()); err != nil || len(got[of]) != 1 {
		t.Errorf("a fetch that fails once: %v, %v", got, err)
	}
	passing.Remove()
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	if _, err := ReadStates(limited(t), source, "p", zerolog.Nop()); !Final(err) ||
		!strings.HasPrefix(err.Error(), "reading g-state: ") {
		t.Errorf("states that may not be read: %v", err)
	}
}

// errorObserver is an observer that records the errors reported about brokers.
type errorObserver struct {
	observer
	errs []error
}

func (o *errorObserver) Broker(err error) { o.errs = append(o.errs, err) }

// Errors that interrupt reading are temporary, except refusals and a closed client. The end of a
// poll (deadline or cancellation, wrapped or not) is not an error.
func TestWhatInterruptsReading(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("fetching: %w", err) }
	for _, c := range []struct {
		err      error
		fails    string // "": reading continues
		reported bool
	}{
		{context.DeadlineExceeded, "", false}, {wrapped(context.DeadlineExceeded), "", false},
		{context.Canceled, "", false}, {wrapped(context.Canceled), "", false},
		{kgo.ErrClientClosed, "client closed", false}, {wrapped(kgo.ErrClientClosed), "fetching: client closed", false},
		{kerr.TopicAuthorizationFailed, `reading in: the user may not Read topic "in"`, false},
		{kerr.NotLeaderForPartition, "", true}, {wrapped(kerr.NotLeaderForPartition), "", true},
	} {
		s, watch := asking(t, newCluster(t, kfake.SeedTopics(1, "in"))), new(errorObserver)
		s.config.Watch = watch
		err := s.interrupted(kgo.FetchError{Topic: "in", Partition: 0, Err: c.err})
		if (err != nil) != (c.fails != "") || err != nil && !strings.HasPrefix(err.Error(), c.fails) ||
			(len(watch.errs) == 1) != c.reported {
			t.Errorf("%v: %v, reported %v", c.err, err, watch.errs)
		}
	}
	// A partition that was assigned and cannot be read is an error.
	s := asking(t, newCluster(t, kfake.SeedTopics(2, "in")))
	s.owned = map[Partition]int{in1: 1}
	if err := s.interrupted(kgo.FetchError{Topic: "in", Partition: 1, Err: kerr.NotLeaderForPartition}); err == nil ||
		err.Error() != "asking where to begin in in/1: "+kerr.NotLeaderForPartition.Error() {
		t.Errorf("a partition that is not read: %v", err)
	}
}

// The observer is told of every answer and every failed connection, but not of a successful
// connection.
func TestWatcher(t *testing.T) {
	watch, lost := new(errorObserver), errors.New("lost")
	w := watcher{watch}
	w.OnBrokerConnect(kgo.BrokerMetadata{}, 0, nil, nil)
	w.OnBrokerConnect(kgo.BrokerMetadata{}, 0, nil, lost)
	w.OnBrokerE2E(kgo.BrokerMetadata{}, 0, kgo.BrokerE2E{})
	w.OnBrokerE2E(kgo.BrokerMetadata{}, 0, kgo.BrokerE2E{ReadErr: lost})
	if want := []error{lost, nil, lost}; !slices.Equal(watch.errs, want) {
		t.Errorf("reported %v, want %v", watch.errs, want)
	}
}

// A pass that receives no record moves behind the empty batch, and not further.
func TestReaderPassesWhatIsEmpty(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in"))
	fill(t, newClient(t, c), "in", 0, 0, 1)
	src := open(t, sourceOf(c, "in"))
	_, in := tailOf(t, c)
	answering(t, c, in.ID, 8, map[int64][]byte{2: emptied(2, 3)})
	r := &reader{source: src, client: newClient(t, c), size: 10, next: 2}
	if err := r.poll(limited(t), &span{Partition: in0, from: 2, end: 9}); err != nil || r.next != 5 || len(r.pending) > 0 {
		t.Errorf("at %d with %d records, %v", r.next, len(r.pending), err)
	}
}

// A release into a topic that may not be written to fails at once, with the reason. A release
// without messages and tombstones does not need the topic.
func TestReleaseIntoAClosedTopic(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in", "out"))
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Err: kerr.TopicAuthorizationFailed, Topic: "out", Count: -1})
	s := asking(t, c)
	r := &Release{stream: s}
	run := newRaw(numbered(in0, 0, 1), nil, false)
	run.split()
	if err := r.Write(limited(t), run, &microdata.Block{Scope: "in"}, message.Released{}, false); err != nil ||
		s.failure() != nil {
		t.Errorf("nothing to write: %v, %v", err, s.failure())
	}
	err := r.Write(limited(t), run, &microdata.Block{Scope: "in"},
		message.Released{Values: [][]byte{nil}, Source: []int32{0}}, false)
	if !Final(err) || !strings.HasPrefix(err.Error(), "writing to out: ") || s.failure() == nil {
		t.Errorf("a topic that may not be written to: %v, %v", err, s.failure())
	}
}

// inOrder is an observer that records its calls in order.
type inOrder struct {
	observer
	calls []string
}

func (o *inOrder) Assigned(parts map[string][]int32) {
	o.calls = append(o.calls, fmt.Sprint("assigned ", parts))
}

func (o *inOrder) Lag(topic string, n int32, m int64) {
	o.calls = append(o.calls, fmt.Sprint("lag of ", topic, " ", n))
}

// The observer learns that a partition has been assigned before it learns anything else about it.
func TestAssignedBeforeLag(t *testing.T) {
	t.Parallel()
	c, cl := streamCluster(t)
	fillWith(t, cl, 0, 0, 3)
	watch := new(inOrder)
	m := newMember(t, c, func(config *StreamConfig) { config.Watch = watch })
	if err := m.transaction(t, false); err != nil {
		t.Fatal(err)
	}
	assigned := slices.IndexFunc(watch.calls, func(call string) bool {
		return strings.HasPrefix(call, "assigned map[in:[")
	})
	lag := slices.IndexFunc(watch.calls, func(call string) bool { return strings.HasPrefix(call, "lag of in") })
	if assigned < 0 || lag < assigned {
		t.Errorf("calls %q", watch.calls)
	}
}
