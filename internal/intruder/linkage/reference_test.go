package linkage

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/golden"
)

// The nearest record is the one that an independent script finds by comparing all
// records.
func TestReferenceLinkage(t *testing.T) {
	ref := golden.ReadReference(t)
	var original, masked [][]float64
	for _, name := range ref.Linkage.Columns {
		original, masked = append(original, ref.Numeric[name]), append(masked, ref.Masked[name])
	}
	for distance, want := range map[Distance]float64{Standardised: ref.Linkage.Standardised, Gower: ref.Linkage.Gower,
		Mahalanobis: ref.Linkage.Mahalanobis} {
		if r := link(t, numeric(original...), numeric(masked...), Options{Distance: distance}); !near(r.ExpectedCorrect,
			want) || want < 20 {
			t.Errorf("%v finds %v, want %v", distance, r.ExpectedCorrect, want)
		}
	}
}

// The one-to-one assignment has the same total distance as the one that the script finds
// with another method.
func TestReferenceAssignment(t *testing.T) {
	ref := golden.ReadReference(t)
	var original, masked [][]float64
	for _, name := range ref.Linkage.Columns {
		original, masked = append(original, ref.Numeric[name]), append(masked, ref.Masked[name])
	}
	targets, released, o := numeric(original...), numeric(masked...), Options{Distance: Standardised, OneToOne: true}
	if r := link(t, targets, released, o); *r.OneToOneCorrect != ref.Linkage.OneToOneCorrect ||
		ref.Linkage.OneToOneCorrect < 20 {
		t.Errorf("%v of the assignment are right, want %v", *r.OneToOneCorrect, ref.Linkage.OneToOneCorrect)
	}
	s, err := newSpace(targets, released, &o)
	if err != nil {
		t.Fatal(err)
	}
	n := targets.Len()
	cost := make([]float64, n*n)
	for i := range n {
		for j := range n {
			cost[i*n+j] = s.measured(s.between(s.target(i), s.record(j)))
		}
	}
	columnOf, _, err := assign(t.Context(), cost, n, n)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := total(t, cost, n, columnOf), ref.Linkage.OneToOneTotal; !(math.Abs(got-want) <= 1e-9*want) {
		t.Errorf("the best assignment is %v long, want %v", got, want)
	}
}
