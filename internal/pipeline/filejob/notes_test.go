package filejob

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// brokers is an in-process broker with topics to read and to write.
type brokers struct {
	*testing.T
	cluster *kfake.Cluster
	client  *kgo.Client
	address string
}

func newBrokers(t *testing.T) *brokers {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "in", "out", "bad", "snaps"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	b := &brokers{T: t, cluster: cluster, address: cluster.ListenAddrs()[0]}
	if b.client, err = kgo.NewClient(kgo.SeedBrokers(b.address), kgo.RecordPartitioner(kgo.ManualPartitioner())); err !=
		nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	return b
}

// committed returns the committed messages of a topic, ordered by partition and offset.
func (b *brokers) committed(topic string) (values []string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*eventually.Patience)
	defer cancel()
	c,
		err := kgo.NewClient(kgo.SeedBrokers(b.address), kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(50*time.Millisecond))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ends, err := kadm.NewClient(c).ListCommittedOffsets(ctx, topic)
	if err != nil {
		b.Fatal(err)
	}
	at, byPartition := map[int32]int64{}, map[int32][]string{}
	for {
		rest := false
		ends.Each(func(o kadm.ListedOffset) { rest = rest || at[o.Partition] < o.Offset })
		if !rest {
			return append(byPartition[0], byPartition[1]...)
		}
		fetches := c.PollFetches(ctx)
		if ctx.Err() != nil {
			b.Fatal(ctx.Err())
		}
		fetches.EachRecord(func(r *kgo.Record) {
			at[r.Partition] = r.Offset + 1
			if !r.Attrs.IsControl() {
				byPartition[r.Partition] = append(byPartition[r.Partition], string(r.Value))
			}
		})
	}
}

// rowsWithTwoLost returns 60 records; the 10th and the 41st cannot be masked.
func rowsWithTwoLost() string {
	var rows strings.Builder
	rows.WriteString("id,income,debt,age,region\n")
	for i := range 60 {
		debt := fmt.Sprint(i % 7)
		if i == 9 || i == 40 {
			debt = "canary"
		}
		fmt.Fprintf(&rows, "R%d,%d.50,%s,%d,r%d\n", i, 1000+37*i, debt, 20+i%5, i%3)
	}
	return rows.String()
}

// Lost records and snapshots of a file job are sent to topics. For a release to a topic, lost
// records are part of its transaction; for a refused release they follow it; each once and in
// order. A missing topic is an error before anything is read.
func TestNotesOfAFileJob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, sink, gate, fails string
		released                int
	}{
		{"to a topic", `kafka: {brokers: ["BROKER"], topic: out}`, "max_quarantined: 0.5", "", 58},
		{"refused", `kafka: {brokers: ["BROKER"], topic: out}`, "max_quarantined: 0", "", 0},
		{"no such topic", `kafka: {brokers: ["BROKER"], topic: out}`, "max_quarantined: 0.5",
			`quarantine, assess.emit: the topic "gone" does not exist`, 0},
		{"no brokers", `csv: {path: DIR/out.csv}`, "max_quarantined: 0.5", "quarantine.kafka: needs a kafka source or sink",
			0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBrokers(t)
			dir := t.TempDir()
			write(t, filepath.Join(dir, "in.csv"), []byte(rowsWithTwoLost()))
			in := strings.NewReplacer("DIR", dir, "BROKER", b.address).Replace
			topic := "bad"
			if c.name == "no such topic" {
				topic = "gone"
			}
			keyed := setup{source: in("csv: {path: DIR/in.csv, types: {debt: float64}}"), sink: in(c.sink), masks: noiseMasks,
				extra: "gate: {" + c.gate + "}\nquarantine: {kafka: {topic: " + topic +
					"}}\nassess: {every: {records: 25}, emit: [{kafka: {topic: snaps}}]}\nreport: {json: " + dir + "/r.json}\n"}
			// Connecting checks that the topics exist, and closes the connection.
			if err := Connect(t.Context(), parseAnyway(t, dir, keyed)); (err != nil) != (c.fails != "") || err != nil &&
				!strings.Contains(err.Error(), c.fails) {
				t.Errorf("Connect returns %v, want %q", err, c.fails)
			}
			result, err := Run(t.Context(), parseAnyway(t, dir, keyed), pipeline.Options{})
			if err == nil && result.Refused() != (c.released == 0) {
				t.Errorf("the run is refused: %v, want the opposite", result.Refused())
			}
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want %s", err, c.fails)
				}
				if got := b.committed("out"); len(got) > 0 {
					t.Errorf("%d messages are released, want none", len(got))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := b.committed("out"); len(got) != c.released || strings.Contains(strings.Join(got, ""), "canary") {
				t.Errorf("%d messages are released, want %d without the canary", len(got), c.released)
			}
			var places []int64
			for _, line := range b.committed("bad") {
				var e struct {
					Record int64
					Column string
					Reason string
				}
				if err := json.Unmarshal([]byte(line), &e); err != nil || e.Column != "debt" || e.Reason == "" ||
					strings.Contains(line, "canary") {
					t.Errorf("quarantine entry: error %v, or a wrong column, reason or value: %s", err, line)
				}
				places = append(places, e.Record)
			}
			if !slices.Equal(places, []int64{10, 41}) {
				t.Errorf("the places in quarantine are %v, want 10 and 41", places)
			}
			if n := len(b.committed("snaps")); n != 3 {
				t.Errorf("%d snapshots of 60 records with one per 25, want 3", n)
			}
			want := []string{"r.json", "r.public.json"}
			if c.released == 0 {
				want = want[:1]
			}
			if left := filesIn(t, dir); !slices.Equal(left, want) {
				t.Errorf("the folder has the files %v, want %v", left, want)
			}
		})
	}
}

// The content of topics is released into a file once: the group's offsets move with the release,
// and not with one that is refused or cannot be reported. Lost records are named by their offsets.
func TestTopicsIntoAFile(t *testing.T) {
	t.Parallel()
	b := newBrokers(t)
	for i := range 40 {
		value := fmt.Sprintf(`{"id":"R%d","income":%d.5,"debt":%d,"age":%d,"region":"r"}`, i, 1000+i, i, 20+i)
		if i == 7 || i == 8 {
			value = `{"id":"x","income":"canary"}`
		}
		if err := b.client.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Partition: int32(i % 2), Value: []byte(value)}).
			FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	at := func() (sum int64) {
		t.Helper()
		all, err := kadm.NewClient(b.client).FetchOffsets(t.Context(), "g")
		if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
			t.Fatal(err)
		}
		all.Each(func(o kadm.OffsetResponse) { sum += max(o.At, 0) })
		return sum
	}
	run := func(gate string) (released int, err error) {
		t.Helper()
		dir := t.TempDir()
		write(t, filepath.Join(dir, "k"),
			[]byte(base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdeF"))))
		p, err := config.Parse("p.yaml", []byte(fmt.Sprintf(`version: 1
key: {file: %[1]s/k}
source: {kafka: {brokers: ["%[2]s"], topics: [in], group: g, until: latest}}
sink: {csv: {path: %[1]s/out.csv}}
columns: {id: {role: identifier}, income: {role: sensitive, decimals: 1}, debt: {role: other}, age: {role: key}, region: {role: key}}
masks: [{noise: {columns: [income], sd: 300}}]
gate: {max_quarantined: %[3]s}
assess: {intruder: {inversion: false}}
quarantine: {kafka: {topic: bad}}
`, dir, b.address, gate)), config.Options{Environ: func() []string { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Run(t.Context(), p, pipeline.Options{}); err != nil {
			return 0, err
		}
		text, err := os.ReadFile(filepath.Join(dir, "out.csv"))
		if errors.Is(err, os.ErrNotExist) {
			return 0, nil
		}
		return strings.Count(string(text), "\n") - 1, err
	}
	if n, err := run("0"); n != 0 || err != nil || at() != 0 {
		t.Errorf("refused: %d released, error %v, the group's offset is %d; want none, no error, 0", n, err, at())
	}
	fault := b.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.GroupAuthorizationFailed,
		Count: -1})
	_, err := run("0.5")
	fault.Remove()
	var published *PublishedError
	if !errors.As(err, &published) || !errors.Is(err, kerr.GroupAuthorizationFailed) ||
		!strings.Contains(err.Error(), "the next run reads the same records again") || at() != 0 {
		t.Errorf("the offset cannot be committed: error %v, the group's offset is %d; want PublishedError and 0", err, at())
	}
	if n, err := run("0.5"); n != 38 || err != nil || at() != 40 {
		t.Errorf("%d messages released, error %v, the group's offset is %d; want 38, none and 40", n, err, at())
	}
	if n, err := run("0.5"); n != 0 || err != nil {
		t.Errorf("a second run: %d messages released, error %v, want none", n, err)
	}
	lost := b.committed("bad")
	if len(lost) != 6 { // of three runs
		t.Errorf("the quarantine has the entries %q, want 6", lost)
	}
	for i, line := range lost {
		if strings.Contains(line, "canary") || !strings.Contains(line, `"topic":"in"`) ||
			!strings.Contains(line, `"offset":3`) && !strings.Contains(line, `"offset":4`) {
			t.Errorf("quarantine entry %d has a value or a wrong place: %s", i, line)
		}
	}
}

// parseAnyway is parse for a quarantine in a topic without brokers, which is refused earlier.
func parseAnyway(t *testing.T, dir string, s setup) *config.Pipeline {
	t.Helper()
	if !strings.HasPrefix(s.sink, "csv") {
		return parse(t, dir, s)
	}
	s.extra = "quarantine: {jsonl: " + dir + "/q.jsonl}\n"
	p := parse(t, dir, s)
	p.Quarantine.JSONL, p.Quarantine.Kafka = "", &config.QuarantineTopic{Topic: "bad"}
	return p
}
