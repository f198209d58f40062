package rumap

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
)

func limit(v float64) *assess.Float { f := assess.Float(v); return &f }

func ptr(v float64) *float64 { return &v }

// additive returns the map of plain additive noise on 200 values of SD 1, by its closed forms: R =
// 1/λ² by index (eq. 4), efficiency 1/(1+λ²), and a minimum for which noise cannot reduce R below
// 4.
func additive(variances ...float64) *Map {
	m := &Map{Column: "x", U0: 200}
	for _, v := range variances {
		m.Points = append(m.Points, Point{
			Strategy: Configured, Parameters: map[string]float64{"masks.0.noise.sd": math.Sqrt(v)},
			U: assess.Float(200 / (1 + v)), Efficiency: assess.Float(1 / (1 + v)), EfficiencyGate: assess.Float(1 / (1 + v)),
			Risk: []Risk{
				{Target: "max", Knowledge: "index", R: assess.Float(1 / v), RSE: assess.Float(0.1 / v),
					RMSE: assess.Float(math.Sqrt(v))},
				{Target: "min", Knowledge: "position", R: assess.Float(4 + 1/v), RMSE: assess.Float(1 / math.Sqrt(4+1/v))},
			},
		})
	}
	m.Judge()
	return m
}

// passes is a run of any point; its gate passes.
func passes(int) (assess.Verdict, error) { return assess.Verdict{Passed: true}, nil }

func again(m *Map) func(int) (Point, error) {
	return func(i int) (Point, error) { return m.Points[i], nil }
}

func TestRecommend(t *testing.T) {
	variances := []float64{0.05, 0.1, 0.2, 0.25, 0.5, 1}
	for _, c := range []struct {
		name     string
		rules    []assess.Rule
		margin   float64
		want     int // −1: none
		binding  []string
		contains string
	}{
		{"a risk", []assess.Rule{{Column: "x", Target: "max", Knowledge: "index", MaxRisk: ptr(5)}}, 0, 2, []string{"max"},
			""},
		{"a risk, as an error", []assess.Rule{{Column: "x", Target: "max", Knowledge: "index", MinRMSE: ptr(math.Sqrt(0.2))}},
			0, 2, []string{"max"}, ""},
		{"one standard error to spare", []assess.Rule{{Column: "x", Target: "max", Knowledge: "index", MaxRisk: ptr(5)}}, 1,
			3, []string{"max"}, ""},
		{"an error with some to spare",
			[]assess.Rule{{Column: "x", Target: "max", Knowledge: "index", MinRMSE: ptr(math.Sqrt(0.2))}}, 1, 3, []string{"max"},
			""},
		{"risk and efficiency",
			[]assess.Rule{{Column: "x", Target: "max", Knowledge: "index", MaxRisk: ptr(5)},
				{Column: "x", MinEfficiency: ptr(0.7)}}, 0, 2, []string{"max"}, ""},
		{"efficiency alone", []assess.Rule{{Column: "x", MinEfficiency: ptr(0.7)}}, 0, 0, nil, ""},
		{
			"not together",
			[]assess.Rule{{Column: "x", Target: "max", Knowledge: "index", MaxRisk: ptr(5)},
				{Column: "x", MinEfficiency: ptr(0.9)}}, 0, -1, nil,
			"every rule holds at some of the 6 points, all of them at none: R of max (index) at most 5 at 4; efficiency at least 0.9 at 2"},
		{"what noise does not hide", []assess.Rule{{Column: "x", Target: "min", Knowledge: "position", MaxRisk: ptr(4)}}, 0,
			-1, nil,
			"nowhere on the map holds: R of min (position) at most 4: it comes no nearer than 5, at configured, masks.0.noise.sd 1"},
		{"every target", []assess.Rule{{Column: "x", MaxRisk: ptr(4.5)}}, 0, -1, nil,
			"it comes no nearer than 5 (min by position)"},
		{"not measured", []assess.Rule{{Column: "x", Target: "p50", MaxRisk: ptr(4)}}, 0, -1, nil,
			"R of p50 at most 4: it could not be measured"},
		{"another column's rule", []assess.Rule{{Column: "z", MaxRisk: ptr(5)}}, 0, 0, nil, ""},
	} {
		m := additive(variances...)
		m.Margin = c.margin
		m.SetRules(c.rules, false)
		m.Judge()
		if err := m.Recommend(200, again(m), passes); err != nil {
			t.Fatal(err)
		}
		switch {
		case c.want < 0 && m.Recommended != nil, c.want >= 0 && (m.Recommended == nil || m.Recommended.Point != c.want):
			t.Errorf("%s: recommended %+v (%s), want %d", c.name, m.Recommended, m.Reason, c.want)
		case c.want < 0:
			if !strings.Contains(m.Reason, c.contains) {
				t.Errorf("%s: %q does not say %q", c.name, m.Reason, c.contains)
			}
		default:
			var got []string
			for _, b := range m.Recommended.Binding {
				got = append(got, b.Target)
			}
			if !slices.Equal(got, c.binding) {
				t.Errorf("%s: %v binds, want %v", c.name, got, c.binding)
			}
		}
	}
}

// A point where a rule holds only by chance is not recommended; the next point is.
func TestRecommendHoldsBack(t *testing.T) {
	m := additive(0.1, 0.2, 0.25)
	m.SetRules([]assess.Rule{{Column: "x", Target: "max", Knowledge: "index", MaxRisk: ptr(5.1)}}, false)
	m.Judge()
	tries := []int{}
	err := m.Recommend(200, func(i int) (Point, error) {
		tries = append(tries, i)
		p := additive(0.1, 0.19, 0.25).Points[i]
		return p, nil
	}, passes)
	if err != nil || m.Recommended == nil || m.Recommended.Point != 2 || m.Recommended.HeldBack != 200 {
		t.Fatalf("recommended %+v, %v", m.Recommended, err)
	}
	if !slices.Equal(tries, []int{1, 2}) {
		t.Errorf("measured again: %v", tries)
	}
	if p := m.Points[1]; p.Admissible || len(p.Broken) != 1 || !p.Broken[0].HeldBack {
		t.Errorf("the point that failed: %+v", p)
	}
	broken := errors.New("broken")
	if err := m.Recommend(200, func(int) (Point, error) { return Point{}, broken }, passes); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// A rule that could not be measured, or has an infinite risk, never makes a point admissible.
func TestJudgeFailsClosed(t *testing.T) {
	for _, r := range []float64{math.NaN(), math.Inf(1)} {
		m := &Map{
			Column: "x",
			Points: []Point{{Strategy: "s", U: 1, Efficiency: assess.Float(math.NaN()), EfficiencyGate: assess.Float(math.NaN()),
				Risk: []Risk{{Target: "max", Knowledge: "index", R: assess.Float(r), RMSE: assess.Float(1 / math.Sqrt(r))}}}}}
		for _, rule := range []Rule{{MaxRisk: limit(1e300)}, {MinRMSE: limit(1e-300)}, {MinEfficiency: limit(0)}} {
			m.Rules = []Rule{rule}
			if m.Judge(); m.Points[0].Admissible {
				t.Errorf("R %v is admissible under %q", r, rule)
			}
		}
	}
}

func TestWorst(t *testing.T) {
	group := func(name string, index, position float64) Group {
		return Group{Values: []string{name}, Risk: []Risk{
			{Target: "typical", Knowledge: "index", R: assess.Float(index)},
			{Target: "max", Knowledge: "position", R: assess.Float(position)}}}
	}
	m := &Map{Points: []Point{{Groups: []Group{group("a", 3, 1), group("b", 1, 2), group("c", math.NaN(), math.NaN())}}}}
	if m.SetWorst(); m.Points[0].Worst.Values[0] != "a" {
		t.Errorf("worst: %+v", m.Points[0].Worst)
	}
	m.Rules = []Rule{{Target: "max", MaxRisk: limit(1)}}
	if m.SetWorst(); m.Points[0].Worst.Values[0] != "b" {
		t.Errorf("worst by the rule: %+v", m.Points[0].Worst)
	}
}

// A release with less variance than the data has no more utility than the data: in any order, it is
// not preferred to one with their variance, and does not prevent that one from being recommended.
func TestLowerVarianceIsNoGain(t *testing.T) {
	for _, c := range []struct {
		efficiencies []float64
		refused      int // its R violates the rule
		want         int
		binding      int
	}{
		{[]float64{0.7, 1, 1.5}, -1, 1, 0},
		{[]float64{1.5, 1, 0.7}, -1, 0, 0},
		{[]float64{0.7, 1.5, 1.2}, -1, 1, 0},
		{[]float64{0.7, 1, 1.5}, 2, 1, 0}, // no better point is prevented from being admissible
		{[]float64{0.7, 1.5, 0.9}, 1, 2, 1},
	} {
		m := &Map{Column: "x", U0: 200}
		for i, e := range c.efficiencies {
			r := assess.Float(1)
			if i == c.refused {
				r = 9
			}
			m.Points = append(m.Points,
				Point{Strategy: Configured, U: assess.Float(200 * e), Efficiency: assess.Float(e), EfficiencyGate: 1,
					Risk: []Risk{{Target: "max", Knowledge: "index", R: r, RMSE: 1}}})
		}
		m.SetRules([]assess.Rule{{Column: "x", MaxRisk: ptr(5)}}, false)
		m.Judge()
		if err := m.Recommend(200, again(m), passes); err != nil {
			t.Fatal(err)
		}
		if m.Recommended == nil || m.Recommended.Point != c.want || len(m.Recommended.Binding) != c.binding {
			t.Errorf("efficiencies %v, %d refused: %+v, want %d", c.efficiencies, c.refused, m.Recommended, c.want)
		}
	}
}
