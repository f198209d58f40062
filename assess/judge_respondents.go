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

// judgeInversion requires that no value was computed back: a release from which values can be
// computed with the list of masks and published moments fails under any rules.
func judgeInversion(id *Identity) RuleVerdict {
	v := RuleVerdict{Rule: "no value is computed back from the list of masks", Measure: "inversion",
		Found: Float(*id.Inverted), Passed: *id.Inverted == 0 && len(id.Uninverted) == 0}
	switch {
	case *id.Inverted == 0 && !v.Passed:
		v.Advice = "a mask does not say what it does to " + strings.Join(id.Uninverted, ", ") +
			": whether it can be undone is not known (assess.intruder.inversion: false goes without)"
	case !v.Passed:
		v.Advice = "the masks are undone by whoever knows them"
		if len(id.InvertedBy) > 0 {
			v.Advice += ": " + strings.Join(id.InvertedBy, "; ")
		}
	}
	return v
}
