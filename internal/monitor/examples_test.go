package monitor

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sdlfilter/sdlfilter/internal/synthetic"
)

// The dashboard and the alert rules in examples use existing metrics.
func TestExamplesKnowTheMetrics(t *testing.T) {
	m := New(Info{Name: "survey"})
	m.Heartbeat()
	m.Broker(nil)
	m.Assigned(map[string][]int32{"survey": {0}})
	m.Lag("survey", 0, 1)
	m.Commit(0, true)
	m.Snapshot(synthetic.Snapshot(1, 160))
	m.Gate(true, nil)
	families, err := m.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	jobs := prometheus.NewRegistry()
	jobs.MustRegister(job{Job{Report: synthetic.Snapshot(1, 160)}})
	ofJobs, err := jobs.Gather()
	if err != nil {
		t.Fatal(err)
	}
	families = append(families, ofJobs...)
	tables := NewTables(Info{})
	tables.Loaded(Info{}, true)
	ofTables, err := tables.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	families = append(families, ofTables...)
	for _, f := range families {
		served[f.GetName()] = true
	}
	names := regexp.MustCompile(`sdlfilter_[a-z_]+`)
	for _, path := range []string{"../../examples/grafana/sdlfilter.json", "../../examples/prometheus/alerts.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		used := names.FindAllString(string(text), -1)
		if len(used) < 5 {
			t.Errorf("%s speaks of %d metrics", path, len(used))
		}
		for _, name := range used {
			if !served[name] && !served[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s: there is no metric %s", path, name)
			}
		}
	}
}
