package assess

import (
	"fmt"
	"math"
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
		v.Advice = "mask less"
		if sd := float64(c.Original.SD); limit < 1 && sd > 0 {
			v.Advice += fmt.Sprintf(": noise alone has efficiency 1/(1 + λ²/S²), so λ of at most %s", withUnit(sd*math.Sqrt(1/limit-1), c.Unit))
		}
		if n := float64(c.Original.N); n > 0 {
			// If the bias alone exceeds the error that the limit allows, less noise does not help.
			if b, room := float64(c.Utility.Bias), 1/(limit*float64(c.Utility.U0)); b*b > room-1/float64(c.Utility.U0) && room > 0 {
				v.Advice += fmt.Sprintf("; the mean is shifted by %s: the mask must be less one-sided", withUnit(b, c.Unit))
			}
		}
	}
	return v
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
	if r.Target == "" || r.Knowledge == "" {
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
		Rule: r.Column + ": ", Column: r.Column, Target: r.Target, Knowledge: r.Knowledge, Measure: "min_rmse",
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

// worstRisk returns the greatest risk that a rule applies to; one that could not be measured
// counts as greater than all others. It returns false if the rule applies to none.
func (r Rule) worstRisk(c *ColumnMeasures) (worst Risk, measured bool) {
	for _, k := range c.Risk {
		if r.Target != "" && k.Target != r.Target || r.Knowledge != "" && k.Knowledge != r.Knowledge {
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
		target += " (" + knowledge + ")"
	}
	return target
}
