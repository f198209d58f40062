package foreign

import (
	"context"
	"errors"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// If the assessment of a foreign release is cancelled at any point, it returns the error.
func TestAssessEndsAtEveryStep(t *testing.T) {
	original := rows(80)
	released := shuffled(masked(original))
	const header = "id,wage,debt,age,region"
	numbers := []string{"wage", "float64", "debt", "float64"}
	for _, id := range []string{"id", ""} {
		r := Release{ID: id, Original: file(t, header, original, numbers...), Released: file(t, header, released, numbers...),
			Targets: measured, Pictures: true}
		failures := 0
		for n := range eventually.Steps {
			ctx := eventually.Ends(t.Context(), n)
			m, err := Assess(ctx, r, new(pipeline.Progress))
			if err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled)) || err == nil && m == nil {
				t.Fatalf("by %q, context ended at check %d: result %v, error %v", id, n, m, err)
			}
			if err != nil {
				failures++
			} else if !ctx.Ended() {
				break
			}
		}
		if failures < 5 {
			t.Errorf("Assess failed for %d ends of the context, want at least 5", failures)
		}
	}
}

// If any call to either file fails, the error is returned, by position and by an identifier.
func TestEveryCallOfForeignFilesFailsOnce(t *testing.T) {
	original := rows(60)
	released := masked(original)
	const header = "id,wage,debt,age,region"
	numbers := []string{"wage", "float64", "debt", "float64"}
	o, r := file(t, header, original, numbers...), file(t, header, shuffled(released), numbers...)
	for _, id := range []string{"id", ""} {
		for what, attempt := range map[string]func(of [3]*faulty.Calls) error{
			"assess": func(of [3]*faulty.Calls) error {
				m,
					err := Assess(t.Context(),
					Release{ID: id, Original: of[0].Config(o), Released: of[1].Config(r), Targets: measured, Pictures: true},
					new(pipeline.Progress))
				if (m == nil) != (err != nil) {
					t.Errorf("Assess returns both or neither of the result %v and the error %v", m, err)
				}
				return err
			},
			"attack": func(of [3]*faulty.Calls) error {
				a := Attack{Original: of[0].Config(o), Released: of[1].Config(r),
					Earlier: []connectors.SourceConfig{of[2].Config(r)}, ID: id,
					Keys: []string{"wage"}, Categorical: []string{"age"},
					Options: attack.Options{Targets: 10, Linkage: &attack.Linkage{}, Averaging: true}}
				found, err := a.Run(t.Context(), new(pipeline.Progress))
				if (found == nil) != (err != nil) {
					t.Errorf("Run returns both or neither of the result %v and the error %v", found, err)
				}
				return err
			},
		} {
			all := [3]*faulty.Calls{new(faulty.Calls), new(faulty.Calls), new(faulty.Calls)}
			if err := attempt(all); err != nil {
				t.Fatal(what, err)
			}
			for file, calls := range all {
				for name, n := range faulty.Each(calls.Counts()) {
					if name == "close the reader" {
						continue // everything has been read by then
					}
					of := [3]*faulty.Calls{new(faulty.Calls), new(faulty.Calls), new(faulty.Calls)}
					of[file] = &faulty.Calls{Name: name, N: n}
					if err := attempt(of); !errors.Is(err, faulty.ErrCall) {
						t.Errorf("%s by %q, file %d: %s, call %d fails: the error is %v", what, id, file, name, n, err)
					}
				}
			}
		}
	}
}
