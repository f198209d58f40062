package assess

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// Rule is what must hold of a release before it may leave. Exactly one limit is
// given. MaxRisk, MinRMSE, MinEfficiency and MaxUnchanged are about a column, the others about
// the respondents: see Identity. A rule without target or knowledge holds for all
// of them: {column: wage, min_rmse: 5000} says that no target of wage may be known
// to better than 5,000.
type Rule struct {
	Column        string   `yaml:"column" doc:"the column that the rule is about"`
	Target        string   `yaml:"target" doc:"typical, min, p01, …, max; all where left out"`
	Knowledge     string   `yaml:"knowledge" doc:"mean, index, position or order; all where left out" enum:"mean,index,position,order"`
	MaxRisk       *float64 `yaml:"max_risk" doc:"greatest tolerable disclosure risk R, in 1/(unit of the column)²"`
	MinRMSE       *float64 `yaml:"min_rmse" doc:"least root mean squared error of a snooper, √(1/R), in the column's unit"`
	MinEfficiency *float64 `yaml:"min_efficiency" share:"whole" doc:"least U/U₀, where a variance below that of the original does not count as utility"`
	MaxUnchanged  *float64 `yaml:"max_unchanged" share:"whole" doc:"greatest share of released values that are equal to the original, 0 to 1; it takes the place of what the masks' own law explains"`

	MaxLinked         *float64 `yaml:"max_linked" share:"whole" doc:"greatest share of respondents whose nearest released record is their own, 0 to 1; needs assess.intruder.linkage"`
	MaxCorrectLinks   *float64 `yaml:"max_correct_links" doc:"greatest number of respondents that the Bayesian intruder links rightly; needs assess.intruder.bayes"`
	MinK              *int     `yaml:"min_k" doc:"least number of records that share a combination of categorical keys; needs assess.intruder.uniqueness"`
	MaxIndividualRisk *float64 `yaml:"max_individual_risk" share:"whole" doc:"greatest probability of a record's re-identification by categorical keys, 0 to 1; needs assess.intruder.uniqueness"`
}

// Limits are the names of all limits that a rule can set, those about a column first.
var Limits = append([]string{"max_risk", "min_rmse", "min_efficiency", "max_unchanged"}, respondentLimits()...)

func respondentLimits() (names []string) {
	for _, m := range RespondentMeasures {
		names = append(names, m.Name)
	}
	return names
}

// Check reports what is wrong with the rule itself.
func (r Rule) Check() check.Problems {
	var ps check.Problems
	given := r.checkIdentity(&ps)
	identity := given > 0
	given += r.checkUnchanged(&ps)
	if !identity && r.Column == "" {
		ps.Addf("column", "must name a column")
	}
	if r.MaxRisk != nil {
		given++
		ps.Above("max_risk", *r.MaxRisk, 0)
	}
	if r.MinRMSE != nil {
		given++
		ps.Above("min_rmse", *r.MinRMSE, 0)
	}
	if r.MinEfficiency != nil {
		given++
		ps.Above("min_efficiency", *r.MinEfficiency, 0)
		if r.Target != "" {
			ps.Addf("target", "must be left out with min_efficiency, which has no target")
		}
		if r.Knowledge != "" {
			ps.Addf("knowledge", "must be left out with min_efficiency, which has no knowledge state")
		}
	}
	if given != 1 {
		ps.Addf("", "must have exactly one of %s and %s, got %d", strings.Join(Limits[:len(Limits)-1], ", "), Limits[len(Limits)-1], given)
	}
	if r.Target != "" && r.Target != TargetTypical {
		if err := CheckTarget(r.Target); err != nil {
			ps.Addf("target", "must be typical, min, max or a percentile as p01, p50, p99.9, got %q", r.Target)
		}
	}
	if r.Knowledge != "" {
		ps.OneOf("knowledge", r.Knowledge, Knowledges...)
	}
	if r.Target == TargetTypical && r.Knowledge == KnowledgePosition {
		ps.Addf("knowledge", "must be mean or index with target typical, which has no position")
	}
	if r.Knowledge == KnowledgeOrder && r.Target != "" && r.Target != TargetTypical {
		ps.Addf("target", "must be typical or left out with knowledge order, got %q", r.Target)
	}
	return ps
}

// Judge holds a release's measures against the rules. A rule whose measure is
// missing or not a number does not hold; one that is known from a sample must hold at
// the unsafe end of its interval (Risk.Upper, Utility.Lower). Where there are rules, a
// column of which more values leave as they are than its masks explain breaks one that
// nobody wrote.
func Judge(rules []Rule, m *Measures) Verdict {
	v := Verdict{Passed: true, Rules: []RuleVerdict{}}
	for _, r := range rules {
		var one RuleVerdict
		switch {
		case r.Identity():
			one = r.judgeIdentity(m.Identity)
		case r.MaxUnchanged != nil:
			one = r.judgeUnchanged(m.Column(r.Column))
		case r.MinEfficiency != nil:
			one = r.judgeEfficiency(m.Column(r.Column))
		default:
			one = r.judgeRisk(m.Column(r.Column))
		}
		v.Passed = v.Passed && one.Passed
		v.Rules = append(v.Rules, one)
	}
	if m.Identity != nil && m.Identity.Inverted != nil {
		one := judgeInversion(m.Identity)
		v.Passed = v.Passed && one.Passed
		v.Rules = append(v.Rules, one)
	}
	if len(rules) > 0 || m.Gated {
		for _, one := range judgeLaws(rules, m) {
			v.Passed = false
			v.Rules = append(v.Rules, one)
		}
	}
	return v
}

func (r Rule) judgeEfficiency(c *ColumnMeasures) RuleVerdict {
	limit := *r.MinEfficiency
	v := RuleVerdict{
		Rule: fmt.Sprintf("%s: efficiency at least %s", r.Column, number(limit)), Column: r.Column, Measure: "min_efficiency",
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
			// Where the bias alone takes more than the limit leaves, less noise is no help.
			if b, room := float64(c.Utility.Bias), 1/(limit*float64(c.Utility.U0)); b*b > room-1/float64(c.Utility.U0) && room > 0 {
				v.Advice += fmt.Sprintf("; the mean is shifted by %s: the mask must be less one-sided", withUnit(b, c.Unit))
			}
		}
	}
	return v
}

func (r Rule) judgeRisk(c *ColumnMeasures) RuleVerdict {
	v := RuleVerdict{
		Rule: r.Column + ": ", Column: r.Column, Target: r.Target, Knowledge: r.Knowledge, Measure: "min_rmse",
		Found: Float(math.NaN()),
	}
	unit := ""
	if c != nil {
		unit = c.Unit
	}
	var needed float64 // RMSE
	if r.MaxRisk != nil {
		v.Measure = "max_risk"
		v.Limit = Float(*r.MaxRisk)
		v.Rule += fmt.Sprintf("R of %s at most %s", r.subject(), number(*r.MaxRisk))
		needed = 1 / math.Sqrt(*r.MaxRisk)
	} else {
		needed = math.NaN()
		if r.MinRMSE != nil {
			needed = *r.MinRMSE
		}
		v.Limit = Float(needed)
		v.Rule += fmt.Sprintf("RMSE of %s at least %s", r.subject(), withUnit(needed, unit))
	}
	if c == nil {
		v.Advice = "the column is not assessed; a rule without its measure does not hold"
		return v
	}
	worst := -1
	for i, k := range c.Risk {
		if r.Target != "" && k.Target != r.Target || r.Knowledge != "" && k.Knowledge != r.Knowledge {
			continue
		}
		if math.IsNaN(float64(k.R)) {
			worst = i // nothing is worse than what could not be measured
			break
		}
		if worst < 0 || k.Upper() > c.Risk[worst].Upper() {
			worst = i
		}
	}
	if worst < 0 && r.Knowledge == KnowledgeOrder && c.Masked && c.Order != nil {
		r.judgeShuffled(c, &v, needed)
		return v
	}
	if worst < 0 {
		v.Advice = fmt.Sprintf("%s is not measured; a rule without its measure does not hold", r.subject())
		if !c.Masked {
			v.Advice = "no mask changes the column: it is released as it is, and whoever links a record knows its value"
		}
		return v
	}
	w := c.Risk[worst]
	if upper := w.Upper(); upper != w.R {
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

// subject says of which targets and knowledge a rule speaks.
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

// advise says what would bring the RMSE of a target to what is needed.
func advise(w Risk, needed float64, unit string) string {
	if math.IsNaN(float64(w.R)) {
		return fmt.Sprintf("the risk of %s by %s could not be measured; a rule without its measure does not hold", w.Target, w.Knowledge)
	}
	what := withUnit(needed, unit)
	state := fmt.Sprintf("%s is known by %s to within %s", w.Target, w.Knowledge, withUnit(float64(w.RMSE), unit))
	switch w.Knowledge {
	case KnowledgeIndex:
		return fmt.Sprintf("%s: with added noise R = 1/λ², so λ of at least %s where the target lies (a tier does it there alone)", state, what)
	case KnowledgeOrder:
		return fmt.Sprintf("%s: release the records in another order (sink.order: shuffled), or sort the source by what tells nothing of the column", state)
	case KnowledgePosition:
		return fmt.Sprintf("%s: more noise or a bias must move the released order statistic by %s; a bound near the target keeps it near whatever the noise", state, what)
	default:
		return fmt.Sprintf("%s: the released mean lies that near to it, and noise does not change that; it takes a bias of the mean, or another limit for this target", state)
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// withUnit writes a number as people do, with its unit.
func withUnit(v float64, unit string) string {
	s := number(v)
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		s = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.TrimSpace(s + " " + unit)
}
