package rumap

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// SetRules takes over the gate's rules on the map's column.
func (m *Map) SetRules(rules []assess.Rule) {
	m.Rules = []Rule{}
	float := func(v *float64) *assess.Float {
		if v == nil {
			return nil
		}
		f := assess.Float(*v)
		return &f
	}
	for _, r := range rules {
		if r.Knowledge == assess.KnowledgeOrder || r.MaxUnchanged != nil {
			continue // what the order tells, and what stays, a run measures on its release
		}
		if r.Column == m.Column {
			m.Rules = append(m.Rules, Rule{
				Target: r.Target, Knowledge: r.Knowledge,
				MaxRisk: float(r.MaxRisk), MinRMSE: float(r.MinRMSE), MinEfficiency: float(r.MinEfficiency),
			})
		}
	}
}

// protects reports whether a rule is about a target under a knowledge state.
func (r *Rule) protects(target, knowledge string) bool {
	return r.MinEfficiency == nil && (r.Target == "" || r.Target == target) && (r.Knowledge == "" || r.Knowledge == knowledge)
}

// Protects reports whether some rule is about a target under a knowledge state.
func (m *Map) Protects(target, knowledge string) bool {
	return slices.ContainsFunc(m.Rules, func(r Rule) bool { return r.protects(target, knowledge) })
}

// String says the rule in words: "R of max (index) at most 4e-05".
func (r Rule) String() string {
	if r.MinEfficiency != nil {
		return "efficiency at least " + significant(*r.MinEfficiency)
	}
	subject := cmp.Or(r.Target, "every target")
	if r.Knowledge != "" {
		subject += " (" + r.Knowledge + ")"
	}
	if r.MaxRisk != nil {
		return "R of " + subject + " at most " + significant(*r.MaxRisk)
	}
	return "RMSE of " + subject + " at least " + significant(*r.MinRMSE)
}

func significant(v assess.Float) string { return strconv.FormatFloat(float64(v), 'g', 4, 64) }

// broken judges one point: the rules that do not hold. A risk must hold with margin
// standard errors added; one that is not a number does not hold, and neither does
// a rule about what was not measured.
func (m *Map) broken(p *Point) []Broken {
	var list []Broken
	for i, r := range m.Rules {
		if r.MinEfficiency != nil {
			if found := p.precision(); !(found >= *r.MinEfficiency) {
				list = append(list, Broken{Rule: i, Found: found})
			}
			continue
		}
		measured, worst, height := false, Broken{Rule: i, Found: assess.Float(math.NaN())}, math.Inf(-1)
		for _, k := range p.Risk {
			if !r.protects(k.Target, k.Knowledge) {
				continue
			}
			measured = true
			risk := k.judged()
			if se := float64(k.RSE); m.Margin > 0 && se > 0 {
				risk = max(risk, float64(k.R)+m.Margin*se)
			}
			held := false
			found := assess.Float(risk)
			if r.MaxRisk != nil {
				held = found <= *r.MaxRisk
			} else {
				found = k.RMSE
				if risk != float64(k.R) {
					found = assess.Float(1 / math.Sqrt(risk))
				}
				held = found >= *r.MinRMSE
			}
			if math.IsNaN(risk) {
				risk = math.Inf(1) // nothing is worse than what could not be measured
			}
			if !held && risk > height {
				height = risk
				worst.Target, worst.Knowledge, worst.Found = k.Target, k.Knowledge, found
			}
		}
		if !measured || !math.IsInf(height, -1) {
			list = append(list, worst)
		}
	}
	return list
}

// Judge finds what is admissible under the rules.
func (m *Map) Judge() {
	for i := range m.Points {
		p := &m.Points[i]
		p.Broken = m.broken(p)
		p.Admissible = len(p.Broken) == 0
	}
}

// Recommend chooses, after Judge, the admissible point of greatest utility
// (Duncan, Keller-McNulty and Stokes 2004, section III). again measures a point on
// heldBack further replicates; a point where the rules do not hold on those
// is not admissible, and the next is looked at. Where no point is left, Reason says
// what prevents it.
func (m *Map) Recommend(heldBack int, again func(point int) (Point, error)) error {
	m.Recommended, m.Reason = nil, ""
	if len(m.Rules) == 0 {
		m.Reason = "the gate has no rule on " + m.Column + ", so that there is nothing to choose by: without one, the least masking has the greatest utility"
		return nil
	}
	order := make([]int, 0, len(m.Points))
	for i, p := range m.Points {
		if p.Admissible && p.U == p.U {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.Points[b].U, m.Points[a].U) })
	for _, i := range order {
		p, err := again(i)
		if err != nil {
			return err
		}
		if b := m.broken(&p); len(b) > 0 {
			for k := range b {
				b[k].HeldBack = true
			}
			m.Points[i].Admissible, m.Points[i].Broken = false, b
			continue
		}
		m.Recommended = &Recommended{Point: i, Binding: m.binding(i), HeldBack: heldBack}
		return nil
	}
	m.Reason = m.prevents()
	return nil
}

// binding is what keeps the next better point from being admissible: of the same
// strategy, or where that has none, of any.
func (m *Map) binding(chosen int) []Binding {
	best := -1
	c := &m.Points[chosen]
	better := func(i int) bool {
		p := &m.Points[i]
		return !p.Admissible && p.U > c.U && (best < 0 || p.U < m.Points[best].U)
	}
	for _, same := range []bool{true, false} {
		for i := range m.Points {
			if same == (m.Points[i].Strategy == c.Strategy) && better(i) {
				best = i
			}
		}
		if best >= 0 {
			break
		}
	}
	list := []Binding{}
	if best < 0 {
		return list
	}
	for _, b := range m.Points[best].Broken {
		list = append(list, Binding{Target: b.Target, Knowledge: b.Knowledge, Rule: b.Rule})
	}
	return list
}

// prevents says why no point is admissible: a rule that holds nowhere, with how
// near it comes, or rules that do not hold together.
func (m *Map) prevents() string {
	holds := make([]int, len(m.Rules))
	nearest := make([]*Broken, len(m.Rules))
	where := make([]int, len(m.Rules))
	for i := range m.Points {
		broken := map[int]bool{}
		for k := range m.Points[i].Broken {
			b := &m.Points[i].Broken[k]
			broken[b.Rule] = true
			if n := nearest[b.Rule]; n == nil || m.Rules[b.Rule].nearer(b.Found, n.Found) {
				nearest[b.Rule], where[b.Rule] = b, i
			}
		}
		for r := range m.Rules {
			if !broken[r] {
				holds[r]++
			}
		}
	}
	var never, some []string
	for r, rule := range m.Rules {
		n := nearest[r]
		switch {
		case holds[r] == 0 && n != nil && n.Found == n.Found:
			what := ""
			if n.Target != "" && (rule.Target == "" || rule.Knowledge == "") {
				what = " (" + n.Target + " by " + n.Knowledge + ")"
			}
			never = append(never, fmt.Sprintf("%s: it comes no nearer than %s%s, at %s", rule, significant(n.Found), what, m.Points[where[r]].Where()))
		case holds[r] == 0:
			never = append(never, fmt.Sprintf("%s: it could not be measured", rule))
		case holds[r] < len(m.Points):
			some = append(some, fmt.Sprintf("%s at %d", rule, holds[r]))
		}
	}
	if len(never) > 0 {
		return "nowhere on the map holds: " + strings.Join(never, "; ")
	}
	return fmt.Sprintf("every rule holds at some of the %d points, all of them at none: %s", len(m.Points), strings.Join(some, "; "))
}

// nearer reports whether a is nearer to the rule's limit than b, both beyond it.
func (r *Rule) nearer(a, b assess.Float) bool {
	if r.MaxRisk != nil {
		return a < b || b != b
	}
	return a > b || b != b
}

// Where names a point by strategy and parameters: "configured, masks.0.noise.sd 0.35".
func (p *Point) Where() string {
	parts := []string{p.Strategy}
	paths := make([]string, 0, len(p.Parameters))
	for path := range p.Parameters {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		parts = append(parts, path+" "+strconv.FormatFloat(p.Parameters[path], 'g', 6, 64))
	}
	return strings.Join(parts, ", ")
}

// SetWorst finds of each point's groups the one with the greatest R among what the
// rules protect, or where they protect nothing, of the typical record known by its
// index.
func (m *Map) SetWorst() {
	protects := m.Protects
	if !slices.ContainsFunc(m.Rules, func(r Rule) bool { return r.MinEfficiency == nil }) {
		protects = func(target, knowledge string) bool {
			return target == assess.TargetTypical && knowledge == assess.KnowledgeIndex
		}
	}
	for i := range m.Points {
		p := &m.Points[i]
		p.Worst = nil
		height := math.Inf(-1)
		for g := range p.Groups {
			for _, k := range p.Groups[g].Risk {
				if r := float64(k.R); protects(k.Target, k.Knowledge) && r > height {
					height, p.Worst = r, &p.Groups[g]
				}
			}
		}
	}
}
