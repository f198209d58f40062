package rumap

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

// fewCurves is the number of curves that one picture shows at most; more are drawn as
// small multiples.
const fewCurves = 8

// mostCurves is the number of curves that a map shows at most. If there are more, only
// the subjects are drawn that have the greatest risk at some point.
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

// knowledge is the state of knowledge that the shape of the series' marks stands for;
// "" if the series has several.
func (s series) knowledge() string {
	for _, k := range s.subjects {
		if k.Knowledge != s.subjects[0].Knowledge {
			return ""
		}
	}
	return s.subjects[0].Knowledge
}

// seriesToDraw are the series of a map's picture, and how many subjects are left to the
// table: those named, or the protected ones, or, where no rule limits R, the
// typical target of a linked record and the worst of all.
func (m *Map) seriesToDraw(named []Subject) (list []series, left int) {
	all := m.Subjects()
	subjects := named
	if len(subjects) == 0 {
		for _, s := range all {
			if m.Protects(s.Target, s.Knowledge) {
				subjects = append(subjects, s)
			}
		}
	}
	if len(subjects) == 0 && len(m.Categories) > 0 {
		subjects = all
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
		// Many strategies, or several axes, each with another worst subject: one curve for
		// each of them, of the worst of all subjects.
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
		n += len(m.runs(name))
	}
	return n
}

// Verdict says whether a point is admissible, or which rules do not hold.
func (m *Map) Verdict(p *Point) string {
	if p.Impossible != "" {
		return "cannot be used here: " + p.Impossible
	}
	if p.Admissible {
		if len(p.Unjudged) > 0 {
			return "admissible as far as it can be judged on a map; a run judges also: " + strings.Join(p.Unjudged, "; ")
		}
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
		if b.AsRun {
			s += ", tried as a run"
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

// curves are the curves of a strategy: one if one parameter varies. If several do, the one
// with most values runs along a curve, and there is a curve for each choice of the others.
func (m *Map) curves(runs []run, strategy string, s series, style figure.RUStyle) []figure.RUCurve {
	return curvesOf(runs, strategy+": "+s.label, style, func(p *Point) (float64, float64, bool) {
		k, ok := s.of(m, p.Risk)
		return float64(p.Efficiency), float64(k.R), ok
	})
}

// run is the points of a strategy that one curve joins, in the order of the parameter
// that varies along it.
type run struct {
	others []float64 // values of the other parameters
	points []*Point
}

// runs divides the points of a strategy into curves.
func (m *Map) runs(strategy string) []run {
	axes := m.AxesOf(strategy)
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
	var list []run
	for i := range m.Points {
		p := &m.Points[i]
		if p.Strategy != strategy || p.Impossible != "" {
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
		k := slices.IndexFunc(list, func(r run) bool { return slices.Equal(r.others, others) })
		if k < 0 {
			k = len(list)
			list = append(list, run{others: others})
		}
		list[k].points = append(list[k].points, p)
	}
	for _, r := range list {
		sort.SliceStable(r.points, func(i, j int) bool {
			return r.points[i].Parameters[running] < r.points[j].Parameters[running]
		})
	}
	return list
}

// curvesOf joins the places of points.
func curvesOf(runs []run, label string, style figure.RUStyle,
	place func(*Point) (efficiency, r float64, ok bool)) []figure.RUCurve {
	var curves []figure.RUCurve
	for _, r := range runs {
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

// Alternatives are the map's strategies as curves for the map of a release, one
// for each strategy and protected subject while they are few, or else one for
// each strategy: its worst protected target.
func (m *Map) Alternatives() (curves []figure.RUCurve, key []figure.RUKey) {
	m = m.within() // the efficiency of the release is that within its own records
	strategies := m.Strategies()
	list, _ := m.seriesToDraw(nil)
	if len(strategies)*len(list) > 6 {
		list = []series{{"worst protected target", m.Protected()}}
	}
	for i, name := range strategies {
		for k, s := range list {
			style := figure.RUStyle{Colour: i%figure.Colours + 1, Dash: k % figure.Dashes}
			if len(strategies) == 1 {
				style.Colour = k%figure.Colours + 1
			}
			curves = append(curves, m.curves(m.runs(name), name, s, style)...)
			key = append(key, figure.RUKey{Text: name + ": " + s.label, Style: style})
		}
	}
	return curves, key
}
