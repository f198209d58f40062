package rumap

import (
	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// epsilonOf is ε of the map's column by itself at a point, +Inf if the value leaves as it is; false if none is stated.
func epsilonOf(p *Point) (float64, bool) {
	if p.Epsilon == nil || p.Impossible != "" || *p.Epsilon != *p.Epsilon {
		return 0, false
	}
	return float64(*p.Epsilon), true
}

// EpsilonPicture is differential privacy against utility as a figure: ε of the map's column by itself upwards, a curve
// for each strategy, and the limits that rules set for it. It is false if no point has an ε; points without one are
// counted in the legend.
func (m *Map) EpsilonPicture() (figure.RUMap, bool) {
	out := figure.RUMap{Column: m.Column, Risk: "Differential privacy: ε of one value", Symbol: "ε",
		MinEfficiency: m.MinEfficiency()}
	for i := range m.Rules {
		if r := &m.Rules[i]; r.ofEpsilon && r.Limit != nil {
			out.Lines = append(out.Lines, figure.RULine{Target: "ε", R: float64(*r.Limit)})
		}
	}
	without, shown := 0, 0
	for i, name := range m.Strategies() {
		style := figure.RUStyle{Colour: i%figure.Colours + 1}
		out.Curves = append(out.Curves, curvesOf(m.runs(name), name, style, func(p *Point) (float64, float64, bool) {
			e, ok := epsilonOf(p)
			return float64(p.Efficiency), e, ok
		})...)
		out.Key = append(out.Key, figure.RUKey{Text: figure.Isolated(name), Style: style, Mark: true})
		for n := range m.Points {
			p := &m.Points[n]
			if p.Strategy != name {
				continue
			}
			e, ok := epsilonOf(p)
			if !ok {
				without++
				continue
			}
			set := m.mark(p)
			set.Marks = []figure.RUMark{{Label: m.Column, Style: style, R: e, Worst: true}}
			out.Settings = append(out.Settings, set)
			shown++
		}
	}
	if without > 0 {
		out.Key = append(out.Key, figure.RUKey{Text: "points without an ε: " + figure.Count(int64(without))})
	}
	return out, shown > 0
}

// mark is what a figure says of a point but its risk.
func (m *Map) mark(p *Point) figure.RUSetting {
	set := figure.RUSetting{Name: figure.Isolated(p.Strategy), Efficiency: float64(p.Efficiency),
		EfficiencySE: float64(p.USE) / float64(m.U0),
		Admissible:   p.Admissible, Unjudged: len(p.Unjudged) > 0, Recommended: p == m.chosen(), Note: m.Verdict(p)}
	if s := m.Setting(p); s != "" {
		set.Name += ": " + s
	}
	return set
}
