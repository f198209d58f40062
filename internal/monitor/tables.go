package monitor

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Results of a window of topics, as Tables.Made counts them.
const (
	WindowPublished = "published"
	WindowWithheld  = "withheld"
	WindowEmpty     = "empty" // it had no records
)

// TableCells says how many cells a published table has. It is what its public report says too.
type TableCells struct {
	Name                   string
	Published, Held, Empty int
}

// Tables holds how the making of tables goes: once, or of one window of topics after another. It
// shows counts of cells and windows, and no value, no code and no count of records. A nil Tables
// holds and serves nothing.
type Tables struct {
	serving

	info     Info
	windowed bool
	now      func() time.Time
	registry *prometheus.Registry

	mu       sync.Mutex
	started  time.Time
	ended    time.Time // zero while it runs
	status   int       // of the command; known when it has ended
	judged   bool
	passed   bool
	broken   int // rules of the gate
	cells    []TableCells
	turned   time.Time // when the topics answered, or a window began or ended
	working  bool      // a window is being made
	answered bool      // the topics have answered once
	left     int64     // offsets that are in no window yet
	results  map[string]int64
	number   int
	until    time.Time // the end of a window by time; zero: it is none
	madeAt   time.Time // zero: no window was made by this run
}

// NewTables returns the state of a command that begins now.
func NewTables(info Info) *Tables {
	t := &Tables{serving: serving{closing: make(chan struct{})}, info: info, now: time.Now,
		results: map[string]int64{}, registry: prometheus.NewRegistry()}
	t.started = t.now()
	t.turned = t.started
	t.registry.MustRegister(t)
	return t
}

// Loaded notes what the configuration says: what is tabulated, and whether in windows of topics.
func (t *Tables) Loaded(info Info, windowed bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.info, t.windowed = info, windowed
}

// Looked notes that the topics have answered, and hold so many offsets that are in no window yet.
func (t *Tables) Looked(left int64) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turned, t.answered, t.left = t.now(), true, left
}

// Begun notes that a window is being made.
func (t *Tables) Begun() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turned, t.working = t.now(), true
}

// Made notes how a window ended: its result, its number, and its end if it is one by time.
func (t *Tables) Made(result string, number int, until time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.madeAt = t.now()
	t.turned, t.working = t.madeAt, false
	t.results[result]++
	t.number, t.until = number, until
}

// Judged notes the verdict of the gate, and the cells of the tables if they were published.
func (t *Tables) Judged(v assess.Verdict, published bool, cells []TableCells) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.judged, t.passed, t.broken = true, published, 0
	for _, rule := range v.Rules {
		if !rule.Passed {
			t.broken++
		}
	}
	if published {
		t.cells = cells
	}
}

// Ended notes the exit status of the command.
func (t *Tables) Ended(status int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.status = t.now(), status
}

var (
	descTableCells  = desc("table_cells", "Cells of a table that was published last.", "table", "status")
	descWindows     = desc("windows_total", "Windows that this run has made, by how they ended.", "result")
	descWindow      = desc("last_window", "Number of the last window; absent before this run has made one.")
	descWindowMade  = desc("last_window_timestamp_seconds", "Unix time at which the last window was made.")
	descWindowUntil = desc("last_window_end_timestamp_seconds",
		"Unix time of the end of the last window, of windows by time.")
	descWindowsLeft  = desc("windows_lag_offsets", "Offsets of the topics that are in no window yet.")
	descTablesPassed = desc("gate_passed", "Whether the last tables were published; absent before the first verdict.")
)

// Describe sends no description: which metrics there are depends on the tables.
func (t *Tables) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics.
func (t *Tables) Collect(out chan<- prometheus.Metric) {
	gauge := gauges(out)
	t.mu.Lock()
	defer t.mu.Unlock()
	gauge(descInfo, 1, t.info.Name, t.info.Version, t.info.Source, t.info.Sink)
	gauge(descStarted, seconds(t.started))
	if !t.ended.IsZero() {
		gauge(descEnded, seconds(t.ended))
		gauge(descDuration, t.ended.Sub(t.started).Seconds())
		gauge(descStatus, float64(t.status))
	}
	if t.judged {
		gauge(descTablesPassed, truth(t.passed))
		gauge(descBroken, float64(t.broken))
	}
	for _, c := range t.cells {
		gauge(descTableCells, float64(c.Published), c.Name, "published")
		gauge(descTableCells, float64(c.Held), c.Name, "held_back")
		gauge(descTableCells, float64(c.Empty), c.Name, "empty")
	}
	if !t.windowed {
		return
	}
	for _, result := range []string{WindowPublished, WindowWithheld, WindowEmpty} {
		out <- prometheus.MustNewConstMetric(descWindows, prometheus.CounterValue, float64(t.results[result]), result)
	}
	if t.answered {
		gauge(descWindowsLeft, float64(t.left))
	}
	if t.madeAt.IsZero() {
		return
	}
	gauge(descWindow, float64(t.number))
	gauge(descWindowMade, seconds(t.madeAt))
	if !t.until.IsZero() {
		gauge(descWindowUntil, seconds(t.until))
	}
}

// beat collects the time of the last sign of life, which in a file would be that of the writing. While
// a window is made, that is now.
type beat struct{ t *Tables }

func (beat) Describe(out chan<- *prometheus.Desc) { out <- descLoop }

func (b beat) Collect(out chan<- prometheus.Metric) {
	b.t.mu.Lock()
	defer b.t.mu.Unlock()
	last := b.t.turned
	if b.t.working {
		last = b.t.now()
	}
	gauges(out)(descLoop, seconds(last))
}

// Write writes the metrics for the textfile collector of the node exporter. The file appears whole.
func (t *Tables) Write(path string) error {
	return prometheus.WriteToTextfile(path, t.registry)
}

// patience is how long the topics may give no answer before the command counts as stuck.
const patience = time.Minute

// alive says why the command counts as stuck; "" if it does not. The making of a window may take
// any time.
func (t *Tables) alive() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if silent := t.now().Sub(t.turned); !t.working && silent > patience {
		return "the topics have given no answer for " + silent.Truncate(time.Second).String()
	}
	return ""
}

// ready says what is missing; "" if nothing is.
func (t *Tables) ready() string {
	t.mu.Lock()
	begun := t.answered || t.working || !t.madeAt.IsZero()
	t.mu.Unlock()
	if !begun {
		return "brokers not contacted yet"
	}
	return t.alive()
}

// handler serves /metrics, /livez and /readyz, to the same requests as the server of a stream.
func (t *Tables) handler(bound netip.Addr) http.Handler {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(t, beat{t}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { sayHealth(w, t.alive()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { sayHealth(w, t.ready()) })
	return guarded(mux, t.info.Hosts, bound)
}

// Serve serves metrics and health on addr, host:port, in the background until ctx ends or Close is
// called. It returns the address that it listens on.
func (t *Tables) Serve(ctx context.Context, addr string) (string, error) {
	return t.listen(ctx, addr, t.handler)
}

// Close ends what Serve began and waits for it.
func (t *Tables) Close() {
	if t != nil {
		t.end()
	}
}
