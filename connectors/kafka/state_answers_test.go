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

// States are read completely, in as many fetches as needed.
func TestStatesOfManyAnswers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(2, "g-state"))
	cl := newClient(t, c, kgo.ProducerBatchCompression(kgo.NoCompression()))
	var mu sync.Mutex
	requests := map[kmsg.Request]bool{}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		requests[r] = true
		return true
	}})
	// The end of the last transaction is asked for only if the state topic ends in a gap.
	gaps := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Observe: true, Count: -1,
		When: func(r kmsg.Request) bool { return r.(*kmsg.ListOffsetsRequest).IsolationLevel > 0 }})
	value := bytes.Repeat([]byte("x"), 1000) // two records do not fit into one answer
	for n := range int32(2) {
		for i := range 5 {
			of := StateOf{"p", Partition{Topic: "in", Number: n}}
			if err := cl.ProduceSync(limited(t),
				&kgo.Record{Topic: "g-state", Partition: n, Key: of.key(fmt.Sprint(i)), Value: value}).FirstErr(); err != nil {
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
	if len(requests) < 5 {
		t.Errorf("all came in %d answers", len(requests))
	}
}

// gap makes a state topic with one partition, records at offsets 0 to 3, and end offset 9. For
// later offsets the brokers answer with the given batches. The last transaction ends after its
// offset was asked for often enough.
func gap(t *testing.T, c *kfake.Cluster, id [16]byte, open int, batches map[int64][]byte,
	refused bool) (questions *atomic.Int32) {
	t.Helper()
	const end = 9
	questions = new(atomic.Int32)
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
				case q.IsolationLevel == 1 && int(questions.Add(1)) <= open:
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
		tail := q.MaxWaitMillis == 100               // a question for the tail, not a fetch of the consumer
		if *at < 4 || !tail && batches[*at] == nil { // the consumer gets no more records, after a delay
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
	return questions
}

// A state topic that compaction has shortened at its end is read completely: over empty batches and
// over missing offsets, but not before the last transaction has ended. If brokers refuse these
// questions, the result is an error.
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
				if err := cl.ProduceSync(limited(t), &kgo.Record{Topic: "g-state", Key: of.key("a"), Value: fmt.Append(nil, i)}).
					FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
			details, err := kadm.NewClient(cl).ListTopics(limited(t), "g-state")
			if err != nil {
				t.Fatal(err)
			}
			questions := gap(t, c, details["g-state"].ID, test.open, test.batches, test.refused)
			source := &SourceConfig{Connection: connection(c), Group: "g"}
			source.tuning = append(slices.Clone(source.tuning), kgo.DisableFetchSessions(),
				kgo.FetchMaxWait(50*time.Millisecond))
			got, err := ReadStates(limited(t), source, "p", zerolog.Nop())
			if test.refused {
				if got != nil || !Final(err) {
					t.Errorf("states %q, %v", got, err)
				}
				return
			}
			if err != nil || len(got) != 1 || string(got[of]["a"]) != "3" || len(got[of]) != 1 ||
				int(questions.Load()) <= test.open {
				t.Errorf("states %q, %v; transactions asked for %d times", got, err, questions.Load())
			}
		})
	}
}

// If reading the states is cancelled or cannot connect, the error says so.
func TestStatesThatAreNotRead(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "g-state"))
	if err := newClient(t, c).ProduceSync(limited(t),
		&kgo.Record{Topic: "g-state", Key: StateOf{"p", in0}.key("a"), Value: []byte("v")}).FirstErr(); err != nil {
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
