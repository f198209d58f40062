package rumap

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// TestEpsilonPicture: a mark for each point with an ε, also an infinite one, the limits of the column's own ε alone,
// and the number of points without; no error belongs to an ε.
func TestEpsilonPicture(t *testing.T) {
	of := func(v float64) *assess.Float { e := assess.Float(v); return &e }
	limit := func(v float64) *float64 { return &v }
	m := &Map{Column: "wage", Unit: "USD", U0: 1, Axes: []Axis{{Path: "masks.0.noise.sd"}}, Points: []Point{
		{Strategy: "a", Efficiency: 0.9, Epsilon: of(4), Parameters: map[string]float64{"masks.0.noise.sd": 1}},
		{Strategy: "a", Efficiency: 0.5, Epsilon: of(0.5), Parameters: map[string]float64{"masks.0.noise.sd": 8}},
		{Strategy: "b", Efficiency: 0.7, Epsilon: of(math.NaN())},
		{Strategy: "b", Efficiency: 1, Epsilon: of(math.Inf(1))},
		{Strategy: "b", Efficiency: 0.1},
		{Strategy: "b", Efficiency: 0.2, Epsilon: of(3), Impossible: "no"},
	}}
	m.SetRules([]assess.Rule{{MaxEpsilon: limit(9)}, {Column: "age", MaxEpsilon: limit(8)},
		{Column: "wage", MaxMetricEpsilon: limit(7)}, {Column: "wage", MaxEpsilon: limit(2)}}, false)
	p, ok := m.EpsilonPicture()
	var marks []float64
	for _, s := range p.Settings {
		marks = append(marks, s.Marks[0].R)
	}
	if !ok || len(marks) != 3 || marks[0] != 4 || marks[1] != 0.5 || !math.IsInf(marks[2], 1) || len(p.Lines) != 1 ||
		p.Lines[0].R != 2 {
		t.Errorf("%v: marks %v, limits %v", ok, marks, p.Lines)
	}
	if last := p.Key[len(p.Key)-1].Text; last != "points without an ε: 3" {
		t.Errorf("the legend ends with %q", last)
	}
	text := string(figure.RUMapsSVG([]figure.RUMap{p}, figure.SVGOptions{ID: "e"}))
	if !strings.Contains(text, "wage: ε = 4") || !strings.Contains(text, "ε ≤ 2") || strings.Contains(text, "known to") ||
		strings.Contains(text, "Known to") || strings.Contains(text, "± 0") {
		t.Errorf("the picture: %s", text)
	}
	if m.Points = m.Points[2:3]; true {
		if _, ok := m.EpsilonPicture(); ok {
			t.Error("a picture without a mark")
		}
	}
}

// TestEpsilonInTheTable: ε stands in map.csv, empty where none is stated.
func TestEpsilonInTheTable(t *testing.T) {
	e := assess.Float(1.5)
	none := assess.Float(math.NaN())
	m := &Map{Column: "wage", Points: []Point{
		{Strategy: "a", Epsilon: &e, Risk: []Risk{{Target: "max", Knowledge: "index", R: 1}}},
		{Strategy: "b", Epsilon: &none, Risk: []Risk{{Target: "max", Knowledge: "index", R: 1}}}}}
	var b bytes.Buffer
	if err := WriteCSV(&b, m); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if !strings.HasSuffix(lines[0], ",epsilon") || !strings.HasSuffix(lines[1], ",1.5") ||
		!strings.HasSuffix(lines[2], ",") {
		t.Errorf("%q", lines)
	}
}
