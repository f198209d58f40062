package attack

import (
	"context"
	"errors"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// If an attack is cancelled at any point, it returns the error.
func TestRunEndsAtEveryStep(t *testing.T) {
	p := survey(t, 120,
		"{swap: {keys: [region], attribute: age, columns: [wage], rate: 0.5, policy: random, scope: dataset}}, {noise: {columns: [debt], sd: 10%}}", "assess: {keys: [age, region, wage]}")
	failures := 0
	for n := range eventually.Steps {
		ctx := eventually.Ends(t.Context(), n)
		r, _, err := Run(ctx, p, pipeline.Options{})
		if err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled) || r != nil) || err == nil && r == nil {
			t.Fatalf("context ended at check %d: result %v, error %v", n, r, err)
		}
		if err != nil {
			failures++
		} else if !ctx.Ended() {
			break
		}
	}
	if failures < 5 {
		t.Errorf("Run failed for %d ends of the context, want at least 5", failures)
	}
}

// If any call to the source of an attack fails, the attack returns the error and no result.
func TestEveryCallOfAnAttackFailsOnce(t *testing.T) {
	p := survey(t, 120,
		"{swap: {keys: [region], attribute: age, columns: [wage], rate: 0.5, policy: random, scope: dataset}}, {noise: {columns: [debt], sd: 10%}}", "assess: {keys: [age, region, wage]}")
	attempt := func(calls *faulty.Calls) (bool, error) {
		of := *p
		of.Source.Config = calls.Config(p.Source.Config)
		r, _, err := Run(t.Context(), &of, pipeline.Options{})
		return r != nil, err
	}
	all := new(faulty.Calls)
	if found, err := attempt(all); err != nil || !found {
		t.Fatal(err)
	}
	for name, n := range faulty.Each(all.Counts()) {
		if found, err := attempt(&faulty.Calls{Name: name, N: n}); !errors.Is(err, faulty.ErrCall) || found {
			t.Errorf("%s, call %d fails: result there %v, error %v; want none and that of the call", name, n, found, err)
		}
	}
}
