package assess

import (
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/check"
)

// ExactLimit limits the share of a column's values that the best snooper states within a distance.
type ExactLimit struct {
	Share  float64 `yaml:"share" required:"true" share:"whole" doc:"greatest share of the values, 0 to 1"`
	Within float64 `yaml:"within" required:"true" doc:"distance from the original, in the column's unit, at which a value counts as stated exactly: 0.5 for whole numbers"`
}

// ExactShare is the share of a column's values that the best snooper states within a distance, at its
// unsafe end. Limit is the default limit, nil if the distance is that of a rule.
type ExactShare struct {
	Column string
	Within float64
	Found  float64
	Limit  *float64
	Not    string // of all releases: why it is not known (Found is NaN)
}

// checkExact checks the limit on values that are stated exactly, and returns the number of such
// limits, 0 or 1.
func (r Rule) checkExact(ps *check.Problems) (given int) {
	if r.MaxExact == nil {
		return 0
	}
	ps.Between("max_exact.share", r.MaxExact.Share, 0, 1)
	ps.Above("max_exact.within", r.MaxExact.Within, 0)
	if r.Target != "" {
		ps.Addf("target", "must be left out with max_exact, which has no target")
	}
	if r.Knowledge != "" {
		ps.Addf("knowledge", "must be left out with max_exact, whose snooper knows which record is the target's")
	}
	return 1
}

const exactAdvice = "the noise must blur the values that are usual in this column (multiples of 1,000, heaps): a standard deviation of several of their steps; and no other released column may tell of it (told by, in the report)"

// judgeExact compares the share of values that are stated within a distance, by this release or all of them, with a
// rule.
func (r Rule) judgeExact(m *Measures, id *Identity) RuleVerdict {
	limit := r.MaxExact
	v := RuleVerdict{Column: r.Column, Measure: "max_exact", Limit: Float(limit.Share), Found: Float(math.NaN()),
		Rule: fmt.Sprintf("%s: share of values stated within %s at most %s", r.Column, stated(limit.Within),
			stated(limit.Share))}
	c := m.Column(r.Column)
	if c == nil {
		v.Advice = "the column is not assessed; a rule without its measure does not hold"
		return v
	}
	not := ""
	switch {
	case c.Original.N == 0:
		v.Found = 0
	case !c.Masked:
		v.Found = 1
	default:
		if id != nil {
			for _, e := range id.Exact {
				if e.Column == r.Column && e.Limit == nil && e.Within == limit.Within {
					v.Found, not = Float(e.Found), e.Not
				}
			}
		}
	}
	switch v.Passed = float64(v.Found) <= limit.Share; {
	case v.Passed:
	case not != "":
		v.Advice = notOfAll(not)
	case math.IsNaN(float64(v.Found)):
		v.Advice =
			"it was not measured: it needs assess.intruder.inversion, and masks that say what they do; a rule without its measure does not hold"
	default:
		v.Advice = exactAdvice
	}
	return v
}

// notOfAll says that a measure is not known of all releases, and why.
func notOfAll(not string) string {
	return "what it is of all releases in the ledger together is not known: " + not +
		"; say releases: alone in the rule to judge this one by itself"
}

// judgeUsual requires of every column without a rule max_exact that the best snooper states no more
// of its values than the default limit permits.
func judgeUsual(rules []Rule, m *Measures) (broken []RuleVerdict) {
	if m.Identity == nil {
		return nil
	}
	for _, e := range m.Identity.Exact {
		judged := e.Limit == nil
		for _, r := range rules {
			judged = judged || r.MaxExact != nil && r.Column == e.Column
		}
		if judged || e.Found <= *e.Limit {
			continue
		}
		broken = append(broken,
			RuleVerdict{Column: e.Column, Measure: "max_exact", Limit: Float(*e.Limit), Found: Float(e.Found),
				Rule: fmt.Sprintf("%s: no more values stated within %s than noise of one step of its usual values leaves",
					e.Column, stated(e.Within)),
				Advice: exactAdvice + "; or allow it (a rule max_exact)"})
	}
	return broken
}
