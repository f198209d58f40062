package monitor

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// metrics are the counters and histograms of a stream, in a registry of their own.
// What is a state and not a count is collected from the Monitor when it is asked
// for, so that one scrape sees one state.
type metrics struct {
	registry     *prometheus.Registry
	records      *prometheus.CounterVec
	transactions *prometheus.CounterVec
	reloads      *prometheus.CounterVec
	reasons      *prometheus.CounterVec
	rebalances   prometheus.Counter
	snapshots    prometheus.Counter
	batch        prometheus.Histogram
	commit       prometheus.Histogram
}

func newMetrics(m *Monitor) metrics {
	counters := func(name, help, label string, values ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sdlfilter_" + name, Help: help}, []string{label})
		for _, v := range values {
			c.WithLabelValues(v) // 0 from the start, so that a rate is one from the first record on
		}
		return c
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "sdlfilter_" + name, Help: help})
	}
	// From 1 ms to 65 s, each bound twice the last.
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(
			prometheus.HistogramOpts{Name: "sdlfilter_" + name, Help: help,
				Buckets: prometheus.ExponentialBuckets(0.001, 2, 17)})
	}
	x := metrics{
		registry:     prometheus.NewRegistry(),
		records:      counters("records_total", "Records by what became of them.", "result", fates()...),
		transactions: counters("transactions_total", "Transactions by how they ended.", "outcome", "committed", "aborted"),
		reloads: counters("config_reloads_total", "Changed configurations, taken on or refused.", "result", "taken",
			"refused"),
		reasons: counters("quarantined_records_total", "Records that could not be masked, by column and reason.",
			"reason"),
		rebalances: counter("rebalances_total", "Rebalances of the consumer group."),
		snapshots:  counter("snapshots_total", "Snapshots of the assessment."),
		batch:      histogram("batch_duration_seconds", "Time of a batch from fetch to sink."),
		commit:     histogram("commit_duration_seconds", "Time that ending a transaction took."),
	}
	x.registry.MustRegister(x.records, x.transactions, x.reloads, x.reasons, x.rebalances, x.snapshots, x.batch, x.commit,
		state{m},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return x
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("sdlfilter_"+name, help, labels, nil)
}

var (
	descInfo      = desc("info", "What runs; always 1.", "name", "version", "source", "sink")
	descStarted   = desc("start_time_seconds", "Unix time of the start.")
	descMode      = desc("mode", "1 for the mode that the stream is in.", "mode")
	descConnected = desc("connected", "Whether the brokers answered at the last contact.")
	descLoop      = desc("heartbeat_timestamp_seconds", "Unix time of the loop's last turn.")
	descCommitted = desc("last_commit_timestamp_seconds", "Unix time of the last committed transaction.")
	descAssigned  = desc("partitions_assigned", "Partitions that this instance reads.", "topic")
	descLag       = desc("lag_records", "Records that are not yet released.", "topic", "partition")
	descLost      = desc("lost_records", "Offsets of the source that were never read: removed before, or skipped.")
	descRepeated  = desc("repeated_records",
		"Offsets of the source that were read again after the group's offset was set back, or with at_least_once after writing failed.")
	descNoFigure = desc("unassessed_records", "Offsets whose records were released and are in no figure.")
	descBegun    = desc("assessments_begun_anew",
		"How often the assessment of a partition has begun anew because its topic was made again.")
	descRate      = desc("records_per_second", "Records done per second, of the last seconds.")
	descGate      = desc("gate_passed", "Whether every rule of the gate holds; absent before the first verdict.")
	descBroken    = desc("gate_rules_broken", "Rules of the gate that do not hold; absent before the first verdict.")
	descSnapshot  = desc("snapshot", "Number of the last snapshot, in the order in which the live page has shown them.")
	descAssessed  = desc("assessed_records", "Values of a column that the shown measures rest on.", "column")
	descU         = desc("data_utility", "Data utility U of a column, in 1/(unit of the column)².", "column")
	descEfficient = desc("efficiency", "Efficiency U/U₀ of a column.", "column")
	descRisk      = desc("disclosure_risk",
		"Disclosure risk R of a target under a state of knowledge, in 1/(unit of the column)².", "column", "target",
		"knowledge")
	descRMSE = desc("rmse", "Error √(1/R) with which a snooper knows a target, in the column's unit.", "column",
		"target", "knowledge")
)

// state collects what a Monitor holds.
type state struct{ m *Monitor }

// Describe sends no description for what depends on the data's columns: their
// metrics come and go with the snapshots.
func (state) Describe(chan<- *prometheus.Desc) {}

func (s state) Collect(out chan<- prometheus.Metric) {
	m := s.m
	gauge := gauges(out)
	m.mu.Lock()
	defer m.mu.Unlock()
	gauge(descInfo, 1, m.info.Name, m.info.Version, m.info.Source, m.info.Sink)
	gauge(descStarted, seconds(m.started))
	for _, mode := range []string{Releasing, Holding, Stopped} {
		gauge(descMode, truth(m.mode == mode), mode)
	}
	gauge(descConnected, truth(m.brokers.attempted && m.brokers.err == ""))
	gauge(descLoop, seconds(m.heartbeat))
	if !m.lastCommit.IsZero() {
		gauge(descCommitted, seconds(m.lastCommit))
	}
	for topic, list := range m.assigned {
		gauge(descAssigned, float64(len(list)), topic)
	}
	for p, n := range m.lag {
		gauge(descLag, float64(n), p.topic, strconv.Itoa(int(p.partition)))
	}
	gauge(descLost, float64(m.gaps.lost))
	gauge(descRepeated, float64(m.gaps.repeated))
	gauge(descNoFigure, float64(m.gaps.unassessed))
	gauge(descBegun, float64(m.gaps.begun))
	gauge(descRate, m.rate.over(m.now(), m.started, m.rateWindow()))
	if v := m.verdict(); v.Judged {
		broken := 0
		for _, rule := range v.Rules {
			if !rule.Passed {
				broken++
			}
		}
		gauge(descGate, truth(v.Passed))
		gauge(descBroken, float64(broken))
	}
	if m.view == nil {
		return
	}
	gauge(descSnapshot, float64(m.view.report.Snapshot))
	m.view.collect(gauge)
}

// gauges sends gauges with labels that are UTF-8.
func gauges(out chan<- prometheus.Metric) func(*prometheus.Desc, float64, ...string) {
	return func(d *prometheus.Desc, v float64, labels ...string) {
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
		}
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
}

// collect sends what may be shown of the columns.
func (v *view) collect(gauge func(*prometheus.Desc, float64, ...string)) {
	// Two columns of one name would be one metric sent twice, which fails the scrape.
	for name, c := range v.columns {
		gauge(descAssessed, float64(c.measures.Original.N), name)
		if !c.measures.Masked {
			continue
		}
		gaugeNumber(gauge, descU, float64(c.measures.Utility.U), name)
		gaugeNumber(gauge, descEfficient, float64(c.measures.Utility.Efficiency), name)
		seen := map[[2]string]bool{}
		for _, k := range c.measures.Risk {
			if key := [2]string{k.Target, k.Knowledge}; !seen[key] {
				seen[key] = true
				gaugeNumber(gauge, descRisk, float64(k.R), name, k.Target, k.Knowledge)
				gaugeNumber(gauge, descRMSE, float64(k.RMSE), name, k.Target, k.Knowledge)
			}
		}
	}
}

// gaugeNumber calls gauge unless v is NaN.
func gaugeNumber(gauge func(*prometheus.Desc, float64, ...string), d *prometheus.Desc, v float64, labels ...string) {
	if !math.IsNaN(v) {
		gauge(d, v, labels...)
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// fates are the results of records.
func fates() (words []string) {
	for f := range (microdata.Counts{}).ByFate() {
		words = append(words, string(f))
	}
	return words
}
