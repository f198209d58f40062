package assess

import (
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/check"
)

// Privacy is what differential privacy says of the release of one record, by the configuration alone: no value of the
// data is used. Each record is masked by itself, so the figures are local (docs/methods.md, section 10): two records of
// one person in one place, with values in the same columns, are compared in what of them may be released.
type Privacy struct {
	Delta   *Float          `json:"delta,omitempty" doc:"δ of assess.privacy: the probability with which ε need not hold; absent if it is not given"`
	Rate    *Float          `json:"rate,omitempty" doc:"the probability with which a record is released (sample); δ, not ε, is multiplied by it"`
	Columns []ColumnPrivacy `json:"columns" doc:"each released column by itself, for those who learn nothing of it from other columns"`
	Masked  PrivacyLoss     `json:"masked" doc:"the columns with a figure together, for records that are the same in all other columns"`
	Record  PrivacyLoss     `json:"record" doc:"all released columns of a record"`
	Person  PrivacyLoss     `json:"person" doc:"all records of a person; of a household, if assess.privacy.members is given"`
	Records int             `json:"records" doc:"greatest number of records of a person, of assess.privacy"`
	Members int             `json:"members,omitempty" doc:"greatest number of members of a household, of assess.privacy"`
	// Unit is what Person is about.
	Unit       string   `json:"unit" enum:"person,household" doc:"what the figure of person is about: a person or a household"`
	NotCounted []string `json:"not_counted" doc:"what may tell of a record and is in no figure"`
}

// ColumnPrivacy is a released column.
type ColumnPrivacy struct {
	Column string `json:"column"`
	Unit   string `json:"unit,omitempty" doc:"unit of the column's values"`
	PrivacyLoss
	Metric    Float  `json:"metric_epsilon" doc:"ε for each unit of distance between two values; null if none is stated"`
	MetricNot string `json:"metric_not,omitempty" doc:"why no metric_epsilon is stated"`
	Distance  Float  `json:"distance" doc:"a distance of about the size of the noise, in the column's unit, for which metric_epsilon is put in words; null without metric_epsilon"`
	Household bool   `json:"household,omitempty" doc:"the members of a household share the value and its draw: the figure is that of the household's value"`
}

// PrivacyLoss is ε with δ, and ρ.
type PrivacyLoss struct {
	Epsilon Float  `json:"epsilon" doc:"ε; \"Infinity\" if a value leaves as it is; null if none is stated"`
	Delta   Float  `json:"delta" doc:"δ of this ε. Without assess.privacy.delta it is what the draws’ 52 bits leave; null if no ε is stated"`
	Rho     Float  `json:"rho" doc:"ρ of zero-concentrated differential privacy, but for the draws’ resolution; null if none is stated"`
	Not     string `json:"not,omitempty" doc:"why no ε is stated, or why it is infinite"`
}

// NoLoss is the PrivacyLoss of which nothing can be stated, with the reason.
func NoLoss(why string) PrivacyLoss {
	none := Float(math.NaN())
	return PrivacyLoss{Epsilon: none, Delta: none, Rho: none, Not: why}
}

// Of returns what is stated of a released column; nil if there is none of that name.
func (p *Privacy) Of(column string) *ColumnPrivacy {
	for i := range p.Columns {
		if p.Columns[i].Column == column {
			return &p.Columns[i]
		}
	}
	return nil
}

// LimitsPrivacy reports whether the rule limits ε.
func (r Rule) LimitsPrivacy() bool { return r.MaxEpsilon != nil || r.MaxMetricEpsilon != nil }

// checkPrivacy checks the limits on ε and returns how many there are.
func (r Rule) checkPrivacy(ps *check.Problems) (given int) {
	for _, limit := range []struct {
		name string
		v    *float64
	}{{"max_epsilon", r.MaxEpsilon}, {"max_metric_epsilon", r.MaxMetricEpsilon}} {
		if limit.v == nil {
			continue
		}
		given++
		ps.Above(limit.name, *limit.v, 0)
		for _, word := range []struct{ name, at string }{{"target", r.Target}, {"knowledge", r.Knowledge}} {
			if word.at != "" {
				ps.Addf(word.name, "must be left out with %s, which is about every value and every snooper", limit.name)
			}
		}
	}
	return given
}

// privacyFor returns what a rule on ε judges: all releases in the ledger, unless the rule says that this one is alone.
func (m *Measures) privacyFor(r Rule) *Privacy {
	if m.Together != nil && r.Releases != ReleasesAlone {
		return m.Together
	}
	return m.Privacy
}

// judgePrivacy compares ε with a limit. Where none is stated the rule does not hold, and its advice is the reason.
func (r Rule) judgePrivacy(p *Privacy) RuleVerdict {
	v := RuleVerdict{Column: r.Column, Measure: "max_epsilon", Releases: r.Releases, Found: Float(math.NaN())}
	subject, why := r.Column+": ", "nothing is known of the column's privacy"
	var loss *PrivacyLoss
	switch {
	case r.Column != "":
		if c := p.column(r.Column); c != nil {
			loss = &c.PrivacyLoss
			if r.MaxMetricEpsilon != nil {
				loss = &PrivacyLoss{Epsilon: c.Metric, Not: c.MetricNot}
			}
		}
	case p != nil:
		subject, loss = "all records of a "+p.Unit+": ", &p.Person
	default:
		subject = "all records of a person: "
	}
	if loss != nil {
		v.Found, why = loss.Epsilon, loss.Not
	}
	words, limit := "ε at most %s", r.MaxEpsilon
	if r.MaxMetricEpsilon != nil {
		v.Measure, limit, words = "max_metric_epsilon", r.MaxMetricEpsilon, "ε per unit of distance at most %s"
	}
	v.Limit = Float(*limit)
	v.Rule = subject + fmt.Sprintf(words, stated(*limit))
	switch v.Passed = float64(v.Found) <= *limit; {
	case v.Passed:
	case why != "":
		v.Advice = "no finite ε is stated: " + why + "; a rule without its measure does not hold"
	case r.Column == "":
		v.Advice = "more noise in the columns with the greatest ε, narrower bounds in front of it, or fewer columns"
	default:
		v.Advice = "more noise (a greater sd, a smaller keep), or narrower bounds in front of it (truncate)"
	}
	return v
}

// column is Of for a Privacy that may be nil.
func (p *Privacy) column(name string) *ColumnPrivacy {
	if p == nil {
		return nil
	}
	return p.Of(name)
}
