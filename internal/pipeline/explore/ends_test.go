package explore

import (
	"context"
	"errors"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// Wherever a map is told to end, it says so.
func TestMapEndsAtEveryStep(t *testing.T) {
	p := mapped(t, t.TempDir(), "assess: {replicates: 2, sample: 200, targets: [max]}", "map: {vary: {masks.0.noise.sd: {from: 2%, to: 42%, steps: 2}}}",
		"gate: {rules: [{column: income, min_efficiency: 0.1}], max_quarantined: 0.5}")
	told, skip := 0, 0
	for n := range eventually.Steps {
		if skip++; n > 20 && skip%3 > 0 {
			continue // as those beside it
		}
		ctx := eventually.Ends(t.Context(), n)
		m, err := Map(ctx, p, pipeline.Options{})
		if err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled)) || err == nil && m == nil {
			t.Fatalf("ended at question %d: %v, %v", n, m, err)
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
