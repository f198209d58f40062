package stream_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// runs runs a stream and returns how it ended.
func (s *stand) runs(p *config.Pipeline) (*account.Result, *streamLog, error) {
	s.t.Helper()
	logged := s.listen()
	result, err := stream.Run(s.t.Context(), p, logged.options())
	return result, logged, err
}

// group returns what the group has kept.
func (s *stand) group() *report.Report {
	s.t.Helper()
	rep, err := stream.AssessGroup(s.t.Context(), s.pipeline(), "", s.options())
	if err != nil {
		s.t.Fatal(err)
	}
	return rep
}

// makeAgain deletes the topic of persons and makes it again.
func (s *stand) makeAgain() {
	s.t.Helper()
	admin := kadm.NewClient(s.client)
	if _, err := admin.DeleteTopics(s.t.Context(), "in"); err != nil {
		s.t.Fatal(err)
	}
	if _, err := admin.CreateTopic(s.t.Context(), partitions, 1, nil, "in"); err != nil {
		s.t.Fatal(err)
	}
	s.client.PurgeTopicsFromClient("in")
}

// setOffsets sets the group's offsets by hand, after its members have left.
func (s *stand) setOffsets(at ...int64) {
	s.t.Helper()
	s.removeMembers()
	var to kadm.Offsets
	for n, offset := range at {
		to.AddOffset("in", int32(n), offset, -1)
	}
	if err := kadm.NewClient(s.client).CommitAllOffsets(s.t.Context(), "g", to); err != nil {
		s.t.Fatal(err)
	}
}

// A topic that was deleted and made again is another one: its records are not taken for those that are
// assessed. The stream ends, or a new assessment begins, which report, log and group name.
func TestTopicsThatAreMadeAgain(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 400)
	s.run(s.pipeline())
	s.makeAgain()
	s.persons(400, 500) // fewer than before
	_, _, err := s.runs(s.pipeline())
	if err == nil || !strings.Contains(err.Error(), "deleted and made again") ||
		!strings.Contains(err.Error(), "on_recreated: begin") {
		t.Fatalf("by default: %v", err)
	}
	if got := s.values("out", 400); len(got) != 400 {
		t.Errorf("%d records are released, want the 400 of the first topic", len(got))
	}
	begin := func() *config.Pipeline {
		p := s.pipeline()
		p.Source.Config.(*kafka.SourceConfig).OnRecreated = kafka.BeginAnew
		return p
	}
	for range 2 { // the second run reads nothing and says the same
		result, _, err := s.runs(begin())
		if err != nil {
			t.Fatal(err)
		}
		for who, rep := range map[string]*report.Report{"run": result.Report, "group": s.group()} {
			if r := rep.Records; r.Read != 100 || r.Released != 100 || r.Unassessed != 400 || r.Lost+r.Repeated != 0 ||
				rep.Columns[0].Released.N != 100 {
				t.Errorf("%s: %+v and %d assessed, want 100 and 400 unassessed", who, r, rep.Columns[0].Released.N)
			}
			if got := strings.Join(rep.Recreated, " "); got != "in/0 in/1" {
				t.Errorf("%s: begun anew are %q", who, got)
			}
			if !strings.Contains(strings.Join(rep.Warnings, "\n"), "made again: in/0, in/1") {
				t.Errorf("%s: warnings %q", who, rep.Warnings)
			}
		}
		if result.Lost != "" {
			t.Error(result.Lost)
		}
	}
	s.values("out", 500)
	s.makeAgain()
	s.persons(500, 1300) // more than before
	result, logged, err := s.runs(begin())
	if err != nil {
		t.Fatal(err)
	}
	if r := result.Report.Records; r.Released != 800 || r.Unassessed != 500 ||
		!logged.has("a new assessment of the partition begins") {
		t.Errorf("made a third time: %+v", r)
	}
}

// Records that were removed before they were read are lost, and offsets that were set back give them
// twice. Both are counted once over all runs, and a group that is assessed says the same.
func TestGapsAreCounted(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 400)
	if err := s.cluster.DeleteRecords("in", 1, 10); err != nil { // before the first start: not the group's
		t.Fatal(err)
	}
	if result, _, err := s.runs(s.pipeline()); err != nil || result.Lost != "" || result.Report.Records.Lost != 0 {
		t.Fatalf("%+v, %v: nothing is lost yet", result, err)
	}
	s.persons(400, 600)
	if err := s.cluster.DeleteRecords("in", 0, 230); err != nil {
		t.Fatal(err)
	}
	if got := s.group().Records.Lost; got != 30 {
		t.Errorf("the group says %d are lost before they are passed, want 30", got)
	}
	for range 2 {
		result, _, err := s.runs(s.pipeline())
		if err != nil {
			t.Fatal(err)
		}
		if r := result.Report.Records; r.Lost != 30 || r.Released != 560 ||
			!strings.Contains(result.Lost, "max_lost allows 0") {
			t.Errorf("%+v, %q: want 30 lost and 560 released", r, result.Lost)
		}
		allowed := s.pipeline()
		allowed.Gate.MaxLost = 30
		if result, _, err := s.runs(allowed); err != nil || result.Lost != "" || result.Report.Records.Lost != 30 {
			t.Errorf("30 are allowed: %+v, %v", result, err)
		}
		allowed = s.pipeline()
		allowed.Gate.MaxLost = 29
		if result, _, err := s.runs(allowed); err != nil || result.Lost == "" {
			t.Errorf("29 are allowed: %+v, %v", result, err)
		}
	}
	if got := s.group().Records.Lost; got != 30 {
		t.Errorf("the group says %d are lost, want 30", got)
	}
	s.setOffsets(300, 280)
	if got := s.group().Records.Repeated; got != 20 {
		t.Errorf("the group says %d are repeated before they are read, want 20", got)
	}
	result, logged, err := s.runs(s.pipeline())
	if err != nil {
		t.Fatal(err)
	}
	if r := result.Report.Records; r.Repeated != 20 || r.Released != 560 || r.Lost != 30 || r.Unassessed != 0 ||
		!logged.has("was set back") {
		t.Errorf("set back: %+v", r)
	}
	if r := s.group().Records; r.Repeated != 20 || r.Released != 560 {
		t.Errorf("the group, set back: %+v", r)
	}
}

// If the state topic is lost, the records that were released are in no figure, and that is said.
func TestStatesThatAreLost(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 400)
	s.run(s.pipeline())
	if _, err := kadm.NewClient(s.client).DeleteTopics(s.t.Context(), "g-state"); err != nil {
		t.Fatal(err)
	}
	s.persons(400, 500)
	result, logged, err := s.runs(s.pipeline())
	if err != nil {
		t.Fatal(err)
	}
	if r := result.Report.Records; r.Released != 100 || r.Unassessed != 400 || result.Lost != "" ||
		!logged.has("was the state topic lost?") {
		t.Errorf("%+v, %q", r, result.Lost)
	}
	if r := s.group().Records; r.Unassessed != 400 {
		t.Errorf("the group: %+v", r)
	}
}

// With `latest`, what is there at the group's first start is left out, and nothing else: partitions that
// had no records, that are new, and records that come while nothing runs are read.
func TestLatestIsTheFirstStart(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.persons(0, 100)
	p := func() *config.Pipeline {
		p := s.pipeline()
		p.Source.Config.(*kafka.SourceConfig).Start = "latest"
		return p
	}
	if result, _, err := s.runs(p()); err != nil || result.Report.Records.Read != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	s.persons(100, 150)
	admin := kadm.NewClient(s.client)
	for _, topic := range []string{"in", "out"} {
		if _, err := admin.CreatePartitions(t.Context(), 1, topic); err != nil {
			t.Fatal(err)
		}
	}
	s.client = s.newClient(kgo.RecordPartitioner(kgo.ManualPartitioner())) // which knows the new partition
	s.produce(
		&kgo.Record{Topic: "in", Partition: partitions, Value: []byte(`{"id":150,"name":"n","wage":1.5,"region":"r"}`)})
	result, _, err := s.runs(p())
	if err != nil || result.Report.Records.Read != 51 || result.Report.Records.Lost != 0 ||
		result.Report.Records.Unassessed != 0 {
		t.Fatalf("%+v, %v: want 51 read", result.Report.Records, err)
	}
}
