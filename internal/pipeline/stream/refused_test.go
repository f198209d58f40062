package stream_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// misfits adds the persons of an undisturbed run; those that are unfit there are changed by f.
func (s *stand) misfits(f func(i int, r *kgo.Record)) {
	s.t.Helper()
	var all []*kgo.Record
	for i := range survivors {
		r := &kgo.Record{Topic: "in", Partition: int32(i % partitions),
			Value: fmt.Appendf(nil, `{"id":%d,"name":"Name %d","wage":%.2f,"region":"r%d"}`, i, i, wage(i), i%4)}
		if slices.Contains(unfit, i) {
			f(i, r)
		}
		all = append(all, r)
	}
	s.produce(all...)
}

// ahead is a time that a topic refuses.
var ahead = time.Now().Add(1000 * time.Hour)

func early(_ int, r *kgo.Record) { r.Timestamp = ahead }

func large(i int, r *kgo.Record) {
	r.Value = fmt.Appendf(nil, `{"id":%d,"name":"x","wage":1,"region":"%s"}`, i, strings.Repeat("canary", 1000))
}

// refuseEarly makes the broker refuse batches of the topic out that have a timestamp too far ahead, as Kafka
// does: it says so of the whole batch. It returns how often it did.
func (s *stand) refuseEarly() func() int {
	var faults []kfake.Fault
	for p := range int32(partitions) {
		faults = append(faults, kfake.Fault{
			Keys: []kmsg.Key{kmsg.Produce}, Topic: "out", Partitions: []int32{p}, Err: kerr.InvalidTimestamp, Count: -1,
			When: func(r kmsg.Request) bool {
				for _, t := range r.(*kmsg.ProduceRequest).Topics {
					for _, part := range t.Partitions {
						var b kmsg.RecordBatch
						if part.Partition == p && b.ReadFrom(part.Records) == nil && b.MaxTimestamp >= ahead.UnixMilli() {
							return true
						}
					}
				}
				return false
			},
		})
	}
	h := s.cluster.Fault(faults...)
	return func() int { return int(h.Hits()) }
}

// mayNotAsk takes the right to ask for the settings of topics.
func (s *stand) mayNotAsk() {
	s.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Err: kerr.TopicAuthorizationFailed, Count: -1})
}

// A record that the sink's topic does not take goes to quarantine with its place and a reason, once. All
// others are released with the values of an undisturbed run, and the counts add up. Whether the topic's
// limits are known, and what the broker says of a batch, makes no difference.
func TestRecordsThatTheTopicRefuses(t *testing.T) {
	t.Parallel()
	const size, clock = "larger, before compression, than a batch", "refuses its timestamp"
	for name, c := range map[string]struct {
		prepare func(*stand)
		change  func(int, *kgo.Record)
		reason  string
		set     []string
	}{
		"too large":                     {func(*stand) {}, large, size, nil},
		"too large and who may not ask": {(*stand).mayNotAsk, large, size, nil},
		"too large in one transaction": {(*stand).mayNotAsk, large, size,
			[]string{"sink.kafka.commit.records=100000"}},
		"a timestamp":                      {func(*stand) {}, early, clock, nil},
		"a timestamp in one transaction":   {func(*stand) {}, early, clock, []string{"sink.kafka.commit.records=100000"}},
		"a timestamp without transactions": {func(*stand) {}, early, clock, []string{"sink.kafka.delivery=at_least_once"}},
		"too large without transactions": {(*stand).mayNotAsk, large, size,
			[]string{"sink.kafka.delivery=at_least_once"}},
		"too large in transactions of few":    {(*stand).mayNotAsk, large, size, []string{"sink.kafka.commit.records=3"}},
		"a timestamp in transactions of many": {func(*stand) {}, early, clock, []string{"sink.kafka.commit.records=1000"}},
	} {
		once := !slices.Contains(c.set, "sink.kafka.delivery=at_least_once")
		if racetest.Omits(once && c.set != nil) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.alter("out", "max.message.bytes", "5000")
			c.prepare(s)
			refused := s.refuseEarly()
			s.misfits(c.change)
			result, log, err := s.runs(s.small(append(c.set, "sink.kafka.compression=none")...))
			if err != nil {
				t.Fatal(err)
			}
			want := undisturbedRun(t)
			released := map[int]float64{}
			if once {
				released = s.exactlyOnce("out", survivors, unfit...)
			}
			for _, r := range s.values("out", survivors-len(unfit)) { // a record that is there again has the same value
				var p person
				s.decode(r.Value, &p)
				if y, again := released[*p.ID]; again && y != *p.Wage {
					t.Fatalf("person %d has two values", *p.ID)
				}
				released[*p.ID] = *p.Wage
			}
			if !maps.Equal(released, want.wages) {
				t.Error("the release is not that of the undisturbed run")
			}
			entries := map[string]bool{}
			for _, r := range s.values("bad", len(unfit)) {
				var e struct {
					Topic, Reason, Column string
					Partition             int32
					Offset                int64
				}
				s.decode(r.Value, &e)
				place := fmt.Sprintf("%d/%d", e.Partition, e.Offset)
				if e.Topic != "in" || e.Column != "" || !strings.Contains(e.Reason, c.reason) ||
					strings.Contains(string(r.Value), "canary") || once && entries[place] {
					t.Errorf("entry %s", r.Value)
				}
				entries[place] = true
			}
			for _, i := range unfit {
				if place := fmt.Sprintf("%d/%d", i%partitions, i/partitions); !entries[place] {
					t.Errorf("%s is not in quarantine", place)
				}
			}
			if len(entries) != len(unfit) {
				t.Errorf("%v are in quarantine, want %d", entries, len(unfit))
			}
			group, err := stream.AssessGroup(t.Context(), s.pipeline(c.set...), "", s.options())
			if err != nil {
				t.Fatal(err)
			}
			for _, rep := range []*report.Report{result.Report, group} {
				got := *rep
				if len(got.Records.Reasons) != 1 || got.Records.Quarantined != int64(len(unfit)) {
					t.Errorf("records %+v, want %d in quarantine for one reason", got.Records, len(unfit))
				}
				for reason, n := range got.Records.Reasons {
					if n != int64(len(unfit)) || !strings.Contains(reason, c.reason) {
						t.Errorf("%d records for %q", n, reason)
					}
				}
				got.Records.Reasons = want.report.Records.Reasons
				sameTotals(t, &got, want.report)
			}
			if (c.reason == clock) != (refused() > 0) {
				t.Errorf("the broker has refused %d batches for a timestamp", refused())
			}
			if log.has("canary") {
				t.Error("the log contains a value")
			}
		})
	}
}

// With on_refused: stop the stream ends before such a record, and nothing of its transaction is released.
func TestRefusedRecordsThatStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(int, *kgo.Record)
		want   string
	}{"too large": {large, " of in/"}, "a timestamp": {early, "refuses the messages' timestamps"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.alter("out", "max.message.bytes", "5000")
			s.refuseEarly()
			s.misfits(c.change)
			if err := s.fail(s.small("sink.kafka.commit.records=100000", "sink.kafka.on_refused=stop")); !strings.Contains(
				err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v, want one that contains %q", err, c.want)
			}
			if got := s.values("out", 0); len(got) > 0 {
				t.Errorf("%d messages were released", len(got))
			}
		})
	}
}

// Where every record is refused and the limits are not known, the stream gives up in the end and says
// which right is missing.
func TestTopicsThatRefuseEverything(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.refuseEarly()
	for i := range 1000 {
		s.produce(
			&kgo.Record{Topic: "in", Timestamp: ahead, Value: fmt.Appendf(nil, `{"id":%d,"name":"x","wage":1,"region":"r"}`, i)})
	}
	i := s.start(s.small("sink.kafka.commit.records=100000"))
	select {
	case <-i.ended:
	case <-time.After(3 * eventually.Patience):
		t.Fatal("the stream does not end")
	}
	if i.err == nil || !strings.Contains(i.err.Error(), "DescribeConfigs") {
		t.Errorf("error %v", i.err)
	}
	if got := s.values("out", 0); len(got) > 0 {
		t.Errorf("%d messages were released", len(got))
	}
}

// The clock of this machine is some hours slow or days fast, so that by it the topic would refuse all records: the
// brokers take them, and they are released. If it is right, most of the records that the broker refuses are left out by
// it.
func TestClockThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"hours slow": 5 * time.Hour, "days fast": -5 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.alter("out", "message.timestamp.after.max.ms", "3600000")
			s.alter("out", "message.timestamp.before.max.ms", "3600000")
			refused := s.refuseEarly()
			var all []*kgo.Record
			var lost []int // enough to prove the clock, were there not those that the broker takes
			for i := range 3000 {
				r := &kgo.Record{Topic: "in", Partition: int32(i % partitions), Timestamp: time.Now().Add(by),
					Value: fmt.Appendf(nil, `{"id":%d,"name":"x","wage":%.2f,"region":"r"}`, i, wage(i))}
				if i%50 == 7 {
					r.Timestamp = ahead
					lost = append(lost, i)
				}
				all = append(all, r)
			}
			s.produce(all...)
			result, _, err := s.runs(s.small("sink.kafka.compression=none"))
			if err != nil {
				t.Fatal(err)
			}
			if r := result.Report.Records; r.Quarantined != int64(len(lost)) || r.Released != int64(3000-len(lost)) {
				t.Errorf("records %+v; only %d are refused", r, len(lost))
			}
			s.exactlyOnce("out", 3000, lost...)
			t.Logf("the broker has refused %d batches", refused())
		})
	}
	t.Run("right", func(t *testing.T) {
		t.Parallel()
		s := newStand(t)
		s.alter("out", "message.timestamp.after.max.ms", "3600000")
		refused := s.refuseEarly()
		var all []*kgo.Record
		for i := range 3000 {
			r := &kgo.Record{Topic: "in", Partition: int32(i % partitions), Timestamp: ahead,
				Value: fmt.Appendf(nil, `{"id":%d,"name":"x","wage":1,"region":"r"}`, i)}
			if i%10 == 0 {
				r.Timestamp = time.Now()
			}
			all = append(all, r)
		}
		s.produce(all...)
		result, _, err := s.runs(s.small("sink.kafka.compression=none"))
		if err != nil {
			t.Fatal(err)
		}
		if r := result.Report.Records; r.Quarantined != 2700 || r.Released != 300 || refused() > 150 {
			t.Errorf("records %+v, and the broker has refused %d batches", r, refused())
		}
	})
}
