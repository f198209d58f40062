package monitor

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Modes of a stream.
const (
	Releasing = "releasing"
	Holding   = "holding"
	Stopped   = "stopped"
)

// Info says what is watched.
type Info struct {
	Name, Version string // of the pipeline; of the program
	Source, Sink  string // in words for people: "kafka survey"; never with credentials
	// Interval is how long one turn of the loop ordinarily takes at most: that
	// between two commits. Liveness and the rate are judged by it.
	Interval time.Duration
	// Quarantine says that records which could not be masked are noted somewhere; or
	// else they are counted and dropped.
	Quarantine bool
	// Hosts are names under which the server may be asked, beside loopback's and
	// the address that it listens on.
	Hosts []string
}

// Monitor holds what a running stream has said of itself.
type Monitor struct {
	info    Info
	metrics metrics
	now     func() time.Time
	tick    time.Duration // between two states that a page is sent
	grace   time.Duration // within which a client must take what it is sent

	serving

	taking sync.Mutex // one snapshot after another

	mu         sync.Mutex
	started    time.Time
	heartbeat  time.Time
	counts     microdata.Counts
	rate       rate
	assigned   map[string][]int32
	lag        map[place]int64
	gaps       gaps
	committed  int64
	aborted    int64
	rebalances int64
	lastCommit time.Time
	mode       string
	brokers    contact
	gate       judgement
	reload     reload
	view       *view  // of the last snapshot; nil before the first
	text       []byte // its report as JSON; nil where there is none
	history    []*view
	number     int64     // of the last snapshot
	begun      bool      // a snapshot has been shown since the start
	resumed    time.Time // when what Resume took up was kept
	moments    []moment  // of the snapshots, also of instances before this one
	reasons    map[string]int64
	watchers   map[chan struct{}]*watcher
	joined     int64 // watchers so far
}

// gaps are what is missing from the figures, of the partitions that this instance reads.
type gaps struct{ lost, repeated, unassessed, begun int64 }

// Gaps sets how many records of this instance's partitions were never read, read again, or released
// without being assessed, and how often an assessment has begun anew.
func (m *Monitor) Gaps(lost, repeated, unassessed, begun int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gaps = gaps{lost, repeated, unassessed, begun}
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// contact is the last contact with the brokers.
type contact struct {
	attempted bool
	err       string    // empty: they answered
	since     time.Time // when it became so
}

// judgement is the last verdict passed to Gate.
type judgement struct {
	known   bool // Gate was called
	passed  bool
	broken  []string
	outdone bool // a snapshot with a verdict of its own has come since
}

type reload struct {
	at  time.Time
	err string
}

// New returns a Monitor of a stream that starts now.
func New(info Info) *Monitor {
	m := &Monitor{
		info: info, now: time.Now, tick: time.Second, grace: 10 * time.Second,
		serving: serving{closing: make(chan struct{})}, lag: map[place]int64{},
		mode: Releasing, watchers: map[chan struct{}]*watcher{},
	}
	m.started = m.now()
	m.heartbeat = m.started
	m.metrics = newMetrics(m)
	return m
}

// Records counts the records of a commit.
func (m *Monitor) Records(c microdata.Counts) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts = m.counts.Plus(c)
	for f, n := range c.ByFate() {
		if n > 0 {
			m.metrics.records.WithLabelValues(string(f)).Add(float64(n))
			m.rate.add(m.now(), n)
		}
	}
}

// Batch notes how long a batch took from its fetch until it was handed to the sink.
func (m *Monitor) Batch(d time.Duration) {
	if m != nil {
		m.metrics.batch.Observe(d.Seconds())
	}
}

// Commit notes that a transaction ended after d, which is the time that ending it
// took, and whether it was committed or aborted.
func (m *Monitor) Commit(d time.Duration, committed bool) {
	if m == nil {
		return
	}
	m.metrics.commit.Observe(d.Seconds())
	outcome := "aborted"
	if committed {
		outcome = "committed"
	}
	m.metrics.transactions.WithLabelValues(outcome).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	if committed {
		m.committed++
		m.lastCommit = m.now()
	} else {
		m.aborted++
	}
}

// Rebalance counts a rebalance of the group.
func (m *Monitor) Rebalance() {
	if m == nil {
		return
	}
	m.metrics.rebalances.Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rebalances++
}

// Assigned sets the partitions that this instance reads, all of them, by topic.
// The lag of any other partition is forgotten.
func (m *Monitor) Assigned(partitions map[string][]int32) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.assigned = make(map[string][]int32, len(partitions))
	for topic, list := range partitions {
		if len(list) > 0 {
			m.assigned[topic] = slices.Clone(list)
		}
	}
	maps.DeleteFunc(m.lag, func(p place, _ int64) bool { return !slices.Contains(m.assigned[p.topic], p.partition) })
	m.tell()
}

// Lag sets how many records of a partition are not yet released. That of a
// partition that is not assigned is left out: it is another instance's.
func (m *Monitor) Lag(topic string, partition int32, records int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.assigned == nil || slices.Contains(m.assigned[topic], partition) {
		m.lag[place{topic, partition}] = max(records, 0)
	}
}

// Gate sets the verdict on what is about to be committed, and the rules that do
// not hold, in the words of assess.RuleVerdict.Rule.
func (m *Monitor) Gate(passed bool, broken []string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := !m.gate.known || m.gate.passed != passed || !slices.Equal(m.gate.broken, broken)
	m.gate = judgement{known: true, passed: passed, broken: slices.Clone(broken)}
	if changed {
		m.tell()
	}
}

// Mode sets what becomes of masked records: Releasing, Holding or Stopped.
func (m *Monitor) Mode(mode string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mode != mode {
		m.mode = mode
		m.tell()
	}
}

// Broker notes the last contact with the brokers: nil where they answered.
func (m *Monitor) Broker(err error) {
	if m == nil {
		return
	}
	text := ""
	if err != nil {
		text = line(err.Error())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.brokers.attempted && (m.brokers.err == "") == (text == "") {
		m.brokers.err = text
		return
	}
	m.brokers = contact{attempted: true, err: text, since: m.now()}
	m.tell()
}

// Heartbeat says that the loop turns. It is to be called on every turn, also on
// one that brought nothing and while no broker can be reached.
func (m *Monitor) Heartbeat() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heartbeat = m.now()
}

// Reloaded notes an attempt to take on a changed configuration; err says why the
// old one was kept.
func (m *Monitor) Reloaded(at time.Time, err error) {
	if m == nil {
		return
	}
	result, text := "taken", ""
	if err != nil {
		result, text = "refused", line(err.Error())
	}
	m.metrics.reloads.WithLabelValues(result).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reload = reload{at, text}
	m.tell()
}

// tell wakes every client that watches; none is waited for.
func (m *Monitor) tell() {
	for w := range m.watchers {
		select {
		case w <- struct{}{}:
		default: // it is awake already
		}
	}
}

// longestLine is the greatest length of an error's text that is shown, in bytes.
const longestLine = 300

// line makes one line of an error's text.
func line(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) > longestLine {
		s = strings.ToValidUTF8(s[:longestLine], "") + " …"
	}
	return s
}
