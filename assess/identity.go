package assess

import (
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// Identity is what the gate must know of identity disclosure: whether respondents
// can be found in the release. What is NaN or nil was not measured. The measures
// are those of internal/intruder; this package makes none of them. RespondentMeasures
// says what each is.
type Identity struct {
	Linked            Float // share of the targets whose nearest released record is their own
	CorrectLinks      Float // targets that the Bayesian intruder links rightly
	MinK              Float // fewest records that share a combination of keys
	MaxIndividualRisk Float // greatest probability of re-identification of a record
	// Sampled says that not all records were looked at. The least k and the greatest
	// risk are then NaN: they may be those of a record that was not drawn.
	Sampled bool
	// Inverted counts the values that were computed back from the release and the
	// list of masks; nil where that was not tried.
	Inverted *int64
	// InvertedBy says of which column and how, in words.
	InvertedBy []string
}

// Identity reports whether the rule is about the respondents rather than a column.
func (r Rule) Identity() bool { return r.limited() != nil }

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
		for _, word := range []struct{ name, value string }{{"column", r.Column}, {"target", r.Target}, {"knowledge", r.Knowledge}} {
			if word.value != "" {
				ps.Addf(word.name, "must be left out of a rule about the respondents")
			}
		}
	}
	return count
}

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
