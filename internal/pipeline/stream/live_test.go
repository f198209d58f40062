package stream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// served returns the answer of a live page; for its endless events, the first part.
func served(t *testing.T, m *monitor.Monitor, path string) (status int, text string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:9464"+path, nil)
	wait := eventually.Patience
	if path == "/events" {
		wait = 200 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r.WithContext(ctx))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

// watchedStream runs a stream with a live page until it is stopped.
func (s *stand) watchedStream(p *config.Pipeline) (m *monitor.Monitor, end func()) {
	s.t.Helper()
	m = monitor.New(monitor.Info{Name: "stand", Interval: 200 * time.Millisecond})
	o := s.options()
	o.Monitor = m
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := stream.Run(ctx, p, o)
		done <- err
	}()
	return m, func() {
		s.t.Helper()
		cancel()
		if err := <-done; err != nil {
			s.t.Fatal(err)
		}
	}
}

// state is the page's newest event.
type state struct {
	HasSnapshot bool  `json:"has_snapshot"`
	Last        int64 `json:"last_snapshot"`
	Lag         struct{ Total *int64 }
	Gate        struct{ Judged, Passed bool }
	Dropped     []struct {
		Reason  string
		Records int64
	}
}

func stateOf(t *testing.T, m *monitor.Monitor) (s state) {
	t.Helper()
	var text string
	eventually.True(t, "an event of the page's state", func() (whole bool) {
		_, text = served(t, m, "/events")
		_, text, _ = strings.Cut(text, "event: state\ndata: ")
		text, _, whole = strings.Cut(text, "\n")
		return whole
	})
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("error %v in the page's state %q", err, text)
	}
	return s
}

// TestStreamKeepsItsPage: after a restart without new records, the live page has the same measures,
// gate, lag, reasons and order of snapshots as before. State from before there was a page is
// resumed as well.
func TestStreamKeepsItsPage(t *testing.T) {
	s := newStand(t)
	s.persons(0, 500)
	s.run(s.pipeline()) // without a page
	text := strings.Replace(strings.Replace(standConfig, ", until: latest", "", 1), "quarantine: {kafka: {topic: bad}}\n",
		"", 1) +
		"gate: {on_fail: alert, rules: [{column: wage, target: max, knowledge: index, max_risk: 1}]}\n"
	live := func() *config.Pipeline { return s.parse(fmt.Sprintf(text, s.address, s.key)) }

	old, end := s.watchedStream(live()) // the state contains no page
	eventually.True(t, "a page of what was kept", func() bool {
		_, text := served(t, old, "/report")
		return strings.Contains(text, `"released": 500`) && stateOf(t, old).Gate.Judged
	})
	end()
	s.persons(500, 1500)
	s.produce(&kgo.Record{Topic: "in", Partition: 1, Value: []byte(`{"id":1501,"wage":"canary","region":"r"}`)},
		&kgo.Record{Topic: "in", Partition: 0, Value: []byte(`not JSON`)},
		&kgo.Record{Topic: "in", Partition: 1, Value: []byte(`nor this`)})

	first, end := s.watchedStream(live())
	eventually.True(t, "a snapshot of all records", func() bool {
		status, text := served(t, first, "/report")
		return status == http.StatusOK && strings.Contains(text, `"released": 1500`)
	})
	end()
	before := stateOf(t, first)
	if !before.HasSnapshot || before.Last < 1 || !before.Gate.Judged || len(before.Dropped) != 2 ||
		before.Dropped[0].Records != 2 {
		t.Fatalf("before the restart, the page has %+v", before)
	}

	second, end := s.watchedStream(live())
	eventually.True(t, "a page of the idle stream", func() bool {
		is := stateOf(t, second)
		return is.HasSnapshot && is.Lag.Total != nil && len(is.Dropped) == 2 && second.HasSnapshot()
	})
	after := stateOf(t, second)
	if after.Last <= before.Last || !after.Gate.Judged || after.Gate != before.Gate || *after.Lag.Total != 0 ||
		!reflect.DeepEqual(after.Dropped, before.Dropped) {
		t.Errorf("after the restart, the page has %+v; before, %+v", after, before)
	}
	var detail struct {
		History []struct{ Snapshot int64 }
		SVG     string
	}
	_, column := served(t, second, "/column?name=wage")
	if err := json.Unmarshal([]byte(column), &detail); err != nil || len(detail.History) < 2 ||
		!strings.Contains(detail.SVG, `class="pt`) {
		t.Errorf("after the restart, the column has %d rows of history (error %v), want at least 2", len(detail.History), err)
	}
	for _, path := range []string{"/report", "/column?name=wage", "/metrics", "/events"} {
		if _, text := served(t, second, path); strings.Contains(text, "canary") {
			t.Errorf("%s contains a value", path)
		}
	}
	// Counting continues with new records.
	s.produce(&kgo.Record{Topic: "in", Partition: 0, Value: []byte(`broken again`)})
	eventually.True(t, "another record in quarantine", func() bool {
		is := stateOf(t, second)
		return len(is.Dropped) == 2 && is.Dropped[0].Records == 3
	})
	end()
}

// TestStreamReportsWhyRecordsAreLost: the report of a stream contains the reasons of lost records,
// across restarts, for members and for the group.
func TestStreamReportsWhyRecordsAreLost(t *testing.T) {
	s := newStand(t)
	want := map[string]int64{}
	for round := range 3 {
		s.persons(1000*round, 1000*round+500)
		s.produce(&kgo.Record{Topic: "in", Partition: int32(round % 2), Value: []byte(`not JSON`)},
			&kgo.Record{Topic: "in", Partition: 1, Value: []byte(`{"id":1,"name":"n","wage":"x","region":"r"}`)})
		r := s.run(s.pipeline("sink.kafka.commit.records=100")).Report.Records
		total := int64(0)
		for reason, n := range r.Reasons {
			total += n
			if n != int64(round+1) {
				t.Errorf("run %d: reason %q has %d records, want %d", round, reason, n, round+1)
			}
		}
		if len(r.Reasons) != 2 || total != r.Quarantined {
			t.Errorf("run %d: %d records in quarantine, but reasons %v", round, r.Quarantined, r.Reasons)
		}
		want = r.Reasons
	}
	rep, err := stream.AssessGroup(context.Background(), s.pipeline(), "", s.options())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(rep.Records.Reasons, want) {
		t.Errorf("the group's reasons are %v, want %v", rep.Records.Reasons, want)
	}
}

// A report says if it is not of all partitions, because another member of the group has some.
func TestReportOfSomePartitions(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.fill(400)
	const part = "of the source's 2 partitions"
	if r := s.run(s.pipeline()).Report; r.Records.Read != 400 || strings.Contains(strings.Join(r.Warnings, " "), part) {
		t.Errorf("alone: %d records, warnings %q", r.Records.Read, r.Warnings)
	}
	other := s.newClient(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("in"), kgo.DisableAutoCommit(),
		kgo.Balancers(kgo.CooperativeStickyBalancer()))
	go func() {
		for !other.PollFetches(t.Context()).IsClientClosed() && t.Context().Err() == nil {
			other.AllowRebalance()
		}
	}()
	eventually.True(t, "the other member joins", func() bool { id, _ := other.GroupMetadata(); return id != "" })
	logged := s.listen()
	result, err := stream.Run(t.Context(), s.pipeline(), logged.options())
	if err != nil {
		t.Fatal(err)
	}
	if r := result.Report; !strings.Contains(strings.Join(r.Warnings, " "), "this report is of 1 "+part) ||
		r.Records.Read != 200 || !logged.has("sdlfilter assess --group shows the whole") {
		t.Errorf("beside another member: %d records, warnings %q", r.Records.Read, r.Warnings)
	}
}

// The report of a stream counts all records and what the masks did to them, also those of earlier
// runs, whether there are measures or not; so does its group. Counts of other masks are not taken up.
func TestStreamCountsEarlierRuns(t *testing.T) {
	recode := strings.NewReplacer("noise: {columns: [wage], sd: 50}",
		"recode: {columns: [region], map: {south: s}, other: n}", "wage: {role: sensitive, decimals: 2}",
		"wage: {role: other}",
		standAssess, "").Replace(standConfig)
	for _, text := range []string{standConfig, recode} {
		s := newStand(t)
		parse := func(settings ...string) *config.Pipeline {
			return s.parse(fmt.Sprintf(text, s.address, s.key)+"identity: [name]\n", settings...)
		}
		check := func(what string, r *report.Report, read, unidentified int64) {
			t.Helper()
			if c := r.Records; c.Read != read || c.Released != read || r.IdentifiedByPlace != unidentified {
				t.Errorf("%s: records %+v, %d identified by their place, want %d and %d", what, c, r.IdentifiedByPlace, read,
					unidentified)
			}
			if got := r.Masks[0].Records; float64(got) < 0.99*float64(read) || got > read {
				t.Errorf("%s: the mask has changed %d of %d records", what, got, read)
			}
		}
		for round := range int64(3) {
			s.persons(1000*int(round), 1000*int(round)+400)
			s.produce(
				&kgo.Record{Topic: "in", Partition: int32(round % 2), Value: []byte(`{"id":1,"name":"","wage":3.25,"region":"r"}`)})
			check("run", s.run(parse("sink.kafka.commit.records=100")).Report, 401*(round+1), round+1)
			check("nothing more to read", s.run(parse()).Report, 401*(round+1), round+1)
			rep, err := stream.AssessGroup(t.Context(), parse(), "", s.options())
			if err != nil {
				t.Fatal(err)
			}
			check("group", rep, 401*(round+1), round+1)
		}
		logged := s.listen()
		other := strings.NewReplacer("sd: 50", "sd: 49", "other: n", "other: m").Replace(fmt.Sprintf(text, s.address, s.key))
		result, err := stream.Run(t.Context(), s.parse(other+"identity: [name]\n"), logged.options())
		if err != nil {
			t.Fatal(err)
		}
		if c := result.Report.Records; c.Read != 0 || !logged.has("start again from here") {
			t.Errorf("counts of other masks are taken up: %+v", c)
		}
	}
}
