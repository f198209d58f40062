package report

import (
	"math"
	"sort"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

func TestMapOf(t *testing.T) {
	c := &assess.ColumnMeasures{Name: "wage", Unit: "USD",
		Original: assess.Moments{N: 200}, Utility: assess.Utility{U0: 200, Efficiency: 0.8},
		Risk: []assess.Risk{{Target: "max", Knowledge: "index", R: 4}, {Target: "max", Knowledge: "position", R: 5}}}
	gate := assess.Verdict{Rules: []assess.RuleVerdict{
		{Column: "wage", Measure: "max_risk", Target: "max", Knowledge: "index", Limit: 3},
		{Column: "wage", Measure: "min_rmse", Target: "max", Knowledge: "position", Limit: 0.25, Passed: true},
		{Column: "wage", Measure: "min_efficiency", Limit: 0.7, Passed: true},
		{Column: "age", Measure: "max_risk", Target: "max", Knowledge: "index", Limit: 1e-9},
	}}
	m := MapOf(c, gate)
	// A rule for every target and knowledge state: only points beyond their limit are marked.
	every := MapOf(c, assess.Verdict{Rules: []assess.RuleVerdict{{Column: "wage", Measure: "max_risk", Limit: 4.5}}})
	if every.Points[0].Failed || !every.Points[1].Failed || every.Lines[0].Subject() != "every target" {
		t.Errorf("a rule for every target: %+v", every)
	}
	if len(m.Points) != 2 || !m.Points[0].Failed || m.Points[1].Failed {
		t.Errorf("points %+v", m.Points)
	}
	if len(m.Lines) != 2 || m.Lines[0].R != 3 || m.Lines[1].R != 16 || m.MinEfficiency != 0.7 {
		t.Errorf("lines %+v, efficiency %v", m.Lines, m.MinEfficiency)
	}
	if limit, ok := m.AdmissibleR(); !ok || limit != 3 {
		t.Errorf("admissible up to %v, %v", limit, ok)
	}
}

// TestAdditiveNoiseCurve: Fig. 2 of Duncan, Keller-McNulty and Stokes: σ = 1,
// n = 200, λ² = 0.21 gives U = 165 and R = 4.76.
func TestAdditiveNoiseCurve(t *testing.T) {
	curve, ok := additiveNoise(&assess.ColumnMeasures{Original: assess.Moments{N: 200}, Utility: assess.Utility{U0: 200}})
	if !ok {
		t.Fatal("no curve")
	}
	i := sort.Search(len(curve.R), func(i int) bool { return curve.R[i] < 4.76 })
	// The curve has steps of a factor 10^0.05 in λ², so the value lies between two.
	hi, lo := 200*curve.Efficiency[i-1], 200*curve.Efficiency[i]
	if !(lo <= 165.3 && 165.3 <= hi && hi-lo < 5) {
		t.Errorf("at R = 4.76, U lies between %v and %v, want 165", lo, hi)
	}
	for _, bad := range []assess.ColumnMeasures{
		{}, {Original: assess.Moments{N: 5}, Utility: assess.Utility{U0: assess.Float(math.Inf(1))}},
		{Original: assess.Moments{N: 5}, Utility: assess.Utility{U0: assess.Float(math.NaN())}}} {
		if _, ok := additiveNoise(&bad); ok {
			t.Errorf("a curve for U0 = %v", bad.Utility.U0)
		}
	}
}
