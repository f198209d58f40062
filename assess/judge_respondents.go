package assess

import "strings"

// judgeIdentity compares a rule about the respondents with its measure; a rule without its
// measure does not hold.
func (r Rule) judgeIdentity(id *Identity) RuleVerdict {
	if id == nil {
		id = Unmeasured()
	}
	return r.limited().judge(r, id)
}

// judgeInversion demands that no value was computed back: values that follow from the list of
// masks and from published moments fail a release under any rules.
func judgeInversion(id *Identity) RuleVerdict {
	v := RuleVerdict{Rule: "no value is computed back from the list of masks", Measure: "inversion", Found: Float(*id.Inverted), Passed: *id.Inverted == 0}
	if !v.Passed {
		v.Advice = "the masks are undone by whoever knows them"
		if len(id.InvertedBy) > 0 {
			v.Advice += ": " + strings.Join(id.InvertedBy, "; ")
		}
	}
	return v
}
