// Package plantest makes plans for the tests of packages that need one.
package plantest

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// New returns the plan of a configuration for its own source, which is closed at the end of the
// test.
func New(t *testing.T, p *config.Pipeline) *pipeline.Plan {
	t.Helper()
	pl, err := Job(t, p).Plan()
	if err != nil {
		t.Fatal(err)
	}
	return pl
}

// Job returns a job of a configuration for its own source, which is closed at the end of the
// test. It has no key.
func Job(t *testing.T, p *config.Pipeline) *pipeline.Job {
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
	return &pipeline.Job{Config: p, Source: src, Log: zerolog.Nop(), Progress: new(pipeline.Progress)}
}
