package linkage

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/golden"
)

// The nearest record is the one that an independent script finds by looking at all.
func TestReferenceLinkage(t *testing.T) {
	ref := golden.ReadReference(t)
	var original, masked [][]float64
	for _, name := range ref.Linkage.Columns {
		original, masked = append(original, ref.Numeric[name]), append(masked, ref.Masked[name])
	}
	for distance, want := range map[Distance]float64{Standardised: ref.Linkage.Standardised, Gower: ref.Linkage.Gower} {
		if r := link(t, numeric(original...), numeric(masked...), Options{Distance: distance}); !near(r.ExpectedCorrect, want) || want < 20 {
			t.Errorf("%v finds %v, want %v", distance, r.ExpectedCorrect, want)
		}
	}
}
