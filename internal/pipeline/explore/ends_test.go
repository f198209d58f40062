package explore

import (
	"context"
	"errors"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
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

// Whatever call to the source of a map fails, it says so. Without rules no point is tried as
// a run, whose report would want the digest of the configuration.
func TestEveryCallOfAMapFailsOnce(t *testing.T) {
	p := mapped(t, t.TempDir(), "assess: {replicates: 2, sample: 200, targets: [max]}", "map: {vary: {masks.0.noise.sd: {from: 2%, to: 42%, steps: 2}}}",
		"gate: {}")
	attempt := func(calls *faulty.Calls) (*rumap.Map, error) {
		of := *p
		of.Source.Config = calls.Config(p.Source.Config)
		return Map(t.Context(), &of, pipeline.Options{})
	}
	all := new(faulty.Calls)
	if m, err := attempt(all); err != nil || m.Recommended != nil {
		t.Fatal(m, err)
	}
	for name, n := range faulty.Each(all.Counts()) {
		if _, err := attempt(&faulty.Calls{Name: name, N: n}); !errors.Is(err, faulty.ErrCall) {
			t.Errorf("%s, call %d fails: %v", name, n, err)
		}
	}
}
