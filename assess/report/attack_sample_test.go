package report

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
)

// The record that stands out most is described if all records were examined. A sample may not
// contain it, so only what the sample shows is described.
func TestWhoStandsOutOfASample(t *testing.T) {
	for _, uniques := range []int{0, 3} {
		u := &uniqueness.Result{Keys: []string{"place", "job"}, Records: 100, SampleUniques: uniques, MinFrequency: 2,
			MaxIndividualRisk: 0.297}
		for _, sampled := range []int{0, 100} {
			all := strings.Join(findings(&attack.Result{Records: 4000, Sampled: sampled, Uniqueness: u}), " ")
			if told := strings.Contains(all, "0.297"); told != (sampled == 0) ||
				strings.Contains(all, "in the sample.") == told {
				t.Errorf("%d uniques, a sample of %d: %s", uniques, sampled, all)
			}
		}
	}
}
