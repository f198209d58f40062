package assess

import (
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// Check reports what is wrong with the rule itself.
func (r Rule) Check() check.Problems {
	var ps check.Problems
	given := r.checkIdentity(&ps)
	identity := given > 0
	given += r.checkUnchanged(&ps) + r.checkExact(&ps) + r.checkPrivacy(&ps)
	r.checkCombinations(&ps)
	if !identity && r.Column == "" && r.MaxEpsilon == nil {
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
		ps.Addf("", "must have exactly one of %s and %s, got %d", strings.Join(Limits[:len(Limits)-1], ", "),
			Limits[len(Limits)-1], given)
	}
	if r.Target != "" && r.Target != TargetTypical {
		if err := CheckTarget(r.Target); err != nil {
			ps.Addf("target", "must be typical, min, max or a percentile as p01, p50, p99.9, got %q", r.Target)
		}
	}
	if r.Knowledge != "" {
		ps.OneOf("knowledge", r.Knowledge, knowledges...)
	}
	if r.Record != "" {
		ps.OneOf("record", r.Record, RecordAlone)
		switch {
		case r.MaxRisk == nil && r.MinRMSE == nil:
			ps.Addf("record", "must be left out of a rule without max_risk or min_rmse")
		case r.Knowledge != "" && r.Knowledge != KnowledgeIndex:
			ps.Addf("record", "must be left out with knowledge %s: it is about index", r.Knowledge)
		}
	}
	if r.Releases != "" {
		ps.OneOf("releases", r.Releases, ReleasesAlone)
		switch {
		case r.Knowledge == KnowledgeAllReleases:
			ps.Addf("releases", "must be left out with knowledge all_releases")
		case r.MaxRisk == nil && r.MinRMSE == nil && !r.LimitsPrivacy() && !r.countsKeys() && !r.LimitsLinks() &&
			!r.LimitsPosterior() && r.MaxExact == nil && !r.limitsUnchanged() && r.MaxCorrectLinks == nil && !r.OfOneRelease():
			ps.Addf("releases", "must be left out of a rule that is not about what a snooper learns")
		}
	}
	if r.Target == TargetTypical && r.Knowledge == KnowledgePosition {
		ps.Addf("knowledge", "must be mean, index or record with target typical, which has no position")
	}
	if r.Knowledge == KnowledgeOrder && r.Target != "" && r.Target != TargetTypical {
		ps.Addf("target", "must be typical or left out with knowledge order, got %q", r.Target)
	}
	return ps
}

// countsKeys reports whether the rule is about combinations of keys.
func (r Rule) countsKeys() bool { return r.MinK != nil || r.MaxIndividualRisk != nil }

// checkIdentity checks the limits about respondents and returns how many there are.
func (r Rule) checkIdentity(ps *check.Problems) (count int) {
	for i := range RespondentMeasures {
		m := &RespondentMeasures[i]
		if limit, given := m.limit(r); given {
			count++
			m.check(ps, m.Name, limit)
		}
	}
	if count > 0 {
		for _, word := range []struct{ name, At string }{{"column", r.Column}, {"target", r.Target},
			{"knowledge", r.Knowledge}} {
			if word.At != "" {
				ps.Addf(word.name, "must be left out of a rule about the respondents")
			}
		}
	}
	return count
}

// checkUnchanged checks the limit on unchanged values, and returns the number of such limits, 0
// or 1.
func (r Rule) checkUnchanged(ps *check.Problems) (given int) {
	if r.MaxUnchanged == nil {
		return 0
	}
	ps.Between("max_unchanged", *r.MaxUnchanged, 0, 1)
	if r.Target != "" {
		ps.Addf("target", "must be left out with max_unchanged, which has no target")
	}
	if r.Knowledge != "" {
		ps.Addf("knowledge", "must be left out with max_unchanged, which has no knowledge state")
	}
	return 1
}

// Limits are the names of all limits that a rule can set, those about a column first.
var Limits = append([]string{"max_risk", "min_rmse", "min_efficiency", "max_unchanged", "max_exact", "max_epsilon",
	"max_metric_epsilon"}, respondentLimits()...)

func respondentLimits() (names []string) {
	for _, m := range RespondentMeasures {
		names = append(names, m.Name)
	}
	return names
}
