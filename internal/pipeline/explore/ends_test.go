package explore

import (
	"context"
	"errors"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// endings returns maps of every kind, by name: over a grid, by search, with a swap over the data,
// and of categories with and without random draws.
func endings(t *testing.T) map[string]*config.Pipeline {
	t.Helper()
	const few = "assess: {replicates: 2, sample: 200, targets: [max]}"
	const rules = "gate: {rules: [{column: income, min_efficiency: 0.1}], max_quarantined: 0.5}"
	all := map[string]*config.Pipeline{
		"a grid": mapped(t, t.TempDir(), few, "map: {vary: {masks.0.noise.sd: {from: 2%, to: 42%, steps: 2}}}", rules),
		"a search": mapped(t, t.TempDir(), few,
			"map: {search: true, vary: {masks.0.noise.sd: {from: 2%, to: 42%, steps: 2}}}", rules),
		"a swap": mapped(t, t.TempDir(), few,
			"masks: [{swap: {keys: [kind], attribute: region, columns: [income], rate: 0.2, policy: random, scope: dataset}}]",
			"map: {vary: {masks.0.swap.rate: {from: 0.1, to: 0.5, steps: 2}}}", rules),
		"losses": mapped(t, t.TempDir(),
			"assess: {replicates: 2, keys: [income, kind], targets: [max], intruder: {utility: {propensity: true}}}",
			"masks: [{microaggregate: {columns: [income], k: 5}}]",
			"map: {vary: {masks.0.microaggregate.k: {from: 3, to: 5, steps: 2}}}", rules),
	}
	for name, masks := range map[string]string{
		"suppressed categories": "[{suppress: {keys: [place, job, sex], k: 2}}]",
		"drawn categories":      "[{pram: {columns: [job], keep: 0.9, categories: [j0, j1, j2, j3, j4]}}]",
	} {
		of, vary := "place", "masks.0.suppress.k: {from: 2, to: 3, steps: 2}"
		if name == "drawn categories" {
			of, vary = "job", "masks.0.pram.keep: {from: 0.7, to: 0.9, steps: 2}"
		}
		p, err := coded(t, t.TempDir(), masks, "{max_changed: 0.9}", "{categories: ["+of+"], vary: {"+vary+"}}")
		if err != nil {
			t.Fatal(err)
		}
		p.Assess.Replicates = 3
		all[name] = p
	}
	return all
}

// If a map of any kind is cancelled at any point, it returns the error.
func TestMapEndsAtEveryStep(t *testing.T) {
	for name, p := range endings(t) {
		failures, skip := 0, 0
		for n := range eventually.Steps {
			if skip++; n > 20 && skip%3 > 0 || testing.Short() && n > 5 && skip%6 > 0 {
				continue // like those next to it
			}
			ctx := eventually.Ends(t.Context(), n)
			m, err := Map(ctx, p, pipeline.Options{})
			if err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled)) || err == nil && m == nil {
				t.Fatalf("%s, context ended at check %d: map %v, error %v", name, n, m, err)
			}
			if err != nil {
				failures++
			} else if !ctx.Ended() {
				break
			}
		}
		if failures < 5 {
			t.Errorf("%s: Map failed for %d ends of the context, want at least 5", name, failures)
		}
	}
}

// If any call to the source of a map of any kind fails, the map returns the error.
func TestEveryCallOfAMapFailsOnce(t *testing.T) {
	for name, p := range endings(t) {
		p.Gate = config.Gate{} // otherwise a point is tried as a run, and its report needs the digest of the configuration
		if p.Map.Search {
			continue // it needs rules
		}
		attempt := func(calls *faulty.Calls) (*rumap.Map, error) {
			of := *p
			of.Source.Config = calls.Config(p.Source.Config)
			return Map(t.Context(), &of, pipeline.Options{})
		}
		all := new(faulty.Calls)
		if m, err := attempt(all); err != nil || m.Recommended != nil {
			t.Fatal(name, m, err)
		}
		for call, n := range faulty.Each(all.Counts()) {
			if _, err := attempt(&faulty.Calls{Name: call, N: n}); !errors.Is(err, faulty.ErrCall) {
				t.Errorf("%s: %s, call %d fails: the error is %v", name, call, n, err)
			}
		}
	}
}

// lengthy are masks with a decision that ends only when it is cancelled.
type lengthy struct{ deciding, cancelled chan struct{} }

func (lengthy) NeedsSurvey() bool             { return true }
func (lengthy) Survey(*microdata.Block) error { return nil }
func (lengthy) Apply(*microdata.Block) error  { return nil }
func (l lengthy) Cancel()                     { close(l.cancelled) }
func (l lengthy) EndSurvey() error {
	close(l.deciding)
	<-l.cancelled
	return transform.ErrCancelled
}

// Masks that are deciding for the pairs of a point stop when the context ends, and return its
// error.
func TestMaskedEnds(t *testing.T) {
	acc,
		err := assess.New(assess.Options{Columns: []assess.Column{{Name: "x", Masked: true}}, Key: keytest.Key(1),
		Mixes: true})
	if err != nil {
		t.Fatal(err)
	}
	b := new(microdata.Block)
	b.Reset(0, 0, 3, 1)
	copy(b.Columns[0].Alloc(3, false).Values, []float64{1, 2, 3})
	acc.Add(b)
	ctx, cancel := context.WithCancel(t.Context())
	l := lengthy{make(chan struct{}), make(chan struct{})}
	go func() { <-l.deciding; cancel() }()
	if _, err := (&grid{pairs: acc}).masked(ctx, l); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}
