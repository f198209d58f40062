package uniqueness

import (
	"math"
	"slices"
	"strings"
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

// Frequencies, risks and violations equal those of an independent script, record by record, with
// complete keys and with missing values for every α.
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

// TestReferenceSUDA2: scores with both weightings of sizes, for sets of up to all keys
// and of fewer, with complete keys and with gaps; the contribution of each key; and the
// DIS scores.
func TestReferenceSUDA2(t *testing.T) {
	ref := golden.ReadReference(t)
	check := func(keys map[string]golden.Values, cases map[string]golden.SUDA2, dis bool) {
		t.Helper()
		for name, want := range cases {
			weighing := ScoresElliot
			if strings.HasPrefix(name, "ihsn") {
				weighing = ScoresIHSN
			}
			r := measure(t, Data{Keys: referenceColumns(keys, referenceKeys...)},
				Options{Alpha: 1, SUDA2: &SUDA2Options{MaxSize: want.MaxSize, Scores: weighing, SampleFraction: want.Fraction}})
			wantColumn(t, name+" score", r.SUDA2.Score, want.Score)
			positive, mean := 0, 0.0
			for _, s := range want.Score {
				mean += s / float64(len(want.Score))
				if s > 0 {
					positive++
				}
			}
			if positive < 10 || !near(r.SUDA2.Mean, mean, 1e-12) || !near(r.SUDA2.Max, slices.Max(want.Score), 0) {
				t.Errorf("%s: %d positive scores, mean %v, max %v; want mean %v, max %v", name, positive, r.SUDA2.Mean, r.SUDA2.Max,
					mean, slices.Max(want.Score))
			}
			for _, key := range referenceKeys {
				if got := r.SUDA2.Contribution[key]; !near(got, want.Contribution[key], 1e-12) {
					t.Errorf("%s: contribution of %s: %v, want %v", name, key, got, want.Contribution[key])
				}
			}
			if !dis { // the definition does not cover pairs with missing values
				continue
			}
			for i, d := range r.SUDA2.DIS {
				if math.Abs(d-want.DIS[i]) > 1e-12*want.DIS[i] { // about ten roundings of 2⁻⁵³, some of them in powers
					t.Fatalf("%s: DIS score, record %d: %v, want %v", name, i, d, want.DIS[i])
				}
			}
		}
	}
	if len(ref.SUDA2) != 4 || len(ref.SUDA2WithGaps) != 2 {
		t.Fatalf("%d and %d cases", len(ref.SUDA2), len(ref.SUDA2WithGaps))
	}
	check(ref.Keys, ref.SUDA2, true)
	check(ref.KeysWithGaps, ref.SUDA2WithGaps, false)
}

// Household risk and l-diversity likewise.
func TestReferenceHouseholdsDiversity(t *testing.T) {
	ref := golden.ReadReference(t)
	r := measure(t, Data{
		Keys: referenceColumns(ref.Keys, referenceKeys...), Weights: ref.Weights,
		Household: Codes(ref.Household), Sensitive: referenceColumns(ref.Sensitive, "illness"),
	}, Options{Alpha: 1, RecursiveC: 2})
	wantColumn(t, "household risk", r.Household.Risk, ref.HouseholdRisk)
	d := r.LDiversity["illness"]
	wantColumn(t, "entropy", d.Entropy, ref.Diversity.Entropy)
	for i := range d.Distinct {
		if float64(d.Distinct[i]) != ref.Diversity.Distinct[i] || float64(d.Recursive[i]) != ref.Diversity.Recursive[i] {
			t.Fatalf("record %d: %d distinct, recursive level %d, want %v and %v", i, d.Distinct[i], d.Recursive[i],
				ref.Diversity.Distinct[i], ref.Diversity.Recursive[i])
		}
	}
}
