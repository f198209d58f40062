package assess

import "slices"

// Judge compares a release's measures with the rules. A rule whose measure is missing or not a
// number fails; for a sampled or approximate measure the less safe end of its interval is
// compared (Risk.Upper, Utility.Lower). Without a rule max_unchanged for a masked column, the
// gate also fails if more of its values are unchanged than its masks explain or AllowUnchanged
// permits, and without a rule max_exact if more of its values can be stated than the default limit
// permits. It also fails if all values of a sensitive column of texts are the original, or if rounded dates are known
// exactly, or if tables of the ledger and the records tell a value more closely than the tables' rules allow.
func Judge(rules []Rule, m *Measures) Verdict {
	v := Verdict{Passed: true, Rules: []RuleVerdict{}}
	for _, r := range rules {
		var one RuleVerdict
		switch {
		case r.Identity():
			one = r.judgeIdentity(m.Identity)
			if one.Passed && m.Earlier != nil && r.OfUnion() {
				one = r.judgeIdentity(m.Linked)
				one.Rule += r.byAll()
			}
		case r.MaxUnchanged != nil:
			one = r.judgeUnchanged(m.Column(r.Column))
		case r.MaxExact != nil:
			one = r.judgeExact(m, m.Identity)
			if one.Passed && m.Earlier != nil && r.OfUnion() {
				one = r.judgeExact(m, m.Linked)
				one.Rule += ", by all releases in the ledger"
			}
		case r.LimitsPrivacy():
			one = r.judgePrivacy(m.privacyFor(r))
		case r.MinEfficiency != nil:
			one = r.judgeEfficiency(m.Column(r.Column))
		default:
			if one = r.judgeRisk(m.Column(r.Column)); m.Gated {
				one = r.judgeGated(m.Column(r.Column), m.Earlier != nil)
			}
		}
		if c := m.Column(r.Column); one.Passed && c != nil && m.Earlier != nil && m.Earlier.Others > 0 && r.OfColumns() {
			one = r.judgeTogether(c, one, m.Earlier.Not)
		}
		one = r.together(one, m.Earlier)
		v.Passed = v.Passed && one.Passed
		v.Rules = append(v.Rules, one)
	}
	if m.Identity != nil && m.Identity.Inverted != nil {
		one := judgeInversion(m.Identity)
		v.Passed = v.Passed && one.Passed
		v.Rules = append(v.Rules, one)
	}
	if len(rules) > 0 || m.Gated {
		for _, one := range slices.Concat(judgeLaws(rules, m), judgeUsual(rules, m), judgeUnaltered(m), judgeDetermined(m),
			judgeTotals(m)) {
			v.Passed = false
			v.Rules = append(v.Rules, one)
		}
	}
	return v
}
