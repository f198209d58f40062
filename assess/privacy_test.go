package assess

import (
	"math"
	"strings"
	"testing"
)

func TestRulesOnPrivacyAreChecked(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		want string // part of the problem; "": none
	}{
		{Rule{MaxEpsilon: ptr(1)}, ""},
		{Rule{Column: "wage", MaxEpsilon: ptr(1)}, ""},
		{Rule{Column: "wage", MaxMetricEpsilon: ptr(1e-3)}, ""},
		{Rule{MaxMetricEpsilon: ptr(1)}, "must name a column"},
		{Rule{MaxEpsilon: ptr(0)}, "max_epsilon"},
		{Rule{Column: "wage", MaxMetricEpsilon: ptr(math.NaN())}, "max_metric_epsilon"},
		{Rule{Column: "wage", MaxEpsilon: ptr(1), MaxMetricEpsilon: ptr(1)}, "exactly one"},
		{Rule{MaxEpsilon: ptr(1), Target: "max"}, "target"},
		{Rule{MaxEpsilon: ptr(1), Knowledge: "index"}, "knowledge"},
	} {
		problems := ""
		for _, p := range c.rule.Check() {
			problems += p.Path + " " + p.Text + "; "
		}
		if (c.want == "") != (problems == "") || !strings.Contains(problems, c.want) {
			t.Errorf("%+v: %q, want %q", c.rule, problems, c.want)
		}
	}
}

// Every rule holds up to its limit and not beyond, and none does where nothing is stated.
func TestGateOnPrivacy(t *testing.T) {
	column := ColumnPrivacy{Column: "wage", PrivacyLoss: PrivacyLoss{Epsilon: 1.5}, Metric: 0.002}
	hidden := ColumnPrivacy{Column: "age", PrivacyLoss: NoLoss("it is rounded"), Metric: Float(math.NaN()),
		MetricNot: "no noise"}
	plain := ColumnPrivacy{Column: "region", PrivacyLoss: PrivacyLoss{Epsilon: Float(math.Inf(1)), Not: "leaves as it is"},
		Metric: Float(math.NaN())}
	of := &Privacy{Columns: []ColumnPrivacy{column, hidden, plain}, Unit: "household", Person: PrivacyLoss{Epsilon: 3},
		Record: PrivacyLoss{Epsilon: 1}}
	for _, c := range []struct {
		rule   Rule
		of     *Privacy
		passed bool
		words  string
		advice string
	}{
		{Rule{Column: "wage", MaxEpsilon: ptr(1.5)}, of, true, "wage: ε at most 1.5", ""},
		{Rule{Column: "wage", MaxEpsilon: ptr(1.4999)}, of, false, "wage: ε at most 1.4999", "more noise"},
		{Rule{Column: "wage", MaxMetricEpsilon: ptr(0.002)}, of, true, "wage: ε per unit of distance at most 0.002", ""},
		{Rule{Column: "wage", MaxMetricEpsilon: ptr(0.0019)}, of, false, "wage: ε per unit", "more noise"},
		{Rule{Column: "age", MaxEpsilon: ptr(1e9)}, of, false, "age: ε", "it is rounded"},
		{Rule{Column: "age", MaxMetricEpsilon: ptr(1e9)}, of, false, "age: ε per unit", "no noise"},
		{Rule{Column: "region", MaxEpsilon: ptr(1e9)}, of, false, "region: ε", "leaves as it is"},
		{Rule{Column: "none", MaxEpsilon: ptr(1e9)}, of, false, "none: ε", "nothing is known"},
		{Rule{MaxEpsilon: ptr(3)}, of, true, "all records of a household: ε at most 3", ""},
		{Rule{MaxEpsilon: ptr(2)}, of, false, "all records of a household: ε at most 2", "fewer columns"},
		{Rule{MaxEpsilon: ptr(1e9)}, nil, false, "all records of a person: ε", "nothing is known"},
		{Rule{Column: "wage", MaxEpsilon: ptr(1e9)}, nil, false, "wage: ε", "nothing is known"},
	} {
		v := Judge([]Rule{c.rule}, &Measures{Privacy: c.of})
		if one := v.Rules[0]; v.Passed != c.passed || one.Passed != c.passed || !strings.HasPrefix(one.Rule, c.words) ||
			!strings.Contains(one.Advice, c.advice) || c.passed != (one.Advice == "") {
			t.Errorf("%+v: %+v", c.rule, one)
		}
	}
}
