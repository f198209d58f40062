package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// bench is a stream without brokers, to test the actions between two transactions.
type bench struct {
	*stream
	t    *testing.T
	log  *bytes.Buffer
	next map[kafka.Partition]int64
}

// part returns a partition of the topic.
func part(number int32) kafka.Partition { return kafka.Partition{Topic: "in", Number: number} }

// benchOf settles a stream of two partitions, with some further lines in its configuration.
func benchOf(t *testing.T, more string) *bench {
	t.Helper()
	p, err := config.Parse("s.yaml", []byte(settled+more), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(path, []byte("wage,region\n1.5,a\n2.25,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := (&csv.SourceConfig{Path: path}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	key, err := keystream.ParseKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, log: new(bytes.Buffer), next: map[kafka.Partition]int64{}}
	b.stream = &stream{inForce: inForce{config: p, source: new(kafka.StreamSource)}, key: key, started: time.Now(),
		standings: map[kafka.Partition]*keptStanding{}}
	b.options.Log = zerolog.New(b.log)
	if err := b.settle(t.Context(), src, key, b.options.Log, new(pipeline.Progress)); err != nil {
		t.Fatal(err)
	}
	for i := range int32(2) {
		if b.standings[part(i)], err = b.loadStanding(nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if b.snapshots, err = newStreamSnapshots(b.stream, &b.inForce); err != nil {
		t.Fatal(err)
	}
	return b
}

// feed masks and assesses records of a partition, some of them rejected.
func (b *bench) feed(number int32, n int, rejected ...int) {
	b.t.Helper()
	at := part(number)
	var block microdata.Block
	block.Reset(int(number), b.next[at], n, len(b.masked.Plan.Layout.Read))
	b.next[at] += int64(n)
	v := block.Columns[b.masked.Options.Columns[0].Index].Alloc(n, false)
	for i := range n {
		// Others than in the other partition: two alike would tell of one another.
		v.Values[i] = 1000 + math.Round(float64((i*7919+int(number)*488)%977))
	}
	for _, c := range b.masked.Options.Beside { // columns that the release shows beside the wage
		if c.Index != b.masked.Options.Columns[0].Index {
			beside := block.Columns[c.Index].Alloc(n, false)
			for i := range n {
				beside.Values[i] = float64(i % 3)
			}
		}
	}
	for _, r := range rejected {
		block.Reject(r, "wage", "for the test")
	}
	if err := b.masked.Chain.Apply(&block); err != nil {
		b.t.Fatal(err)
	}
	b.snapshots.add(&block)
	if err := b.standings[at].add(&block, b.holding); err != nil {
		b.t.Fatal(err)
	}
}

// verdictOf judges the records so far.
func (b *bench) verdictOf() (refused bool) {
	b.t.Helper()
	refused, err := b.judge(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return refused
}

func (b *bench) logText() string {
	defer b.log.Reset()
	return b.log.String()
}

// The noise has an SD of 3, so an intruder who knows the place has an error of about 3.
const (
	judgedTo  = "gate: {on_fail: %s, rules: [{column: wage, target: max, knowledge: index, min_rmse: %v}, {column: wage, min_efficiency: 0.1}]}\n"
	heldTo    = "hold, hold: {topic: held}"
	withFiles = "assess: {replicates: 2, targets: [max], every: {records: 100}, emit: [{jsonl: %s}, {jsonl: %s}, {log: info}]}\n"
)

// The gate is judged from the first record on, and again when the pairs have grown by one percent,
// when some seconds have passed, and always if it did not pass.
func TestWhenAStreamIsJudged(t *testing.T) {
	b := benchOf(t, fmt.Sprintf(judgedTo, "stop", 1))
	if b.verdictOf() || b.verdict.last != nil {
		t.Fatal("the gate is judged without records")
	}
	b.feed(0, 1)
	if b.verdictOf() || b.verdict.last == nil || b.verdict.records != 1 {
		t.Fatalf("after the first record, the verdict is %+v, want a judgement by 1 record", b.verdict)
	}
	b.feed(1, 999)
	b.verdictOf()
	if b.verdict.records != 1000 || !b.verdict.last.Passed {
		t.Fatalf("after 1,000 records, the verdict is %+v, want a passed gate", b.verdict)
	}
	at := b.verdict.at
	b.feed(0, 9)
	if b.verdictOf(); b.verdict.records != 1000 || b.verdict.at != at {
		t.Errorf("the gate is judged again after %d more than 1,000 records", 9)
	}
	b.feed(0, 1)
	if b.verdictOf(); b.verdict.records != 1010 {
		t.Errorf("after one percent more, the gate was judged by %d records, want 1010", b.verdict.records)
	}
	b.feed(0, 1)
	b.verdict.at = time.Now().Add(-judgeEvery - time.Second)
	if b.verdictOf(); b.verdict.records != 1011 {
		t.Errorf("after some seconds, the gate was judged by %d records, want 1011", b.verdict.records)
	}
	b.feed(0, 1)
	b.verdict.last = &assess.Verdict{}
	if b.verdictOf(); b.verdict.records != 1012 || !b.verdict.last.Passed {
		t.Errorf("after a failed judgement, the gate was judged by %d records, want 1012 and a passed gate",
			b.verdict.records)
	}
	none := benchOf(t, "")
	none.feed(0, 5)
	if none.verdictOf() || none.verdict.last != nil {
		t.Error("a stream without rules is judged")
	}
}

// The effect of a broken rule is the configured one, and it is logged once. Records that are
// already held are not refused, and are released again when the rules hold.
func TestWhatABrokenRuleMeans(t *testing.T) {
	b := benchOf(t, fmt.Sprintf(judgedTo, "stop", 100))
	b.feed(1, 50)
	if !b.verdictOf() || b.verdict.last.Passed || b.verdict.records != 50 {
		t.Errorf("stop: the verdict is %+v, want a refusal by 50 records", b.verdict)
	}
	b = benchOf(t, fmt.Sprintf(judgedTo, "alert", 100))
	b.feed(1, 50)
	if b.verdictOf() || b.verdict.last.Passed {
		t.Errorf("alert: the verdict is %+v, want a failed gate without a refusal", b.verdict)
	}
	if said := b.logText(); strings.Count(said, "released all the same") != 1 ||
		!strings.Contains(said, "error at least 100") && !strings.Contains(said, "wage") {
		t.Errorf("alert: the log is %s", said)
	}
	if b.feed(0, 50); b.verdictOf() || b.logText() != "" || b.verdict.records != 100 {
		t.Error("alert: a rule that still fails is logged again, or the gate is not judged")
	}
	b.config.Gate.Rules[0].MinRMSE = new(float64)
	if b.verdictOf(); !b.verdict.last.Passed || strings.Count(b.logText(), "hold again") != 1 {
		t.Error("alert: want one log line that the rules hold again")
	}
	b = benchOf(t, fmt.Sprintf(judgedTo, heldTo, 100))
	b.feed(0, 50)
	if !b.verdictOf() || b.holding {
		t.Error("hold: the transaction must be refused if its records are not yet held back")
	}
	b.holding = true
	if b.verdictOf() || !b.holding || b.logText() != "" {
		t.Error("hold: records that are already held back must be written, without a log line")
	}
	b.config.Gate.Rules[0].MinRMSE = new(float64)
	if b.verdictOf() || b.holding || !strings.Contains(b.logText(), "released from the next transaction on") {
		t.Error("hold: when the rules hold again, want a log line and a release from the next transaction on")
	}
}

// The efficiency counts from a thousand records on, other rules from the first record.
func TestEfficiencyIsJudgedLater(t *testing.T) {
	const rule = "gate: {rules: [{column: wage, min_efficiency: 1}, {column: wage, target: max, knowledge: index, min_rmse: %v}]}\nassess: {intruder: {inversion: false}}\n"
	b := benchOf(t, fmt.Sprintf(rule, 0.001))
	b.feed(0, efficiencyFrom-1)
	if b.verdictOf() || !b.verdict.last.Passed || b.verdict.last.Rules[0].Advice != "judged from 1000 records on" ||
		b.verdict.last.Rules[1].Advice != "" {
		t.Errorf("with one record too few, the verdict is %+v, want the efficiency not judged", b.verdict.last)
	}
	b.verdict = judgement{}
	b.feed(1, 1)
	if !b.verdictOf() || brokenRules(*b.verdict.last)[0] != b.verdict.last.Rules[0].Rule ||
		len(brokenRules(*b.verdict.last)) != 1 {
		t.Errorf("with 1,000 records, the verdict is %+v, want a failed efficiency alone", b.verdict.last)
	}
	b = benchOf(t, fmt.Sprintf(rule, 100))
	b.feed(0, 10)
	if !b.verdictOf() || len(brokenRules(*b.verdict.last)) != 1 {
		t.Errorf("with another rule, the verdict is %+v, want one failed rule", b.verdict.last)
	}
	passes, fails, efficient := assess.RuleVerdict{Measure: "max_risk", Passed: true},
		assess.RuleVerdict{Measure: "max_risk"}, assess.RuleVerdict{Measure: "min_efficiency"}
	for _, c := range []struct {
		rules []assess.RuleVerdict
		want  bool
	}{{nil, true}, {[]assess.RuleVerdict{efficient}, true}, {[]assess.RuleVerdict{fails, efficient}, false},
		{[]assess.RuleVerdict{efficient, fails}, false}, {[]assess.RuleVerdict{fails, passes}, false},
		{[]assess.RuleVerdict{passes, efficient, passes}, true}} {
		if got := withoutEfficiency(assess.Verdict{Rules: slices.Clone(c.rules)}); got.Passed != c.want {
			t.Errorf("verdict without efficiency of the rules %+v: passed %v", c.rules, got.Passed)
		}
	}
}

// Snapshots are numbered. Each covers the committed records, and its window covers the records
// since the previous snapshot. A snapshot is due after a number of records or after some time.
// Aborted records are in none, and a successor continues from there.
func TestSnapshotsOfAStream(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")}
	b := benchOf(t, fmt.Sprintf(withFiles, paths[0], paths[1]))
	n := b.snapshots
	end := func(commit bool) {
		t.Helper()
		if err := n.emit(t.Context()); err != nil {
			t.Fatal(err)
		}
		done := (*keptStanding).commit
		close := n.committed
		if !commit {
			done, close = (*keptStanding).rollback, n.rollback
		}
		for _, l := range b.standings {
			done(l)
		}
		if err := close(); err != nil {
			t.Fatal(err)
		}
	}
	if n.due() {
		t.Error("an empty snapshot is due")
	}
	b.feed(0, 99)
	if n.due() {
		t.Error("a snapshot is due with 99 of 100 records")
	}
	end(true)
	b.feed(1, 1, 0)
	if !n.due() {
		t.Error("no snapshot is due with 100 records, one of them rejected")
	}
	end(false)
	if n.due() || n.number != 0 {
		t.Error("a snapshot of an aborted transaction is counted")
	}
	b.feed(1, 21, 0, 20)
	end(true)
	if n.due() || n.number != 1 || n.before.Read != 120 {
		t.Errorf("%d snapshots taken, the last by %d records, want 1 by 120", n.number, n.before.Read)
	}
	first := n.last
	b.feed(0, 30)
	end(true)
	if n.number != 1 || n.last != first {
		t.Error("a snapshot was taken that is not due")
	}
	// After this time, although few records arrived.
	n.interval, n.last = time.Minute, time.Now().Add(-2*time.Minute)
	began := n.last
	b.feed(1, 5)
	end(true)
	if n.number != 2 || !n.last.After(began) {
		t.Error("no snapshot was taken after the interval")
	}
	n.last = time.Now().Add(-time.Hour)
	if n.due() {
		t.Error("a snapshot is due without new records")
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var all []report.Report
		for line := range bytes.Lines(text) {
			var r report.Report
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		if len(all) != 2 {
			t.Fatalf("the file has %d lines, want 2: %s", len(all), text)
		}
		for i, want := range []struct{ whole, window report.Records }{
			{report.Records{Counts: microdata.Counts{Read: 120, Released: 118, Quarantined: 2}},
				report.Records{Counts: microdata.Counts{Read: 120, Released: 118, Quarantined: 2}}},
			{report.Records{Counts: microdata.Counts{Read: 155, Released: 153, Quarantined: 2}},
				report.Records{Counts: microdata.Counts{Read: 35, Released: 35}}},
		} {
			same := func(a, b report.Records) bool {
				return a.Read == b.Read && a.Released == b.Released && a.Quarantined == b.Quarantined && a.LeftOut == b.LeftOut
			}
			r := all[i]
			if r.Snapshot != int64(i+1) || !same(r.Records, want.whole) || r.Window == nil ||
				!same(r.Window.Records, want.window) || r.Window.Finished.Before(r.Window.Started) ||
				len(r.Columns) != 1 || len(r.Window.Columns) != 1 {
				t.Errorf("snapshot %d has the records %+v, its window %+v", i, r.Records, r.Window)
			}
		}
		if !all[1].Window.Started.Equal(began) {
			t.Errorf("the second window starts at %v", all[1].Window.Started)
		}
	}
	if said := b.logText(); strings.Count(said, `"level":"info"`) != 2 ||
		strings.Count(said, `"message":"snapshot"`) != 2 {
		t.Errorf("the log is %s, want 2 snapshots", said)
	}
	next := &streamSnapshots{live: time.Now()}
	if next.follow(n); next.number != 2 || next.last != n.last || next.before.Read != n.before.Read ||
		next.live != n.live {
		t.Errorf("the following snapshots begin with %+v, want the counts and times of the former ones", next)
	}
	// Held records are in no window.
	b.holding = true
	before := n.open
	b.feed(0, 3)
	if whole, err := assess.Merged(n.windowOptions(), n.window, before); err != nil || whole.Records() != 0 {
		t.Errorf("%d held-back records are part of the window (error %v)", whole.Records(), err)
	}
	if err := n.close(); err != nil || n.close() != nil || (*streamSnapshots)(nil).close() != nil {
		t.Errorf("close returns %v, or a second close fails", err)
	}
	if err := benchOf(t, "").snapshots.emit(t.Context()); err != nil {
		t.Error(err)
	}
}

// The sample of a window is bounded; a smaller sample does not change.
func TestSampleOfAWindow(t *testing.T) {
	for sample, want := range map[int]int{-1: windowSample, 0: windowSample, 1: 1, windowSample: windowSample,
		windowSample + 1: windowSample} {
		n := &streamSnapshots{options: assess.Options{Sample: sample}}
		if got := n.windowOptions().Sample; got != want {
			t.Errorf("with a sample of %d, the window has a sample of %d", sample, got)
		}
	}
}

// The page of an idle stream is shown once after partitions were entered, if something was
// released, with the verdict of the rules. It is not shown again.
func TestPageOfAnIdleStream(t *testing.T) {
	b := benchOf(t, fmt.Sprintf(judgedTo, "alert", 100))
	b.options.Monitor = monitor.New(monitor.Info{Name: "s", Interval: time.Minute})
	show := func(entered bool) bool {
		t.Helper()
		b.entered = entered
		b.present(t.Context())
		if b.entered {
			t.Error("entered is not reset after the page was updated")
		}
		return b.options.Monitor.HasSnapshot()
	}
	if show(true) {
		t.Error("the page shows a snapshot without records")
	}
	b.feed(0, 40, 3)
	b.standings[part(0)].commit()
	if show(false) {
		t.Error("the page shows a snapshot although no partition was entered")
	}
	if !show(true) {
		t.Error("the page has no snapshot after a partition was entered")
	}
	b.options.Monitor = nil
	b.entered = true
	if b.present(t.Context()); !b.entered || b.log.Len() > 0 {
		t.Errorf("without a page, the log is %s", b.logText())
	}
}

// If a snapshot's window cannot be added up, because the open part has other columns, the commit
// and the snapshot return an error.
func TestWindowsOfOtherColumnsDoNotAddUp(t *testing.T) {
	b := benchOf(t, fmt.Sprintf(withFiles, filepath.Join(t.TempDir(), "a.jsonl"), filepath.Join(t.TempDir(), "b.jsonl")))
	defer b.snapshots.close()
	other := b.masked.Options
	other.Columns = append(slices.Clone(other.Columns), assess.Column{Name: "more", Index: 1})
	other.Beside = nil
	var err error
	if b.snapshots.open, err = assess.New(other); err != nil {
		t.Fatal(err)
	}
	if err := b.snapshots.committed(); err == nil {
		t.Error("committed returns no error")
	}
	b.feed(0, 0)
	b.standings[part(0)].totals = totals{}
	if b.snapshots.open, err = b.snapshots.empty(); err != nil {
		t.Fatal(err)
	}
	b.feed(0, 150)
	if b.snapshots.window, err = assess.New(other); err != nil {
		t.Fatal(err)
	}
	if err := b.snapshots.emit(t.Context()); err == nil || b.snapshots.pending != nil {
		t.Errorf("emit returns %v or leaves a pending snapshot, want an error and none", err)
	}
}

// If a snapshot cannot be written to any of its files, that is an error.
func TestSnapshotsThatCannotBeWritten(t *testing.T) {
	for broken := range 2 {
		paths := []string{filepath.Join(t.TempDir(), "a.jsonl"), filepath.Join(t.TempDir(), "b.jsonl")}
		b := benchOf(t, fmt.Sprintf(withFiles, paths[0], paths[1]))
		b.feed(0, 150)
		if err := b.snapshots.emit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.snapshots.files[broken].Close(); err != nil {
			t.Fatal(err)
		}
		if err := b.snapshots.committed(); err == nil {
			t.Errorf("file %d cannot be written, but committed returns no error", broken)
		}
		if err := b.snapshots.close(); err == nil {
			t.Errorf("file %d is closed twice, but close returns no error", broken)
		}
	}
}

// If this instance owns no partition, the page cannot be kept with one.
func TestPageOfNoPartition(t *testing.T) {
	b := benchOf(t, "")
	b.options.Monitor = monitor.New(monitor.Info{Name: "s", Interval: time.Minute})
	clear(b.standings)
	rep := b.report(report.Records{}, &assess.Measures{}, false)
	if err := b.snapshots.show(t.Context(), rep); err != nil || b.snapshots.pageUpdate == nil {
		t.Errorf("show returns %v, or there is nothing to show", err)
	}
}
