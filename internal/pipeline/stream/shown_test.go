package stream

import (
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// A snapshot that is shown with a commit is shown once, however many commits follow, and the page's
// interval starts then. Without a page nothing is shown.
func TestSnapshotsAreShownOnce(t *testing.T) {
	m := monitor.New(monitor.Info{Name: "s", Interval: time.Minute})
	n := &streamSnapshots{stream: &stream{options: pipeline.Options{Monitor: m}}}
	if err := n.committed(); err != nil || m.HasSnapshot() || !n.live.IsZero() {
		t.Errorf("without a reduced report, committed returns %v, the page is live since %v, or has a snapshot", err, n.live)
	}
	rep := &report.Report{Name: "s"}
	rep.SetMeasures(&assess.Measures{})
	before := time.Now()
	n.pageUpdate = m.Reduce(rep)
	if err := n.committed(); err != nil || !m.HasSnapshot() || n.pageUpdate != nil || n.live.Before(before) {
		t.Errorf("the page has a snapshot: %v, a report is left to show: %v, live since %v, error %v", m.HasSnapshot(),
			n.pageUpdate != nil, n.live, err)
	}
	shown := n.live
	if err := n.committed(); err != nil || n.live != shown {
		t.Errorf("a second committed returns %v or updates the page again", err)
	}
}

// Between two snapshots nothing is measured if the page has just been updated, or if there is no
// page; new records belong to the next one.
func TestNothingIsShownBetweenTimes(t *testing.T) {
	for _, page := range []bool{false, true} {
		b := benchOf(t, "assess: {replicates: 2, targets: [max], every: {records: 100}, emit: [{log: info}]}\n")
		n := b.snapshots
		if page {
			b.options.Monitor = monitor.New(monitor.Info{Name: "s", Interval: time.Minute})
			n.live = time.Now()
		}
		before := n.live
		b.feed(0, 50)
		if err := n.emit(t.Context()); err != nil || n.pending != nil || n.pageUpdate != nil || n.live != before {
			t.Errorf("page %v: report to show: %v, pending snapshot: %v, error %v; want none", page, n.pageUpdate != nil,
				n.pending != nil, err)
		}
		if pending := n.stream.counts().Read - n.before.Read; pending != 50 {
			t.Errorf("page %v: %d records wait for the next snapshot, want 50", page, pending)
		}
	}
}
