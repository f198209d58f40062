package rumap

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Judge finds what is admissible under the rules that can be judged at the points.
func (m *Map) Judge() {
	for i := range m.Points {
		p := &m.Points[i]
		if p.Impossible != "" {
			continue
		}
		p.Broken, p.Unjudged = m.broken(p)
		p.Admissible = len(p.Broken) == 0
	}
}

// ImpossibleError says why the masks of a point cannot be used on the records.
type ImpossibleError struct{ Why string }

func (e *ImpossibleError) Error() string { return e.Why }

// rehearsals is the greatest number of points that are masked and judged as a run would.
const rehearsals = 10

// Recommend chooses, after Judge, the admissible point of greatest utility
// (Duncan, Keller-McNulty and Stokes 2004, section III). again measures a point on
// heldBack further replicates; if the rules do not hold on those, the point is not
// admissible, and the next one is tried. The same holds if rehearse refuses the point: it
// masks and judges all records as a run with the point's parameters would, also by the rules
// that cannot be judged at the points. If rehearse is nil, a run cannot be tried, and nothing
// is recommended. If no point is left, Reason says what prevents it.
func (m *Map) Recommend(heldBack int, again func(point int) (Point, error),
	rehearse func(point int) (assess.Verdict, error)) error {
	m.Recommended, m.Reason, m.Unjudged = nil, "", nil
	defer m.collectUnjudged()
	if len(m.Rules) == 0 {
		m.Reason =
			"the gate has no rule, so that there is nothing to choose by: without one, the least masking has the greatest utility"
		return nil
	}
	rehearsed := 0
	for _, i := range m.byUtility() {
		p, err := again(i)
		if err != nil {
			return err
		}
		if p.Impossible != "" {
			m.Points[i].Admissible, m.Points[i].Impossible = false, p.Impossible
			continue
		}
		if b, _ := m.broken(&p); len(b) > 0 {
			for k := range b {
				b[k].HeldBack = true
			}
			m.Points[i].Admissible, m.Points[i].Broken = false, b
			continue
		}
		switch {
		case rehearse == nil:
			m.Reason = m.noTrialReason(i)
			return nil
		case rehearsed == rehearsals:
			m.Reason = m.refused(rehearsed)
			return nil
		}
		rehearsed++
		verdict, err := rehearse(i)
		var impossible *ImpossibleError
		if errors.As(err, &impossible) {
			m.Points[i].Admissible, m.Points[i].Impossible = false, impossible.Why
			continue
		}
		if err != nil {
			return err
		}
		m.Points[i].Unjudged = nil
		if !verdict.Passed {
			m.Points[i].Admissible, m.Points[i].Broken = false, m.brokenInRun(verdict)
			continue
		}
		m.Recommended = &Recommended{Point: i, Binding: m.binding(i), HeldBack: heldBack, AsRun: true}
		return nil
	}
	m.Reason = m.prevents()
	return nil
}

// noTrialReason is why nothing is recommended if a run cannot be tried; it names the point that
// would have been tried first.
func (m *Map) noTrialReason(first int) string {
	reason :=
		"the source can be read only once, so that no point could be tried as a run would: map a file of the same data"
	setting := m.Setting(&m.Points[first])
	if setting == "" {
		return reason
	}
	if len(m.Strategies()) > 1 {
		setting = strconv.Quote(m.Points[first].Strategy) + " with " + setting
	}
	return reason + "; the map would try " + setting +
		" first, where its rules hold on as many further replicates, and a run may yet refuse it"
}

// byUtility are the admissible points, in descending order of utility.
func (m *Map) byUtility() []int {
	order := make([]int, 0, len(m.Points))
	for i, p := range m.Points {
		if p.Admissible && p.U == p.U {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.Points[b].gained(), m.Points[a].gained()) })
	return order
}

// gained is U as a recommendation counts it, at most that of the unmasked data: means of groups
// vary less than their records, which is of no use to data users.
func (p *Point) gained() assess.Float { return p.U / max(1, p.own()) }

// brokenInRun notes the rules that do not hold in a run, among them what a run demands
// without a rule of the gate.
func (m *Map) brokenInRun(v assess.Verdict) (list []Broken) {
	for k, one := range v.Rules {
		if one.Passed {
			continue
		}
		rule := k
		if k >= m.gateRules {
			rule = slices.IndexFunc(m.Rules, func(r Rule) bool { return r.Words == one.Rule })
		}
		if rule < 0 {
			limit := one.Limit
			rule = len(m.Rules)
			m.Rules = append(m.Rules,
				Rule{Measure: one.Measure, Combinations: one.Combinations, Limit: &limit, Words: one.Rule, inRun: true})
		}
		list = append(list, Broken{Rule: rule, Target: one.Target, Knowledge: one.Knowledge, Found: one.Found, AsRun: true})
	}
	return list
}

// refused says that the points of greatest utility are refused by a run.
func (m *Map) refused(rehearsed int) string {
	var words []string
	for i := range m.Points {
		for _, b := range m.Points[i].Broken {
			if s := m.Rules[b.Rule].String(); b.AsRun && !slices.Contains(words, s) {
				words = append(words, s)
			}
		}
	}
	return fmt.Sprintf(
		"the %d points of greatest utility at which the rules of the map hold were tried as a run would, and its gate refuses them: %s; further ones were not tried",
		rehearsed, strings.Join(words, "; "))
}

// collectUnjudged finds the rules that could be judged at no point.
func (m *Map) collectUnjudged() {
	possible := func(p Point) bool { return p.Impossible == "" }
	first := slices.IndexFunc(m.Points, possible)
	if first < 0 {
		return
	}
	for _, words := range m.Points[first].Unjudged {
		everywhere := !slices.ContainsFunc(m.Points, func(p Point) bool {
			return possible(p) && !slices.Contains(p.Unjudged, words)
		})
		if everywhere && !slices.Contains(m.Unjudged, words) {
			m.Unjudged = append(m.Unjudged, words)
		}
	}
}

// binding is what keeps the next better point from being admissible: of the same
// strategy, or where that has none, of any.
func (m *Map) binding(chosen int) []Binding {
	best := -1
	c := &m.Points[chosen]
	better := func(i int) bool {
		p := &m.Points[i]
		return !p.Admissible && p.gained() > c.gained() && (best < 0 || p.gained() < m.Points[best].gained())
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

// prevents says why no point is admissible: a rule that holds at no point, and how near
// the nearest one comes, or rules that hold at no point together.
func (m *Map) prevents() string {
	satisfied := make([]int, len(m.Rules))
	nearest := make([]*Broken, len(m.Rules))
	where := make([]int, len(m.Rules))
	possible, why := 0, ""
	for i := range m.Points {
		if m.Points[i].Impossible != "" {
			why = m.Points[i].Impossible
			continue
		}
		possible++
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
				satisfied[r]++
			}
		}
	}
	if possible == 0 {
		return "nowhere on the map can the masks be used: " + why
	}
	var never, some []string
	for r, rule := range m.Rules {
		n := nearest[r]
		switch {
		case satisfied[r] == 0 && n != nil && n.Found == n.Found:
			what := ""
			if n.Target != "" && (rule.Target == "" || rule.Knowledge == "") {
				what = " (" + n.Target + " by " + n.Knowledge + ")"
			}
			never = append(never, fmt.Sprintf("%s: it comes no nearer than %s%s, at %s", rule, rule.besideLimit(n.Found), what,
				m.Points[where[r]].Where()))
		case satisfied[r] == 0:
			never = append(never, fmt.Sprintf("%s: it could not be measured", rule))
		case satisfied[r] < possible:
			some = append(some, fmt.Sprintf("%s at %d", rule, satisfied[r]))
		}
	}
	if len(never) > 0 {
		return "nowhere on the map holds: " + strings.Join(never, "; ")
	}
	return fmt.Sprintf("every rule holds at some of the %d points, all of them at none: %s", possible,
		strings.Join(some, "; "))
}

// nearer reports whether a is nearer to the rule's limit than b, both beyond it.
func (r *Rule) nearer(a, b assess.Float) bool {
	if r.MaxRisk != nil || r.Measure != "" && !r.least() {
		return a < b || b != b
	}
	return a > b || b != b
}

// SetWorst finds for each point the group with the greatest R of the subjects that rules
// protect; if they protect none, of the typical record known by its index.
func (m *Map) SetWorst() {
	protects := m.Protects
	if !slices.ContainsFunc(m.Rules, func(r Rule) bool { return r.onRisk() }) {
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
