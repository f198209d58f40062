package assess

import (
	"fmt"
	"math"
)

// unchangedShare returns the share of unchanged values among the pairs; NaN if there are no pairs
// or they were not counted.
func (c *ColumnMeasures) unchangedShare() float64 {
	if c.Unchanged == nil {
		return math.NaN()
	}
	return float64(*c.Unchanged) / float64(c.pairs())
}

// pairs is the number of records with an original and a released value.
func (c *ColumnMeasures) pairs() int64 { return min(c.Original.N, c.Released.N) }

// tooManyUnchanged reports whether more values are unchanged than the law explains and the steward
// has allowed.
func (c *ColumnMeasures) tooManyUnchanged(allowed *float64) bool {
	if !c.UnchangedExcess {
		return false
	}
	return allowed == nil || !(c.unchangedShare() <= *allowed)
}

// UnchangedWarning returns a warning if more values of a column are released unchanged than its
// masks explain; otherwise "".
func (c *ColumnMeasures) UnchangedWarning() string {
	if !c.UnchangedExcess {
		return ""
	}
	if *c.Unchanged == c.pairs() && c.UnchangedExplained != nil && !(float64(*c.UnchangedExplained) >= 0.5) {
		return fmt.Sprintf("%s: all of its %d released values are the original: its masks have left each as it is", c.Name,
			c.pairs())
	}
	return fmt.Sprintf("%s: %d of %d released values are the original; the law of the masks explains %s",
		c.Name, *c.Unchanged, c.pairs(), number(math.Round(float64(*c.UnchangedExplained))))
}

const unchangedAdvice = "the masks must move values by more than a step of the column: a greater sd, no rounding behind the noise, values within the precision of their type; or allow it (gate.allow_unchanged, or a rule max_unchanged)"

// judgeUnchanged compares the share of unchanged values with a rule.
func (r Rule) judgeUnchanged(c *ColumnMeasures) RuleVerdict {
	v := RuleVerdict{Column: r.Column, Measure: "max_unchanged", Limit: Float(*r.MaxUnchanged), Found: Float(math.NaN()),
		Rule: fmt.Sprintf("%s: share of released values equal to the original at most %s", r.Column, stated(*r.MaxUnchanged))}
	if c == nil {
		v.Advice = "the column is not assessed; a rule without its measure does not hold"
		return v
	}
	switch {
	case !c.Masked && c.Original.N > 0:
		v.Found = 1 // no mask changes the column
	case c.Unchanged != nil && c.pairs() == 0, c.Original.N == 0:
		v.Found = 0 // there is no value
	default:
		v.Found = Float(c.unchangedShare())
	}
	if v.Passed = float64(v.Found) <= *r.MaxUnchanged; !v.Passed {
		v.Advice = unchangedAdvice
	}
	return v
}

// judgeLaws requires, for every masked column without a rule about unchanged values, that no more
// values are unchanged than the law of the masks explains.
func judgeLaws(rules []Rule, m *Measures) (broken []RuleVerdict) {
	for i := range m.Columns {
		c := &m.Columns[i]
		judged := false
		for _, r := range rules {
			judged = judged || r.MaxUnchanged != nil && r.Column == c.Name
		}
		if judged || !c.tooManyUnchanged(m.AllowUnchanged) {
			continue
		}
		limit := float64(*c.UnchangedExplained) / float64(c.pairs())
		if m.AllowUnchanged != nil {
			limit = max(limit, *m.AllowUnchanged)
		}
		broken = append(broken,
			RuleVerdict{Column: c.Name, Measure: "max_unchanged", Limit: Float(limit), Found: Float(c.unchangedShare()),
				Rule: c.Name + ": no more released values equal to the original than the masks explain", Advice: unchangedAdvice})
	}
	return broken
}
