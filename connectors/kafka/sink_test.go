package kafka

import (
	"encoding/json"
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
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// release is a file job: it writes n records of a table to a sink, in blocks of 10.
type release struct {
	src    connectors.Source
	layout *microdata.Layout
	sink   connectors.Sink
}

func newRelease(t *testing.T, c *SinkConfig, n int) *release {
	t.Helper()
	tab := connectortest.NewTable(t, connectortest.Contract{}, n)
	src, err := tab.Config(10).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &release{src: src, layout: layoutOf(src.Schema())}
	if c.Carries(src) {
		t.Error("a file's records are no messages")
	}
	r.sink, err = c.Create(limited(t), connectors.Plan{Source: src, Layout: r.layout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.sink.Abort(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *release) write(t *testing.T) error {
	t.Helper()
	in, err := r.src.Read(t.Context(), r.layout, connectors.Cut{Records: 10})
	if err != nil {
		return err
	}
	defer in.Close()
	for {
		raw, err := in.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			return err
		}
		if b.First == 0 {
			b.Reject(1, "", "for the test")
		}
		e, err := r.sink.Encode(&b)
		if err != nil {
			return err
		}
		if err := r.sink.Write(limited(t), e); err != nil {
			return err
		}
	}
}

func sinkOf(c *kfake.Cluster, topic string) *SinkConfig {
	return &SinkConfig{Connection: connection(c), Topic: topic}
}

// Nothing is visible before Commit. After Commit everything is visible, in order within each
// partition.
func TestSinkCommits(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(3, "out"))
	r := newRelease(t, sinkOf(c, "out"), 95)
	if err := r.write(t); err != nil {
		t.Fatal(err)
	}
	if err := r.sink.Finish(limited(t)); err != nil {
		t.Fatal(err)
	}
	if got := committedValues(t, c, "out"); len(got) > 0 {
		t.Fatalf("%d records before Commit", len(got))
	}
	if err := r.sink.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := r.sink.Abort(); err != nil {
		t.Fatal(err)
	}
	by := map[int32][]float64{}
	for _, m := range committedValues(t, c, "out") {
		var v struct{ Masked float64 }
		if err := json.Unmarshal(m.Value, &v); err != nil {
			t.Fatal(err)
		}
		if m.Key != nil || len(m.Headers) > 0 {
			t.Errorf("key %q, headers %v", m.Key, m.Headers)
		}
		by[m.Partition] = append(by[m.Partition], v.Masked)
	}
	total := 0
	for n := range int32(3) {
		if !slices.IsSorted(by[n]) || len(by[n]) < 25 {
			t.Errorf("partition %d: %d records: %v", n, len(by[n]), by[n])
		}
		total += len(by[n])
	}
	if total != 94 { // one was rejected
		t.Errorf("%d records, want 94", total)
	}
}

// A release that is refused at any step never becomes visible.
func TestSinkAborts(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "out"))
	for steps := range 3 {
		r := newRelease(t, sinkOf(c, "out"), 30)
		if steps > 0 {
			if err := r.write(t); err != nil {
				t.Fatal(err)
			}
		}
		if steps > 1 {
			if err := r.sink.Finish(limited(t)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := r.sink.Abort(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.sink.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	// The aborted transaction does not block the topic.
	fill(t, newClient(t, c), "out", 0, 0, 1)
	if got := committedValues(t, c, "out"); len(got) != 1 {
		t.Errorf("%d records, want the one that came later", len(got))
	}
}

// A new run of the same pipeline immediately ends the transaction that a killed run has left open.
// A run that was still active then gets an error with the reason.
func TestSinkEndsWhatADeadRunLeftOpen(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "out"))
	config := sinkOf(c, "out")
	config.Abilities().SetPipeline("nightly")
	dead := newRelease(t, config, 30)
	if err := dead.write(t); err != nil {
		t.Fatal(err)
	}
	if err := dead.sink.Finish(limited(t)); err != nil {
		t.Fatal(err)
	}
	next := newRelease(t, config, 95)
	if err := next.write(t); err != nil {
		t.Fatal(err)
	}
	if err := next.sink.Finish(limited(t)); err != nil {
		t.Fatal(err)
	}
	if err := next.sink.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := committedValues(t, c, "out"); len(got) != 94 {
		t.Errorf("%d records are visible, want 94", len(got))
	}
	if err := dead.sink.Commit(); err == nil || !strings.Contains(err.Error(), "another run of this pipeline") {
		t.Errorf("the run before commits with %v", err)
	}
}

func TestSinkWithoutRecords(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "out"))
	r := newRelease(t, sinkOf(c, "out"), 0)
	for _, err := range []error{r.write(t), r.sink.Finish(limited(t)), r.sink.Commit()} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The same key goes to the same partition, with the partitioner that all Kafka clients use.
func TestSinkPartitionsByKey(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(4, "out", "plain"))
	config := sinkOf(c, "out")
	config.Key = "secret"
	r := newRelease(t, config, 40)
	for _, err := range []error{r.write(t), r.sink.Finish(limited(t)), r.sink.Commit()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := committedValues(t, c, "out")
	if len(got) != 39 {
		t.Fatalf("%d records, want 39", len(got))
	}
	plain := newClient(t, c, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	for _, m := range got {
		if !strings.HasPrefix(string(m.Key), "canary-") {
			t.Fatalf("key %q", m.Key)
		}
		same := &kgo.Record{Topic: "plain", Key: m.Key}
		if err := plain.ProduceSync(t.Context(), same).FirstErr(); err != nil || same.Partition != m.Partition {
			t.Fatalf("key %s is in partition %d, and other clients put it into %d (%v)", m.Key, m.Partition, same.Partition, err)
		}
	}
}

func TestSinkTakesTheLongestTransactionAllowed(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "out"),
		kfake.BrokerConfigs(map[string]string{"transaction.max.timeout.ms": "60000"}))
	r := newRelease(t, sinkOf(c, "out"), 10)
	if got := r.sink.(*sink).timeout; got != time.Minute {
		t.Errorf("timeout %v, want 1m", got)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	_, err := sinkOf(c, "out").Create(limited(t), connectors.Plan{Source: r.src, Layout: r.layout})
	if !Final(err) || !strings.Contains(err.Error(), "raise transaction.max.timeout.ms to 900000") {
		t.Errorf("got %v", err)
	}
}

func TestSinkSaysWhyTheTransactionIsLost(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "out"))
	r := newRelease(t, sinkOf(c, "out"), 30)
	if err := r.write(t); err != nil {
		t.Fatal(err)
	}
	if err := r.sink.Finish(limited(t)); err != nil {
		t.Fatal(err)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.ProducerFenced, Count: 1})
	err := r.sink.Commit()
	if !Final(err) || !strings.Contains(err.Error(), "the brokers have ended the transaction") {
		t.Errorf("got %v", err)
	}
	if err := r.sink.Abort(); err != nil {
		t.Error(err)
	}
	if got := committedValues(t, c, "out"); len(got) > 0 {
		t.Errorf("%d records", len(got))
	}
}

func TestSinkSaysThatAMessageIsTooLarge(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if err := c.CreateTopic("out", 1, map[string]string{"max.message.bytes": "300"}); err != nil {
		t.Fatal(err)
	}
	config := sinkOf(c, "out")
	config.Compression = "none"
	r := newRelease(t, config, 100)
	err := errors.Join(r.write(t), r.sink.Finish(limited(t)))
	if !Final(err) || !strings.Contains(err.Error(), "writing to out: a message is larger than the topic takes") {
		t.Errorf("got %v", err)
	}
	if err := r.sink.Commit(); err == nil {
		t.Error("committed a release that lacks records")
	}
}

func TestSinkNeedsItsTopic(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	src, err := connectortest.NewTable(t, connectortest.Contract{}, 1).Config(0).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = sinkOf(c, "out").Create(limited(t), connectors.Plan{Source: src, Layout: layoutOf(src.Schema())})
	if !Final(err) || err.Error() != `the topic "out" does not exist` {
		t.Errorf("got %v", err)
	}
}

// From one topic to another, untouched columns are carried as they are and keys are copied.
func TestSinkCarriesMessages(t *testing.T) {
	t.Parallel()
	c := newCluster(t, kfake.SeedTopics(1, "in", "out"))
	fill(t, newClient(t, c), "in", 0, 0, 20)
	src := open(t, sourceOf(c, "in"))
	config := sinkOf(c, "out")
	if !config.Carries(src) {
		t.Fatal("json does not carry json")
	}
	layout := layoutOf(src.Schema())
	layout.Read = layout.Read[:1]
	layout.Release[1].Column = -1
	s, err := config.Create(limited(t), connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Abort()
	r, err := src.Read(t.Context(), layout, connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		raw, err := r.Next(limited(t))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		if err := raw.Decode(&b); err != nil {
			t.Fatal(err)
		}
		e, err := s.Encode(&b)
		if err == nil {
			err = s.Write(limited(t), e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{s.Finish(limited(t)), s.Commit()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := committedValues(t, c, "out")
	for i, m := range got {
		if want := string(messageOf("in", 0, i).Value); string(m.Value) != want {
			t.Errorf("message %d: %s, want %s", i, m.Value, want)
		}
	}
	if len(got) != 20 {
		t.Errorf("%d messages, want 20", len(got))
	}
}

func TestSinkPaths(t *testing.T) {
	t.Parallel()
	if got := fmt.Sprint((&SinkConfig{Topic: "out"}).Paths()); got != "[topic out]" {
		t.Errorf("got %s", got)
	}
}
