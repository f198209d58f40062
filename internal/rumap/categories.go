package rumap

import "github.com/sdlfilter/sdlfilter/internal/figure"

// A map of categories (Map.Categories): U is what the released categories tell of the
// original's, Σ I(X; Y) in bits over the columns; U0 is Σ H(X), the most that U can be; R is
// the probability that a record is found by its categorical keys.

// KnowledgeKeys is the state of a snooper who knows the categorical keys of a respondent.
const KnowledgeKeys = "keys"

// TargetMax is the record of greatest risk.
const TargetMax = "max"

// words are the labels of the axes of a picture.
func (m *Map) words(out *figure.RUMap) {
	if len(m.Categories) == 0 {
		return
	}
	out.Risk, out.Utility = "Probability of re-identification R", "Information told: I(X;Y)/H(X), %"
	for _, r := range m.Rules {
		if r.Measure == "max_individual_risk" && r.Limit != nil {
			out.Lines = append(out.Lines, figure.RULine{Target: TargetMax, Knowledge: KnowledgeKeys, R: float64(*r.Limit)})
		}
	}
}
