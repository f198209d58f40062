package assess

import (
	"fmt"
	"math"
	"strings"

	"github.com/sdlfilter/sdlfilter/check"
)

// Identity is what the gate must know of identity disclosure: whether respondents
// can be found in the release. What is NaN or nil was not measured. The measures
// are those of assess/intruder; this package makes none of them.
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
func (r Rule) Identity() bool {
	return r.MaxLinked != nil || r.MaxCorrectLinks != nil || r.MinK != nil || r.MaxIndividualRisk != nil
}

// checkIdentity checks the limits about respondents and returns how many there are.
func (r Rule) checkIdentity(ps *check.Problems) (given int) {
	share := func(name string, v *float64) {
		if v != nil {
			given++
			if !(*v >= 0 && *v <= 1) {
				ps.Addf(name, "must be a share from 0 to 1, got %v", *v)
			}
		}
	}
	share("max_linked", r.MaxLinked)
	share("max_individual_risk", r.MaxIndividualRisk)
	if r.MaxCorrectLinks != nil {
		given++
		ps.AtLeast("max_correct_links", *r.MaxCorrectLinks, 0)
	}
	if r.MinK != nil {
		given++
		if *r.MinK < 2 {
			ps.Addf("min_k", "must be at least 2, got %d", *r.MinK)
		}
	}
	if given > 0 {
		for _, word := range []struct{ name, value string }{{"column", r.Column}, {"target", r.Target}, {"knowledge", r.Knowledge}} {
			if word.value != "" {
				ps.Addf(word.name, "must be left out of a rule about the respondents")
			}
		}
	}
	return given
}

// judgeIdentity holds a rule about the respondents against what was measured; one
// without its measure does not hold.
func (r Rule) judgeIdentity(id *Identity) RuleVerdict {
	if id == nil {
		nothing := Float(math.NaN())
		id = &Identity{Linked: nothing, CorrectLinks: nothing, MinK: nothing, MaxIndividualRisk: nothing}
	}
	var v RuleVerdict
	var advice string
	switch {
	case r.MaxLinked != nil:
		v = RuleVerdict{Measure: "max_linked", Limit: Float(*r.MaxLinked), Found: id.Linked, Passed: float64(id.Linked) <= *r.MaxLinked,
			Rule: fmt.Sprintf("share of respondents found by linkage at most %s", number(*r.MaxLinked))}
		advice = "mask the keys by more than the distance between neighbours, or release fewer of them"
	case r.MaxCorrectLinks != nil:
		v = RuleVerdict{Measure: "max_correct_links", Limit: Float(*r.MaxCorrectLinks), Found: id.CorrectLinks, Passed: float64(id.CorrectLinks) <= *r.MaxCorrectLinks,
			Rule: fmt.Sprintf("respondents linked rightly by the Bayesian intruder at most %s", number(*r.MaxCorrectLinks))}
		advice = "mask the keys more, or release fewer of them"
	case r.MinK != nil:
		v = RuleVerdict{Measure: "min_k", Limit: Float(*r.MinK), Found: id.MinK, Passed: float64(id.MinK) >= float64(*r.MinK),
			Rule: fmt.Sprintf("records that share a combination of keys at least %d", *r.MinK)}
		advice = "recode the categorical keys more coarsely, or release fewer of them"
	default:
		v = RuleVerdict{Measure: "max_individual_risk", Limit: Float(*r.MaxIndividualRisk), Found: id.MaxIndividualRisk, Passed: float64(id.MaxIndividualRisk) <= *r.MaxIndividualRisk,
			Rule: fmt.Sprintf("probability of re-identification of every record at most %s", number(*r.MaxIndividualRisk))}
		advice = "recode the categorical keys more coarsely, or release a smaller sample of the population"
	}
	if math.IsNaN(float64(v.Found)) {
		advice = "it was not measured: ask for it under assess.intruder; a rule without its measure does not hold"
		if id.Sampled {
			advice = "it can be told from all records only (assess.sample: all); a rule without its measure does not hold"
		}
	}
	if !v.Passed {
		v.Advice = advice
	}
	return v
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
