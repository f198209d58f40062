package attack

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// TestEveryMeasureIsFound: each measure that a rule can limit comes from its part of
// the attack, is not measured without it, and of a sample only where that tells.
func TestEveryMeasureIsFound(t *testing.T) {
	if len(found) != len(assess.RespondentMeasures) {
		t.Errorf("%d measures are found, the table has %d", len(found), len(assess.RespondentMeasures))
	}
	want := map[string]float64{"max_linked": 0.25, "max_correct_links": 7, "min_k": 3, "max_individual_risk": 0.125,
		"max_changed": 0.5, "max_entropy_lost": 0.375, "max_pmse": 0.0625, "max_replicated_uniques": 0.75, "max_posterior": 0.75}
	for i := range assess.RespondentMeasures {
		m := &assess.RespondentMeasures[i]
		r := new(Result)
		if v := float64(*m.Found(r.Identity())); !math.IsNaN(v) {
			t.Errorf("%s of nothing: %v", m.Name, v)
		}
		switch m.Part {
		case "linkage":
			r.Linkage = &linkage.Result{CorrectShare: 0.25}
		case "bayes":
			r.Bayes = &intruder.Result{Correct: 7}
		case "inversion":
			less, most := 0.5, 0.75
			r.Inversion = &inversion.Result{Categories: []inversion.CategoryResult{{Posterior: &less}, {Posterior: &most}, {}}}
		case "uniqueness":
			r.Uniqueness = &uniqueness.Result{MinFrequency: 3, MaxIndividualRisk: 0.125}
			r.Replicated = &uniqueness.Replicated{Uniques: 4, Standing: 3, Share: 0.75}
			r.Categories = &loss.Categories{PMSE: 0.0625, Columns: []loss.CategoryLoss{
				{Records: 8, Changed: 1, Original: 2, Lost: 0.75}, {Records: 8, Changed: 4, Original: 4, Lost: 1}, {Records: 8}}}
		}
		if v := float64(*m.Found(r.Identity())); v != want[m.Name] {
			t.Errorf("%s: %v, want %v", m.Name, v, want[m.Name])
		}
		r.Sampled = 100
		if v := float64(*m.Found(r.Identity())); math.IsNaN(v) != m.Whole {
			t.Errorf("%s of a sample: %v", m.Name, v)
		}
	}
}
