package monitor

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/sdlfilter/sdlfilter/internal/synthetic"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time set by a test.
type clock struct{ t time.Time }

func (c *clock) now() time.Time           { return c.t }
func (c *clock) advance(by time.Duration) { c.t = c.t.Add(by) }

func watched(info Info) (*Monitor, *clock) {
	c := &clock{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	m := New(info)
	m.now, m.started, m.heartbeat = c.now, c.t, c.t
	return m, c
}

// get sends a request to a handler like a client on this machine.
func get(t *testing.T, h http.Handler, path string) (status int, body string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:9464"+path, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(text)
}

func TestNilMonitor(t *testing.T) {
	var m *Monitor
	m.Records(microdata.Counts{Released: 1})
	m.Batch(time.Second)
	m.Commit(time.Second, true)
	m.Rebalance()
	m.Assigned(map[string][]int32{"survey": {0}})
	m.Lag("survey", 0, 1)
	m.Snapshot(synthetic.Snapshot(1, 160))
	m.Gate(true, nil)
	m.Mode(Holding)
	m.Broker(errors.New("refused"))
	m.Heartbeat()
	m.Reloaded(time.Now(), nil)
	if address, err := m.Serve(t.Context(), "127.0.0.1:0"); address != "" || err != nil {
		t.Errorf("a nil Monitor listens on %q, %v", address, err)
	}
	if status, _ := get(t, m.Handler(), "/metrics"); status != http.StatusNotFound {
		t.Errorf("a nil Monitor answers with %d", status)
	}
	m.Close()
}

func TestMetrics(t *testing.T) {
	m, c := watched(Info{Name: "survey", Version: "0.4.0", Source: "kafka survey", Sink: "kafka \xffmasked"})
	c.advance(10 * time.Second)
	m.Records(microdata.Counts{Released: 500})
	m.Records(microdata.Counts{})
	m.Records(microdata.Counts{Quarantined: 3, LeftOut: 2})
	m.Records(microdata.Counts{Held: 7})
	c.advance(time.Second)
	m.Batch(3 * time.Millisecond)
	m.Commit(20*time.Millisecond, true)
	m.Commit(20*time.Millisecond, false)
	m.Commit(90*time.Second, true)
	m.Rebalance()
	m.Assigned(map[string][]int32{"survey": {0, 1}, "other": {}})
	m.Lag("survey", 0, 12)
	m.Lag("survey", 1, -1)
	m.Lag("survey", 2, 99) // belongs to another instance
	m.Broker(nil)
	m.Mode(Holding)
	m.Reloaded(c.t, errors.New("no"))
	_, before := get(t, m.Handler(), "/metrics")
	for _, name := range []string{"sdlfilter_gate_passed", "sdlfilter_disclosure_risk", "sdlfilter_snapshot "} {
		if strings.Contains(before, "\n"+name) {
			t.Errorf("%s is there before the first snapshot", name)
		}
	}
	m.Snapshot(synthetic.Snapshot(3, 200))
	status, text := get(t, m.Handler(), "/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	for _, want := range []string{
		`sdlfilter_records_total{result="released"} 500`,
		`sdlfilter_records_total{result="quarantined"} 3`,
		`sdlfilter_records_total{result="left_out"} 2`,
		`sdlfilter_records_total{result="held"} 7`,
		`sdlfilter_records_per_second 102.4`, // 512 in the last 5 s
		`sdlfilter_transactions_total{outcome="committed"} 2`,
		`sdlfilter_transactions_total{outcome="aborted"} 1`,
		`sdlfilter_rebalances_total 1`,
		`sdlfilter_config_reloads_total{result="refused"} 1`,
		`sdlfilter_batch_duration_seconds_bucket{le="0.004"} 1`,
		`sdlfilter_batch_duration_seconds_bucket{le="0.002"} 0`,
		`sdlfilter_commit_duration_seconds_bucket{le="0.032"} 2`,
		`sdlfilter_commit_duration_seconds_bucket{le="65.536"} 2`,
		`sdlfilter_commit_duration_seconds_count 3`,
		`sdlfilter_lag_records{partition="0",topic="survey"} 12`,
		`sdlfilter_lag_records{partition="1",topic="survey"} 0`,
		`sdlfilter_partitions_assigned{topic="survey"} 2`,
		`sdlfilter_connected 1`,
		`sdlfilter_mode{mode="holding"} 1`,
		`sdlfilter_mode{mode="releasing"} 0`,
		`sdlfilter_gate_passed 1`,
		`sdlfilter_gate_rules_broken 0`,
		`sdlfilter_snapshot 3`,
		`sdlfilter_info{name="survey",sink="kafka ` + "\uFFFD" + `masked",source="kafka survey",version="0.4.0"} 1`,
		// S²/(S² + λ²) with S = 453.5512 and λ = 200.
		`sdlfilter_efficiency{column="wage"} 0.84`,
		`sdlfilter_data_utility{column="wage"} 0.245`,
		`sdlfilter_disclosure_risk{column="wage",knowledge="index",target="typical"} 2.5e-05`,
		`sdlfilter_rmse{column="wage",knowledge="position",target="max"} 280`,
		`sdlfilter_assessed_records{column="hours"} 59600`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	for _, want := range []string{"go_goroutines ", "process_cpu_seconds_total "} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no metric %s", want)
		}
	}
	if strings.Contains(text, `partition="2"`) {
		t.Error("the lag of a partition of another instance is there")
	}
	problems, err := testutil.GatherAndLint(m.metrics.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}

	m.Assigned(map[string][]int32{"survey": {1}})
	m.Gate(false, []string{"wage: efficiency at least 0.8"})
	m.Broker(errors.New("refused"))
	_, text = get(t, m.Handler(), "/metrics")
	for _, want := range []string{`sdlfilter_gate_passed 0`, `sdlfilter_gate_rules_broken 1`, `sdlfilter_connected 0`} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(text, `partition="0"`) {
		t.Error("the lag of a revoked partition is still there")
	}
}

func TestRate(t *testing.T) {
	m, c := watched(Info{Interval: 10 * time.Second})
	for range 30 {
		m.Records(microdata.Counts{Released: 100})
		c.advance(10 * time.Second)
	}
	m.Records(microdata.Counts{Released: 100})
	c.advance(time.Second)
	// Commits every 10 s are seen twice within two intervals, at any time of the look.
	for range 7 {
		if got := m.state().Rate; got != 10 {
			t.Errorf("at %s: %v records/s, want 10", c.t.Format("15:04:05"), got)
		}
		c.advance(time.Second)
	}
	c.advance(time.Hour)
	if got := m.state().Rate; got != 0 {
		t.Errorf("after an hour without a record: %v records/s", got)
	}
	m, c = watched(Info{})
	m.Records(microdata.Counts{Released: 60})
	c.advance(2 * time.Second)
	if got := m.state().Rate; got != 30 {
		t.Errorf("60 records in the first two seconds: %v records/s", got)
	}
}

func TestHealth(t *testing.T) {
	m, c := watched(Info{Interval: time.Second})
	h := m.Handler()
	expect := func(what, path string, status int, text string) {
		t.Helper()
		got, body := get(t, h, path)
		if got != status || !strings.Contains(body, text) {
			t.Errorf("%s: %s is %d %q; want %d with %q", what, path, got, body, status, text)
		}
	}
	expect("start", "/livez", 200, "ok")
	expect("start", "/readyz", 503, "brokers not contacted yet")
	c.advance(59 * time.Second)
	expect("before the watchdog", "/livez", 200, "ok")
	c.advance(2 * time.Second)
	expect("silent", "/livez", 503, "no progress since 2026-11-21T12:00:00Z (1m1s ago)")
	m.Heartbeat()
	expect("a turn", "/livez", 200, "ok")
	m.Broker(nil)
	expect("contact", "/readyz", 503, "no partitions assigned")
	m.Assigned(map[string][]int32{"survey": {0}})
	expect("assigned", "/readyz", 200, "ok")
	m.Broker(errors.New("dial\n127.0.0.1:9092:  connection refused"))
	c.advance(30 * time.Second)
	m.Broker(errors.New("i/o timeout"))
	m.Heartbeat()
	expect("cut off", "/readyz", 503, "brokers not reachable since 2026-11-21T12:01:01Z: i/o timeout")
	expect("cut off", "/livez", 200, "ok")
	m.Broker(nil)
	expect("back", "/readyz", 200, "ok")
	m.Assigned(nil)
	expect("revoked", "/readyz", 503, "no partitions assigned")
	m.Assigned(map[string][]int32{"survey": {0}})
	c.advance(2 * time.Minute)
	expect("stuck", "/readyz", 503, "no progress since")
	m.Heartbeat()
	m.Mode(Stopped)
	expect("stopped", "/readyz", 503, "stopped")

	slow, c := watched(Info{Interval: time.Minute})
	c.advance(9 * time.Minute)
	if status, _ := get(t, slow.Handler(), "/livez"); status != 200 {
		t.Error("a loop with turns of a minute counts as stuck after 9")
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a\n b\tc", "a b c"},
		{"\xff", "\uFFFD"},
		{strings.Repeat("é", 200), strings.Repeat("é", 150) + " …"},
		{"x" + strings.Repeat("é", 200), "x" + strings.Repeat("é", 149) + " …"},
	} {
		if got := line(c.in); got != c.want {
			t.Errorf("line(%.20q) is %q, want %q", c.in, got, c.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	const first, second, third = "wage: R of max (index) at most 4.4e-05",
		"wage: RMSE of p99 (position) at least 100 USD/week (at two standard errors)", "wage: efficiency at least 0.8"
	type outcome struct{ judged, passed bool }
	check := func(m *Monitor, what string, want outcome, rules map[string]bool) {
		t.Helper()
		v := m.state().Gate
		if (outcome{v.Judged, v.Passed}) != want || len(v.Rules) != len(rules) {
			t.Errorf("%s: judged %v, passed %v, %d rules; want %v with %d", what, v.Judged, v.Passed, len(v.Rules), want,
				len(rules))
		}
		for _, rule := range v.Rules {
			if passed, ok := rules[rule.Rule]; !ok || passed != rule.Passed {
				t.Errorf("%s: %q passed: %v", what, rule.Rule, rule.Passed)
			}
		}
	}
	m := New(Info{})
	check(m, "before all", outcome{}, nil)
	m.Gate(false, []string{"x: every target at least 5 (worst: p50 by mean)"})
	check(m, "without a snapshot", outcome{true, false},
		map[string]bool{"x: every target at least 5 (worst: p50 by mean)": false})
	m.Snapshot(synthetic.Snapshot(1, 200))
	check(m, "a snapshot since", outcome{true, true}, map[string]bool{first: true, second: true, third: true})
	m.Gate(false, []string{third, "another"})
	check(m, "a verdict since", outcome{true, false},
		map[string]bool{first: true, second: true, third: false, "another": false})
	m.Gate(true, nil)
	check(m, "all hold", outcome{true, true}, map[string]bool{first: true, second: true, third: true})
	m.Snapshot(synthetic.Snapshot(2, 120))
	check(m, "a snapshot that fails", outcome{true, false}, map[string]bool{first: false, second: false, third: true})
	m.Gate(true, nil)
	check(m, "holds again", outcome{true, true}, map[string]bool{first: true, second: true, third: true})
	for _, rule := range m.state().Gate.Rules {
		if later := rule.Rule != third; rule.Later != later {
			t.Errorf("%q: later %v", rule.Rule, rule.Later)
		}
	}
}

func TestMostPartitionsThatLag(t *testing.T) {
	m := New(Info{})
	var all []int32
	for p := range int32(100) {
		all = append(all, p)
	}
	m.Assigned(map[string][]int32{"survey": all})
	for p := range int32(99) {
		m.Lag("survey", p, int64(p))
	}
	lag := m.state().Lag
	if *lag.Total != 99*98/2 || lag.Assigned != 100 || len(lag.Partitions) != mostPartitions {
		t.Fatalf("lag %d of %d partitions, %d listed", *lag.Total, lag.Assigned, len(lag.Partitions))
	}
	// Those with the greatest lag and the one with an unknown lag, by place.
	if first, last := lag.Partitions[0], lag.Partitions[mostPartitions-1]; first.Partition != 76 || last.Partition != 99 ||
		last.Records != nil {
		t.Errorf("listed from %d to %d", first.Partition, last.Partition)
	}
}
