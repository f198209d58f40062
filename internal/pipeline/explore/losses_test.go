package explore

import (
	"context"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/attack"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// With assess.intruder.utility, each point has the loss that a run with its masks reports, equal in
// every bit if the masks draw nothing, and without any rule. Otherwise it has none. A sample gives
// no overlap of intervals.
func TestPointsHaveLosses(t *testing.T) {
	const masks = "masks: [{microaggregate: {columns: [income, kind], k: 5}}]"
	const vary = "map: {column: income, vary: {masks.0.microaggregate.k: {from: 5, to: 25, steps: 2}}}"
	const columns = "columns: {income: {role: key, unit: EUR, decimals: 1}, region: {role: other}, kind: {role: key}}"
	utility := func(sample string) string {
		return "assess: {replicates: 4, " + sample +
			"targets: [max], intruder: {utility: {propensity: true, regressions: [{response: income, predictors: [kind]}]}}}"
	}
	dir := t.TempDir()
	for _, line := range []string{"assess: {replicates: 4, targets: [max], intruder: {inversion: false}}",
		"assess: {replicates: 4, targets: [max], intruder: {linkage: {}, inversion: false}}"} {
		for _, p := range mapOf(t, mapped(t, dir, columns, masks, vary, "gate: {}", line)).Points {
			if p.Loss != nil || p.Respondents != nil {
				t.Errorf("%s: the point has the loss %+v and respondents %v, want none", line, p.Loss, p.Respondents)
			}
		}
	}
	p := mapped(t, dir, columns, masks, vary, "gate: {}", utility(""))
	m := mapOf(t, p)
	want, _, err := attack.Run(context.Background(), p, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, last := m.Points[0].Loss, m.Points[1].Loss
	if first == nil || last == nil || first.PMSE == nil || first.Overlap == nil {
		t.Fatalf("losses of the points are %+v and %+v, want pMSE and overlap", first, last)
	}
	u := want.Utility
	if len(first.KS) != 2 || float64(first.KS["income"]) != u.KS["income"] || float64(first.KS["kind"]) != u.KS["kind"] ||
		float64(*first.PMSE) != *u.PMSE || float64(*first.Overlap) != u.Regressions[0].Mean {
		t.Errorf("KS %+v, pMSE %v, overlap %v; a run has %v, %v and %v", first.KS, *first.PMSE, *first.Overlap, u.KS, *u.PMSE,
			u.Regressions[0].Mean)
	}
	if !(last.KS["income"] > first.KS["income"] && first.KS["income"] > 0) {
		t.Errorf("KS %v with k = 25 and %v with k = 5", last.KS, first.KS)
	}
	for sample, whole := range map[string]bool{"": true, "sample: 700, ": false} {
		noise := mapped(t, dir, columns, "gate: {}", utility(sample),
			"map: {column: income, vary: {masks.0.noise.sd: {from: 10%, to: 40%, steps: 2}}}")
		if l := mapOf(t, noise).Points[1].Loss; l == nil || (l.Overlap != nil) != whole || !(l.KS["income"] > 0) {
			t.Errorf("%sall records %v: loss is %+v", sample, whole, l)
		}
	}
}

// With assess.intruder.attribute, points of a synthesis have the attribute disclosure of the
// records used for the model, without any rule. Points of other masks have none.
func TestPointsHaveAttributeDisclosure(t *testing.T) {
	p := mapped(t, t.TempDir(),
		"columns: {income: {role: sensitive, unit: EUR, decimals: 1}, region: {role: other}, kind: {role: key}}", "gate: {}",
		"assess: {replicates: 4, targets: [max], intruder: {attribute: {}}}",
		"masks: [{synthesise: {columns: [income], on: [kind], method: cart, held_out: 0.3}}]",
		"map: {column: income, vary: {masks.0.synthesise.leaf: {from: 5, to: 50, steps: 2}}, strategies: [{name: noise, masks: [{noise: {columns: [income], sd: 20%}}], vary: {}}]}")
	m := mapOf(t, p)
	if len(m.Points) != 3 || len(m.Beside()) != 1 {
		t.Fatalf("the map has %d points with %d figures beside U and R, want 3 and 1", len(m.Points), len(m.Beside()))
	}
	for i, q := range m.Points {
		v, there := q.Respondents[rumap.MeasureAttribute]
		if there != (q.Strategy == rumap.Configured) || there && !(v >= 0 && v < 0.5) || q.Loss != nil ||
			len(q.Unjudged) > 0 {
			t.Errorf("point %d of %s: attribute disclosure %v (measured: %v), loss %+v", i, q.Strategy, there, v, q.Loss)
		}
	}
}
