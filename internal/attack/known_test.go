package attack_test

import (
	"context"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// ofKeys returns records with keys that have the given codes on both sides.
func ofKeys(sides ...[2][]int32) attack.Data {
	var d attack.Data
	for i, s := range sides {
		d.Categorical = append(d.Categorical,
			attack.CategoricalColumn{Name: string(rune('a' + i)), Original: s[0], Released: s[1]})
	}
	return d
}

func countOf(t *testing.T, d attack.Data) *attack.Result {
	t.Helper()
	o := uniqueness.DefaultOptions()
	o.Subsets = []int{1}
	r, err := attack.Run(context.Background(), d, attack.Options{Uniqueness: &o})
	must(t, err)
	return r
}

// TestSnooperByHand: five persons of one region and age, of whom one is alone in his state, which
// is hidden. His record fits everyone, but for who knows him no other record does.
func TestSnooperByHand(t *testing.T) {
	same := []int32{0, 0, 0, 0, 0}
	state := [2][]int32{{0, 1, 1, 0, 2}, {0, 1, 1, 0, -1}}
	want := []float64{3, 3, 3, 3, 1}
	for place := range 3 { // the hidden key first, in the middle and last
		sides := [][2][]int32{{same, same}, {same, same}, {same, same}}
		sides[place] = state
		r := countOf(t, ofKeys(sides...))
		u := r.Uniqueness
		for i, k := range want {
			if u.SampleFrequency[i] != k {
				t.Errorf("place %d: record %d has k %v, want %v", place, i, u.SampleFrequency[i], k)
			}
		}
		id := r.Identity()
		near(t, "k", float64(id.MinK), 1)
		near(t, "risk", float64(id.MaxIndividualRisk), 1)
		near(t, "k by one key", float64(id.BySubset[1].MinK), 1)
		near(t, "linked", float64(id.Linked), (4./3+1)/5)
		if u.Count != uniqueness.CountSnooper || u.Violations[2] != 1 || u.Violations[5] != 5 {
			t.Errorf("place %d: %+v", place, u)
		}
		d := ofKeys(sides...)
		d.Released = true
		if u = countOf(t, d).Uniqueness; u.MinFrequency != 3 || u.Count != uniqueness.CountReleased {
			t.Errorf("from the released record: k %v, want 3", u.MinFrequency)
		}
	}
}

// TestCodedKeys: a coding that the release shows is known to the snooper, who then looks for the
// coded value; a category that is hidden wherever it occurs fits the hidden records only.
func TestCodedKeys(t *testing.T) {
	d := ofKeys([2][]int32{{0, 1, 2, 3, 3, 4, -1}, {7, 7, 8, 8, 8, -1, -1}})
	r := countOf(t, d)
	// The hidden records, of 4 and of nobody knows what, fit everyone.
	for i, want := range []float64{4, 4, 5, 5, 5, 2, 7} {
		near(t, "k", r.Uniqueness.SampleFrequency[i], want)
	}
	if r.TwoReadings != nil {
		t.Errorf("two readings of a coding: %v", r.TwoReadings)
	}
}

// TestUnknownMasks: a release that no coding explains is read in two ways, and the smaller k
// holds: the original category as it stands, and what it became most often. A respondent's own
// record is a candidate in any case.
func TestUnknownMasks(t *testing.T) {
	//                                  0        1        2
	d := ofKeys([2][]int32{{0, 0, 0, 0, 1, 1, 1, 2, 2, 2}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 2}})
	r := countOf(t, d)
	// Released are 0 six times, 1 three times and 2 once. As it stands 0 has 6 candidates,
	// 1 has 3, 2 has 1, and one more where the own record is another one. By what became of it
	// most often, 2 is 0.
	for i, want := range []float64{6, 6, 6, 7, 3, 3, 4, 2, 2, 1} {
		near(t, "k", r.Uniqueness.SampleFrequency[i], want)
	}
	if len(r.TwoReadings) != 1 || r.TwoReadings[0] != "a" {
		t.Errorf("two readings of %v", r.TwoReadings)
	}
}

// TestUncounted: a key whose mask is not covered is left out by name, and no rule about k holds.
func TestUncounted(t *testing.T) {
	a := []int32{0, 0, 0, 0}
	for place := range 3 {
		d := ofKeys([2][]int32{a, a}, [2][]int32{a, a}, [2][]int32{a, a})
		d.Categorical[place].Known = &attack.Known{Not: "is masked by noise"}
		r := countOf(t, d)
		id := r.Identity()
		if len(r.Uncounted) != 1 || len(r.Uniqueness.Keys) != 2 || id.MinK == id.MinK ||
			id.MaxIndividualRisk == id.MaxIndividualRisk || id.BySubset != nil || id.Uncounted == "" {
			t.Errorf("place %d: %+v", place, id)
		}
	}
	d := ofKeys([2][]int32{a, a})
	d.Categorical[0].Known = &attack.Known{Not: "is masked by noise"}
	if r := countOf(t, d); r.Uniqueness != nil || r.Identity().Uncounted == "" {
		t.Error("a single key that is not covered is counted")
	}
}
