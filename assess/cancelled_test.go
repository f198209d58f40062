package assess

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
)

// ending is a context that ends after it was checked a given number of times.
type ending struct {
	context.Context
	left atomic.Int64
}

func endingAfter(t *testing.T, n int64) *ending {
	e := &ending{Context: t.Context()}
	e.left.Store(n)
	return e
}

func (e *ending) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A measurement that is cancelled returns the error or the complete result: never a partial one, at
// whichever step it is cancelled.
func TestEndedAtEveryStep(t *testing.T) {
	key := testKey(t)
	chains := noises(t, key, 0, 5, 20)
	for name, change := range map[string]func(o *Options){
		"replicates":    func(o *Options) {},
		"of a sample":   func(o *Options) { o.Sample = 150 },
		"by the law":    func(o *Options) { o.Sample = 150; o.Law = lawOf(chains[0]) },
		"no replicates": func(o *Options) { o.Replicates = 0 },
		"entire":        func(o *Options) { o.Entire, o.Sample = true, 150 },
	} {
		o := Options{Columns: []Column{{Name: "x", Masked: true}}, Key: key, Targets: []string{"min", "p50", "max"},
			Replicates: 4,
			Replicate:  func(m int) Masker { return chains[0].Replicate(m) }}
		change(&o)
		a := newAccumulator(t, o)
		a.Add(wages(t, key, 0, 400))
		calls := map[string]func(ctx context.Context) (any, error){
			"measure": func(ctx context.Context) (any, error) { return a.Measure(ctx) },
			"quick":   func(ctx context.Context) (any, error) { return a.MeasureQuick(ctx) },
			"explore": func(ctx context.Context) (any, error) {
				return a.Explore(ctx, Exploration{Points: 2, Replicate: grid(chains), From: 1, Replicates: 3})
			},
			"snapshot": func(ctx context.Context) (any, error) {
				s, err := NewSnapshots(o, 100)
				must(t, err)
				s.Add(wages(t, key, 0, 400))
				window, total, err := s.Take(ctx)
				if (err != nil) != (window == nil) || (err != nil) != (total == nil) {
					t.Errorf("%s: a snapshot of which %v: %v, %v", name, err, window, total)
				}
				if taken := s.Taken(); (err == nil) != (taken == 1) {
					t.Errorf("%s: %d snapshots taken: %v", name, taken, err)
				}
				return []any{window, total}, err
			},
		}
		for what, call := range calls {
			text := func(of any) string {
				s, err := json.Marshal(of)
				must(t, err)
				return string(s)
			}
			whole, err := call(t.Context())
			must(t, err)
			want := text(whole)
			ended, steps := 0, int64(0)
			for ; ; steps++ {
				ctx := endingAfter(t, steps)
				got, err := call(ctx)
				if err == nil {
					if text(got) != want {
						t.Errorf("%s, %s: cancelled after %d steps, the result differs but there is no error", name, what, steps)
					}
					if ctx.left.Load() >= 0 {
						break
					}
					t.Errorf("%s, %s: it was cancelled after %d steps and returns no error", name, what, steps)
				} else if ended++; !errors.Is(err, context.Canceled) {
					t.Errorf("%s, %s: ended after %d steps: %v", name, what, steps, err)
				}
			}
			if ended == 0 && what != "explore" {
				t.Errorf("%s, %s: never asks whether it is to end", name, what)
			}
		}
	}
}
