package rumap

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// fewCurves is the number of curves up to which each has a legend entry of its
// own; more are told apart by one entry for each strategy, one for each subject.
const fewCurves = 8

// mostCurves is the number of curves that a map shows at most. Beyond it only
// those subjects are drawn that are the worst one somewhere.
const mostCurves = 24

// series is what one curve of a strategy shows: R of a subject, or the worst of
// several.
type series struct {
	label    string
	subjects []Subject
}

func (s series) of(m *Map, risks []Risk) (Risk, bool) {
	if len(s.subjects) == 1 {
		return s.subjects[0].of(risks)
	}
	return m.Worst(risks, s.subjects)
}

// knowledge is the state that the shape of the series' marks tells, where there
// is one.
func (s series) knowledge() string {
	for _, k := range s.subjects {
		if k.Knowledge != s.subjects[0].Knowledge {
			return ""
		}
	}
	return s.subjects[0].Knowledge
}

// drawn are the series of a map's picture, and how many subjects are left to the
// table: those named, or the protected ones, or, where no rule limits R, the
// typical target of a linked record and the worst of all.
func (m *Map) drawn(named []Subject) (list []series, left int) {
	all := m.Subjects()
	subjects := named
	if len(subjects) == 0 {
		for _, s := range all {
			if m.Protects(s.Target, s.Knowledge) {
				subjects = append(subjects, s)
			}
		}
	}
	if len(subjects) == 0 {
		if typical := (Subject{"typical", "index"}); slices.Contains(all, typical) {
			list = append(list, series{typical.String(), []Subject{typical}})
		}
		if len(all) > 0 {
			list = append(list, series{"worst of all targets", all})
		}
		return list, 0
	}
	if runs := m.runsEach(); len(named) == 0 && len(subjects)*runs > mostCurves {
		worst := map[Subject]bool{}
		for i := range m.Points {
			if k, ok := m.Worst(m.Points[i].Risk, subjects); ok {
				worst[Subject{k.Target, k.Knowledge}] = true
			}
		}
		kept := slices.DeleteFunc(slices.Clone(subjects), func(s Subject) bool { return !worst[s] })
		// Many strategies, or axes crossed, with a different worst subject each: the
		// worst of all, for each.
		if len(kept)*runs > mostCurves {
			return []series{{"worst protected target", subjects}}, len(subjects)
		}
		left = len(subjects) - len(kept)
		subjects = kept
	}
	for _, s := range subjects {
		list = append(list, series{s.String(), []Subject{s}})
	}
	return list, left
}

// runsEach is the number of curves of each subject.
func (m *Map) runsEach() int {
	n := 0
	for _, name := range m.Strategies() {
		n += len(m.runs(name, "", figure.RUStyle{}, func(*Point) (float64, float64, bool) { return 0, 0, false }))
	}
	return n
}

// Picture is the map as a figure: one curve for each strategy and subject, by
// default those that the rules protect, a mark for each point, the thresholds and
// the recommended point.
func (m *Map) Picture(subjects ...Subject) figure.RUMap {
	out := figure.RUMap{Column: m.Column, Unit: m.Unit, MinEfficiency: m.MinEfficiency()}
	for _, r := range m.Rules {
		if r.MinEfficiency == nil {
			out.Lines = append(out.Lines, figure.RULine{Target: r.Target, Knowledge: r.Knowledge, R: r.limit()})
		}
	}
	list, left := m.drawn(subjects)
	strategies := m.Strategies()
	style := func(strategy, k int) figure.RUStyle {
		s := figure.RUStyle{Colour: strategy%figure.Colours + 1, Dash: k % figure.Dashes, Knowledge: list[k].knowledge()}
		if len(strategies) == 1 {
			// Of one strategy the subjects have the colours, and dashes beside them.
			s.Colour = k%figure.Colours + 1
		}
		return s
	}
	m.groupCurves(&out, strategies)
	for i, name := range strategies {
		for k, s := range list {
			out.Curves = append(out.Curves, m.curves(name, s, style(i, k))...)
		}
	}
	chosen := m.chosen()
	for i := range m.Points {
		p := &m.Points[i]
		at := slices.Index(strategies, p.Strategy)
		set := figure.RUSetting{Name: p.Strategy, Efficiency: float64(p.Efficiency), EfficiencySE: float64(p.USE) / float64(m.U0),
			Admissible: p.Admissible, Recommended: p == chosen, Note: m.Verdict(p)}
		if s := m.Setting(p); s != "" {
			set.Name += ": " + s
		}
		worst := -1
		for k, s := range list {
			risk, ok := s.of(m, p.Risk)
			if !ok {
				continue
			}
			label := s.label
			if len(s.subjects) > 1 {
				label += " (" + Subject{risk.Target, risk.Knowledge}.String() + ")"
			}
			set.Marks = append(set.Marks, figure.RUMark{Label: label, Style: style(at, k), R: float64(risk.R), RSE: float64(risk.RSE)})
			if n := len(set.Marks) - 1; worst < 0 || set.Marks[n].R > set.Marks[worst].R {
				worst = n
			}
		}
		if worst >= 0 {
			set.Marks[worst].Worst = true
		}
		out.Settings = append(out.Settings, set)
	}
	out.Key = append(m.key(strategies, list, style, left), out.Key...)
	return out
}

// Verdict says whether a point is admissible, or which rules do not hold.
func (m *Map) Verdict(p *Point) string {
	if p.Admissible {
		return "admissible"
	}
	var list []string
	for _, b := range p.Broken {
		if b.Rule < 0 || b.Rule >= len(m.Rules) {
			continue
		}
		s := m.Rules[b.Rule].String()
		if r := &m.Rules[b.Rule]; r.Target == "" && b.Target != "" {
			s += " (" + Subject{b.Target, b.Knowledge}.String() + ")"
		}
		if b.HeldBack {
			s += ", on the replicates held back"
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return "not admissible"
	}
	return "does not hold: " + strings.Join(list, "; ")
}

func (m *Map) key(strategies []string, list []series, style func(int, int) figure.RUStyle, left int) []figure.RUKey {
	var key []figure.RUKey
	switch {
	case len(strategies) == 1 || len(strategies)*len(list) <= fewCurves:
		for i, name := range strategies {
			for k, s := range list {
				text := s.label
				if len(strategies) > 1 {
					text = name + ": " + text
				}
				key = append(key, figure.RUKey{Text: text, Style: style(i, k), Mark: true})
			}
		}
	default:
		for i, name := range strategies {
			key = append(key, figure.RUKey{Text: name, Style: figure.RUStyle{Colour: style(i, 0).Colour}})
		}
		for k, s := range list {
			// Slate stands for any strategy's colour.
			key = append(key, figure.RUKey{Text: s.label, Style: figure.RUStyle{Colour: 7, Dash: style(0, k).Dash, Knowledge: s.knowledge()}, Mark: true})
		}
	}
	if left > 0 {
		key = append(key, figure.RUKey{Text: figure.Count(int64(left)) + " more protected targets: in the table"})
	}
	return key
}

// curves are the curves of a strategy: one where one parameter varies; where more
// do, one for each choice of the others as that of most values runs.
func (m *Map) curves(strategy string, s series, style figure.RUStyle) []figure.RUCurve {
	at := func(p *Point) (float64, float64, bool) {
		k, ok := s.of(m, p.Risk)
		return float64(p.Efficiency), float64(k.R), ok
	}
	return m.runs(strategy, strategy+": "+s.label, style, at)
}

// runs joins the places of a strategy's points into curves.
func (m *Map) runs(strategy, label string, style figure.RUStyle, place func(*Point) (efficiency, r float64, ok bool)) []figure.RUCurve {
	axes := m.axesOf(strategy)
	values := func(a Axis) (n int) {
		seen := map[float64]bool{}
		for i := range m.Points {
			if v, ok := m.Points[i].Parameters[a.Path]; ok && m.Points[i].Strategy == strategy {
				seen[v] = true
			}
		}
		return len(seen)
	}
	running := ""
	most := 0
	for _, a := range axes {
		if n := values(a); n > most {
			running, most = a.Path, n
		}
	}
	type run struct {
		others []float64
		points []*Point
	}
	var list []*run
	for i := range m.Points {
		p := &m.Points[i]
		if p.Strategy != strategy {
			continue
		}
		var others []float64
		for _, a := range axes {
			if a.Path != running {
				v, ok := p.Parameters[a.Path]
				if !ok {
					v = math.Inf(-1) // so that it equals itself
				}
				others = append(others, v)
			}
		}
		k := slices.IndexFunc(list, func(r *run) bool { return slices.Equal(r.others, others) })
		if k < 0 {
			k = len(list)
			list = append(list, &run{others: others})
		}
		list[k].points = append(list[k].points, p)
	}
	var curves []figure.RUCurve
	for _, r := range list {
		sort.SliceStable(r.points, func(i, j int) bool { return r.points[i].Parameters[running] < r.points[j].Parameters[running] })
		c := figure.RUCurve{Label: label, Style: style}
		for _, p := range r.points {
			efficiency, risk, ok := place(p)
			if !ok {
				risk = nan
			}
			c.Efficiency = append(c.Efficiency, efficiency)
			c.R = append(c.R, risk)
		}
		curves = append(curves, c)
	}
	return curves
}

// groupCurves draws, for each strategy and group, the worst protected R as a thin
// line behind the curves of all records, that of the worst group as a strong one.
func (m *Map) groupCurves(out *figure.RUMap, strategies []string) {
	names, worst := m.groupNames()
	if len(names) == 0 {
		return
	}
	subjects := m.Protected()
	for i, strategy := range strategies {
		for _, name := range names {
			style := figure.RUStyle{Colour: 7, Weight: figure.Thin}
			if len(strategies) > 1 {
				style.Colour = i%figure.Colours + 1
			}
			if name == worst {
				style.Weight = figure.Strong
			}
			out.Curves = append(out.Curves, m.runs(strategy, strategy+": "+name+", worst protected target", style, func(p *Point) (float64, float64, bool) {
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
	out.Key = append(out.Key, figure.RUKey{Text: "each " + strings.Join(m.Groups, " × ") + ", its worst protected target", Style: style})
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

// Alternatives are the map's strategies as curves for the map of a release, one
// for each strategy and protected subject while they are few, or else one for
// each strategy: its worst protected target.
func (m *Map) Alternatives() (curves []figure.RUCurve, key []figure.RUKey) {
	strategies := m.Strategies()
	list, _ := m.drawn(nil)
	if len(strategies)*len(list) > 6 {
		list = []series{{"worst protected target", m.Protected()}}
	}
	for i, name := range strategies {
		for k, s := range list {
			style := figure.RUStyle{Colour: i%figure.Colours + 1, Dash: k % figure.Dashes}
			if len(strategies) == 1 {
				style.Colour = k%figure.Colours + 1
			}
			curves = append(curves, m.curves(name, s, style)...)
			key = append(key, figure.RUKey{Text: name + ": " + s.label, Style: style})
		}
	}
	return curves, key
}
