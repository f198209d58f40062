package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// upstream produces persons in a separate transaction.
func (s *stand) upstream(end kgo.TransactionEndTry, topic string, ids ...int) {
	s.t.Helper()
	c := s.newClient(kgo.TransactionalID(fmt.Sprint("up", time.Now().UnixNano())),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer c.Close()
	if err := c.BeginTransaction(); err != nil {
		s.t.Fatal(err)
	}
	for _, i := range ids {
		value := fmt.Appendf(nil, `{"id":%d,"name":"Name %d","wage":%.2f,"region":"r"}`, i, i, wage(i))
		c.Produce(context.Background(), &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: value},
			func(_ *kgo.Record, err error) {
				if err != nil {
					s.t.Error(err)
				}
			})
	}
	if err := c.Flush(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	if err := c.EndTransaction(context.Background(), end); err != nil {
		s.t.Fatal(err)
	}
}

// Aborted transactions and markers leave gaps in the source. A bounded stream ends even if only
// gaps remain.
func TestStreamPassesOverGaps(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	n := 0
	for round := range 20 {
		end := kgo.TransactionEndTry(round%3 != 1 && round != 19)
		ids := []int{n, n + 1, n + 2, n + 3}
		s.upstream(end, "in", ids...)
		if end {
			n += len(ids)
		}
	}
	p := s.small("sink.kafka.commit.records=5")
	begin := time.Now()
	result := s.run(p)
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("a stream that ends in transaction markers took %v, want at most 30 s", took)
	}
	s.exactlyOnce("out", n)
	if r := result.Report.Records; r.Released != int64(n) || r.Read != r.Released {
		t.Errorf("records %+v, want %d released", r, n)
	}
	// Only markers have arrived since.
	s.upstream(kgo.TryAbort, "in", n, n+1)
	if r := s.run(s.small()).Report.Records; r.Released != int64(n) {
		t.Errorf("records %+v, want %d released", r, n)
	}
	s.exactlyOnce("out", n)
}

// A partition without records, or with deleted records only, is at its end.
func TestStreamEndsInEmptyPartitions(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.run(s.small())
	s.produce(&kgo.Record{Topic: "in", Partition: 0, Value: []byte(`{"id":0,"name":"x","wage":1.25,"region":"r"}`)})
	s.run(s.small())
	s.exactlyOnce("out", 1)
	s.produce(&kgo.Record{Topic: "in", Partition: 0, Value: []byte(`{"id":2,"name":"x","wage":1.25,"region":"r"}`)})
	to := kadm.Offsets{}
	to.AddOffset("in", 0, 2, -1)
	if _, err := kadm.NewClient(s.client).DeleteRecords(context.Background(), to); err != nil {
		t.Fatal(err)
	}
	if r := s.run(s.small()).Report.Records; r.Released != 1 {
		t.Errorf("records %+v, want 1 released", r)
	}
}

// Compaction removes entries of the state that later entries replace.
func TestStreamTotalsSurviveCompaction(t *testing.T) {
	t.Parallel()
	want := undisturbedRun(t)
	s := newStand(t)
	for to := 100; to <= survivors; to += 380 {
		s.fillFrom(to-100, min(to, survivors))
		s.fillFrom(min(to, survivors), min(to+280, survivors))
		s.run(s.small("sink.kafka.commit.records=25"))
		s.cluster.Compact()
	}
	result := s.run(s.small())
	s.sameRelease(s.small())
	sameTotals(t, result.Report, want.report)
}

// If offsets are set back manually, records are released again with the same values, and counted
// once. If offsets are set forward, records are skipped, and the log says so.
func TestStreamOffsetsSetByHand(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 1000)
	s.run(s.small())
	first := s.exactlyOnce("out", 1000)
	admin := kadm.NewClient(s.client)
	set := func(at int64) {
		t.Helper()
		var to kadm.Offsets
		for n := range int32(partitions) {
			to.AddOffset("in", n, at, -1)
		}
		if err := admin.CommitAllOffsets(context.Background(), "g", to); err != nil {
			t.Fatal(err)
		}
	}
	// A named instance has not left the group.
	if _, err := admin.LeaveGroup(context.Background(), kadm.LeaveGroup("g").InstanceIDs("a")); err != nil {
		t.Fatal(err)
	}
	set(200)
	if r := s.run(s.small("source.kafka.instance=b")).Report.Records; r.Released != 1000 {
		t.Errorf("records %+v, want 1000 released, each counted once", r)
	}
	again := s.values("out", 1600)
	if len(again) != 1600 {
		t.Fatalf("%d messages, want 1600", len(again))
	}
	for _, r := range again {
		if p := s.person(r); *p.Wage != first[*p.ID] {
			t.Fatalf("person %d was released with two values", *p.ID)
		}
	}
}

func (s *stand) person(r *kgo.Record) (p person) {
	s.t.Helper()
	s.decode(r.Value, &p)
	return p
}

// Other masks start another assessment, and the log says so.
func TestStreamBeginsTotalsAnewWithOtherMasks(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 500)
	s.run(s.small())
	s.persons(500, 800)
	text := strings.Replace(fmt.Sprintf(standConfig, s.address, s.key), "sd: 50", "sd: 60", 1)
	logged := s.listen()
	result, err := stream.Run(t.Context(), hasty(s.parse(text)), logged.options())
	if err != nil {
		t.Fatal(err)
	}
	s.exactlyOnce("out", 800)
	if r := result.Report.Records; r.Released != 300 {
		t.Errorf("records %+v, want the 300 of the new masks", r)
	}
	if !logged.has("counts and the measurement of R and U start again") {
		t.Error("no log line says that R and U are measured again")
	}
	// They continue from there, and do not start again each time.
	s.persons(800, 900)
	if r := s.run(hasty(s.parse(text))).Report.Records; r.Released != 400 {
		t.Errorf("records %+v, want the 400 of the new masks", r)
	}
}

// If a transaction is aborted before the group has an offset, the stream must still begin at the
// same place.
func TestStreamKeepsItsStart(t *testing.T) {
	for _, delivery := range []string{"exactly_once", "at_least_once"} {
		t.Run(delivery, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.persons(0, 400)
			i := s.start(s.live("a", "source.kafka.start=latest", "sink.kafka.delivery="+delivery))
			ctx := t.Context()
			admin := kadm.NewClient(s.client)
			eventually.True(t, "the group's start is kept", func() bool {
				offsets, err := admin.FetchOffsets(ctx, "g")
				if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
					t.Fatal(err)
				}
				_, pinned := offsets.Lookup("in", 1)
				return pinned
			})
			kind := map[string]kmsg.Key{"exactly_once": kmsg.TxnOffsetCommit, "at_least_once": kmsg.OffsetCommit}[delivery]
			h := s.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kind}, Err: kerr.RebalanceInProgress, Count: 2})
			s.persons(400, 800)
			eventually.True(t, "two commits have failed", func() bool { return h.Hits() == 2 })
			i.wire.cut() // a crash before the first commit
			h.Remove()
			i.stop()
			i.wire.mend()
			<-i.ended
			s.run(s.small("source.kafka.start=latest", "sink.kafka.delivery="+delivery))
			seen := map[int]bool{}
			for _, r := range s.values("out", 400) {
				id := *s.person(r).ID
				if seen[id] && delivery == "exactly_once" {
					t.Fatalf("person %d was released twice", id)
				}
				if seen[id] = true; id < 400 {
					t.Fatalf("person %d was released, but came before the start of the stream", id)
				}
			}
			if len(seen) != 400 {
				t.Errorf("%d persons were released, want 400", len(seen))
			}
		})
	}
}

// With at_least_once nothing is lost, and records released twice have the same value. How many these are
// depends on what was written when a request failed, and the report may say it.
func TestStreamAtLeastOnce(t *testing.T) {
	for _, c := range []struct {
		key  kmsg.Key
		code *kerr.Error
	}{
		{kmsg.OffsetCommit, kerr.RebalanceInProgress}, {kmsg.OffsetCommit, kerr.UnknownMemberID},
		{kmsg.OffsetCommit, kerr.RequestTimedOut},
		{kmsg.Produce, kerr.NotEnoughReplicasAfterAppend}, {kmsg.Produce, kerr.InvalidProducerEpoch},
		{kmsg.Produce, kerr.UnknownServerError},
		{kmsg.Heartbeat, kerr.IllegalGeneration},
		{kmsg.InitProducerID, kerr.UnknownServerError}, {kmsg.InitProducerID, kerr.CoordinatorNotAvailable},
	} {
		for _, skip := range []int{1, 4} {
			if c.key == kmsg.InitProducerID {
				skip = 0 // it is asked for once
			}
			t.Run(fmt.Sprintf("%s/%s/%d", c.key.Name(), c.code.Message, skip), func(t *testing.T) {
				t.Parallel()
				want := undisturbedRun(t)
				s := newStand(t)
				s.fill(survivors)
				p := s.small("sink.kafka.delivery=at_least_once")
				if c.key == kmsg.Heartbeat {
					hasty(p, kgo.HeartbeatInterval(time.Millisecond)) // the run must not end earlier
					skip /= 4
				}
				requests := 0
				h := s.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{c.key}, Err: c.code, Count: 2, When: func(kmsg.Request) bool {
					requests++
					return requests > skip
				}})
				result := s.run(p)
				if h.Hits() == 0 {
					t.Error("the fault was returned for no request")
				}
				h.Remove()
				wages := map[int]float64{}
				for _, r := range s.values("out", survivors-len(unfit)) {
					v := s.person(r)
					if y, twice := wages[*v.ID]; twice && y != *v.Wage {
						t.Fatalf("person %d was released with two values", *v.ID)
					}
					if wages[*v.ID] = *v.Wage; *v.Wage != want.wages[*v.ID] {
						t.Fatalf("person %d was released with another value", *v.ID)
					}
				}
				if len(wages) != len(want.wages) {
					t.Errorf("%d persons were released, want %d", len(wages), len(want.wages))
				}
				group := s.groupTotals(p)
				if g, r := group.Records.Repeated, result.Report.Records.Repeated; g != r {
					t.Errorf("the group says that %d are repeated, the run %d", g, r)
				}
				for _, rep := range []*report.Report{group, result.Report} {
					rep.Records.Repeated = 0
					sameTotals(t, rep, want.report)
				}
			})
		}
	}
}

func (s *stand) alter(topic, key, value string) {
	s.t.Helper()
	_,
		err := kadm.NewClient(s.client).AlterTopicConfigs(context.Background(),
		[]kadm.AlterConfig{{Name: key, Value: &value}}, topic)
	if err != nil {
		s.t.Fatal(err)
	}
}

// fail runs a pipeline that must end with an error.
func (s *stand) fail(p *config.Pipeline) error {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventually.Patience)
	defer cancel()
	_, err := stream.Run(ctx, p, s.drainWithin(time.Second))
	if err == nil {
		s.t.Fatal("the stream ends without an error")
	}
	if ctx.Err() != nil {
		s.t.Fatalf("the stream does not end by itself: %v", err)
	}
	return err
}

// Topics and partitions may be added while a stream runs.
func TestStreamFindsNewTopicsAndPartitions(t *testing.T) {
	t.Parallel()
	s := newStand(t, kfake.SeedTopics(partitions, "p-a", "p-a-out", "p-b-out"))
	text := strings.Replace(strings.Replace(fmt.Sprintf(standConfig, s.address, s.key), ", until: latest", "", 1),
		"topics: [in]", "pattern: '^p-.$'", 1)
	quick := kgo.MetadataMaxAge(150 * time.Millisecond)
	i := s.start(s.parse(text, "sink.kafka.topic={topic}-out", "sink.kafka.commit.interval=50ms"), quick)
	put := func(topic string, partition int32, ids ...int) {
		t.Helper()
		for _, id := range ids {
			s.produce(
				&kgo.Record{Topic: topic, Partition: partition,
					Value: fmt.Appendf(nil, `{"id":%d,"name":"x","wage":2.5,"region":"r"}`, id)})
		}
	}
	have := func(topic string, n int) {
		t.Helper()
		if got := s.values(topic, n); len(got) != n {
			t.Fatalf("%d messages in %s, want %d", len(got), topic, n)
		}
	}
	put("p-a", 0, 0, 1, 2)
	have("p-a-out", 3)
	admin := kadm.NewClient(s.client)
	if _, err := admin.CreateTopic(t.Context(), partitions, 1, nil, "p-b"); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "p-b has its partitions", func() bool {
		topics, err := admin.ListTopics(t.Context(), "p-b")
		return err == nil && len(topics["p-b"].Partitions) == partitions
	})
	put("p-b", 1, 0, 1)
	have("p-b-out", 2)
	for _, topic := range []string{"p-a-out", "p-a"} {
		if _, err := admin.UpdatePartitions(t.Context(), 3, topic); err != nil {
			t.Fatal(err)
		}
	}
	eventually.True(t, "the producer knows the third partition", func() bool {
		s.client.ForceMetadataRefresh()
		return s.client.ProduceSync(t.Context(),
			&kgo.Record{Topic: "p-a", Partition: 2, Value: []byte(`{"id":7,"name":"x","wage":2.5,"region":"r"}`)}).FirstErr() ==
			nil
	})
	have("p-a-out", 4)
	// The sink of this topic does not get more partitions.
	if _, err := admin.UpdatePartitions(t.Context(), 3, "p-b"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-i.ended:
	case <-time.After(eventually.Patience):
		t.Fatal("the stream does not end in time")
	}
	if i.err == nil ||
		!strings.Contains(i.err.Error(), `"p-b-out" has 2 partitions and must have at least the 3 of "p-b"`) {
		t.Errorf("the stream ended with the error %v", i.err)
	}
}

// A record that cannot be masked does not affect its neighbours.
func TestStreamPoisonAtEveryPosition(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	const n, batch = 240, 12
	var lost []int
	for from := 0; from < n; from += batch {
		bad := from + (from/batch)%batch
		s.persons(from, bad)
		s.produce(&kgo.Record{Topic: "in", Partition: int32(bad % partitions), Value: []byte(`{"id":"canary`)})
		s.persons(bad+1, from+batch)
		lost = append(lost, bad)
	}
	result := s.run(s.small("sink.kafka.commit.records=12"))
	s.exactlyOnce("out", n, lost...)
	if got := s.values("bad", len(lost)); len(got) != len(lost) {
		t.Errorf("%d quarantine entries, want %d", len(got), len(lost))
	}
	if r := result.Report.Records; int(r.Quarantined) != len(lost) || int(r.Read) != n {
		t.Errorf("records %+v, want %d of %d quarantined", r, len(lost), n)
	}
}
