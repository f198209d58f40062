package config

import (
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/check"
)

// Privacy says for whom ε is stated.
type Privacy struct {
	Delta   float64 `yaml:"delta" doc:"δ, the probability with which ε need not hold: normal noise has an ε at a δ only. Far below 1/(number of records): 1e-9. By default none"`
	Records int     `yaml:"records" doc:"the greatest number of records of one person (with level: household, of one household at one time) in this release. With identity it must be given, and an ε is stated for 1 only: equal values of one person leave equal"`
	Members int     `yaml:"members" doc:"the greatest number of persons of a household: the figure of all records is then that of a household"`
}

// Check reports what is wrong with the parameters.
func (p *Privacy) Check() check.Problems {
	var ps check.Problems
	if !(p.Delta >= 0 && p.Delta <= 1e-3) {
		ps.Addf("delta", "must be at least 0 and at most 0.001, got %v", p.Delta)
	}
	for _, number := range []struct {
		field string
		n     int
	}{{"records", p.Records}, {"members", p.Members}} {
		if number.n < 0 || number.n > 1_000_000 {
			ps.Addf(number.field, "must be between 1 and 1000000, got %d", number.n)
		}
	}
	return ps
}

// PrivacyOf returns the parameters, the defaults if there are none.
func (a *Assess) PrivacyOf() Privacy {
	if a.Privacy == nil {
		return Privacy{}
	}
	return *a.Privacy
}

// WantsPrivacy reports whether the report has a section on differential privacy.
func (p *Pipeline) WantsPrivacy() bool {
	return p.Assess.Privacy != nil || slices.ContainsFunc(p.Gate.Rules, assess.Rule.LimitsPrivacy)
}

// SharedByHousehold reports whether the members of a household share the value and the draws of a column.
func (p *Pipeline) SharedByHousehold(column string) bool {
	return p.Household != "" && p.ofHousehold(column)
}

func (l *loader) validatePrivacy(p *Pipeline) {
	of := p.Assess.Privacy
	if of == nil {
		return
	}
	l.Within("assess.privacy", of.Check())
	if of.Members > 0 && p.Household == "" && l.Sound("assess.privacy.members", "household") {
		l.Wrong("assess.privacy.members", "needs household, the column that says who is of one")
	}
}
