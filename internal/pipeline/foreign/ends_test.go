package foreign

import (
	"context"
	"errors"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// Wherever the assessment of a foreign release is told to end, it says so.
func TestAssessEndsAtEveryStep(t *testing.T) {
	original := rows(80)
	released := shuffled(masked(original))
	const header = "id,wage,debt,age,region"
	numbers := []string{"wage", "float64", "debt", "float64"}
	for _, id := range []string{"id", ""} {
		r := Release{ID: id, Original: file(t, header, original, numbers...), Released: file(t, header, released, numbers...), Targets: measured, Pictures: true}
		told := 0
		for n := range eventually.Steps {
			ctx := eventually.Ends(t.Context(), n)
			m, err := Assess(ctx, r, new(pipeline.Progress))
			if err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled)) || err == nil && m == nil {
				t.Fatalf("by %q, ended at question %d: %v, %v", id, n, m, err)
			}
			if err != nil {
				told++
			} else if !ctx.Ended() {
				break
			}
		}
		if told < 5 {
			t.Errorf("it was ended %d times: the test shows little", told)
		}
	}
}
