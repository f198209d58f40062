package attack

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/intruder"
	"github.com/sdlfilter/sdlfilter/internal/intruder/asked"
	"github.com/sdlfilter/sdlfilter/internal/intruder/inversion"
	"github.com/sdlfilter/sdlfilter/internal/intruder/linkage"
	"github.com/sdlfilter/sdlfilter/internal/intruder/loss"
	"github.com/sdlfilter/sdlfilter/internal/intruder/population"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// TestEveryMeasureIsFound: each measure that a rule can limit comes from its part of
// the attack, is not measured without it, and is measured on a sample only if a sample
// can measure it.
func TestEveryMeasureIsFound(t *testing.T) {
	attacked := slices.DeleteFunc(slices.Clone(assess.RespondentMeasures), func(m assess.RespondentMeasure) bool {
		return m.Part == assess.PartPlaces
	})
	if len(measureOf) != len(attacked) {
		t.Errorf("%d measures are taken, the table has %d", len(measureOf), len(attacked))
	}
	want := map[string]float64{"max_linked": 0.25, "max_correct_links": 7, "min_k": 3, "max_individual_risk": 0.125,
		"max_changed": 0.5, "max_entropy_lost": 0.375, "max_pmse": 0.0625, "max_replicated_uniques": 0.75,
		"max_posterior": 0.75, "max_attribute_disclosure": 0.3125, "max_ks": 0.1875, "min_overlap": 0.625,
		"max_expected_population": 8, "max_expected_uniques": 4}
	for i := range attacked {
		m := &attacked[i]
		r := new(Result)
		if v := float64(*m.ValueIn(r.Identity())); !math.IsNaN(v) {
			t.Errorf("%s of nothing: %v", m.Name, v)
		}
		fill(r, m.Part)
		if v := float64(*m.ValueIn(r.Identity())); v != want[m.Name] {
			t.Errorf("%s: %v, want %v", m.Name, v, want[m.Name])
		}
		r.Sampled = 100
		if v := float64(*m.ValueIn(r.Identity())); math.IsNaN(v) == m.FromSample {
			t.Errorf("%s of a sample: %v", m.Name, v)
		}
	}
}

// fill adds a part of an attack to a result.
func fill(r *Result, part string) {
	switch part {
	case "linkage":
		r.Linkage = &linkage.Result{CorrectShare: 0.25}
	case "bayes":
		r.Bayes = &intruder.Result{Correct: 7}
	case "attribute":
		r.Attribute = &Disclosure{Columns: []GuessedColumn{{Most: 0.125}, {Most: 0.3125}}}
	case "utility":
		r.Utility = &loss.Utility{KS: map[string]float64{"a": 0.0625, "b": 0.1875, "c": 0},
			Regressions: []loss.Overlap{{Mean: 0.875}, {Mean: 0.625}, {Mean: 1}}}
	case "population":
		r.Population = &population.Result{SampleUniques: 20, ModelUniques: 18, Converged: true, Tau1: 3, Tau1SE: 0.5, Tau2: 5,
			Tau2SE: 1.5}
	case "inversion":
		less, most := 0.5, 0.75
		r.Inversion = &inversion.Result{Categories: []inversion.CategoryResult{{Posterior: &less}, {Posterior: &most}, {}}}
	case "uniqueness":
		r.Uniqueness = &uniqueness.Result{MinFrequency: 3, MaxIndividualRisk: 0.125}
		r.Replicated = &uniqueness.Replicated{Uniques: 4, Standing: 3, Share: 0.75}
		r.Categories = &loss.Categories{PMSE: 0.0625, Columns: []loss.CategoryLoss{
			{Records: 8, Changed: 1, Original: 2, Lost: 0.75}, {Records: 8, Changed: 4, Original: 4, Lost: 1}, {Records: 8}}}
	}
}

// loosest returns the most tolerant rule about a measure.
func loosest(t *testing.T, m *assess.RespondentMeasure) assess.Rule {
	var r assess.Rule
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") != m.Name {
			continue
		}
		limit := reflect.New(v.Field(i).Type().Elem())
		if limit.Elem().Kind() == reflect.Int {
			limit.Elem().SetInt(0)
		} else {
			limit.Elem().SetFloat(map[bool]float64{false: 1e9}[m.Least])
		}
		v.Field(i).Set(limit)
	}
	if _, given := m.Limit(r); !given {
		t.Fatalf("no rule limits %s", m.Name)
	}
	return r
}

// TestNothingIsSaid: a measure of the table that the attack does not compute is not
// measured, independent of the other results, and its rule is not satisfied, at any
// place in the list; a measure that is not marked as measurable from a sample is not
// measured on one.
func TestNothingIsSaid(t *testing.T) {
	for i := range assess.RespondentMeasures {
		m := &assess.RespondentMeasures[i]
		if m.Part == assess.PartPlaces {
			continue // verified by the masking
		}
		r := new(Result)
		for _, part := range []string{"linkage", "bayes", "inversion", "attribute", "utility", "population", "uniqueness"} {
			fill(r, part)
		}
		r.Linkage.CorrectShare, r.Bayes.Correct = 0, 0
		rule := loosest(t, m)
		other := loosest(t, assess.RespondentMeasureNamed("max_linked"))
		if m.Name == "max_linked" {
			other = loosest(t, assess.RespondentMeasureNamed("min_k"))
		}
		passes := func() bool {
			id := r.Identity()
			first := assess.Judge([]assess.Rule{rule, other}, &assess.Measures{Identity: id}).Passed
			if last := assess.Judge([]assess.Rule{other, rule}, &assess.Measures{Identity: id}).Passed; last != first {
				t.Errorf("%s: passes %v as the first rule, %v as the last", m.Name, first, last)
			}
			return first
		}
		if !passes() {
			t.Errorf("%s does not pass the loosest rule", m.Name)
		}
		take := measureOf[m.Name]
		delete(measureOf, m.Name)
		if passes() {
			t.Errorf("%s passes, and nobody takes it", m.Name)
		}
		measureOf[m.Name] = take

		of, sampled := m.FromSample, r.Sampled
		m.FromSample, r.Sampled = false, 100
		if passes() {
			t.Errorf("%s of a sample passes, and does not say that a sample tells it", m.Name)
		}
		m.FromSample, r.Sampled = of, sampled
	}
}

// TestJointLinksCount: of the Bayesian intruder's two ways the one that finds more is judged.
func TestJointLinksCount(t *testing.T) {
	for _, c := range []struct{ alone, jointly, want float64 }{{7, 9, 9}, {9, 7, 9}, {0, 0, 0}} {
		r := &Result{Bayes: &intruder.Result{Correct: c.alone, Jointly: &intruder.Joint{Correct: c.jointly}}}
		if v := float64(r.Identity().CorrectLinks); v != c.want {
			t.Errorf("%v one by one, %v jointly: %v", c.alone, c.jointly, v)
		}
	}
}

// TestModelsThatDoNotHold: a log-linear model that understates uniqueness, or did not converge, measures
// nothing, and the verdict says why.
func TestModelsThatDoNotHold(t *testing.T) {
	codes := make([]int32, 200)
	for i := range codes {
		codes[i] = int32(i)
	}
	half := make([]int32, 200)
	for i := range half {
		half[i] = int32(i % 2)
	}
	d := Data{Categorical: []CategoricalColumn{{Name: "a", Original: codes}, {Name: "b", Original: half}}}
	run := func(formula string) *Result {
		f, err := asked.ParseFormula(formula)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), d, Options{Population: &Population{Formula: f, Size: 20000}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// Each a is alone, and the model with a category for each repeats the sample: it expects 200/e uniques.
	for formula, fits := range map[string]bool{"a": false, "a*b": false, "b": true} {
		r := run(formula)
		id := r.Identity()
		if fits != (r.Unfitted == "") || fits == math.IsNaN(float64(id.ExpectedPopulation)) ||
			fits == math.IsNaN(float64(id.ExpectedUniques)) {
			t.Errorf("%s: %q, %v, %v", formula, r.Unfitted, id.ExpectedPopulation, id.ExpectedUniques)
		}
		v := assess.Judge([]assess.Rule{{MaxExpectedPopulation: new(float64)}}, &assess.Measures{Identity: id})
		if v.Passed != fits || !fits && !strings.Contains(v.Rules[0].Advice, "it expects ") {
			t.Errorf("%s: %+v", formula, v.Rules[0])
		}
	}
	if r := run("b"); len(r.Population.LeftOut) != 1 || r.Population.LeftOut[0] != "a" {
		t.Errorf("left out: %q", r.Population.LeftOut)
	}
}
