package assess

import (
	"fmt"
	"math"

	"github.com/sdlfilter/sdlfilter/check"
)

// BySubset are the measures of combinations of keys, over all sets of some number of the keys.
type BySubset struct {
	MinK              Float // least k over all these sets
	MaxIndividualRisk Float // greatest probability of re-identification over all these sets
}

// Subset returns the number of keys that the sets of a rule have; 0: the rule is about all keys
// together.
func (r Rule) Subset() int {
	if r.Combinations == nil {
		return 0
	}
	return *r.Combinations
}

// Key names what a rule about the respondents limits: the measure, and the number of keys of
// its sets.
func (r Rule) Key() string {
	m := r.limited()
	if m == nil {
		return ""
	}
	return MeasureKey(m.Name, r.Subset())
}

// MeasureKey names a measure by sets of some number of keys; 0: by all keys together.
func MeasureKey(name string, subset int) string {
	if subset == 0 {
		return name
	}
	return fmt.Sprintf("%s by %d keys", name, subset)
}

// Value returns what an identity has of the measure that a rule limits; NaN if it was not
// measured.
func (m *RespondentMeasure) Value(r Rule, id *Identity) Float { return m.ValueBy(r.Subset(), id) }

// ValueBy returns the measure by the sets of some number of keys; 0: by all keys together.
func (m *RespondentMeasure) ValueBy(subset int, id *Identity) Float {
	if subset == 0 {
		return *m.number(id)
	}
	sub, measured := id.BySubset[subset]
	if m.subset == nil || !measured {
		return Float(math.NaN())
	}
	return *m.subset(&sub)
}

// Subsets reports whether the measure exists for sets of some of the keys.
func (m *RespondentMeasure) Subsets() bool { return m.subset != nil }

// checkCombinations checks the number of keys of a rule's sets.
func (r Rule) checkCombinations(ps *check.Problems) {
	if r.Combinations == nil {
		return
	}
	if *r.Combinations < 1 {
		ps.Addf("combinations", "must be at least 1, got %d", *r.Combinations)
	}
	if m := r.limited(); m == nil || m.subset == nil {
		ps.Addf("combinations",
			"must be left out of a rule that does not count combinations of keys: it belongs to min_k and max_individual_risk")
	}
}

// bySubset says in words over which sets of keys a rule holds.
func (r Rule) bySubset() string {
	switch n := r.Subset(); n {
	case 0:
		return ""
	case 1:
		return ", by each of the keys alone"
	default:
		return fmt.Sprintf(", by every %d of the keys", n)
	}
}
