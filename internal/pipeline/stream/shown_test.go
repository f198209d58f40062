package stream

import (
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// What is shown with a commit is shown once, however many commits follow, and the page waits from
// then on; without a page nothing is.
func TestSnapshotsAreShownOnce(t *testing.T) {
	m := monitor.New(monitor.Info{Name: "s", Interval: time.Minute})
	n := &streamSnapshots{stream: &stream{options: pipeline.Options{Monitor: m}}}
	if err := n.committed(); err != nil || m.HasSnapshot() || !n.live.IsZero() {
		t.Errorf("nothing to be shown: %v, since %v", err, n.live)
	}
	rep := &report.Report{Name: "s"}
	rep.SetMeasures(&assess.Measures{})
	before := time.Now()
	n.shown = m.Reduce(rep)
	if err := n.committed(); err != nil || !m.HasSnapshot() || n.shown != nil || n.live.Before(before) {
		t.Errorf("shown %v, again %v, since %v: %v", m.HasSnapshot(), n.shown != nil, n.live, err)
	}
	shown := n.live
	if err := n.committed(); err != nil || n.live != shown {
		t.Errorf("shown again: %v", err)
	}
}
