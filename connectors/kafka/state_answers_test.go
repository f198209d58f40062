package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// States are read to the end, in as many answers as brokers need for them.
func TestStatesOfManyAnswers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "g-state"))
	cl := newClient(t, c, kgo.ProducerBatchCompression(kgo.NoCompression()))
	var mu sync.Mutex
	asked := map[kmsg.Request]bool{}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		asked[r] = true
		return true
	}})
	// Where transactions end is asked only of states that do not come to their end.
	gaps := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Observe: true, Count: -1, When: func(r kmsg.Request) bool { return r.(*kmsg.ListOffsetsRequest).IsolationLevel > 0 }})
	value := bytes.Repeat([]byte("x"), 1000) // two do not fit into one answer
	for n := range int32(2) {
		for i := range 5 {
			of := StateOf{"p", Partition{Topic: "in", Number: n}}
			if err := cl.ProduceSync(limited(t), &kgo.Record{Topic: "g-state", Partition: n, Key: of.key(fmt.Sprint(i)), Value: value}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	source := &SourceConfig{Connection: connection(c), Group: "g"}
	source.tuning = append(slices.Clone(source.tuning), kgo.FetchMaxBytes(1500), kgo.FetchMaxPartitionBytes(1500))
	got, err := ReadStates(limited(t), source, "p", zerolog.Nop())
	if err != nil || len(got[StateOf{"p", in0}]) != 5 || len(got[StateOf{"p", in1}]) != 5 {
		t.Errorf("%d and %d of 5 entries, %v", len(got[StateOf{"p", in0}]), len(got[StateOf{"p", in1}]), err)
	}
	if gaps.Hits() > 0 {
		t.Errorf("all states came, and the ends of transactions were asked for %d times", gaps.Hits())
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) < 5 {
		t.Errorf("all came in %d answers", len(asked))
	}
}

// gap has a topic of states, of one partition with records at 0 to 3, end at 9: brokers answer who asks
// for more with the batches given by their offsets. The last transaction has ended once that has been
// asked often enough.
func gap(t *testing.T, c *kfake.Cluster, id [16]byte, open int, batches map[int64][]byte, refused bool) (asked *atomic.Int32) {
	t.Helper()
	const end = 9
	asked = new(atomic.Int32)
	c.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		q, answer := r.(*kmsg.ListOffsetsRequest), r.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, of := range q.Topics {
			topic := kmsg.NewListOffsetsResponseTopic()
			topic.Topic = of.Topic
			for _, one := range of.Partitions {
				p := kmsg.NewListOffsetsResponseTopicPartition()
				switch p.Partition = one.Partition; {
				case one.Timestamp == -2:
					p.Offset = 0
				case q.IsolationLevel == 1 && int(asked.Add(1)) <= open:
					p.Offset = end - 1
				default:
					p.Offset = end
				}
				topic.Partitions = append(topic.Partitions, p)
			}
			answer.Topics = append(answer.Topics, topic)
		}
		return answer, nil, true
	})
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		q := r.(*kmsg.FetchRequest)
		at := &q.Topics[0].Partitions[0].FetchOffset
		tail := q.MaxWaitMillis == 100               // who asks for what is left, not the consumer
		if *at < 4 || !tail && batches[*at] == nil { // the consumer gets nothing more, after a while
			*at = min(*at, 4)
			return nil, nil, false
		}
		answer := r.ResponseKind().(*kmsg.FetchResponse)
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = "g-state", id
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.LastStableOffset, p.RecordBatches = end, end, batches[*at]
		if refused && tail {
			p.ErrorCode = kerr.TopicAuthorizationFailed.Code
		}
		topic.Partitions = append(topic.Partitions, p)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	return asked
}

// States whose topic ends in what was compacted away are read to the end: over what is left of
// batches and where not even that is left, and not before the last transaction has ended. Where brokers
// refuse to say what is left, there are no states.
func TestStatesEndInAGap(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		open    int
		batches map[int64][]byte
		refused bool
	}{
		"two empty batches":              {0, map[int64][]byte{4: emptied(4, 2), 6: emptied(6, 3)}, false},
		"one, and nothing behind it":     {0, map[int64][]byte{4: emptied(4, 2)}, false},
		"nothing, and a transaction":     {1, nil, false},
		"a refusal to say what is there": {0, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, kfake.SeedTopics(1, "g-state"))
			cl := newClient(t, c)
			of := StateOf{"p", in0}
			for i := range 4 {
				if err := cl.ProduceSync(limited(t), &kgo.Record{Topic: "g-state", Key: of.key("a"), Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
			details, err := kadm.NewClient(cl).ListTopics(limited(t), "g-state")
			if err != nil {
				t.Fatal(err)
			}
			asked := gap(t, c, details["g-state"].ID, test.open, test.batches, test.refused)
			source := &SourceConfig{Connection: connection(c), Group: "g"}
			source.tuning = append(slices.Clone(source.tuning), kgo.DisableFetchSessions(), kgo.FetchMaxWait(50*time.Millisecond))
			got, err := ReadStates(limited(t), source, "p", zerolog.Nop())
			if test.refused {
				if got != nil || !Final(err) {
					t.Errorf("states %q, %v", got, err)
				}
				return
			}
			if err != nil || len(got) != 1 || string(got[of]["a"]) != "3" || len(got[of]) != 1 || int(asked.Load()) <= test.open {
				t.Errorf("states %q, %v; transactions asked for %d times", got, err, asked.Load())
			}
		})
	}
}

// Who is ended while reading states says why, and one who cannot connect says that.
func TestStatesThatAreNotRead(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "g-state"))
	if err := newClient(t, c).ProduceSync(limited(t), &kgo.Record{Topic: "g-state", Key: StateOf{"p", in0}.key("a"), Value: []byte("v")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	source := &SourceConfig{Connection: connection(c), Group: "g"}
	ctx, cancel := context.WithCancelCause(limited(t))
	stopped := errors.New("stopped")
	seen, release := hold(t, c, kmsg.Fetch, func(kmsg.Request) bool { return true })
	go func() { <-seen; cancel(stopped) }()
	if got, err := ReadStates(ctx, source, "p", zerolog.Nop()); got != nil || err != stopped {
		t.Errorf("ended: %v, %v", got, err)
	}
	release()
	source.tuning = []kgo.Opt{kgo.MaxBufferedRecords(0)}
	if got, err := ReadStates(limited(t), source, "p", zerolog.Nop()); got != nil || err == nil {
		t.Errorf("no client: %v, %v", got, err)
	}
}
