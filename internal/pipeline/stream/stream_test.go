package stream_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("16") // tests of streams wait more than they compute
	}
	goleak.VerifyTestMain(m)
}

// stand is a test stand for streams: an in-process broker with a topic of numbered persons.
type stand struct {
	t       *testing.T
	cluster *kfake.Cluster
	address string
	key     string
	client  *kgo.Client
}

const partitions = 2

func newStand(t *testing.T, more ...kfake.Opt) *stand {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{
		kfake.NumBrokers(1), kfake.SeedTopics(partitions, "in", "out", "again", "held", "bad", "snaps"),
		kfake.GroupMinSessionTimeout(time.Second),
	}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	s := &stand{t: t, cluster: cluster, address: cluster.ListenAddrs()[0], key: filepath.Join(t.TempDir(), "key")}
	if err := os.WriteFile(s.key, []byte("YSBmaXhlZCBrZXkgb2YgMzIgYnl0ZXMgZm9yIHRlc3Q="), 0o600); err != nil {
		t.Fatal(err)
	}
	s.client = s.newClient(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return s
}

func (s *stand) newClient(opts ...kgo.Opt) *kgo.Client {
	s.t.Helper()
	c,
		err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(s.address), kgo.MetadataMinAge(100 * time.Millisecond)},
		opts...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// wage returns the wage of person i, with two decimals.
func wage(i int) float64 { return 100 + float64(i*7919%90000)/100 }

// persons adds the persons from ≤ i < to to the topic, to each partition in turn.
func (s *stand) persons(from, to int) {
	s.t.Helper()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		value := fmt.Sprintf(`{"id":%d,"name":"Name %d","wage":%.2f,"region":"r%d"}`, i, i, wage(i), i%4)
		records = append(records, &kgo.Record{Topic: "in", Partition: int32(i % partitions), Value: []byte(value)})
	}
	s.produce(records...)
}

func (s *stand) produce(records ...*kgo.Record) {
	s.t.Helper()
	if err := s.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

type person struct {
	ID   *int     `json:"id"`
	Name *string  `json:"name"`
	Wage *float64 `json:"wage"`
}

// values reads a topic like a read_committed consumer, until it has n messages and no more are
// available.
func (s *stand) values(topic string, n int) []*kgo.Record {
	s.t.Helper()
	c := s.newClient(kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*eventually.Patience)
	defer cancel()
	var all []*kgo.Record
	at, quiet := map[int32]int64{}, time.Now()
	for {
		if len(all) >= n {
			ends, err := kadm.NewClient(c).ListCommittedOffsets(ctx, topic)
			if err != nil {
				s.t.Fatal(err)
			}
			rest := false
			ends.Each(func(o kadm.ListedOffset) { rest = rest || at[o.Partition] < o.Offset })
			if !rest || time.Since(quiet) > 300*time.Millisecond {
				return all
			}
		}
		if time.Since(quiet) > eventually.Patience {
			return all
		}
		poll, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		c.PollFetches(poll).EachRecord(func(r *kgo.Record) {
			at[r.Partition], quiet = r.Offset+1, time.Now()
			if !r.Attrs.IsControl() {
				all = append(all, r)
			}
		})
		cancel()
	}
}

// exactlyOnce checks that the topic contains every person below n except the lost ones, once each,
// in the order of its partition. It returns the released wages.
func (s *stand) exactlyOnce(topic string, n int, lost ...int) map[int]float64 {
	s.t.Helper()
	wages, last := map[int]float64{}, map[int32]int{}
	for _, r := range s.values(topic, n-len(lost)) {
		var p person
		if err := json.Unmarshal(r.Value, &p); err != nil {
			s.t.Fatalf("%s: a released message is no JSON: %v", topic, err)
		}
		if p.Name != nil || p.ID == nil || p.Wage == nil {
			s.t.Fatalf("%s: a released message has the wrong members", topic)
		}
		if _, twice := wages[*p.ID]; twice {
			s.t.Fatalf("%s: person %d was released twice", topic, *p.ID)
		}
		if before, ok := last[r.Partition]; ok && before >= *p.ID || *p.ID%partitions != int(r.Partition) {
			s.t.Fatalf("%s: person %d is out of order or in another partition", topic, *p.ID)
		}
		last[r.Partition] = *p.ID
		wages[*p.ID] = *p.Wage
	}
	for _, i := range lost {
		if _, there := wages[i]; there {
			s.t.Errorf("%s: person %d was released", topic, i)
		}
	}
	if len(wages) != n-len(lost) {
		s.t.Fatalf("%s: %d persons were released, want %d", topic, len(wages), n-len(lost))
	}
	return wages
}

const standConfig = `version: 1
name: stand
key: {file: %[2]s}
source: {kafka: {brokers: ["%[1]s"], topics: [in], group: g, instance: a, until: latest}}
columns:
  id: {role: other}
  name: {role: identifier}
  wage: {role: sensitive, decimals: 2}
  region: {role: other}
masks:
  - noise: {columns: [wage], sd: 50}
sink: {kafka: {brokers: ["%[1]s"], topic: out, commit: {interval: 200ms}}}
quarantine: {kafka: {topic: bad}}
` + standAssess

// standAssess has a small sample: estimates of risk, which go by its records, took 60 % of the time of tests that are
// about how streams survive.
const standAssess = "assess: {replicates: 20, targets: [max], sample: 300}\n"

// pipeline reads the stand's configuration, with settings in the form of the command line.
func (s *stand) pipeline(settings ...string) *config.Pipeline {
	s.t.Helper()
	return s.parse(fmt.Sprintf(standConfig, s.address, s.key), settings...)
}

func (s *stand) parse(text string, settings ...string) *config.Pipeline {
	s.t.Helper()
	p,
		err := config.Parse("stand.yaml", []byte(text), config.Options{Set: settings, Environ: func() []string {
		return nil
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	p.Loosened = nil // the settings stand for the text of a file
	return p
}

func (s *stand) run(p *config.Pipeline) *account.Result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*eventually.Patience)
	defer cancel()
	result, err := stream.Run(ctx, p, s.options())
	if err != nil {
		s.t.Fatal(err)
	}
	if ctx.Err() != nil {
		s.t.Fatal("the stream did not reach its end in time")
	}
	return result
}

func (s *stand) options() pipeline.Options {
	return pipeline.Options{Version: "test", Log: zerolog.New(zerolog.NewTestWriter(s.t)).Level(zerolog.WarnLevel)}
}

// drainWithin returns options with a time limit for the last transaction.
func (s *stand) drainWithin(d time.Duration) pipeline.Options {
	o := s.options()
	o.Drain = d
	return o
}

func TestStreamReleasesEachRecordOnce(t *testing.T) {
	s := newStand(t)
	s.persons(0, 1000)
	s.produce(&kgo.Record{Topic: "in", Partition: 1, Value: []byte(`{"id":1001,"wage":"canary","region":"r"}`)})
	s.persons(1002, 3000)
	s.produce(&kgo.Record{Topic: "in", Partition: 1, Value: []byte(`not JSON`)})
	result := s.run(s.pipeline())
	if r := result.Report.Records; r.Read != 3000 || r.Released != 2998 || r.Quarantined != 2 {
		t.Errorf("records %+v, want 3000 read, 2998 released, 2 quarantined", r)
	}
	wages := map[int]float64{}
	for _, r := range s.values("out", 2998) {
		var p person
		if err := json.Unmarshal(r.Value, &p); err != nil {
			t.Fatal(err)
		}
		wages[*p.ID] = *p.Wage
	}
	if len(wages) != 2998 {
		t.Fatalf("%d persons were released, want 2998", len(wages))
	}
	// Var ε = 50²: the mean of 2998 squares has a standard error of √(2/2998)·2500 = 65; five of
	// them are exceeded with probability 6e-7.
	sum := 0.0
	for i, y := range wages {
		sum += (y - wage(i)) * (y - wage(i))
	}
	if mean := sum / 2998; math.Abs(mean-2500) > 5*65 {
		t.Errorf("the mean squared noise is %.0f, want about 2500", mean)
	}
	bad := s.values("bad", 2)
	if len(bad) != 2 {
		t.Fatalf("%d quarantine entries, want 2", len(bad))
	}
	for _, r := range bad {
		if text := string(r.Value); strings.Contains(text, "canary") ||
			!strings.Contains(text, `"topic":"in","partition":1,"offset":`) {
			t.Errorf("quarantine entry %s", text)
		}
	}
	if result.Report.Columns[0].Released.N != 2998 {
		t.Errorf("%d pairs are assessed, want 2998", result.Report.Columns[0].Released.N)
	}
}

func TestReplayedStreamReleasesTheSameValues(t *testing.T) {
	s := newStand(t)
	s.persons(0, 2000)
	s.run(s.pipeline())
	s.run(s.pipeline("source.kafka.group=h", "sink.kafka.topic=again", "sink.kafka.commit.records=100"))
	first, again := s.exactlyOnce("out", 2000), s.exactlyOnce("again", 2000)
	for i, y := range first {
		if again[i] != y {
			t.Fatalf("person %d was released with another value in the second run", i)
		}
	}
}

func TestStreamGoesOnWhereItEnded(t *testing.T) {
	s := newStand(t)
	whole := newStand(t)
	for i, to := range []int{700, 701, 1500, 3000} {
		s.persons([]int{0, 700, 701, 1500}[i], to)
		s.run(s.pipeline("sink.kafka.commit.records=150"))
	}
	whole.persons(0, 3000)
	want := whole.run(whole.pipeline()).Report
	got := s.run(s.pipeline()).Report // no new records: the kept state
	s.exactlyOnce("out", 3000)
	if !reflect.DeepEqual(got.Records, want.Records) {
		t.Errorf("records %+v, want %+v", got.Records, want.Records)
	}
	g, w := got.Columns[0], want.Columns[0]
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"mean", float64(g.Original.Mean), float64(w.Original.Mean)}, {"sd", float64(g.Released.SD), float64(w.Released.SD)},
		{"U", float64(g.Utility.U), float64(w.Utility.U)}, {"R", float64(g.Risk[0].R), float64(w.Risk[0].R)},
	} {
		if math.Abs(c.got-c.want) > 1e-9*math.Abs(c.want) {
			t.Errorf("%s is %v, want %v as in one run", c.what, c.got, c.want)
		}
	}
}

func TestStreamDrains(t *testing.T) {
	s := newStand(t)
	s.persons(0, 500)
	p := s.parse(strings.Replace(fmt.Sprintf(standConfig, s.address, s.key), ", until: latest", "", 1))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	var result *account.Result
	go func() {
		var err error
		result, err = stream.Run(ctx, p, s.options())
		done <- err
	}()
	s.exactlyOnce("out", 500)
	s.persons(500, 900)
	s.exactlyOnce("out", 900)
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(eventually.Patience):
		t.Fatal("the stream does not end in time")
	}
	if !result.Drained || result.Report.Records.Released != 900 {
		t.Errorf("drained %v with %d released, want true with 900", result.Drained, result.Report.Records.Released)
	}
}
