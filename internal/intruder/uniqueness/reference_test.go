package uniqueness

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/golden"
)

var referenceKeys = []string{"region", "age", "sex", "trade"}

func referenceColumns(data map[string]golden.Values, names ...string) []Column {
	var columns []Column
	for _, name := range names {
		columns = append(columns, Column{name, Codes(data[name])})
	}
	return columns
}

// Frequencies, risks and violations are what an independent script counts, record by
// record, with complete keys and with gaps under every α.
func TestReferenceFrequencies(t *testing.T) {
	ref := golden.ReadReference(t)
	check := func(keys map[string]golden.Values, want golden.Frequencies) {
		t.Helper()
		data := Data{Keys: referenceColumns(keys, referenceKeys...), Weights: ref.Weights}
		r := measure(t, data, Options{Alpha: want.Alpha, K: []int{2, 3, 5}})
		wantColumn(t, "f", r.SampleFrequency, want.SampleF)
		wantColumn(t, "F", r.PopulationFrequency, want.PopulationF)
		wantColumn(t, "risk", r.Risk, want.Exact)
		for k, n := range want.Below {
			if r.Violations[k] != n {
				t.Errorf("α = %v: %d records of f < %d, want %d", want.Alpha, r.Violations[k], k, n)
			}
		}
		approximate := measure(t, data, Options{Alpha: want.Alpha, Estimator: Approximate}).Risk
		compared := 0
		for i, risk := range want.Approximate {
			if math.IsNaN(risk) {
				continue
			}
			if compared++; !near(approximate[i], risk, 0) {
				t.Fatalf("α = %v, record %d: approximate risk %v, want %v", want.Alpha, i, approximate[i], risk)
			}
		}
		if compared < 200 {
			t.Errorf("α = %v: %d approximate risks compared", want.Alpha, compared)
		}
	}
	check(ref.Keys, ref.Frequencies)
	if len(ref.WithGaps) != 3 {
		t.Fatalf("%d values of α", len(ref.WithGaps))
	}
	for _, want := range ref.WithGaps {
		check(ref.KeysWithGaps, want)
	}
}

// Household risk, l-diversity and SUDA2 scores likewise.
func TestReferenceHouseholdsDiversityScores(t *testing.T) {
	ref := golden.ReadReference(t)
	r := measure(t, Data{
		Keys: referenceColumns(ref.Keys, referenceKeys...), Weights: ref.Weights,
		Household: Codes(ref.Household), Sensitive: referenceColumns(ref.Sensitive, "illness"),
	}, Options{Alpha: 1, RecursiveC: 2, SUDA2: &SUDA2Options{}})
	wantColumn(t, "household risk", r.Household.Risk, ref.HouseholdRisk)
	wantColumn(t, "score", r.SUDA2.Score, ref.Suda)
	d := r.LDiversity["illness"]
	wantColumn(t, "entropy", d.Entropy, ref.Diversity.Entropy)
	for i := range d.Distinct {
		if float64(d.Distinct[i]) != ref.Diversity.Distinct[i] || float64(d.Recursive[i]) != ref.Diversity.Recursive[i] {
			t.Fatalf("record %d: %d distinct, recursive level %d, want %v and %v", i, d.Distinct[i], d.Recursive[i], ref.Diversity.Distinct[i], ref.Diversity.Recursive[i])
		}
	}
}
