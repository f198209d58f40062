package project

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// limit is a limit of a rule.
type limit struct {
	name  string
	value float64
	words string
	found func(*uniqueness.Persons) float64
	least bool // what is found must not be less; else it must not be more
}

// limits returns the limits that a rule has, of which Load allows one.
func (r *Rule) limits() (list []limit) {
	add := func(name string, value *float64, words string, found func(*uniqueness.Persons) float64) {
		if value != nil {
			list = append(list, limit{name: name, value: *value, words: words, found: found})
		}
	}
	if r.MinK != nil {
		list = append(list,
			limit{"min_k", float64(*r.MinK), "k of a person by all tables at least", func(p *uniqueness.Persons) float64 {
				return p.MinFrequency
			}, true})
	}
	add("max_individual_risk", r.MaxIndividualRisk, "individual risk of a person by all tables at most",
		func(p *uniqueness.Persons) float64 { return p.MaxIndividualRisk })
	add("max_linked", r.MaxLinked, "share of the persons found by all tables at most",
		func(p *uniqueness.Persons) float64 { return p.Found })
	add("max_unique", r.MaxUnique, "share of the persons unique by all tables at most",
		func(p *uniqueness.Persons) float64 { return p.UniqueShare })
	return list
}

// judge judges the persons; nil if they were not counted, for the reason why, and no rule holds. by says by what they
// are counted beside this release.
func (g *Gate) judge(p *uniqueness.Persons, why, by string) []assess.RuleVerdict {
	var verdicts []assess.RuleVerdict
	for _, r := range g.Rules {
		for _, l := range r.limits() {
			v := assess.RuleVerdict{Rule: fmt.Sprintf("%s %v%s", l.words, l.value, by), Measure: l.name, Persons: true,
				Limit: assess.Float(l.value)}
			if p == nil {
				v.Advice = "not counted: " + why
			} else {
				found := l.found(p)
				v.Found, v.Passed = assess.Float(found), l.least && found >= l.value || !l.least && found <= l.value
			}
			if p != nil && !v.Passed {
				v.Advice =
					"the tables tell together what none of them tells alone: coarser keys (dates by month, broader codes) in the tables with most records, fewer keys, or a sample of the persons"
			}
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
}
