package stream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// survivors is the number of persons in the fault tests.
const survivors = 2000

// unfit are the persons with records that cannot be masked.
var unfit = []int{3, 700, 1001, survivors - 1}

// fill adds the persons below n, the unfit ones with an invalid wage.
func (s *stand) fill(n int) { s.fillFrom(0, n) }

func (s *stand) fillFrom(from, to int) {
	s.t.Helper()
	for _, i := range unfit {
		if i < from || i >= to {
			continue
		}
		s.persons(from, i)
		s.produce(
			&kgo.Record{Topic: "in", Partition: int32(i % partitions),
				Value: fmt.Appendf(nil, `{"id":%d,"name":"x","wage":"canary","region":"r"}`, i)})
		from = i + 1
	}
	s.persons(from, to)
}

// expected is the release of an undisturbed run of the filled stand.
type expected struct {
	wages  map[int]float64
	report *report.Report
}

// calm is one undisturbed run, shared by all tests that compare with it.
var (
	calmOnce sync.Once
	calm     *expected
)

func undisturbedRun(t *testing.T) *expected {
	t.Helper()
	calmOnce.Do(func() {
		s := newStand(t)
		s.fill(survivors)
		result := s.run(s.pipeline())
		calm = &expected{s.exactlyOnce("out", survivors, unfit...), result.Report}
	})
	if calm == nil {
		t.Fatal("the undisturbed run failed, which this test compares with")
	}
	return calm
}

// near fails unless two measures are equal up to rounding.
func near(t *testing.T, what string, got, want assess.Float) {
	t.Helper()
	if g, w := float64(got), float64(want); math.Abs(g-w) > 1e-9*math.Abs(w) || math.IsNaN(g) != math.IsNaN(w) {
		t.Errorf("%s is %v, want %v as in the undisturbed run", what, got, want)
	}
}

// sameTotals checks that counts and measures equal those of the undisturbed run.
func sameTotals(t *testing.T, got, want *report.Report) {
	t.Helper()
	if !reflect.DeepEqual(got.Records, want.Records) {
		t.Errorf("records %+v, want %+v", got.Records, want.Records)
	}
	if len(got.Columns) != len(want.Columns) {
		t.Fatalf("%d columns are assessed, want %d", len(got.Columns), len(want.Columns))
	}
	g, w := got.Columns[0], want.Columns[0]
	if g.Original.N != w.Original.N || g.Released.N != w.Released.N {
		t.Errorf("%d and %d pairs, want %d", g.Original.N, g.Released.N, w.Original.N)
	}
	near(t, "mean", g.Original.Mean, w.Original.Mean)
	near(t, "sd", g.Original.SD, w.Original.SD)
	near(t, "released mean", g.Released.Mean, w.Released.Mean)
	near(t, "released sd", g.Released.SD, w.Released.SD)
	near(t, "U", g.Utility.U, w.Utility.U)
	near(t, "R", g.Risk[0].R, w.Risk[0].R)
}

// sameRelease checks that every record was released or quarantined once, with the values and totals
// of the undisturbed run.
func (s *stand) sameRelease(p *config.Pipeline) {
	s.t.Helper()
	want := undisturbedRun(s.t)
	wages := s.exactlyOnce("out", survivors, unfit...)
	for i, y := range want.wages {
		if wages[i] != y {
			s.t.Fatalf("person %d was released as %v, but as %v in the undisturbed run", i, wages[i], y)
		}
	}
	entries := map[string]int{}
	for _, r := range s.values("bad", len(unfit)) {
		var e struct {
			Partition int32
			Offset    int64
		}
		if err := json.Unmarshal(r.Value, &e); err != nil {
			s.t.Fatal(err)
		}
		if strings.Contains(string(r.Value), "canary") {
			s.t.Error("the quarantine contains a value")
		}
		entries[fmt.Sprintf("%d/%d", e.Partition, e.Offset)]++
	}
	for _, i := range unfit {
		place := fmt.Sprintf("%d/%d", i%partitions, i/partitions)
		if entries[place] != 1 {
			s.t.Errorf("%d quarantine entries for %s, want 1", entries[place], place)
		}
	}
	if len(entries) != len(unfit) {
		s.t.Errorf("quarantine entries for %d places, want %d: %v", len(entries), len(unfit), entries)
	}
	s.sameGroupTotals(p)
}

// sameGroupTotals checks that the totals kept by the group equal those of the undisturbed run.
func (s *stand) sameGroupTotals(p *config.Pipeline) {
	s.t.Helper()
	sameTotals(s.t, s.groupTotals(p), undisturbedRun(s.t).report)
}

func (s *stand) groupTotals(p *config.Pipeline) *report.Report {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), eventually.Patience)
	defer cancel()
	total, err := stream.AssessGroup(ctx, p, "", s.options())
	if err != nil {
		s.t.Fatal(err)
	}
	return total
}

// hasty makes a stream's client notice changes early.
func hasty(p *config.Pipeline, more ...kgo.Opt) *config.Pipeline {
	p.Source.Config.(*kafka.SourceConfig).Tune(append([]kgo.Opt{
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.HeartbeatInterval(100 * time.Millisecond),
		kgo.RetryBackoffFn(func(n int) time.Duration {
			return min(time.Duration(n)*20*time.Millisecond, 200*time.Millisecond)
		}),
	}, more...)...)
	return p
}

// small returns a configuration with many transactions.
func (s *stand) small(settings ...string) *config.Pipeline {
	s.t.Helper()
	return hasty(s.pipeline(append([]string{"sink.kafka.commit.records=250"}, settings...)...))
}

// seldom are the kinds of requests that occur only a few times. Fetch belongs to them if the
// machine is busy: then all records are there at the second request.
var seldom = map[kmsg.Key]bool{
	kmsg.InitProducerID: true, kmsg.JoinGroup: true, kmsg.SyncGroup: true, kmsg.OffsetFetch: true,
	kmsg.OffsetCommit: true, kmsg.FindCoordinator: true, kmsg.ListOffsets: true, kmsg.Metadata: true, kmsg.Fetch: true,
}

func TestStreamSurvivesErrors(t *testing.T) {
	every := func(codes ...*kerr.Error) []*kerr.Error { return codes }
	for _, c := range []struct {
		key   kmsg.Key
		codes []*kerr.Error
	}{
		{kmsg.InitProducerID,
			every(kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.ConcurrentTransactions,
				kerr.ProducerFenced, kerr.UnknownServerError)},
		{kmsg.AddPartitionsToTxn,
			every(kerr.CoordinatorLoadInProgress, kerr.ConcurrentTransactions, kerr.ProducerFenced, kerr.InvalidProducerEpoch,
				kerr.TransactionAbortable)},
		{kmsg.AddOffsetsToTxn,
			every(kerr.CoordinatorLoadInProgress, kerr.ConcurrentTransactions, kerr.ProducerFenced, kerr.TransactionAbortable,
				kerr.UnknownServerError)},
		{
			kmsg.Produce,
			every(kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend, kerr.InvalidProducerEpoch,
				kerr.ProducerFenced, kerr.TransactionAbortable, kerr.ConcurrentTransactions, kerr.OutOfOrderSequenceNumber,
				kerr.InvalidTxnState, kerr.UnknownServerError, kerr.CorruptMessage)},
		{kmsg.TxnOffsetCommit,
			every(kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.RequestTimedOut, kerr.IllegalGeneration,
				kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.ProducerFenced, kerr.InvalidProducerEpoch,
				kerr.TransactionAbortable, kerr.ConcurrentTransactions, kerr.UnknownServerError)},
		{
			kmsg.EndTxn,
			every(kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.ConcurrentTransactions, kerr.ProducerFenced,
				kerr.InvalidProducerEpoch, kerr.TransactionAbortable, kerr.UnknownServerError, kerr.InvalidTxnState)},
		{
			kmsg.Heartbeat,
			every(kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.RebalanceInProgress, kerr.IllegalGeneration,
				kerr.UnknownMemberID, kerr.UnknownServerError)},
		{
			kmsg.JoinGroup,
			every(kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.RebalanceInProgress, kerr.UnknownMemberID,
				kerr.UnknownServerError)},
		{
			kmsg.SyncGroup,
			every(kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.RebalanceInProgress, kerr.IllegalGeneration,
				kerr.UnknownMemberID)},
		{kmsg.OffsetFetch,
			every(kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.UnstableOffsetCommit, kerr.UnknownServerError)},
		{
			kmsg.OffsetCommit,
			every(kerr.CoordinatorLoadInProgress, kerr.NotCoordinator, kerr.RebalanceInProgress, kerr.UnknownMemberID,
				kerr.RequestTimedOut)},
		{
			kmsg.Fetch,
			every(kerr.NotLeaderForPartition, kerr.UnknownLeaderEpoch, kerr.FencedLeaderEpoch, kerr.KafkaStorageError,
				kerr.UnknownServerError, kerr.OffsetNotAvailable)},
		{kmsg.ListOffsets, every(kerr.NotLeaderForPartition, kerr.OffsetNotAvailable, kerr.LeaderNotAvailable)},
		{kmsg.Metadata, every(kerr.LeaderNotAvailable, kerr.UnknownServerError)},
		{kmsg.FindCoordinator, every(kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress)},
	} {
		for i, code := range c.codes {
			for k, often := range []struct{ skip, count int }{{0, 1}, {2, 3}} {
				if testing.Short() && i%2 != k || racetest.Omits(i+k > 0 || seldom[c.key] && c.key != kmsg.JoinGroup) {
					continue // each error, once or three times
				}
				if seldom[c.key] {
					often.skip = 0
				}
				t.Run(fmt.Sprintf("%s/%s/%d", c.key.Name(), code.Message, often.count), func(t *testing.T) {
					t.Parallel()
					undisturbedRun(t)
					var s *stand
					switch c.key {
					case kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn:
						// Later versions of the protocol do not use it.
						s = newStand(t, kfake.MaxVersions(kversion.V3_7_0()))
					default:
						s = newStand(t)
					}
					s.fill(survivors)
					p := s.small()
					if c.key == kmsg.Heartbeat {
						hasty(p, kgo.HeartbeatInterval(10*time.Millisecond)) // the run must not end earlier
					}
					requests := 0
					h := s.cluster.Fault(kfake.Fault{
						Keys: []kmsg.Key{c.key}, Err: code, Count: often.count,
						When: func(kmsg.Request) bool { requests++; return requests > often.skip },
					})
					result := s.run(p)
					if h.Hits() == 0 {
						t.Errorf("the fault was returned for no request")
					}
					h.Remove()
					s.sameRelease(p)
					sameTotals(t, result.Report, undisturbedRun(t).report)
				})
			}
		}
	}
}

// A lost answer leaves open whether the broker has carried out the request.
func TestStreamSurvivesCutConnections(t *testing.T) {
	for i, key := range []kmsg.Key{
		kmsg.InitProducerID, kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.Heartbeat, kmsg.JoinGroup, kmsg.SyncGroup,
		kmsg.OffsetFetch, kmsg.OffsetCommit, kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata, kmsg.FindCoordinator,
	} {
		for _, after := range []bool{false, true} {
			for k, often := range []struct{ skip, count int }{{0, 1}, {2, 3}} {
				if testing.Short() && (i%2 == k) == after || racetest.Omits(key != kmsg.Produce) {
					continue // before with one count, after with the other
				}
				if seldom[key] {
					often.skip = 0
				}
				when := map[bool]string{false: "before", true: "after"}[after]
				t.Run(fmt.Sprintf("%s/%s/%d", key.Name(), when, often.count), func(t *testing.T) {
					t.Parallel()
					undisturbedRun(t)
					scissors := new(scissors)
					s := newStand(t, kfake.ListenFn(scissors.listen))
					s.fill(survivors)
					p := s.small()
					scissors.at(cut{key: key, after: after, skip: often.skip, left: often.count})
					result := s.run(p)
					scissors.blunt(t)
					s.sameRelease(p)
					sameTotals(t, result.Report, undisturbedRun(t).report)
				})
			}
		}
	}
}

// A broker that carries out a commit and answers with an error makes the client believe that the
// transaction was aborted.
func TestStreamSurvivesCommitsWithErrors(t *testing.T) {
	for _, skip := range []int{0, 1, 3} {
		if racetest.Omits(skip > 0) {
			continue
		}
		t.Run(fmt.Sprint(skip), func(t *testing.T) {
			t.Parallel()
			undisturbedRun(t)
			scissors := new(scissors)
			s := newStand(t, kfake.ListenFn(scissors.listen))
			s.fill(survivors)
			p := s.small()
			scissors.at(cut{key: kmsg.EndTxn, after: true, skip: skip, left: 2, code: kerr.UnknownServerError.Code})
			result := s.run(p)
			scissors.blunt(t)
			s.sameRelease(p)
			sameTotals(t, result.Report, undisturbedRun(t).report)
		})
	}
}

// slow delays the answers to up to count requests of a kind.
func (s *stand) slow(key kmsg.Key, count int, by time.Duration) {
	s.cluster.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.cluster.KeepControl()
		if count--; count >= 0 {
			s.cluster.SleepControl(func() { time.Sleep(by) })
		}
		return nil, nil, false
	})
}

// Late answers change nothing, whatever else happens in the meantime.
func TestStreamSurvivesLateAnswers(t *testing.T) {
	for _, key := range []kmsg.Key{
		kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.EndTxn,
		kmsg.Heartbeat,
		kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetFetch, kmsg.OffsetCommit, kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata,
		kmsg.FindCoordinator,
	} {
		if racetest.Omits(key != kmsg.Produce && key != kmsg.JoinGroup) {
			continue
		}
		t.Run(key.Name(), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, kfake.MaxVersions(kversion.V3_7_0()))
			s.fill(survivors)
			s.slow(key, 10, 150*time.Millisecond)
			result := s.run(s.small())
			s.sameRelease(s.small())
			sameTotals(t, result.Report, undisturbedRun(t).report)
		})
	}
}

// The brokers end a transaction with the answer to one of its requests while answers about topics
// are late. So the client loses the transaction before it has learnt where to write: see
// outbox.introduce of connectors/kafka.
func TestStreamSurvivesLateAnswersAboutTopics(t *testing.T) {
	for i, key := range []kmsg.Key{kmsg.AddPartitionsToTxn, kmsg.Produce} {
		for skip := range 6 {
			if testing.Short() && skip%2 != i || racetest.Omits(skip > 1) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", key.Name(), skip), func(t *testing.T) {
				t.Parallel()
				undisturbedRun(t)
				s := newStand(t, kfake.MaxVersions(kversion.V3_7_0()))
				s.fill(survivors)
				s.slow(kmsg.Metadata, 60, 20*time.Millisecond)
				requests := 0
				h := s.cluster.Fault(kfake.Fault{
					Keys: []kmsg.Key{key}, Err: kerr.InvalidProducerEpoch, Count: 3,
					When: func(kmsg.Request) bool { requests++; return requests > skip },
				})
				result := s.run(s.small())
				if h.Hits() == 0 {
					t.Error("the fault was returned for no request")
				}
				h.Remove()
				s.sameRelease(s.small())
				sameTotals(t, result.Report, undisturbedRun(t).report)
			})
		}
	}
}
