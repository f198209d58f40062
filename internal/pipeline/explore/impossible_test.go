package explore

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// If a mask refuses the records at a point, the point is reported as impossible and cannot be
// chosen. The map continues with the others, and their results are the same as without that point.
func TestMapGoesOnBehindAPointThatCannotBe(t *testing.T) {
	const noise = "masks: [{noise: {columns: [income], sd: 20%}}, {round: {columns: [income], base: 5000}}, {suppress: {"
	const assess = "assess: {replicates: 10, targets: [p10], intruder: {inversion: false}}"
	const axis = "masks.0.noise.sd: {from: 20%, to: 30%, steps: 2}"
	const rule = "gate: {allow_unchanged: 1, rules: [{column: income, min_efficiency: 0.001}]}"
	// Without a gate no point is tried as a run: the replicates detect impossible points.
	for _, gate := range []string{"gate: {}", rule} {
		masks := noise + "keys: [income, region], k: 2, max_share: 20%}}]"
		m := mapOf(t,
			mapped(t, t.TempDir(), masks, assess, gate, "map: {vary: {masks.2.suppress.k: {from: 2, to: 3000, steps: 3}, "+axis+
				"}, column: income}"))
		alone := mapOf(t, mapped(t, t.TempDir(), masks, assess, gate, "map: {vary: {"+axis+"}, column: income}"))
		if len(m.Points) != 6 {
			t.Fatalf("the map has %d points, want 6", len(m.Points))
		}
		for i, p := range m.Points {
			if i < 2 {
				if p.Impossible != "" || p.U != alone.Points[i].U || !p.Admissible {
					t.Errorf("point %d: impossible because of %q, U %v; in a map of its own U %v", i, p.Impossible, p.U,
						alone.Points[i].U)
				}
				continue
			}
			if !strings.Contains(p.Impossible, "masks[2].suppress") || p.Admissible || p.U == p.U || len(p.Risk) != 0 {
				t.Errorf("point %d: want it impossible because of masks[2].suppress, got %q, admissible %v, U %v", i, p.Impossible,
					p.Admissible, p.U)
			}
		}
		if (m.Recommended == nil) != (gate == "gate: {}") || m.Recommended != nil && m.Recommended.Point > 1 {
			t.Errorf("recommended is %+v (reason: %s)", m.Recommended, m.Reason)
		}
		checkViews(t, m)
	}
	// For keys besides the column, only a run detects it.
	masks := noise + "keys: [region], k: 100, max_share: 20%}}]"
	m := mapOf(t,
		mapped(t, t.TempDir(), masks, assess, rule,
			"map: {vary: {masks.2.suppress.k: {from: 100, to: 3000, steps: 2}}, column: income}"))
	if m.Recommended == nil || m.Recommended.Point != 0 {
		t.Errorf("recommended is %+v (reason: %s)", m.Recommended, m.Reason)
	}
	m = mapOf(t,
		mapped(t, t.TempDir(), masks, assess, rule,
			"map: {vary: {masks.2.suppress.k: {from: 1800, to: 3000, steps: 2}}, column: income}"))
	if m.Recommended != nil || !strings.Contains(m.Reason, "nowhere on the map can the masks be used") {
		t.Errorf("no possible point: recommended is %+v (reason: %q), want none", m.Recommended, m.Reason)
	}
	checkViews(t, m)
}

// checkViews checks that the views of a map mention its impossible points, and draw no point without
// coordinates.
func checkViews(t *testing.T, m *rumap.Map) {
	t.Helper()
	var list, page strings.Builder
	if err := rumap.WriteCSV(&list, m); err != nil {
		t.Fatal(err)
	}
	impossible := 0
	for _, p := range m.Points {
		if p.Impossible != "" {
			impossible++
		}
	}
	if rows := strings.Count(list.String(), "\n") - 1; rows < len(m.Points) {
		t.Errorf("%d rows of CSV for %d points", rows, len(m.Points))
	}
	var table strings.Builder
	if rumap.Summary(&table, m, false, 100); strings.Count(table.String(), " cannot\n") != impossible {
		t.Errorf("the table must have %d impossible points: %s", impossible, table.String())
	}
	if err := report.WriteMapHTML(&page, m); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "cannot be used</td>"); n != impossible {
		t.Errorf("the page lists %d impossible points, want %d", n, impossible)
	}
	if at := strings.Index(page.String(), "NaN"); at >= 0 {
		t.Errorf("the page holds NaN: …%s…", page.String()[max(0, at-200):at+20])
	}
}
