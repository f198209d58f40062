package rumap

import (
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// groupCurves draws, for each strategy and group, the worst protected R as a thin
// line behind the curves of all records, that of the worst group as a strong one.
func (m *Map) groupCurves(out *figure.RUMap, strategies []string, drawn []int) {
	names, worst := m.groupNames()
	if len(names) == 0 {
		return
	}
	subjects := m.Protected()
	for _, i := range drawn {
		strategy := strategies[i]
		for _, name := range names {
			style := figure.RUStyle{Colour: 7, Weight: figure.Thin}
			if len(strategies) > 1 {
				style.Colour = i%figure.Colours + 1
			}
			if name == worst {
				style.Weight = figure.Strong
			}
			out.Curves = append(out.Curves,
				curvesOf(m.runs(strategy), strategy+": "+name+", worst protected target", style,
					func(p *Point) (float64, float64, bool) {
						for k := range p.Groups {
							if g := &p.Groups[k]; m.GroupName(g) == name {
								risk, ok := m.Worst(g.Risk, subjects)
								return float64(g.Efficiency), float64(risk.R), ok
							}
						}
						return 0, 0, false
					})...)
		}
	}
	style := figure.RUStyle{Colour: 7}
	style.Weight = figure.Thin
	out.Key = append(out.Key,
		figure.RUKey{Text: "each " + strings.Join(m.Groups, " × ") + ", its worst protected target", Style: style})
	style.Weight = figure.Strong
	out.Key = append(out.Key, figure.RUKey{Text: "the worst of them: " + worst, Style: style})
}

// groupNames are the names of all groups, and of the one that is worst at the
// recommended point, or at most points where none is recommended.
func (m *Map) groupNames() (names []string, worst string) {
	times := map[string]int{}
	for i := range m.Points {
		p := &m.Points[i]
		for k := range p.Groups {
			if name := m.GroupName(&p.Groups[k]); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if g, _ := m.WorstGroup(p); g != nil {
			times[m.GroupName(g)]++
		}
	}
	if p := m.chosen(); p != nil {
		if g, _ := m.WorstGroup(p); g != nil {
			return names, m.GroupName(g)
		}
	}
	for _, name := range names {
		if worst == "" || times[name] > times[worst] {
			worst = name
		}
	}
	return names, worst
}
