package rumap_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/mapexample"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
)

// Without a rule that limits the risk, a map recommends almost no masking: it explains this. One
// rule about the column's risk is enough to omit the explanation, one about another column is not.
func TestRiskThatNoRuleLimitsIsSaid(t *testing.T) {
	least, most, above := assess.Float(0.1), assess.Float(0.9), assess.Float(2)
	efficient := rumap.Rule{MinEfficiency: &least}
	for name, test := range map[string]struct {
		rules []rumap.Rule
		warns bool
	}{
		"efficiency":        {[]rumap.Rule{efficient}, true},
		"risk":              {[]rumap.Rule{efficient, {MaxRisk: &most}}, false},
		"RMSE of a target":  {[]rumap.Rule{{Target: "max", MinRMSE: &least}, efficient}, false},
		"impossible":        {[]rumap.Rule{{MinEfficiency: &above}}, false},
		"another column":    {[]rumap.Rule{efficient, {Column: "y", MaxRisk: &most}}, true},
		"nothing but links": {[]rumap.Rule{efficient, {Measure: "max_linked", Limit: &most, Words: "links"}}, true},
	} {
		m := mapexample.Noise()
		for i := range m.Points {
			m.Points[i].Respondents = map[string]assess.Float{"max_linked": 0}
		}
		m.Rules = test.rules
		m.Judge()
		again := func(i int) (rumap.Point, error) { return m.Points[i], nil }
		passes := func(int) (assess.Verdict, error) { return assess.Verdict{Passed: true}, nil }
		if err := m.Recommend(10, again, passes); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if (m.Recommended == nil) != (name == "impossible") {
			t.Fatalf("%s: recommended %+v: %s", name, m.Recommended, m.Reason)
		}
		if got := m.RiskUnlimited(); strings.Contains(got, "No rule limits") != test.warns {
			t.Errorf("%s: says %q", name, got)
		}
		var b bytes.Buffer
		rumap.Summary(&b, m, false, 0)
		if strings.Contains(b.String(), "No rule limits how near a snooper comes") != test.warns {
			t.Errorf("%s: the summary is\n%s", name, b.String())
		}
		if m.Categories = []string{"region"}; m.RiskUnlimited() != "" {
			t.Errorf("%s: of categories: %q", name, m.RiskUnlimited())
		}
	}
}

// The strategy's name is printed with its parameters if there is another strategy, or a list of
// masks other than the configured one.
func TestChoiceNamesItsStrategy(t *testing.T) {
	m := mapexample.Noise()
	p := &m.Points[3]
	if got := m.Choice(p, "as it is"); got != m.Setting(p) || got == "" {
		t.Errorf("of one strategy: %q", got)
	}
	p.Strategy = "stronger"
	if got := m.Choice(p, "as it is"); got != m.Setting(p)+" (stronger)" {
		t.Errorf("of two strategies: %q", got)
	}
	if got := m.Choice(&m.Points[0], "as it is"); got != m.Setting(&m.Points[0])+" (configured)" {
		t.Errorf("beside another one: %q", got)
	}
	for i := range m.Points {
		m.Points[i].Strategy = "stronger"
	}
	p.Parameters = nil
	if got := m.Choice(p, "as it is"); got != "as it is (stronger)" {
		t.Errorf("of another list of masks: %q", got)
	}
}
