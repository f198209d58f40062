package rumap

import (
	"fmt"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// panel says which part of a map one picture shows.
type panel struct {
	title      string
	strategies []int
	series     []int
	runs       map[int][]run // by strategy
	style      func(strategy, series int) figure.RUStyle
}

func (p *panel) lines() (n int) {
	for _, i := range p.strategies {
		n += len(p.runs[i])
	}
	return n * len(p.series)
}

// Pictures are the map as figures: one curve for each strategy and subject, by default
// those that the rules protect, a mark for each point, the thresholds and the
// recommended point. Up to 8 curves are one picture. More are small multiples of at
// most 8 each: one for each subject, in which the strategies are compared; where those
// are too many, one for each strategy, or for each of both.
func (m *Map) Pictures(subjects ...Subject) []figure.RUMap {
	list, left := m.seriesToDraw(subjects)
	strategies := m.Strategies()
	var out []figure.RUMap
	for _, p := range m.panels(strategies, list) {
		out = append(out, m.picture(p, strategies, list, left))
	}
	return out
}

func (m *Map) panels(strategies []string, list []series) []panel {
	runs := map[int][]run{}
	whole := panel{runs: runs}
	for i, name := range strategies {
		runs[i] = m.runs(name)
		whole.strategies = append(whole.strategies, i)
	}
	for k := range list {
		whole.series = append(whole.series, k)
	}
	byStrategy := func(i, k int) figure.RUStyle {
		return figure.RUStyle{Colour: i%figure.Colours + 1, Knowledge: list[k].knowledge()}
	}
	bySeries := func(_, k int) figure.RUStyle {
		return figure.RUStyle{Colour: k%figure.Colours + 1, Dash: k % figure.Dashes, Knowledge: list[k].knowledge()}
	}
	whole.style = func(i, k int) figure.RUStyle {
		if len(strategies) == 1 {
			// Of one strategy the subjects have the colours, and dashes beside them.
			return bySeries(i, k)
		}
		s := byStrategy(i, k)
		s.Dash = k % figure.Dashes
		return s
	}
	if whole.lines() <= fewCurves {
		return []panel{whole}
	}
	var each []panel
	for k, s := range list {
		each = append(each, panel{s.label, whole.strategies, []int{k}, runs, byStrategy})
	}
	if len(list) > 1 && few(each) {
		return each
	}
	each = nil
	for i, name := range strategies {
		each = append(each, panel{figure.Isolated(name), []int{i}, whole.series, runs, bySeries})
	}
	if len(strategies) > 1 && few(each) {
		return each
	}
	return m.pairs(strategies, list, runs, byStrategy)
}

func few(list []panel) bool {
	return !slices.ContainsFunc(list, func(p panel) bool { return p.lines() > fewCurves })
}

// pairs is a panel for each strategy and subject, or several if other parameters
// divide their points into more than 8 curves.
func (m *Map) pairs(strategies []string, list []series, runs map[int][]run,
	style func(int, int) figure.RUStyle) []panel {
	var each []panel
	for k, s := range list {
		for i, name := range strategies {
			title := s.label
			if len(strategies) > 1 {
				title = figure.Isolated(name) + ": " + title
			}
			parts := slices.Collect(slices.Chunk(runs[i], fewCurves))
			for n, part := range parts {
				p := panel{title, []int{i}, []int{k}, map[int][]run{i: part}, style}
				if len(parts) > 1 {
					p.title += fmt.Sprintf(" (%d of %d)", n+1, len(parts))
				}
				each = append(each, p)
			}
		}
	}
	return each
}

// picture draws what a panel shows.
func (m *Map) picture(p panel, strategies []string, list []series, left int) figure.RUMap {
	out := figure.RUMap{Title: p.title, Column: m.Column, Unit: m.Unit, MinEfficiency: m.MinEfficiency()}
	for _, r := range m.Rules {
		if r.onRisk() && p.concerned(r, list) {
			out.Lines = append(out.Lines, figure.RULine{Target: r.Target, Knowledge: r.Knowledge, R: r.limit()})
		}
	}
	m.words(&out)
	m.groupCurves(&out, strategies, p.strategies)
	shown := map[*Point]int{}
	for _, i := range p.strategies {
		for _, k := range p.series {
			out.Curves = append(out.Curves, m.curves(p.runs[i], strategies[i], list[k], p.style(i, k))...)
		}
		for _, r := range p.runs[i] {
			for _, point := range r.points {
				shown[point] = i
			}
		}
	}
	for n := range m.Points {
		if i, ok := shown[&m.Points[n]]; ok {
			out.Settings = append(out.Settings, m.setting(&m.Points[n], p, i, list))
		}
	}
	out.Key = append(m.key(p, strategies, list, left), out.Key...)
	return out
}

// concerned reports whether a rule limits R of a subject that the panel shows. A picture of
// the whole map shows all rules.
func (p *panel) concerned(r Rule, list []series) bool {
	return p.title == "" || slices.ContainsFunc(p.series, func(k int) bool {
		return slices.ContainsFunc(list[k].subjects, func(s Subject) bool {
			return (r.Target == "" || r.Target == s.Target) && (r.Knowledge == "" || r.Knowledge == s.Knowledge)
		})
	})
}

// setting is a point of the i-th strategy: a mark for each series of a panel.
func (m *Map) setting(p *Point, of panel, i int, list []series) figure.RUSetting {
	set, worst := m.mark(p), -1
	for _, k := range of.series {
		s := list[k]
		risk, ok := s.of(m, p.Risk)
		if !ok {
			continue
		}
		label := s.label
		if len(s.subjects) > 1 {
			label += " (" + Subject{risk.Target, risk.Knowledge}.String() + ")"
		}
		set.Marks = append(set.Marks,
			figure.RUMark{Label: label, Style: of.style(i, k), R: float64(risk.R), RSE: float64(risk.RSE)})
		if n := len(set.Marks) - 1; worst < 0 || set.Marks[n].R > set.Marks[worst].R {
			worst = n
		}
	}
	if worst >= 0 {
		set.Marks[worst].Worst = true
	}
	return set
}

// key is the legend of a panel's curves.
func (m *Map) key(p panel, strategies []string, list []series, left int) []figure.RUKey {
	var key []figure.RUKey
	switch {
	case p.title == "":
		for _, i := range p.strategies {
			for _, k := range p.series {
				text := list[k].label
				if len(strategies) > 1 {
					text = figure.Isolated(strategies[i]) + ": " + text
				}
				key = append(key, figure.RUKey{Text: text, Style: p.style(i, k), Mark: true})
			}
		}
	case len(p.series) > 1:
		for _, k := range p.series {
			key = append(key, figure.RUKey{Text: list[k].label, Style: p.style(0, k), Mark: true})
		}
	default:
		for _, i := range p.strategies {
			style := p.style(i, p.series[0])
			style.Knowledge = ""
			key = append(key, figure.RUKey{Text: figure.Isolated(strategies[i]), Style: style})
		}
	}
	if left > 0 {
		key = append(key, figure.RUKey{Text: figure.Count(int64(left)) + " more protected targets: in the table"})
	}
	return key
}
