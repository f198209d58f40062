package report

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// How much the one stands out who does most is said where all records were looked at: of a
// sample, which may not have that one, only what the sample shows is.
func TestWhoStandsOutOfASample(t *testing.T) {
	for _, uniques := range []int{0, 3} {
		u := &uniqueness.Result{Keys: []string{"place", "job"}, Records: 100, SampleUniques: uniques, MinFrequency: 2, MaxIndividualRisk: 0.297}
		for _, sampled := range []int{0, 100} {
			all := strings.Join(findings(&attack.Result{Records: 4000, Sampled: sampled, Uniqueness: u}), " ")
			if told := strings.Contains(all, "0.297"); told != (sampled == 0) || strings.Contains(all, "in the sample.") == told {
				t.Errorf("%d uniques, a sample of %d: %s", uniques, sampled, all)
			}
		}
	}
}
