package assess

import (
	"math"
	"strings"
	"testing"
)

// A remark is made if a release misses a rule by more than a factor of 10 on the rule's own scale,
// for the targets of the rule, at either end of the list.
func TestRealisedRemark(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	c := &ColumnMeasures{Name: "wage", Risk: []Risk{
		{Target: "min", Knowledge: "index", RealisedR: 101},                  // known to within 0.0995
		{Target: "p50", Knowledge: "index", RealisedR: 1},                    //
		{Target: "p90", Knowledge: "position", RealisedR: Float(math.NaN())}, // not measured
		{Target: "max", Knowledge: "index", RealisedR: Float(math.Inf(1))},   // met exactly
	}}
	for name, w := range map[string]struct {
		rule   Rule
		has    []string
		hasNot []string
	}{
		"RMSE": {Rule{Column: "wage", MinRMSE: v(1)}, []string{"min (index)", "max (index)"},
			[]string{"p50", "p90"}},
		"RMSE of no less": {Rule{Column: "wage", MinRMSE: v(0.99)}, []string{"max (index)"}, []string{"min", "p50"}},
		"RMSE of a target": {Rule{Column: "wage", Target: "min", Knowledge: "index", MinRMSE: v(1)}, []string{"min (index)"},
			[]string{"max"}},
		"R":                 {Rule{Column: "wage", MaxRisk: v(10)}, []string{"min (index)", "max (index)"}, []string{"p50"}},
		"R of no less":      {Rule{Column: "wage", MaxRisk: v(10.2)}, []string{"max (index)"}, []string{"min"}},
		"another knowledge": {Rule{Column: "wage", Knowledge: "position", MinRMSE: v(1)}, nil, []string{"wage"}},
		"another column":    {Rule{Column: "debt", MinRMSE: v(1)}, nil, []string{"wage"}},
		"efficiency":        {Rule{Column: "wage", MinEfficiency: v(1)}, nil, []string{"wage"}},
	} {
		got := w.rule.RealisedRemark(c)
		for _, s := range w.has {
			if !strings.Contains(got, s) {
				t.Errorf("%s: %q does not say %q", name, got, s)
			}
		}
		for _, s := range w.hasNot {
			if strings.Contains(got, s) {
				t.Errorf("%s: %q contains %q", name, got, s)
			}
		}
		if strings.Contains(got, "101") || strings.Contains(got, "0.0") {
			t.Errorf("%s: %q contains the factor", name, got)
		}
	}
	if got := (Rule{Column: "wage", MinRMSE: v(1)}).RealisedRemark(nil); got != "" {
		t.Error(got)
	}
}
