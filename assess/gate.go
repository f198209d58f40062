package assess

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
