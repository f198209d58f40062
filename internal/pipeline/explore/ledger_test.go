package explore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// Beside a ledger the recommended point is tried with the earlier releases, as a run is judged: without that, a point was
// recommended whose run the gate withholds. A ledger that is not there yet, and one without releases, change nothing; one
// that lacks what a report knows is said.
func TestRecommendedPassesBesideEarlierReleases(t *testing.T) {
	racetest.Further(t)
	dir := t.TempDir()
	const rule = "gate: {rules: [{column: income, target: typical, knowledge: index, min_rmse: 150}, {column: income, max_unchanged: 1}]}"
	const few = "assess: {replicates: 8, targets: [p10]}"
	const steps = "map: {vary: {masks.0.noise.sd: {from: 4%, to: 12%, steps: 17}}}"
	ledger, rep := "ledger: DIR/book", "report: {json: DIR/report.json}"
	alone := mapOf(t, mapped(t, dir, few, rule, steps))
	empty := mapped(t, dir, few, rule, steps, ledger, rep)
	if m := mapOf(t, empty); m.Recommended == nil || m.Recommended.Point != alone.Recommended.Point {
		t.Fatalf("a ledger that is not there: %+v, without it %+v", m.Recommended, alone.Recommended)
	}
	if _, err := os.Stat(filepath.Join(dir, "book")); err == nil {
		t.Error("the map has made a ledger")
	}
	if r := ranOn(t, dir, empty, alone.Points[len(alone.Points)-1]); !r.Gate.Passed || r.Ledger == nil {
		t.Fatalf("the first release: %+v", r.Gate)
	}
	before, err := os.ReadFile(filepath.Join(dir, "book"))
	if err != nil {
		t.Fatal(err)
	}
	p := mapped(t, dir, few, rule, steps, ledger, rep)
	another := strings.Replace("MzIgYnl0ZXMgb2YgYSBrZXkgZm9yIHRlc3RzIG9ubHk=", "M", "N", 1) // so that the draws are others
	if err := os.WriteFile(filepath.Join(dir, "k"), []byte(another+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := mapOf(t, p)
	if second.Recommended == nil || second.Recommended.Point == alone.Recommended.Point || !second.Recommended.AsRun {
		t.Fatalf("beside an earlier release %+v is recommended, as without it: %s", second.Recommended, second.Reason)
	}
	last := second.Points[len(second.Points)-1] // not tried
	if len(last.Unjudged) != 1 || !strings.Contains(last.Unjudged[0], "RMSE of typical (index) at least 150, with the earlier releases") ||
		len(second.Unjudged) != 0 || len(alone.Points[len(alone.Points)-1].Unjudged) != 0 {
		t.Errorf("not judged at the last point: %q; at any: %q", last.Unjudged, second.Unjudged)
	}
	if b := second.Points[alone.Recommended.Point].Broken; len(b) == 0 {
		t.Error("the point that is best alone breaks no rule beside the earlier release")
	}
	if after, err := os.ReadFile(filepath.Join(dir, "book")); err != nil || string(after) != string(before) {
		t.Errorf("the map has changed the ledger: %v", err)
	}
	refused := ranOn(t, dir, p, second.Points[alone.Recommended.Point])
	passed := ranOn(t, dir, p, second.Points[second.Recommended.Point])
	if refused.Gate.Passed || !passed.Gate.Passed {
		t.Errorf("runs: the best alone passes %v, the recommended one %v", refused.Gate.Passed, passed.Gate.Passed)
	}
	if err := os.WriteFile(filepath.Join(dir, "book"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Map(t.Context(), p, pipeline.Options{}); err == nil || !strings.Contains(err.Error(), "lacks releases") {
		t.Errorf("a ledger that has lost its lines: %v", err)
	}
}
