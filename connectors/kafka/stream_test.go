package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// observer records the calls that it receives from a stream.
type observer struct {
	assigned map[string][]int32
	lag      map[Partition]int64
}

func (o *observer) Broker(error)                       {}
func (o *observer) Assigned(parts map[string][]int32)  { o.assigned = parts }
func (o *observer) Rebalance()                         {}
func (o *observer) Lag(topic string, n int32, m int64) { o.lag[Partition{Topic: topic, Number: n}] = m }

// member is a stream that adds 1000 to every wage and rejects the wage 13.5.
type member struct {
	*Stream
	source  *StreamSource
	layout  *microdata.Layout
	release *Release
	watch   *observer

	kept    map[Partition]map[string][]byte // the arguments of Enter
	entered map[Partition]int64             // and the next offset
	blocks  []string                        // "partition:first-last" of each block
}

func newMember(t *testing.T, c *kfake.Cluster, change func(*StreamConfig)) *member {
	t.Helper()
	m := &member{kept: map[Partition]map[string][]byte{}, entered: map[Partition]int64{},
		watch: &observer{lag: map[Partition]int64{}}}
	source := sourceOf(c, "in")
	source.tuning = append(slices.Clone(source.tuning), kgo.HeartbeatInterval(50*time.Millisecond))
	config := StreamConfig{
		Name: "p", Source: source, Sink: sinkOf(c, "out"),
		Commit: Commit{Interval: connectors.Duration(time.Second), Records: 40}, Due: func() bool { return false },
		Enter: func(p Partition, a Arrival, kept map[string][]byte) error {
			m.kept[p], m.entered[p] = kept, a.Next
			return nil
		},
		Watch: m.watch, Log: zerolog.Nop(),
	}
	config.Sink.Key = pass
	if change != nil {
		change(&config)
	}
	var err error
	if m.Stream, err = OpenStream(limited(t), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	if m.source, err = m.Source(limited(t), config.Source); err != nil {
		t.Fatal(err)
	}
	m.layout = layoutOf(m.source.Schema())
	m.layout.Release[0].Masked = true
	if err := m.Beside(limited(t), nil, "held"); err != nil {
		t.Fatal(err)
	}
	if m.release, err = m.Release(limited(t), m.source, m.layout, keytest.Key(1), "held"); err != nil {
		t.Fatal(err)
	}
	m.join(t)
	return m
}

func (m *member) join(t *testing.T) {
	t.Helper()
	decoder, err := m.source.Decoder(m.layout, m.release.Carries())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Join(decoder, m.release.KeepsTombstones()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Leave)
}

// transaction reads and releases until the open transaction is due to end and has at least one
// record.
func (m *member) transaction(t *testing.T, held bool) error {
	t.Helper()
	ctx := limited(t)
	for {
		if err := m.Begin(ctx); err != nil {
			t.Fatal(err)
		}
		for {
			raw, err := m.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			var b microdata.Block
			if err := raw.Decode(&b); err != nil {
				t.Fatal(err)
			}
			m.blocks = append(m.blocks, fmt.Sprintf("%d:%d", m.source.PartitionOf(&b).Number, b.N))
			wages := b.Columns[0].Mutable()
			for i := range b.N {
				if wages.Values[i] == 13.5 {
					b.Reject(i, "wage", "for the test")
				}
				wages.Values[i] += 1000
			}
			e, err := m.release.Encode(ctx, &b, held)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.release.Write(ctx, raw, &b, e, held); err != nil {
				return err
			}
		}
		if m.Touched() || m.Finished() {
			return nil
		}
		if _, err := m.End(ctx, false); err != nil { // no record has arrived yet
			return err
		}
	}
}

func (m *member) end(t *testing.T, commit bool) {
	t.Helper()
	if got, err := m.End(limited(t), commit); err != nil || got != commit {
		t.Fatalf("committed %v: %v", got, err)
	}
}

// all releases all records, transaction by transaction.
func (m *member) all(t *testing.T) {
	t.Helper()
	for !m.Finished() {
		if err := m.transaction(t, false); err != nil {
			t.Fatal(err)
		}
		m.end(t, true)
	}
}

// lines returns the committed messages of a partition, in order: key=value.
func lines(t *testing.T, c *kfake.Cluster, topic string, partition int32) (all []string) {
	t.Helper()
	for _, r := range committedValues(t, c, topic) {
		if r.Partition == partition {
			value := string(r.Value)
			if r.Value == nil {
				value = "tombstone"
			}
			all = append(all, string(r.Key)+"="+value)
		}
	}
	return all
}

// wantedLines returns the released lines of n messages of fill. The messages with numbers in gone are
// tombstones.
func wantedLines(from, n int, gone ...int) (all []string) {
	for i := from; i < from+n; i++ {
		switch {
		case slices.Contains(gone, i):
			all = append(all, fmt.Sprintf("key-%d=tombstone", i))
		case i != 13:
			all = append(all, fmt.Sprintf(`key-%d={"wage":%d.5,"region":"r%d"}`, i, 1000+i, i%3))
		}
	}
	return all
}

// fillWith is fill with some tombstones.
func fillWith(t *testing.T, cl *kgo.Client, partition int32, from, n int, gone ...int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		m := messageOf("in", partition, i)
		if slices.Contains(gone, i) {
			m.Value = nil
		}
		if err := cl.ProduceSync(t.Context(), m).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// streamCluster has one topic to read, one topic for the release, and one for held messages.
func streamCluster(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, *kgo.Client) {
	t.Helper()
	c := newCluster(t,
		append([]kfake.Opt{kfake.SeedTopics(2, "in", "out", "held"), kfake.GroupMinSessionTimeout(time.Second)}, opts...)...)
	return c, newClient(t, c)
}

// Released records keep the order of their partition, including tombstones: at the beginning, in a
// row, next to a rejected record, and at the end.
func TestStreamKeepsTheOrder(t *testing.T) {
	c, cl := streamCluster(t)
	gone := []int{0, 5, 6, 12, 14, 29}
	fillWith(t, cl, 0, 0, 30, gone...)
	fillWith(t, cl, 1, 100, 3, 100, 101, 102) // only tombstones
	m := newMember(t, c, nil)
	m.all(t)
	same(t, "partition 0", lines(t, c, "out", 0), wantedLines(0, 30, gone...))
	same(t, "partition 1", lines(t, c, "out", 1), wantedLines(100, 3, 100, 101, 102))
	if !maps.EqualFunc(m.watch.assigned, map[string][]int32{"in": {0, 1}}, slices.Equal) {
		t.Errorf("assigned: %v", m.watch.assigned)
	}
	if m.watch.lag[Partition{Topic: "in", Number: 0}] != 0 || m.watch.lag[Partition{Topic: "in", Number: 1}] != 0 {
		t.Errorf("lag at the end: %v", m.watch.lag)
	}
}

// If keys are dropped, a tombstone would delete nothing, so it is rejected.
func TestStreamRejectsTombstones(t *testing.T) {
	c, cl := streamCluster(t)
	fillWith(t, cl, 0, 0, 5, 1, 4)
	m := newMember(t, c, func(s *StreamConfig) { s.Sink.Key = drop })
	m.all(t)
	same(t, "released", lines(t, c, "out", 0),
		[]string{`={"wage":1000.5,"region":"r0"}`, `={"wage":1002.5,"region":"r2"}`, `={"wage":1003.5,"region":"r0"}`})
}

// A transaction ends after the configured number of records. Only its commit releases them; after
// an abort they are read again.
func TestStreamTransactions(t *testing.T) {
	for _, delivery := range []string{"", atLeastOnce} {
		t.Run("delivery "+delivery, func(t *testing.T) {
			c, cl := streamCluster(t)
			fill(t, cl, "in", 0, 0, 100)
			m := newMember(t, c, func(s *StreamConfig) { s.Sink.Delivery = delivery })
			part := Partition{Topic: "in", Number: 0}
			if err := m.transaction(t, false); err != nil {
				t.Fatal(err)
			}
			if next, ok := m.At(part); next != 40 || !ok || m.Polled() != 40 {
				t.Errorf("the first transaction has read up to %d, %v, %d records", next, ok, m.Polled())
			}
			m.end(t, false)
			if next, ok := m.At(part); next != 0 || ok {
				t.Errorf("after an abort: read up to %d, %v", next, ok)
			}
			if delivery == "" {
				if got := lines(t, c, "out", 0); len(got) > 0 {
					t.Fatalf("%d messages of an aborted transaction are released", len(got))
				}
			}
			if err := m.transaction(t, false); err != nil {
				t.Fatal(err)
			}
			m.end(t, true)
			if next, ok := m.At(part); next != 40 || ok {
				t.Errorf("after a commit: read up to %d, %v", next, ok)
			}
			want := wantedLines(0, 40)
			if delivery != "" {
				want = append(want, want...) // after an abort the same records are read again
			}
			same(t, "after one transaction", lines(t, c, "out", 0), want)
			offsets, err := kadm.NewClient(cl).FetchOffsets(t.Context(), "g")
			if o, ok := offsets.Lookup("in", 0); err != nil || !ok || o.At != 40 {
				t.Errorf("the group is at %d, %v", o.At, err)
			}
			m.all(t)
			same(t, "in the end", lines(t, c, "out", 0), append(want, wantedLines(40, 60)...))
		})
	}
}

// A member that takes over a partition begins at the last commit, with the state kept there.
func TestStreamGoesOn(t *testing.T) {
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 0, 60)
	fill(t, cl, "in", 1, 200, 10)
	first := newMember(t, c, nil)
	zero, one := Partition{Topic: "in", Number: 0}, Partition{Topic: "in", Number: 1}
	for next := int64(0); next < 60; next, _ = first.At(zero) {
		if err := first.transaction(t, false); err != nil {
			t.Fatal(err)
		}
		if n, ok := first.At(zero); ok {
			first.PutState(t.Context(), zero, "count", fmt.Append(nil, n))
			first.PutState(t.Context(), zero, "other", []byte("x"))
		}
		first.end(t, true)
	}
	// State kept in an aborted transaction is discarded.
	fill(t, cl, "in", 0, 60, 10)
	first.Leave()
	first = newMember(t, c, nil)
	if got := first.kept[zero]; len(got) > 0 {
		t.Errorf("kept before anything was entered: %q", got)
	}
	if err := first.transaction(t, false); err != nil {
		t.Fatal(err)
	}
	first.PutState(t.Context(), zero, "count", []byte("70"))
	first.end(t, false)
	first.Leave()

	second := newMember(t, c, nil)
	second.all(t)
	if got := second.kept[zero]; string(got["count"]) != "60" || string(got["other"]) != "x" || len(got) != 2 ||
		second.entered[zero] != 60 {
		t.Errorf("the second was given %q at %d", got, second.entered[zero])
	}
	if got := second.kept[one]; len(got) > 0 || second.entered[one] != 10 {
		t.Errorf("of the other partition it was given %q at %d", got, second.entered[one])
	}
	same(t, "partition 0", lines(t, c, "out", 0), wantedLines(0, 70))
	same(t, "partition 1", lines(t, c, "out", 1), wantedLines(200, 10))
	states, err := ReadStates(limited(t), sourceOf(c, "in"), "p", zerolog.Nop())
	if err != nil || len(states) != 1 || string(states[StateOf{"p", zero}]["count"]) != "60" {
		t.Errorf("the group's state: %q, %v", states, err)
	}
	second.Reenter()
	if err := second.EnterAssigned(limited(t)); err != nil || second.entered[zero] != 70 {
		t.Errorf("entered anew at %d, %v", second.entered[zero], err)
	}
}

// Held messages go to the restricted topic only.
func TestStreamHolds(t *testing.T) {
	c, cl := streamCluster(t)
	fillWith(t, cl, 0, 0, 10, 3)
	m := newMember(t, c, nil)
	if err := m.transaction(t, true); err != nil {
		t.Fatal(err)
	}
	m.end(t, true)
	same(t, "held", lines(t, c, "held", 0), wantedLines(0, 10, 3))
	same(t, "released", lines(t, c, "out", 0), nil)
}

// A window never spans two transactions. The remaining records form a shorter window.
func TestStreamWindows(t *testing.T) {
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 0, 50)
	m := newMember(t, c, func(s *StreamConfig) { s.Window = 16 })
	m.all(t)
	if got, want := fmt.Sprint(m.blocks), "[0:16 0:16 0:8 0:10]"; got != want {
		t.Errorf("blocks %s, want %s", got, want)
	}
	same(t, "released", lines(t, c, "out", 0), wantedLines(0, 50))
}

// With on_refused: stop a message that the topic refuses is a final error with the place of the message.
func TestStreamMessageTooLarge(t *testing.T) {
	c, cl := streamCluster(t)
	size := "1000"
	if _, err := kadm.NewClient(cl).AlterTopicConfigs(t.Context(),
		[]kadm.AlterConfig{{Name: "max.message.bytes", Value: &size}}, "out"); err != nil {
		t.Fatal(err)
	}
	fill(t, cl, "in", 1, 0, 7)
	big := &kgo.Record{Topic: "in", Partition: 1,
		Value: []byte(`{"wage":1,"region":"` + strings.Repeat("canary", 200) + `"}`)}
	if err := cl.ProduceSync(t.Context(), big).FirstErr(); err != nil {
		t.Fatal(err)
	}
	m := newMember(t, c, func(s *StreamConfig) { s.Sink.OnRefused = Stop })
	err := m.transaction(t, false)
	if err == nil || !Final(err) || !strings.Contains(err.Error(), "the record at offset 7 of in/1: ") ||
		strings.Contains(err.Error(), "canary") {
		t.Errorf("the error is %v", err)
	}
	m.end(t, false)
	same(t, "released", lines(t, c, "out", 1), nil)
}

// Draining ends the open transaction at once, and no new one begins.
func TestStreamDrains(t *testing.T) {
	c, cl := streamCluster(t)
	fill(t, cl, "in", 0, 0, 10)
	m := newMember(t, c, func(s *StreamConfig) {
		s.Source.Until = ""
		s.Commit.Interval = connectors.Duration(10 * time.Second)
	})
	for m.entered[Partition{Topic: "in", Number: 0}] == 0 && !m.Settled() {
		if err := m.Begin(limited(t)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, _ = m.Next(ctx)
		cancel()
		m.end(t, false)
	}
	if m.Drained() || m.Draining() || m.Bounded() || m.Finished() {
		t.Error("it was not told to end")
	}
	m.Drain()
	if !m.Draining() || !m.Drained() {
		t.Error("it knows its assignment and is told to end")
	}
	if err := m.Begin(limited(t)); err != nil {
		t.Fatal(err)
	}
	if raw, err := m.Next(limited(t)); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v, %v", raw, err)
	}
	m.end(t, false)
}
