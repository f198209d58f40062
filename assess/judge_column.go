package assess

import (
	"fmt"
	"math"
	"slices"
)

func (r Rule) judgeEfficiency(c *ColumnMeasures) RuleVerdict {
	limit := *r.MinEfficiency
	v := RuleVerdict{
		Rule: fmt.Sprintf("%s: efficiency at least %s", r.Column, stated(limit)), Column: r.Column, Measure: "min_efficiency",
		Limit: Float(limit), Found: Float(math.NaN()),
	}
	if c == nil {
		v.Advice = "the column is not assessed; a rule without its measure does not hold"
		return v
	}
	v.Found = c.Utility.Lower()
	v.Passed = float64(v.Found) >= limit
	switch {
	case v.Passed:
	case math.IsNaN(float64(v.Found)):
		v.Advice = "the efficiency could not be measured; a rule without its measure does not hold"
	default:
		v.Advice = "mask less: " + c.costliest(limit)
	}
	return v
}

// costliest says which effect of a column's masks costs most of its efficiency, and, where the other
// one alone exceeds a limit too, also this one. 1/U − 1/U0 is the sum of two effects: the squared shift
// of the mean (clips, top codes, bias of one sign), and the variance of the mean that noise adds.
func (c *ColumnMeasures) costliest(limit float64) string {
	b, u0 := float64(c.Utility.Bias), float64(c.Utility.U0)
	lost, room := 1/(float64(c.Utility.EfficiencyGate)*u0)-1/u0, (1/limit-1)/u0
	shift, spread := b*b, lost-b*b
	noise := "noise adds to the variance"
	if sd := float64(c.Original.SD); limit < 1 && sd > 0 {
		noise += fmt.Sprintf(": alone it has efficiency 1/(1 + λ²/S²), so λ of at most %s",
			withUnit(sd*math.Sqrt(1/limit-1), c.Unit))
	}
	if !(shift > room || shift >= spread) || shift == 0 || !(lost > 0) || math.IsInf(lost, 1) {
		return noise
	}
	words := fmt.Sprintf("the mean is shifted by %s, %.0f %% of what is lost: the mask must be less one-sided",
		withUnit(b, c.Unit), 100*min(1, shift/lost))
	switch {
	case spread <= room && shift >= spread:
		return words
	case shift >= spread:
		return words + "; " + noise
	}
	return noise + "; " + words
}

func (r Rule) judgeRisk(c *ColumnMeasures) RuleVerdict {
	unit := ""
	if c != nil {
		unit = c.Unit
	}
	v, needed := r.riskVerdict(unit)
	if c == nil {
		v.Advice = "the column is not assessed; a rule without its measure does not hold"
		return v
	}
	w, measured := r.worstRisk(c)
	switch {
	case !measured && r.Knowledge == KnowledgeOrder && c.Masked && c.Order != nil:
		r.judgeShuffled(c, &v, needed)
		return v
	case !measured && !c.Masked:
		v.Advice = "no mask changes the column: it is released as it is, and whoever links a record knows its value"
		return v
	case !measured:
		v.Advice = fmt.Sprintf("%s is not measured; a rule without its measure does not hold", r.subject())
		return v
	}
	if upper := w.Upper(); upper != w.R && !math.IsNaN(float64(upper)) {
		v.Rule += " (at two standard errors)"
		w.R, w.RMSE = upper, Float(math.Sqrt(1/float64(upper)))
	}
	if r.Target == "" || r.Knowledge == "" || w.Knowledge != r.Knowledge {
		v.Rule += fmt.Sprintf(" (worst: %s by %s)", w.Target, w.Knowledge)
	}
	if r.MaxRisk != nil {
		v.Found, v.Passed = w.R, float64(w.R) <= *r.MaxRisk
	} else {
		v.Found, v.Passed = w.RMSE, float64(w.RMSE) >= needed
	}
	if !v.Passed {
		v.Advice = advise(w, needed, unit)
	}
	return v
}

// riskVerdict returns the verdict of a rule about risk before a risk is found, and the least RMSE
// with which the rule holds.
func (r Rule) riskVerdict(unit string) (v RuleVerdict, needed float64) {
	v = RuleVerdict{
		Rule: r.Column + ": ", Column: r.Column, Target: r.Target, Knowledge: r.Knowledge, Record: r.Record,
		Releases: r.Releases, Measure: "min_rmse",
		Found: Float(math.NaN()),
	}
	if r.MaxRisk != nil {
		v.Measure = "max_risk"
		v.Limit = Float(*r.MaxRisk)
		v.Rule += fmt.Sprintf("R of %s at most %s", r.subject(), stated(*r.MaxRisk))
		return v, 1 / math.Sqrt(*r.MaxRisk)
	}
	needed = math.NaN()
	if r.MinRMSE != nil {
		needed = *r.MinRMSE
	}
	v.Limit = Float(needed)
	v.Rule += fmt.Sprintf("RMSE of %s at least %s", r.subject(), statedIn(needed, unit))
	return v, needed
}

// RecordAlone is the value of Rule.Record with which a rule leaves out the risk under knowledge of the
// whole record.
const RecordAlone = "alone"

// covers reports whether a rule applies to the risk of a target under a knowledge state.
func (r Rule) covers(target, knowledge string) bool {
	return coversAll(r.Releases, r.Target, r.Knowledge, r.Record, target, knowledge)
}

// ReleasesAlone is the value of Rule.Releases with which a rule leaves out what earlier releases tell.
const ReleasesAlone = "alone"

// coversAll is Covers with a word on earlier releases: a rule of the whole record, and so one of index, applies to that
// of all releases too, unless it says that this one is alone.
func coversAll(ruleReleases, ruleTarget, ruleKnowledge, ruleRecord, target, knowledge string) bool {
	if knowledge == KnowledgeAllReleases && ruleKnowledge != knowledge {
		return ruleReleases != ReleasesAlone && Covers(ruleTarget, ruleKnowledge, ruleRecord, target, KnowledgeRecord)
	}
	return Covers(ruleTarget, ruleKnowledge, ruleRecord, target, knowledge)
}

// Covers reports whether a rule with a target, a knowledge state and a word on the record ("": all,
// all and none) applies to the risk of a target under a knowledge state. A rule of index applies to
// that of the whole record too, unless it says that the column is alone.
func Covers(ruleTarget, ruleKnowledge, ruleRecord, target, knowledge string) bool {
	switch {
	case ruleTarget != "" && ruleTarget != target:
		return false
	case knowledge == KnowledgeRecord && ruleKnowledge != KnowledgeRecord:
		return ruleRecord != RecordAlone && (ruleKnowledge == "" || ruleKnowledge == KnowledgeIndex)
	}
	return ruleKnowledge == "" || ruleKnowledge == knowledge
}

// Covers reports whether the rule applies to the risk of a target under a knowledge state.
func (v RuleVerdict) Covers(target, knowledge string) bool {
	return coversAll(v.Releases, v.Target, v.Knowledge, v.Record, target, knowledge)
}

// judgeGated is judgeRisk for a release that a gate lets out or keeps: where the other columns, or with a ledger
// earlier releases, were not looked at, a rule of index does not hold.
func (r Rule) judgeGated(c *ColumnMeasures, ledger bool) RuleVerdict {
	more := []string{KnowledgeRecord}
	if ledger {
		more = append(more, KnowledgeAllReleases)
	}
	for _, knowledge := range more {
		if c == nil {
			break
		}
		if target := r.lacks(c, knowledge); target != "" {
			v, needed := r.riskVerdict(c.Unit)
			v.Advice = advise(Risk{Target: target, Knowledge: knowledge, R: Float(math.NaN())}, needed, c.Unit)
			return v
		}
	}
	return r.judgeRisk(c)
}

// lacks returns a target whose risk by index is known, and whose risk under more knowledge the rule applies to as well
// and should have been measured and is not; "" if there is none.
func (r Rule) lacks(c *ColumnMeasures, knowledge string) string {
	for _, k := range c.Risk {
		if k.Knowledge == KnowledgeIndex && r.covers(k.Target, knowledge) &&
			(knowledge != KnowledgeRecord || r.covers(k.Target, KnowledgeIndex)) &&
			!slices.ContainsFunc(c.Risk, func(o Risk) bool { return o.Target == k.Target && o.Knowledge == knowledge }) {
			return k.Target
		}
	}
	return ""
}

// worstRisk returns the greatest risk that a rule applies to; one that could not be measured
// counts as greater than all others. It returns false if the rule applies to none.
func (r Rule) worstRisk(c *ColumnMeasures) (worst Risk, measured bool) {
	for _, k := range c.Risk {
		if !r.covers(k.Target, k.Knowledge) {
			continue
		}
		if math.IsNaN(float64(k.R)) {
			return k, true // nothing is worse than what could not be measured
		}
		if !measured || k.Upper() > worst.Upper() {
			worst, measured = k, true
		}
	}
	return worst, measured
}

// subject names the targets and knowledge states that a rule applies to.
func (r Rule) subject() string {
	target, knowledge := r.Target, r.Knowledge
	if target == "" {
		target = "every target"
	}
	if knowledge != "" {
		if r.Record != "" {
			knowledge += " alone"
		}
		target += " (" + knowledge + ")"
	}
	return target
}
