package assess

import (
	"math"
	"strings"
	"testing"
)

func ptr(v float64) *float64 { return &v }

func TestRuleCheck(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		want string // of the only problem; "": none
	}{
		{Rule{Column: "wage", MaxRisk: ptr(4e-5), Target: "max", Knowledge: "index"}, ""},
		{Rule{Column: "wage", MinRMSE: ptr(5000)}, ""},
		{Rule{Column: "wage", MinRMSE: ptr(5000), Target: "typical"}, ""},
		{Rule{Column: "wage", MinEfficiency: ptr(0.8)}, ""},
		{Rule{MinEfficiency: ptr(0.8)}, "column: must name a column"},
		{Rule{Column: "wage"},
			"must have exactly one of max_risk, min_rmse, min_efficiency, max_unchanged, max_exact, max_epsilon, max_metric_epsilon, max_linked, max_correct_links, min_k, max_individual_risk, max_expected_population, max_expected_uniques, max_changed, max_entropy_lost, max_posterior, max_pmse, max_replicated_uniques, max_ks, min_overlap, max_attribute_disclosure, min_spatial_k and min_place_rmse, got 0"},
		{Rule{Column: "wage", MaxRisk: ptr(1), MinRMSE: ptr(1)},
			"must have exactly one of max_risk, min_rmse, min_efficiency, max_unchanged, max_exact, max_epsilon, max_metric_epsilon, max_linked, max_correct_links, min_k, max_individual_risk, max_expected_population, max_expected_uniques, max_changed, max_entropy_lost, max_posterior, max_pmse, max_replicated_uniques, max_ks, min_overlap, max_attribute_disclosure, min_spatial_k and min_place_rmse, got 2"},
		{Rule{Column: "wage", MaxRisk: ptr(0)}, "max_risk: must be greater than 0, got 0"},
		{Rule{Column: "wage", MaxRisk: ptr(math.Inf(1))}, "max_risk: must be greater than 0, got +Inf"},
		{Rule{Column: "wage", MinRMSE: ptr(math.NaN())}, "min_rmse: must be greater than 0, got NaN"},
		{Rule{Column: "wage", MinEfficiency: ptr(-1)}, "min_efficiency: must be greater than 0, got -1"},
		{Rule{Column: "wage", MinRMSE: ptr(1), Target: "top"},
			`target: must be typical, min, max or a percentile as p01, p50, p99.9, got "top"`},
		{Rule{Column: "wage", MinRMSE: ptr(1), Knowledge: "indx"},
			`knowledge: must be one of mean, index, record, all_releases, position, order, got "indx" (did you mean "index"?)`},
		{Rule{Column: "wage", MinRMSE: ptr(1), Target: "typical", Knowledge: "position"},
			"knowledge: must be mean, index or record with target typical, which has no position"},
		{Rule{Column: "wage", MinRMSE: ptr(1), Knowledge: "record"}, ""},
		{Rule{Column: "wage", MinRMSE: ptr(1), Knowledge: "index", Record: "alone"}, ""},
		{Rule{Column: "wage", MaxRisk: ptr(1), Record: "alone"}, ""},
		{Rule{Column: "wage", MinRMSE: ptr(1), Record: "alon"},
			`record: must be one of alone, got "alon" (did you mean "alone"?)`},
		{Rule{Column: "wage", MinRMSE: ptr(1), Knowledge: "record", Record: "alone"},
			"record: must be left out with knowledge record: it is about index"},
		{Rule{Column: "wage", MinRMSE: ptr(1), Knowledge: "all_releases"}, ""},
		{Rule{Column: "wage", MinRMSE: ptr(1), Releases: "alone"}, ""},
		{Rule{Column: "wage", MaxEpsilon: ptr(1), Releases: "alone"}, ""},
		{Rule{Column: "wage", MinRMSE: ptr(1), Releases: "none"}, `releases: must be one of alone, got "none"`},
		{Rule{Column: "wage", MinRMSE: ptr(1), Knowledge: "all_releases", Releases: "alone"},
			"releases: must be left out with knowledge all_releases"},
		{Rule{Column: "wage", MinEfficiency: ptr(1), Releases: "alone"},
			"releases: must be left out of a rule that is not about what a snooper learns"},
		{Rule{Column: "wage", MinEfficiency: ptr(1), Record: "alone"},
			"record: must be left out of a rule without max_risk or min_rmse"},
		{Rule{Column: "wage", MinEfficiency: ptr(0.8), Target: "max"},
			"target: must be left out with min_efficiency, which has no target"},
		{Rule{Column: "wage", MinEfficiency: ptr(0.8), Knowledge: "mean"},
			"knowledge: must be left out with min_efficiency, which has no knowledge state"},
	} {
		got := ""
		ps := c.rule.Check()
		if len(ps) > 0 {
			got = ps[0].Error()
		}
		if got != c.want || len(ps) > 1 {
			t.Errorf("%+v: %v, want %q", c.rule, ps, c.want)
		}
	}
}

func TestJudge(t *testing.T) {
	nan, inf := Float(math.NaN()), Float(math.Inf(1))
	m := &Measures{Columns: []ColumnMeasures{
		{Name: "wage", Unit: "USD", Masked: true, Original: Moments{N: 100, SD: 450},
			Utility: Utility{U0: 100. / 450 / 450, Efficiency: 1.9, EfficiencyGate: 0.75},
			Risk: []Risk{{Target: "typical", Knowledge: "index", R: 1. / 100 / 100, RMSE: 100},
				{Target: "max", Knowledge: "index", R: 1. / 150 / 150, RMSE: 150},
				{Target: "max", Knowledge: "position", R: 1. / 120 / 120, RMSE: 120},
				{Target: "p50", Knowledge: "mean", R: 1. / 50 / 50, RMSE: 50}}},
		{Name: "hours", Masked: true, Utility: Utility{Efficiency: nan, EfficiencyGate: nan},
			Risk: []Risk{{Target: "max", Knowledge: "index", R: nan, RMSE: nan},
				{Target: "min", Knowledge: "index", R: inf, RMSE: 0}}},
		{Name: "age"},
		{Name: "late", Masked: true,
			Risk: []Risk{{Target: "min", Knowledge: "index", R: 0.1, RMSE: 3},
				{Target: "max", Knowledge: "index", R: nan, RMSE: nan},
				{Target: "p50", Knowledge: "index", R: 0.2, RMSE: 2}}},
	}}
	for _, c := range []struct {
		rule         Rule
		passed       bool
		found        Float
		text, advice string // parts
	}{
		{Rule{Column: "wage", Target: "max", Knowledge: "index", MaxRisk: ptr(4.5e-5)}, true, 1. / 150 / 150,
			"wage: R of max (index) at most 4.5e-05", ""},
		{Rule{Column: "wage", Target: "max", Knowledge: "index", MaxRisk: ptr(4e-5)}, false, 1. / 150 / 150,
			"wage: R of max (index) at most 4e-05", "λ of at least 158.1 USD"},
		{Rule{Column: "wage", Target: "max", Knowledge: "index", MinRMSE: ptr(150)}, true, 150,
			"wage: RMSE of max (index) at least 150 USD", ""},
		{Rule{Column: "wage", Target: "max", MinRMSE: ptr(130)}, false, 120, "(worst: max by position)",
			"more noise or a bias"},
		{Rule{Column: "wage", MinRMSE: ptr(50)}, true, 50, "wage: RMSE of every target at least 50 USD (worst: p50 by mean)",
			""},
		{Rule{Column: "wage", MinRMSE: ptr(5000)}, false, 50,
			"wage: RMSE of every target at least 5000 USD (worst: p50 by mean)", "the released mean lies that near"},
		{Rule{Column: "wage", Knowledge: "index", MinRMSE: ptr(101)}, false, 100, "(worst: typical by index)",
			"typical is known by index to within 100 USD"},
		{Rule{Column: "wage", MinEfficiency: ptr(0.75)}, true, 0.75, "wage: efficiency at least 0.75", ""},
		{Rule{Column: "wage", MinEfficiency: ptr(0.8)}, false, 0.75, "wage: efficiency at least 0.8", "λ of at most 225 USD"},
		{Rule{Column: "wage", Target: "p99", MaxRisk: ptr(1)}, false, nan, "wage: R of p99", "not measured"},
		{Rule{Column: "hours", Target: "max", MaxRisk: ptr(1)}, false, nan, "hours: R of max", "could not be measured"},
		{Rule{Column: "hours", MaxRisk: ptr(1e300)}, false, nan, "every target", "could not be measured"},
		{Rule{Column: "late", MaxRisk: ptr(1e300)}, false, nan, "every target", "could not be measured"},
		{Rule{Column: "late", MinRMSE: ptr(1e-300)}, false, nan, "every target", "could not be measured"},
		{Rule{Column: "hours", Target: "min", MaxRisk: ptr(1e300)}, false, inf, "hours: R of min", "within 0"},
		{Rule{Column: "hours", MinEfficiency: ptr(0.1)}, false, nan, "hours", "could not be measured"},
		{Rule{Column: "age", MaxRisk: ptr(1)}, false, nan, "age", "no mask changes the column"},
		{Rule{Column: "absent", MaxRisk: ptr(1)}, false, nan, "absent", "not assessed"},
		{Rule{Column: "absent", MinEfficiency: ptr(1)}, false, nan, "absent", "not assessed"},
	} {
		v := Judge([]Rule{c.rule}, m)
		r := v.Rules[0]
		if v.Passed != c.passed || r.Passed != c.passed || r.Column != c.rule.Column || !strings.Contains(r.Rule, c.text) ||
			!strings.Contains(r.Advice, c.advice) || (r.Advice == "") != c.passed {
			t.Errorf("%+v: %+v", c.rule, r)
		}
		for _, limit := range []*float64{c.rule.MaxRisk, c.rule.MinRMSE, c.rule.MinEfficiency} {
			if limit != nil && float64(r.Limit) != *limit {
				t.Errorf("%s: the limit is %v, want %v", r.Rule, r.Limit, *limit)
			}
		}
		if r.Found != c.found && !(math.IsNaN(float64(r.Found)) && math.IsNaN(float64(c.found))) {
			t.Errorf("%s: found %v, want %v", r.Rule, r.Found, c.found)
		}
	}
	if v := Judge(nil, m); !v.Passed || v.Rules == nil {
		t.Errorf("no rules: %+v", v)
	}
	both := Judge([]Rule{{Column: "wage", MinEfficiency: ptr(0.1)}, {Column: "wage", MinEfficiency: ptr(0.9)}}, m)
	if both.Passed || !both.Rules[0].Passed || both.Rules[1].Passed {
		t.Errorf("one of two rules fails: %+v", both)
	}
	both = Judge([]Rule{{Column: "wage", MinEfficiency: ptr(0.9)}, {Column: "wage", MinEfficiency: ptr(0.1)}}, m)
	if both.Passed || both.Rules[0].Passed || !both.Rules[1].Passed {
		t.Errorf("the first of two rules fails: %+v", both)
	}
}

// Figures from a sample are judged at their less safe end, two standard errors of D = 1/R or of 1/U
// away. Other figures are judged directly.
func TestJudgeAtTheUnsafeEnd(t *testing.T) {
	nan, inf := Float(math.NaN()), Float(math.Inf(1))
	for _, c := range []struct {
		risk Risk
		want Float
	}{
		{Risk{R: 4, SE: 1}, 4},
		{Risk{R: 4, SE: 1, Sampled: true}, 8}, // D = 1/4 ± 1/16
		{Risk{R: 4, SE: 1, Approximate: true, Errs: ErrsEither}, 8},
		{Risk{R: 4, SE: 2, Sampled: true}, inf},
		{Risk{R: 4, SE: 3, Sampled: true}, inf},
		{Risk{R: 4, SE: nan, Sampled: true}, 4},
		{Risk{R: 4, SE: nan, Approximate: true, Errs: ErrsSafe}, 4},
		{Risk{R: 4, SE: nan, Approximate: true, Errs: ErrsEither}, inf},
		{Risk{R: inf, SE: nan, Sampled: true}, inf},
	} {
		if got := c.risk.Upper(); got != c.want {
			t.Errorf("%+v: upper end %v, want %v", c.risk, got, c.want)
		}
	}
	if got := (Risk{R: nan, SE: nan, Sampled: true}).Upper(); got == got {
		t.Errorf("not a number: upper end %v", got)
	}
	// The row with the greater upper end is the worse one, in either order of the rows.
	rows := []Risk{{Target: "min", Knowledge: "index", R: 5},
		{Target: "max", Knowledge: "index", R: 4, SE: 1, Sampled: true}}
	for range 2 {
		m := &Measures{Columns: []ColumnMeasures{{Name: "x", Masked: true, Risk: rows}}}
		for limit, passed := range map[float64]bool{7.9: false, 8: true} {
			v := Judge([]Rule{{Column: "x", MaxRisk: &limit}}, m).Rules[0]
			if v.Passed != passed || v.Found != 8 || !strings.Contains(v.Rule, "worst: max") {
				t.Errorf("limit %v: %+v", limit, v)
			}
			rmse := 1 / math.Sqrt(limit)
			if v := Judge([]Rule{{Column: "x", MinRMSE: &rmse}}, m).Rules[0]; v.Passed != (rmse <= math.Sqrt(1./8)) {
				t.Errorf("at least %v: %+v", rmse, v)
			}
		}
		rows[0], rows[1] = rows[1], rows[0]
	}
	for _, c := range []struct {
		utility Utility
		want    Float
	}{
		{Utility{U: 10, SE: 1, EfficiencyGate: 0.6}, 0.6},
		{Utility{U: 10, SE: 1, EfficiencyGate: 0.6, Sampled: true}, 0.5},
		{Utility{U: 10, SE: nan, EfficiencyGate: 0.6, Sampled: true}, 0.6},
		{Utility{U: 10, SE: nan, EfficiencyGate: 0.6, Approximate: true, Errs: ErrsEither}, 0},
	} {
		if got := c.utility.Lower(); !(math.Abs(float64(got-c.want)) <= 1e-12) {
			t.Errorf("%+v: lower end %v, want %v", c.utility, got, c.want)
		}
	}
}
