package assess

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/check"
)

// TestEveryRespondentMeasure: the table contains every field of Rule and Identity about
// respondents, each with its own accessors and direction. A missing number satisfies no limit, at
// any place of its rule.
func TestEveryRespondentMeasure(t *testing.T) {
	about := []string{"column", "target", "knowledge", "record", "releases", "combinations"}
	for i := range reflect.TypeFor[Rule]().NumField() {
		name := reflect.TypeFor[Rule]().Field(i).Tag.Get("yaml")
		if !slices.Contains(about, name) && !slices.Contains(Limits, name) {
			t.Errorf("%s is in Rule and in no table", name)
		}
	}
	numbers := 0
	for i := range reflect.TypeFor[Identity]().NumField() {
		if reflect.TypeFor[Identity]().Field(i).Type == reflect.TypeFor[Float]() {
			numbers++
		}
	}
	if numbers != len(RespondentMeasures) {
		t.Errorf("Identity has %d numbers, the table %d measures", numbers, len(RespondentMeasures))
	}
	at := map[*Float]string{}
	id := new(Identity)
	for i := range RespondentMeasures {
		m := &RespondentMeasures[i]
		if was, twice := at[m.ValueIn(id)]; twice {
			t.Errorf("%s and %s are the same number", m.Name, was)
		}
		at[m.ValueIn(id)] = m.Name
		var r Rule
		f := fieldOf(&r, m.Name)
		f.Set(reflect.New(f.Type().Elem()))
		limit := 0.5
		if f.Elem().Kind() == reflect.Int {
			limit = 5
			f.Elem().SetInt(5)
		} else {
			f.Elem().SetFloat(limit)
		}
		for j := range RespondentMeasures {
			if v, given := RespondentMeasures[j].Limit(r); given != (i == j) || given && v != limit {
				t.Errorf("%s: %s returns %v, %v", m.Name, RespondentMeasures[j].Name, v, given)
			}
		}
		for _, c := range []struct {
			found  float64
			passed bool
		}{
			{limit, true}, {limit * 1.01, m.Least}, {limit / 1.01, !m.Least}, {math.NaN(), false},
			{math.Inf(1), m.Least}, {math.Inf(-1), !m.Least},
		} {
			id := Unmeasured()
			*m.ValueIn(id) = Float(c.found)
			v := Judge([]Rule{r}, &Measures{Identity: id})
			if v.Passed != c.passed || v.Rules[0].Measure != m.Name || float64(v.Rules[0].Limit) != limit {
				t.Errorf("%s found %v: %+v", m.Name, c.found, v.Rules[0])
			}
			if want := map[bool]string{true: "at least", false: "at most"}[m.Least]; !strings.Contains(v.Rules[0].Rule, want) {
				t.Errorf("%s: %q does not say %s", m.Name, v.Rules[0].Rule, want)
			}
			// Next to any other rule, in any order.
			other := Rule{Column: "wage", MinRMSE: ptr(1)}
			measured := &Measures{
				Identity: id,
				Columns: []ColumnMeasures{
					{Name: "wage", Masked: true, Risk: []Risk{{Target: "max", Knowledge: "index", R: 0.01, RMSE: 10}}}}}
			for _, rules := range [][]Rule{{r, other}, {other, r}} {
				if got := Judge(rules, measured); got.Passed != c.passed {
					t.Errorf("%s found %v, with another rule: passed %v", m.Name, c.found, got.Passed)
				}
			}
		}
	}
}

// TestRespondentMeasuresAreWhole: every entry has all its texts, the direction that its name
// suggests, and the keys of its part of the intruder.
func TestRespondentMeasuresAreWhole(t *testing.T) {
	categorical := map[string]bool{"linkage": false, "bayes": false, "uniqueness": true, "inversion": true,
		"attribute": false, "utility": false, "population": true, PartPlaces: false}
	for i := range RespondentMeasures {
		m := &RespondentMeasures[i]
		if m.Label == "" || m.words == "" || m.Advice == "" || m.check == nil {
			t.Errorf("%s is described by halves", m.Name)
		}
		if is, known := categorical[m.Part]; !known || is != m.Categorical {
			t.Errorf("%s: of part %q, categorical %v", m.Name, m.Part, m.Categorical)
		}
		if want := map[bool]string{true: "min_", false: "max_"}[m.Least]; !strings.HasPrefix(m.Name, want) {
			t.Errorf("%s: the limit is the least that is tolerable: %v", m.Name, m.Least)
		}
		if RespondentMeasureNamed(m.Name) != m {
			t.Errorf("%s is there twice", m.Name)
		}
	}
	if RespondentMeasureNamed("no such measure") != nil {
		t.Error("a measure that is not there is found")
	}
}

// TestLimitsOfRespondentMeasures: each limit is accepted up to its bounds and refused beyond.
func TestLimitsOfRespondentMeasures(t *testing.T) {
	nan := math.NaN()
	share := [2][]float64{{0, 0.5, 1}, {-1e-9, 1 + 1e-9, math.Inf(1), nan}}
	for i := range RespondentMeasures {
		m := &RespondentMeasures[i]
		bounds := share
		switch m.Name {
		case "max_correct_links", "max_expected_population", "max_expected_uniques":
			bounds = [2][]float64{{0, 1, 1e9}, {-1e-9, -1, nan}}
		case "min_k", "min_spatial_k":
			bounds = [2][]float64{{2, 3, 1e6}, {1, 0, -2}}
		case "min_place_rmse":
			bounds = [2][]float64{{1e-9, 300, 1e9}, {0, -1, nan}}
		case "max_pmse":
			bounds = [2][]float64{{0, 0.1, 0.25}, {-1e-9, 0.25 + 1e-9, nan}}
		}
		for refused, limits := range bounds {
			for _, limit := range limits {
				var ps check.Problems
				m.check(&ps, m.Name, limit)
				if len(ps) != refused || len(ps) == 1 && ps[0].Path != m.Name {
					t.Errorf("%s: %v: %v", m.Name, limit, ps)
				}
			}
		}
	}
}

// fieldOf returns the field of a rule by its name in the configuration.
func fieldOf(r *Rule, name string) reflect.Value {
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == name {
			return v.Field(i)
		}
	}
	panic("no field " + name)
}

// Measures that a single record can decide, such as the smallest k, and measures that do not
// estimate the value for all records are not reported for a sample; all others are.
func TestMeasuresThatASampleTells(t *testing.T) {
	never := []string{"min_k", "max_individual_risk", "max_replicated_uniques", "min_overlap", "max_attribute_disclosure",
		"max_expected_population", "max_expected_uniques", "min_spatial_k", "min_place_rmse"}
	for _, m := range RespondentMeasures {
		if m.FromSample == slices.Contains(never, m.Name) {
			t.Errorf("%s is reported for a sample: %v", m.Name, m.FromSample)
		}
	}
}
