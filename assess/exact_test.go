package assess

import (
	"math"
	"strings"
	"testing"
)

// A rule max_exact replaces the default limit of its column, in any place among the rules, and no other;
// without the intruder it does not hold.
func TestMaxExact(t *testing.T) {
	limit := func(v float64) *float64 { return &v }
	of := func(columns ...ExactShare) *Measures {
		m := &Measures{Gated: true, Identity: &Identity{Exact: columns}}
		for _, name := range []string{"a", "b"} {
			m.Columns = append(m.Columns, ColumnMeasures{Name: name, Masked: true, Original: Moments{N: 10}})
		}
		return m
	}
	all := func() *Measures {
		return of(ExactShare{Column: "a", Within: 5, Found: 0.5, Limit: limit(0.43)},
			ExactShare{Column: "a", Within: 0.5, Found: 0.05},
			ExactShare{Column: "b", Within: 0.5, Found: 0.5, Limit: limit(0.43)},
			ExactShare{Column: "b", Within: 0.5, Found: 0.3})
	}
	rule := func(column string, share, within float64) Rule {
		return Rule{Column: column, MaxExact: &ExactLimit{Share: share, Within: within}}
	}
	unmasked := all()
	unmasked.Columns[0].Masked = false
	empty := of()
	empty.Columns[0].Original.N = 0
	sampled := all()
	sampled.Identity = nil
	for _, c := range []struct {
		name   string
		rules  []Rule
		m      *Measures
		broken string // columns
	}{
		{"default", nil, all(), "ab"},
		{"at its limit", []Rule{rule("a", 0.05, 0.5)}, all(), "b"},
		{"last", []Rule{rule("b", 0.3, 0.5), rule("a", 0.05, 0.5)}, all(), ""},
		{"first", []Rule{rule("a", 0.05, 0.5), rule("b", 0.3, 0.5)}, all(), ""},
		{"broken", []Rule{rule("a", 0.0499, 0.5), rule("b", 0.3, 0.5)}, all(), "a"},
		{"another distance", []Rule{rule("a", 0.9, 0.4), rule("b", 0.3, 0.5)}, all(), "a"},
		{"unmasked", []Rule{rule("a", 0.9, 0.5), rule("b", 0.3, 0.5)}, unmasked, "a"},
		{"no values", []Rule{rule("a", 0, 0.5)}, empty, ""},
		{"not measured", []Rule{rule("a", 1, 0.5)}, sampled, "a"},
		{"not assessed", []Rule{rule("c", 1, 0.5)}, of(), "c"},
	} {
		v := Judge(c.rules, c.m)
		broken := ""
		for _, r := range v.Rules {
			if r.Measure == "max_exact" && !r.Passed {
				broken += r.Column
				if r.Advice == "" {
					t.Errorf("%s: no advice", c.name)
				}
			}
		}
		if broken != c.broken || v.Passed != (c.broken == "") {
			t.Errorf("%s: broken %q, want %q; %+v", c.name, broken, c.broken, v)
		}
	}
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{rule("a", 0.05, 0.5), ""},
		{rule("", 0.05, 0.5), "column: must name a column"},
		{rule("a", 1.01, 0.5), "max_exact.share"},
		{rule("a", -0.01, 0.5), "max_exact.share"},
		{rule("a", 0.05, 0), "max_exact.within"},
		{rule("a", 0.05, math.NaN()), "max_exact.within"},
		{Rule{Column: "a", Target: "max", MaxExact: &ExactLimit{0.05, 0.5}}, "target"},
		{Rule{Column: "a", Knowledge: "index", MaxExact: &ExactLimit{0.05, 0.5}}, "knowledge"},
		{Rule{Column: "a", MinRMSE: limit(1), MaxExact: &ExactLimit{0.05, 0.5}}, "exactly one"},
	} {
		ps := c.rule.Check()
		if (c.want == "") != (len(ps) == 0) || len(ps) > 0 && !strings.Contains(ps[0].Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.rule, ps, c.want)
		}
	}
}
