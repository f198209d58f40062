package shard

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/eventually"
)

// files returns the names of all files in the working directory, including hidden ones.
func files(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// If a plan, a shard or a commit is cancelled at any point, it returns the error. A shard leaves no
// file behind, and the cancelled command can be repeated.
func TestShardsEndAtEveryStep(t *testing.T) {
	prepare(t, "csv", 60, "")
	ends := func(what string, do func(ctx context.Context) (done bool, err error)) {
		t.Helper()
		failures := 0
		for n := range eventually.Steps {
			ctx := eventually.Ends(t.Context(), n)
			done, err := do(ctx)
			if err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled)) || done != (err == nil) {
				t.Fatalf("%s, context ended at check %d: done %v, error %v", what, n, done, err)
			}
			if err == nil {
				break
			}
			failures++
		}
		if failures < 3 {
			t.Errorf("%s failed for %d ends of the context, want at least 3", what, failures)
		}
	}
	ends("the plan", func(ctx context.Context) (bool, error) {
		m, err := Plan(ctx, load(t), "pipeline.yaml", nil, 1, options)
		return m != nil, err
	})
	m := planned(t, 1)
	before := files(t)
	ends("a shard", func(ctx context.Context) (bool, error) {
		s, err := Run(ctx, load(t), m, 0, nil, options)
		if left := files(t); err != nil && !slices.Equal(left, before) {
			t.Errorf("a cancelled shard leaves the files %v, want %v as before", left, before)
		}
		if err == nil {
			err = s.Write("states/0.state")
		}
		return s != nil, err
	})
	ends("the commit", func(ctx context.Context) (bool, error) {
		r, err := Commit(ctx, load(t), m, "states", options)
		if _, missing := os.Stat("report.json"); err != nil && missing == nil {
			t.Error("a cancelled commit wrote a report")
		}
		return r != nil, err
	})
	if got := read(t, "report.json"); got["records"].(map[string]any)["released"].(float64) != 60 {
		t.Errorf("after all attempts, the records of the report are %v, want 60 released", got["records"])
	}
}
