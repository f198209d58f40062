// Package plantest makes plans for the tests of packages that need one.
package plantest

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// New returns the plan of a configuration for its own source, which is closed at the end of the
// test.
func New(t *testing.T, p *config.Pipeline) *pipeline.Plan {
	t.Helper()
	src, err := pipeline.OpenSource(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	pl, err := pipeline.NewPlan(p, src, false)
	if err != nil {
		t.Fatal(err)
	}
	return pl
}
