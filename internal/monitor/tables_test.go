package monitor

import (
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
)

func watchedTables() (*Tables, *clock) {
	c := &clock{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	t := NewTables(Info{Name: "t.yaml", Version: "1"})
	t.now, t.started, t.turned = c.now, c.t, c.t
	return t, c
}

// metricsOf returns the program's own metrics, without help and types.
func metricsOf(t *testing.T, x *Tables) string {
	t.Helper()
	status, text := get(t, x.handler(netip.Addr{}), "/metrics")
	if status != 200 {
		t.Fatalf("%d: %s", status, text)
	}
	var own []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "sdlfilter_") {
			own = append(own, line)
		}
	}
	return strings.Join(own, "")
}

func TestNilTables(t *testing.T) {
	var x *Tables
	x.Loaded(Info{}, true)
	x.Looked(1)
	x.Begun()
	x.Made(WindowPublished, 1, time.Time{})
	x.Judged(assess.Verdict{}, true, nil)
	x.Ended(0)
	x.Close()
}

// What each state shows, from the start to the end; nothing is shown that is not known yet.
func TestTablesMetrics(t *testing.T) {
	x, c := watchedTables()
	shows := func(when, want string) {
		t.Helper()
		want = strings.ReplaceAll(strings.TrimLeft(want, "\n"), "\t", "")
		if got := metricsOf(t, x); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", when, got, want)
		}
	}
	shows("at the start", `
		sdlfilter_heartbeat_timestamp_seconds 1.7952624e+09
		sdlfilter_info{name="t.yaml",sink="",source="",version="1"} 1
		sdlfilter_start_time_seconds 1.7952624e+09
	`)
	x.Loaded(Info{Name: "t", Version: "1", Source: "p.yaml", Sink: "t.csv"}, true)
	x.Looked(100)
	c.advance(time.Second)
	x.Begun()
	x.Judged(assess.Verdict{Passed: true, Rules: []assess.RuleVerdict{{Passed: true}}}, true,
		[]TableCells{{"persons", 7, 2, 1}, {"firms", 3, 0, 0}})
	x.Made(WindowPublished, 5, c.t.Add(-time.Minute))
	x.Made(WindowEmpty, 6, time.Time{})
	x.Judged(assess.Verdict{Rules: []assess.RuleVerdict{{Passed: true}, {}, {}}}, false,
		[]TableCells{{"persons", 8, 1, 1}})
	x.Made(WindowWithheld, 7, time.Time{})
	shows("after three windows", `
		sdlfilter_gate_passed 0
		sdlfilter_gate_rules_broken 2
		sdlfilter_heartbeat_timestamp_seconds 1.795262401e+09
		sdlfilter_info{name="t",sink="t.csv",source="p.yaml",version="1"} 1
		sdlfilter_last_window 7
		sdlfilter_last_window_timestamp_seconds 1.795262401e+09
		sdlfilter_start_time_seconds 1.7952624e+09
		sdlfilter_table_cells{status="empty",table="firms"} 0
		sdlfilter_table_cells{status="empty",table="persons"} 1
		sdlfilter_table_cells{status="held_back",table="firms"} 0
		sdlfilter_table_cells{status="held_back",table="persons"} 2
		sdlfilter_table_cells{status="published",table="firms"} 3
		sdlfilter_table_cells{status="published",table="persons"} 7
		sdlfilter_windows_lag_offsets 100
		sdlfilter_windows_total{result="empty"} 1
		sdlfilter_windows_total{result="published"} 1
		sdlfilter_windows_total{result="withheld"} 1
	`)
	c.advance(time.Minute)
	x.Made(WindowPublished, 8, c.t.Add(-time.Minute))
	if got := metricsOf(t, x); !strings.Contains(got, "sdlfilter_last_window_end_timestamp_seconds 1.795262401e+09\n") {
		t.Errorf("a window by time:\n%s", got)
	}
	x.Ended(4)
	path := filepath.Join(t.TempDir(), "t.prom")
	if err := x.Write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"exit_status 4", "run_duration_seconds 61", "last_run_timestamp_seconds 1.795262461e+09",
		"last_window 8"} {
		if !strings.Contains(string(text), "\nsdlfilter_"+line+"\n") {
			t.Errorf("no %s in the file:\n%s", line, text)
		}
	}
	if strings.Contains(string(text), "\ngo_") || strings.Contains(string(text), "heartbeat") {
		t.Errorf("the file has what a running process alone can tell:\n%s", text)
	}
}

// It counts as stuck if the topics are silent for a minute, unless a window is being made.
func TestTablesHealth(t *testing.T) {
	x, c := watchedTables()
	check := func(when, live, ready string) {
		t.Helper()
		for path, want := range map[string]string{"/livez": live, "/readyz": ready} {
			status, got := get(t, x.handler(netip.Addr{}), path)
			if got != want+"\n" || (status == 200) != (want == "ok") {
				t.Errorf("%s, %s: %d, %s", when, path, status, got)
			}
		}
	}
	check("at the start", "ok", "brokers not contacted yet")
	c.advance(time.Minute + time.Second)
	check("without an answer", "the topics have given no answer for 1m1s", "brokers not contacted yet")
	x.Looked(1)
	check("after an answer", "ok", "ok")
	c.advance(time.Minute)
	check("after a minute", "ok", "ok")
	c.advance(time.Second)
	check("after more", "the topics have given no answer for 1m1s", "the topics have given no answer for 1m1s")
	x.Begun()
	c.advance(time.Hour)
	check("in a long window", "ok", "ok")
	if got := metricsOf(t, x); !strings.Contains(got, "sdlfilter_heartbeat_timestamp_seconds 1.795266122e+09\n") {
		t.Errorf("the heartbeat in a long window:\n%s", got)
	}
	x.Made(WindowPublished, 1, time.Time{})
	check("after it", "ok", "ok")
	c.advance(2 * time.Minute)
	check("silent after it", "the topics have given no answer for 2m0s", "the topics have given no answer for 2m0s")
	resumed, _ := watchedTables()
	resumed.Begun() // a window planned by an earlier run
	if status, text := get(t, resumed.handler(netip.Addr{}), "/readyz"); status != 200 {
		t.Errorf("a resumed window: %s", text)
	}
}

// It accepts only its own names, and no requests that a page of another origin has sent.
func TestTablesServer(t *testing.T) {
	x, _ := watchedTables()
	address, err := x.Serve(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := x.Serve(t.Context(), address); err == nil {
		t.Error("two servers at one address")
	}
	for host, want := range map[string]int{address: 200, "localhost": 200, "evil.example": 421} {
		if got := statusFor(t, "http://"+address+"/livez", host, ""); got != want {
			t.Errorf("host %s: %d, want %d", host, got, want)
		}
	}
	if got := statusFor(t, "http://"+address+"/livez", address, "http://evil.example"); got != 403 {
		t.Errorf("a page of another origin: %d", got)
	}
	if got := statusFor(t, "http://"+address+"/report", address, ""); got != 404 {
		t.Errorf("a report: %d", got)
	}
}

// statusFor returns the status of the answer to a client with a given host, and an origin unless it is
// "".
func statusFor(t *testing.T, url, host, origin string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}
