package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rs/zerolog"
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

// States whose topic ends in what was aborted and compacted away are read to the end, and who
// is ended while reading them says why.
func TestStatesEndInAGap(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if err := c.CreateTopic("g-state", 1, map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}); err != nil {
		t.Fatal(err)
	}
	cl := newClient(t, c)
	of := StateOf{"p", in0}
	for i := range 4 {
		if err := cl.ProduceSync(limited(t), &kgo.Record{Topic: "g-state", Key: of.key("a"), Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	transaction(t, c, "g-state", 0, 0, 2, kgo.TryAbort)
	c.Compact()
	source := &SourceConfig{Connection: connection(c), Group: "g"}
	got, err := ReadStates(limited(t), source, "p", zerolog.Nop())
	if err != nil || len(got) != 1 || string(got[of]["a"]) != "3" || len(got[of]) != 1 {
		t.Errorf("states %q, %v", got, err)
	}
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
