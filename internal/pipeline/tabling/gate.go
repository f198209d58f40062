package tabling

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// judge judges the tables by the gate.
func judge(t *tabulation.Config, list []*protected, reports []TableReport) assess.Verdict {
	v := assess.Verdict{Passed: true}
	add := func(rule assess.RuleVerdict) {
		v.Passed = v.Passed && rule.Passed
		v.Rules = append(v.Rules, rule)
	}
	for i := range reports {
		p, _ := tableOf(list, i)
		judgeTable(t, p, &reports[i], add)
	}
	return v
}

// judgeTable judges one table by the gate.
func judgeTable(t *tabulation.Config, p *protected, r *TableReport, add func(assess.RuleVerdict)) {
	if p.unprotectable != nil {
		add(assess.RuleVerdict{
			Rule: r.Name + ": every unsafe cell can be protected", Measure: "max_unprotectable", Limit: 0,
			Found:  assess.Float(len(p.unprotectable)),
			Advice: "no pattern protects the cells that the report names: a coarser classification, or zeros: may, leaves more room",
		})
	} else {
		judgeAudit(p, r, asksRange(t, r.Name), add)
	}
	p.judgeEarlier(r.Name, add)
	if p.dependent() {
		add(assess.RuleVerdict{
			Rule: r.Name + ": its cells do not follow from tables that are protected apart from it", Measure: "max_dependent",
			Limit: 0, Found: assess.Float(len(p.related)),
			Advice: "the report names what holds in every record; tables of values of which one is the sum of others can be protected together, all by the same suppress of usual effort: otherwise leave one of them out",
		})
	}
	if p.status[p.grand()] == tables.Primary {
		add(assess.RuleVerdict{
			Rule: r.Name + ": the total of all is safe", Measure: "safe_total", Limit: 0, Found: 1,
			Advice: "a table whose own total is unsafe says too much of its contributors whatever is held back",
		})
	}
	for _, rule := range t.Gate.Rules {
		if rule.Table == "*" || rule.Table == r.Name {
			judgeMeasures(rule, r, add)
		}
		if rule.MinEfficiency == nil || rule.Table != "*" && rule.Table != r.Name {
			continue
		}
		ok := float64(r.Efficiency) >= *rule.MinEfficiency
		add(assess.RuleVerdict{
			Rule: fmt.Sprintf("%s: efficiency at least %v", r.Name, *rule.MinEfficiency), Measure: "min_efficiency",
			Limit: assess.Float(*rule.MinEfficiency),
			Found: r.Efficiency, Passed: ok, Advice: advice(!ok, "a coarser classification has fewer unsafe cells"),
		})
	}
}

// disclosedAdvice returns what can be done if an unsafe cell can be computed.
func disclosedAdvice(p *protected) string {
	if p.margin != nil {
		return "margins that are kept, and counts beside which there are none to exchange, stay as they are: a coarser classification, another variable to exchange, or another method leaves more counts that can be true"
	}
	if p.contributors != nil {
		return "somebody who knows all other contributions would know the largest one of these cells as closely as their rule forbids: a greater most (or least, for small cells), fewer totals above these cells, or a coarser classification leaves more values that can be true"
	}
	if p.adjustment != nil {
		return "too few values were changed to hide this one from somebody who takes the others for true: a coarser classification, or suppress, which holds back as many as this needs"
	}
	if p.published != nil {
		return "changes of a greater variance, and a greater max, leave more values that can be true"
	}
	return "more cells must be held back: let cells of value 0 be (zeros: may), or take cells out of the list of published ones"
}

// asksRange reports whether the gate requires ranges as wide as the rules of a table do.
// Tables whose counts are all changed need no such rule: nobody knows which counts are unsafe,
// and a range of a few units protects because every value in it is probable.
func asksRange(t *tabulation.Config, table string) bool {
	return slices.ContainsFunc(t.Gate.Rules, func(r tabulation.TableRule) bool {
		return r.MinRange != "" && (r.Table == "*" || r.Table == table)
	})
}

// judgeMeasures compares a table with a limit of risk or utility.
func judgeMeasures(rule tabulation.TableRule, r *TableReport, add func(assess.RuleVerdict)) {
	if limit := rule.MaxRisk; limit != nil {
		ok := float64(r.Risk) <= *limit
		add(assess.RuleVerdict{
			Rule: fmt.Sprintf("%s: risk at most %v", r.Name, *limit), Measure: "max_risk", Limit: assess.Float(*limit),
			Found: r.Risk, Passed: ok,
			Advice: advice(!ok, "a wider range, or changes of a greater variance, leave more values that can be true"),
		})
	}
	if limit := rule.MinUtility; limit != nil {
		ok := float64(r.Utility) >= *limit
		add(assess.RuleVerdict{
			Rule: fmt.Sprintf("%s: utility at least %v", r.Name, *limit), Measure: "min_utility", Limit: assess.Float(*limit),
			Found: r.Utility, Passed: ok,
			Advice: advice(!ok, "a coarser classification has fewer unsafe cells, and changes of a smaller variance err less"),
		})
	}
}

// judgeAudit compares the audit of one table with what must always hold.
func judgeAudit(p *protected, r *TableReport, ranges bool, add func(assess.RuleVerdict)) {
	exactly := 0
	for _, in := range p.insiders {
		if in.Disclosed && slices.Contains(r.Respondent, p.set.Name(int(in.Infers))) {
			exactly++
		}
	}
	add(assess.RuleVerdict{
		Rule: r.Name + ": at most 0 unsafe cells can be computed", Measure: "max_disclosed", Limit: 0,
		Found: assess.Float(len(r.Disclosed) + exactly), Passed: len(r.Disclosed)+exactly == 0,
		Advice: advice(len(r.Disclosed)+exactly > 0, disclosedAdvice(p)),
	})
	// the ranges of adjusted values are those of the rules
	if p.published != nil && !ranges && (p.adjustment == nil || p.beliefs != nil) {
		return
	}
	room := "a coarser classification, or fewer linked tables, leaves more room"
	if p.adjustment != nil {
		room = "greater changes (within), a coarser classification, or suppress leave more room"
	}
	narrow := len(r.Narrow) + len(r.Respondent)
	add(assess.RuleVerdict{
		Rule: r.Name + ": what can be inferred of every unsafe cell reaches as far as its rule asks", Measure: "min_range",
		Limit: 0,
		Found: assess.Float(narrow), Passed: narrow == 0, Advice: advice(narrow > 0, room),
	})
}

func advice(broken bool, words string) string {
	if broken {
		return words
	}
	return ""
}

// grand returns the grand total.
func (p *protected) grand() int32 { return p.set.Cell(0, 0) }

// withheldBecause names the rules that failed.
func withheldBecause(v assess.Verdict) string {
	var broken []string
	for _, r := range v.Rules {
		if !r.Passed {
			broken = append(broken, r.Rule)
		}
	}
	return "does not hold: " + strings.Join(broken, "; ")
}
