package rumap

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

func whole(v int) *int { return &v }

// Every kind of rule is compared with a point if the point has its measure; otherwise the rule is
// named, and counts neither as satisfied nor as broken.
func TestJudgeEveryKindOfRule(t *testing.T) {
	rules := []assess.Rule{
		{MaxLinked: ptr(0.1)},
		{MaxCorrectLinks: ptr(3)},
		{MinK: whole(3)},
		{MaxIndividualRisk: ptr(0.2)},
		{Column: "x", MaxUnchanged: ptr(0.01)},
		{Column: "y", MaxUnchanged: ptr(0.02)},
		{Column: "x", Knowledge: assess.KnowledgeOrder, MinRMSE: ptr(2)},
		{Column: "y", Target: "max", Knowledge: "index", MinRMSE: ptr(2)},
		{Column: "y", MinEfficiency: ptr(0.5)},
		{Column: "x", MaxExact: &assess.ExactLimit{Share: 0.05, Within: 0.5}},
	}
	m := &Map{Column: "x", Points: []Point{{Strategy: Configured, U: 1}}}
	m.SetRules(rules, true)
	m.Judge()
	p := &m.Points[0]
	if !p.Admissible || len(p.Unjudged) != len(rules)+2 || len(m.Rules) != len(rules)+2 {
		t.Fatalf("of %d rules %q are not judged, and %+v broken", len(m.Rules), p.Unjudged, p.Broken)
	}
	nan := assess.Float(math.NaN())
	set := func(linked, links, k, risk, inverted, ux, uy, r, u, exact, usual assess.Float) {
		p.Respondents = map[string]assess.Float{"max_linked": linked, "max_correct_links": links, "min_k": k,
			"max_individual_risk": risk, MeasureInversion: inverted, MeasureUsual: usual}
		p.Exact = map[string]assess.Float{"x: share of values stated within 0.5 at most 0.05": exact}
		p.Unchanged = map[string]assess.Float{"x": ux, "y": uy}
		p.Beside = map[string]*Point{
			"y": {EfficiencyGate: u, Risk: []Risk{{Target: "max", Knowledge: "index", R: 1 / (r * r), RMSE: r}}}}
		m.Judge()
	}
	for _, c := range []struct {
		name   string
		values [11]assess.Float
		broken []int
	}{
		{"all at their limits", [11]assess.Float{0.1, 3, 3, 0.2, 0, 0.01, 0.02, 2, 0.5}, nil},
		{"linked", [11]assess.Float{0.11, 3, 3, 0.2, 0, 0, 0, 2, 0.5}, []int{0}},
		{"links", [11]assess.Float{0, 4, 3, 0.2, 0, 0, 0, 2, 0.5}, []int{1}},
		{"k", [11]assess.Float{0, 0, 2, 0.2, 0, 0, 0, 2, 0.5}, []int{2}},
		{"individual risk", [11]assess.Float{0, 0, 3, 0.21, 0, 0, 0, 2, 0.5}, []int{3}},
		{"inversion", [11]assess.Float{0, 0, 3, 0, 1, 0, 0, 2, 0.5}, []int{10}},
		{"unchanged here", [11]assess.Float{0, 0, 3, 0, 0, 0.011, 0, 2, 0.5}, []int{4}},
		{"unchanged there", [11]assess.Float{0, 0, 3, 0, 0, 0, 0.021, 2, 0.5}, []int{5}},
		{"another column's risk", [11]assess.Float{0, 0, 3, 0, 0, 0, 0, 1.9, 0.5}, []int{7}},
		{"another column's efficiency", [11]assess.Float{0, 0, 3, 0, 0, 0, 0, 2, 0.49}, []int{8}},
		{"nothing could be measured", [11]assess.Float{nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan},
			[]int{0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11}},
		{"stated exactly", [11]assess.Float{0, 0, 3, 0, 0, 0, 0, 2, 0.5, 0.051}, []int{9}},
		{"stated by the usual step", [11]assess.Float{0, 0, 3, 0, 0, 0, 0, 2, 0.5, 0.05, 0.001}, []int{11}},
	} {
		v := c.values
		set(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10])
		var broken []int
		for _, b := range p.Broken {
			broken = append(broken, b.Rule)
		}
		slices.Sort(broken)
		if !slices.Equal(broken, c.broken) || p.Admissible != (len(c.broken) == 0) {
			t.Errorf("%s: rules %v are broken, want %v", c.name, broken, c.broken)
		}
		if len(p.Unjudged) != 1 || !strings.Contains(p.Unjudged[0], "order") {
			t.Errorf("%s: %q are not judged, and it is the order alone", c.name, p.Unjudged)
		}
	}
}

// A point that a run refuses is not recommended: the run's requirements are added to the rules, and
// the next point is tried, up to a number of points.
func TestRecommendTriesARun(t *testing.T) {
	m := additive(0.1, 0.2, 0.25)
	m.SetRules([]assess.Rule{{Column: "x", Knowledge: assess.KnowledgeOrder, MinRMSE: ptr(1)}}, false)
	m.Judge()
	var rehearsed []int
	refuses := func(i int) (assess.Verdict, error) {
		rehearsed = append(rehearsed, i)
		if i == 2 {
			return assess.Verdict{Passed: true, Rules: []assess.RuleVerdict{{Passed: true}}}, nil
		}
		return assess.Verdict{
			Rules: []assess.RuleVerdict{{Passed: i == 1, Rule: "the rule of the gate"},
				{Rule: "what a run demands", Measure: "max_quarantined", Limit: 0.01, Found: 0.5}}}, nil
	}
	if err := m.Recommend(200, again(m), refuses); err != nil || m.Recommended == nil || m.Recommended.Point != 2 ||
		!m.Recommended.AsRun {
		t.Fatalf("recommended %+v, %v", m.Recommended, err)
	}
	if !slices.Equal(rehearsed, []int{0, 1, 2}) {
		t.Errorf("tried %v", rehearsed)
	}
	if len(m.Rules) != 2 || m.Rules[1].String() != "what a run demands" {
		t.Errorf("rules %v", m.Rules)
	}
	if b := m.Points[0].Broken; len(b) != 2 || b[0].Rule != 0 || b[1].Rule != 1 || !b[1].AsRun || m.Points[0].Admissible {
		t.Errorf("the first point breaks %+v", b)
	}
	if b := m.Points[1].Broken; len(b) != 1 || b[0].Rule != 1 {
		t.Errorf("the second point breaks %+v", b)
	}
	if len(m.Unjudged) > 0 {
		t.Errorf("not judged: %q", m.Unjudged)
	}

	never := func(i int) (assess.Verdict, error) {
		rehearsed = append(rehearsed, i)
		return assess.Verdict{Rules: []assess.RuleVerdict{{Passed: true}, {Rule: "what a run demands"}}}, nil
	}
	m = additive(slices.Repeat([]float64{0.1, 0.2, 0.25, 0.3}, 4)...)
	m.SetRules([]assess.Rule{{Column: "x", MinEfficiency: ptr(0.1)}}, false)
	m.Judge()
	rehearsed = nil
	if err := m.Recommend(200, again(m), never); err != nil || m.Recommended != nil || len(rehearsed) != rehearsals ||
		!strings.Contains(m.Reason, "what a run demands") {
		t.Errorf("recommended %+v after %d trials: %s", m.Recommended, len(rehearsed), m.Reason)
	}

	// If no run can be tried, nothing is recommended, and the open question is stated.
	m = additive(0.1, 0.2)
	m.SetRules(
		[]assess.Rule{{Column: "x", MinEfficiency: ptr(0.1)},
			{Column: "x", Knowledge: assess.KnowledgeOrder, MinRMSE: ptr(1)}}, false)
	m.Judge()
	if err := m.Recommend(200, again(m), nil); err != nil || m.Recommended != nil ||
		!strings.Contains(m.Reason, "only once") {
		t.Errorf("recommended %+v: %s", m.Recommended, m.Reason)
	}
	if first := m.Setting(&m.Points[m.byUtility()[0]]); first == "" ||
		!strings.Contains(m.Reason, "would try "+first+" first") {
		t.Errorf("the point %q is not named: %s", first, m.Reason)
	}
	m.Points[0].Strategy = "another"
	if err := m.Recommend(200, again(m), nil); err != nil || !strings.Contains(m.Reason, `would try "`) {
		t.Errorf("among several strategies: %s, %v", m.Reason, err)
	}
	if len(m.Unjudged) != 1 || !strings.Contains(m.Unjudged[0], "order") {
		t.Errorf("not judged: %q", m.Unjudged)
	}
	var text strings.Builder
	Summary(&text, m, true, 80)
	if !strings.Contains(text.String(), "\x1b[33m") || !strings.Contains(text.String(), "not judged at any point") {
		t.Errorf("nothing in amber:\n%s", text.String())
	}
}

// TestFoundBesideItsLimit: a figure that misses a rule by a small amount is not formatted like its
// limit.
func TestFoundBesideItsLimit(t *testing.T) {
	v := func(f assess.Float) *assess.Float { return &f }
	for _, c := range []struct {
		rule  Rule
		found assess.Float
		want  string
	}{
		{Rule{MinEfficiency: v(0.8)}, 0.799999, "0.799999"},
		{Rule{MinRMSE: v(5000)}, 4999.96, "4999.96"},
		{Rule{MaxRisk: v(4e-5)}, 4.00001e-5, "4.00001e-05"},
		{Rule{Limit: v(0.05), Words: "share"}, 0.0500004, "0.0500004"},
		{Rule{MaxRisk: v(4e-5)}, 5.12345e-5, "5.123e-05"},
		{Rule{Words: "what a run demands"}, 5.12345, "5.123"},
	} {
		if got := c.rule.besideLimit(c.found); got != c.want {
			t.Errorf("%+v: %s, want %s", c.rule, got, c.want)
		}
	}
}
