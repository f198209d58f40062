package assess

import "strings"

// judgeIdentity holds a rule about the respondents against what was measured; one
// without its measure does not hold.
func (r Rule) judgeIdentity(id *Identity) RuleVerdict {
	if id == nil {
		id = Unmeasured()
	}
	return r.limited().judge(r, id)
}

// judgeInversion demands that nothing was computed back: what the list of masks and
// published moments give away fails a release under any rules.
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
