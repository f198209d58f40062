package rumap

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
)

var nan = math.NaN()

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Subject is a target under a state of the snooper's knowledge.
type Subject struct{ Target, Knowledge string }

func (s Subject) String() string { return s.Target + ", " + s.Knowledge }

// of returns R of a subject; false if the point does not have it.
func (s Subject) of(risks []Risk) (Risk, bool) {
	for _, k := range risks {
		if k.Target == s.Target && k.Knowledge == s.Knowledge {
			return k, true
		}
	}
	return Risk{}, false
}

// limit is the greatest R that a rule admits; +Inf for a rule about efficiency.
func (r *Rule) limit() float64 {
	switch {
	case r.MaxRisk != nil:
		return float64(*r.MaxRisk)
	case r.MinRMSE != nil:
		return 1 / (float64(*r.MinRMSE) * float64(*r.MinRMSE))
	}
	return math.Inf(1)
}

// Limit is the greatest R of a subject that the rules allow; +Inf if none limits it.
func (m *Map) Limit(s Subject) float64 {
	limit := math.Inf(1)
	for i := range m.Rules {
		if r := &m.Rules[i]; r.protects(s.Target, s.Knowledge) {
			limit = math.Min(limit, r.limit())
		}
	}
	return limit
}

// MinEfficiency is the least efficiency that the rules allow; 0 if none limits it, or if points are of different
// samples, within each of which the rules are judged.
func (m *Map) MinEfficiency() float64 {
	least := 0.0
	if m.Samples > 0 {
		return 0
	}
	for i := range m.Rules {
		if r := &m.Rules[i]; r.onEfficiency() {
			least = math.Max(least, float64(*r.MinEfficiency))
		}
	}
	return least
}

// Subjects are all targets and knowledge states of the map, in its order.
func (m *Map) Subjects() []Subject {
	var all []Subject
	for i := range m.Points {
		for _, k := range m.Points[i].Risk {
			if s := (Subject{k.Target, k.Knowledge}); !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// Protected are the subjects whose R a rule limits; all subjects if there is no such rule.
func (m *Map) Protected() []Subject {
	var list []Subject
	all := m.Subjects()
	for _, s := range all {
		if m.Protects(s.Target, s.Knowledge) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return all
	}
	return list
}

// share is R of a protected subject divided by its limit, or R itself if it has
// none.
func (m *Map) share(k Risk) float64 {
	limit := m.Limit(Subject{k.Target, k.Knowledge})
	switch {
	case math.IsInf(limit, 1):
		return float64(k.R)
	case limit <= 0:
		return math.Inf(1)
	}
	return float64(k.R) / limit
}

// Worst is the risk, among subjects, that is the greatest share of its limit, or
// the greatest R where none has a limit; false where there is none.
func (m *Map) Worst(risks []Risk, subjects []Subject) (worst Risk, found bool) {
	for _, s := range subjects {
		k, ok := s.of(risks)
		if ok && !math.IsNaN(float64(k.R)) && (!found || m.share(k) > m.share(worst)) {
			worst, found = k, true
		}
	}
	return worst, found
}

// WorstGroup is the worst group of a point, as SetWorst finds it, with its worst
// protected risk; nil where there is none. It is an element of p.Groups where these
// are given.
func (m *Map) WorstGroup(p *Point) (*Group, Risk) {
	if p.Worst == nil {
		return nil, Risk{}
	}
	group := p.Worst
	for i := range p.Groups {
		if slices.Equal(p.Groups[i].Values, p.Worst.Values) {
			group = &p.Groups[i]
		}
	}
	risk, ok := m.Worst(group.Risk, m.Protected())
	if !ok {
		return nil, Risk{}
	}
	return group, risk
}

// Strategies are the names of the strategies, in the order of their points.
func (m *Map) Strategies() []string {
	var names []string
	for i := range m.Points {
		if !slices.Contains(names, m.Points[i].Strategy) {
			names = append(names, m.Points[i].Strategy)
		}
	}
	return names
}

// AxesOf are the axes that a strategy varies, in the map's order.
func (m *Map) AxesOf(strategy string) []Axis {
	var axes []Axis
	for _, a := range m.Axes {
		for i := range m.Points {
			if _, ok := m.Points[i].Parameters[a.Path]; ok && m.Points[i].Strategy == strategy {
				axes = append(axes, a)
				break
			}
		}
	}
	return axes
}

// Label names an axis for people: the end of its path, such as noise.sd of
// masks.1.noise.sd, or the whole path if a strategy varies another axis with the same
// end.
func (m *Map) Label(a Axis) string {
	short := ending(a.Path)
	for i := range m.Points {
		if _, ok := m.Points[i].Parameters[a.Path]; !ok {
			continue
		}
		for path := range m.Points[i].Parameters {
			if path != a.Path && ending(path) == short {
				return a.Path
			}
		}
	}
	return short
}

func ending(path string) string {
	words := strings.Split(path, ".")
	if n := len(words); n > 2 {
		if _, err := strconv.Atoi(words[n-2]); err != nil {
			return strings.Join(words[n-2:], ".")
		}
	}
	return words[len(words)-1]
}

// Value writes a value of an axis for people: 35 % for a relative one.
func (a Axis) Value(v float64) string {
	if a.Relative {
		return figure.Trimmed(100*v) + "\u00a0%"
	}
	return figure.Trimmed(v)
}

// Setting writes the parameters of a point: "noise.sd 35 % of SD, bias.phi 0.1";
// "" where nothing varies.
func (m *Map) Setting(p *Point) string {
	var parts []string
	known := map[string]bool{}
	for _, a := range m.Axes {
		known[a.Path] = true
		v, ok := p.Parameters[a.Path]
		if !ok {
			continue
		}
		s := m.Label(a) + " " + a.Value(v)
		if a.Relative {
			s += " of SD"
		}
		parts = append(parts, s)
	}
	var others []string
	for path, v := range p.Parameters {
		if !known[path] {
			others = append(others, ending(path)+" "+figure.Trimmed(v))
		}
	}
	sort.Strings(others)
	return strings.Join(append(parts, others...), ", ")
}

// chosen is the recommended point; nil where there is none.
func (m *Map) chosen() *Point {
	if m.Recommended == nil || m.Recommended.Point < 0 || m.Recommended.Point >= len(m.Points) {
		return nil
	}
	return &m.Points[m.Recommended.Point]
}
