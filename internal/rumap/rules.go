package rumap

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// MeasureInversion is the name of a demand that a run makes without a rule: that the intruder
// cannot compute values back from the list of masks.
const MeasureInversion = "inversion"

// MeasureUsual is the name of a demand that a run makes of columns without a rule max_exact: that
// no more values are stated than the default limit permits. It is the greatest excess over the limit.
const MeasureUsual = "max_exact"

// MeasureAttribute is the name of the attribute disclosure of records from which synthetic columns were learnt.
const MeasureAttribute = "max_attribute_disclosure"

// SetRules sets the rules to those of the gate. With inversion a further rule demands that
// nothing can be computed back from the list of masks.
func (m *Map) SetRules(rules []assess.Rule, inversion bool) {
	m.Rules = []Rule{}
	float := func(v *float64) *assess.Float {
		if v == nil {
			return nil
		}
		f := assess.Float(*v)
		return &f
	}
	for _, r := range rules {
		one := Rule{
			Column: r.Column, Target: r.Target, Knowledge: r.Knowledge, Record: r.Record,
			MaxRisk: float(r.MaxRisk), MinRMSE: float(r.MinRMSE), MinEfficiency: float(r.MinEfficiency),
		}
		one.ofEpsilon = r.MaxEpsilon != nil && r.Column == m.Column
		one.ofAll = r.Releases != assess.ReleasesAlone &&
			(r.MaxRisk != nil || r.MinRMSE != nil || r.OfOneRelease() || r.OfUnion() || r.OfColumns() ||
				r.LimitsPrivacy())
		if one.Column == m.Column {
			one.Column = ""
		}
		if r.Identity() || r.MaxUnchanged != nil || r.MaxExact != nil || r.LimitsPrivacy() {
			one.name(assess.Judge([]assess.Rule{r}, &assess.Measures{}).Rules[0])
		}
		m.Rules = append(m.Rules, one)
	}
	m.gateRules = len(m.Rules)
	if inversion {
		nothing := int64(0)
		found := assess.Judge(nil, &assess.Measures{Identity: &assess.Identity{Inverted: &nothing}}).Rules[0]
		var one Rule
		one.name(found)
		m.Rules = append(m.Rules, one)
		none := assess.Float(0)
		m.Rules = append(m.Rules,
			Rule{Measure: MeasureUsual, Limit: &none,
				Words: "no more values stated exactly than noise of one step of the usual values leaves"})
	}
}

// WantRecord says that points have the risk under knowledge of the whole record: where it is missing, a
// rule that is judged by it cannot be judged.
func (m *Map) WantRecord() { m.record = true }

// WantEarlier says that a run is judged with the earlier releases of a ledger, and points are not: rules about what all
// of them tell are judged where a run is tried.
func (m *Map) WantEarlier() { m.earlier = true }

// name takes measure, limit and words from what a gate says of a rule.
func (r *Rule) name(v assess.RuleVerdict) {
	limit := v.Limit
	r.Measure, r.Combinations, r.Limit, r.Words = v.Measure, v.Combinations, &limit, v.Rule
}

// onRisk reports whether a rule limits R of the map's column, as R or as an error.
func (r *Rule) onRisk() bool { return r.Measure == "" && r.Column == "" && r.MinEfficiency == nil }

// onEfficiency reports whether a rule limits the efficiency of the map's column.
func (r *Rule) onEfficiency() bool {
	return r.Measure == "" && r.Column == "" && r.MinEfficiency != nil
}

// least reports whether the limit of a rule with a measure is the least that is
// tolerable.
func (r *Rule) least() bool {
	m := assess.RespondentMeasureNamed(r.Measure)
	return m != nil && m.Least
}

// names reports whether a rule on R is about a target under a knowledge state.
func (r *Rule) names(target, knowledge string) bool {
	return assess.Covers(r.Target, r.Knowledge, r.Record, target, knowledge)
}

// protects reports whether a rule is about a target of the map's column under a
// knowledge state.
func (r *Rule) protects(target, knowledge string) bool {
	return r.onRisk() && r.names(target, knowledge)
}

// Protects reports whether some rule is about a target under a knowledge state.
func (m *Map) Protects(target, knowledge string) bool {
	return slices.ContainsFunc(m.Rules, func(r Rule) bool { return r.protects(target, knowledge) })
}

// String says the rule in words: "R of max (index) at most 4e-05".
func (r Rule) String() string {
	if r.Words != "" {
		return r.Words
	}
	column := ""
	if r.Column != "" {
		column = r.Column + ": "
	}
	if r.MinEfficiency != nil {
		return column + "efficiency at least " + significant(*r.MinEfficiency)
	}
	subject := cmp.Or(r.Target, "every target")
	if r.Knowledge != "" {
		if r.Record != "" {
			subject += " (" + r.Knowledge + " alone)"
		} else {
			subject += " (" + r.Knowledge + ")"
		}
	}
	if r.MaxRisk != nil {
		return column + "R of " + subject + " at most " + significant(*r.MaxRisk)
	}
	return column + "RMSE of " + subject + " at least " + significant(*r.MinRMSE)
}

// significant writes a limit as it stands in the configuration: a double keeps 15 digits
// of a decimal.
func significant(v assess.Float) string { return strconv.FormatFloat(float64(v), 'g', 15, 64) }

// besideLimit writes a figure that breaks a rule with as many digits as are needed to
// tell it from the limit.
func (r Rule) besideLimit(found assess.Float) string {
	limit := r.Limit
	for _, l := range []*assess.Float{r.MaxRisk, r.MinRMSE, r.MinEfficiency} {
		limit = cmp.Or(limit, l)
	}
	text := strconv.FormatFloat(float64(found), 'g', 4, 64)
	if limit == nil {
		return text
	}
	for n := 5; n <= 17; n++ {
		shown, err := strconv.ParseFloat(text, 64)
		if err != nil || cmp.Compare(shown, float64(*limit)) == cmp.Compare(float64(found), float64(*limit)) {
			break
		}
		text = strconv.FormatFloat(float64(found), 'g', n, 64)
	}
	return text
}

// broken judges one point: the rules that do not hold, and in words those that cannot be
// judged there. A rule whose figure should have been measured and is missing does not hold.
func (m *Map) broken(p *Point) (list []Broken, unjudged []string) {
	for i := range m.Rules {
		r := &m.Rules[i]
		if r.inRun {
			continue
		}
		at, one, judged := p, (*Broken)(nil), false
		if r.Measure == "" && r.Column != "" {
			at = p.Beside[r.Column]
		}
		switch {
		case r.Measure != "":
			one, judged = m.brokenMeasure(p, r)
		case at == nil:
		case r.MinEfficiency != nil:
			judged = true
			if found := at.precision(); !(found >= *r.MinEfficiency) {
				one = &Broken{Found: found}
			}
		default:
			one, judged = at.brokenRisk(r, m.Margin, m.record)
		}
		if !judged {
			unjudged = append(unjudged, r.String())
		} else if m.earlier && r.ofAll {
			unjudged = append(unjudged, r.String()+", with the earlier releases of the ledger")
		}
		if one != nil {
			one.Rule = i
			list = append(list, *one)
		}
	}
	return list, unjudged
}

// brokenMeasure judges a rule about the respondents or about values that stay; nil where
// it holds.
func (m *Map) brokenMeasure(p *Point, r *Rule) (broken *Broken, judged bool) {
	found, ok := p.Respondents[assess.MeasureKey(r.Measure, r.Combinations)]
	if r.Measure == "max_unchanged" {
		found, ok = p.Unchanged[cmp.Or(r.Column, m.Column)]
	}
	for _, of := range []map[string]assess.Float{p.Exact, p.Privacy} {
		if v, there := of[r.Words]; there {
			found, ok = v, true
		}
	}
	held := found <= *r.Limit
	if r.least() {
		held = found >= *r.Limit
	}
	if !ok || held {
		return nil, ok
	}
	return &Broken{Found: found}, true
}

// brokenRisk judges a rule on R of a column; nil where it holds. A risk must hold with
// margin standard errors added; one that is not a number does not hold, and neither does
// a rule about what was not measured. What the order of the records discloses is known for
// a release only. With record, a rule of index is not judged where the whole record was not looked at.
func (p *Point) brokenRisk(r *Rule, margin float64, record bool) (broken *Broken, judged bool) {
	measured, worst, height := false, &Broken{Found: assess.Float(math.NaN())}, math.Inf(-1)
	if record && r.names(cmp.Or(r.Target, assess.TargetTypical), assess.KnowledgeRecord) &&
		r.Knowledge != assess.KnowledgeRecord &&
		!slices.ContainsFunc(p.Risk, func(k Risk) bool {
			return r.names(k.Target, k.Knowledge) && k.Knowledge == assess.KnowledgeRecord
		}) {
		return nil, false // the run judges it
	}
	for _, k := range p.Risk {
		if !r.names(k.Target, k.Knowledge) {
			continue
		}
		measured = true
		risk := k.judged()
		if se := float64(k.RSE); margin > 0 && se > 0 {
			risk = max(risk, float64(k.R)+margin*se)
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
	switch {
	case !measured && r.Knowledge == assess.KnowledgeOrder:
		return nil, false
	case !measured || !math.IsInf(height, -1):
		return worst, true
	}
	return nil, true
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
