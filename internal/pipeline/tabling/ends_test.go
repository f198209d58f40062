package tabling

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// Wherever a run is told to end, it says so and leaves nothing, or has published all.
func TestRunEndsAtEveryStep(t *testing.T) {
	dir := shopsIn(t)
	c, err := config.ParseTabulation("t.yaml", []byte(strings.ReplaceAll(shopTables, "%s", dir)), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for n := range eventually.Steps {
		ctx := eventually.Ends(t.Context(), n)
		res, err := Run(ctx, c, pipeline.Options{})
		ended := ctx.Ended()
		entries, _ := os.ReadDir(dir)
		switch {
		case err != nil && (!ended || !errors.Is(err, context.Canceled)):
			t.Fatalf("ended at question %d: %v", n, err)
		case err != nil && len(entries) != 2:
			t.Fatalf("ended at question %d, it leaves %v", n, entries)
		case err == nil && (len(res.Files) != 6 || len(entries) != 2+6):
			t.Fatalf("published are %v, and there is %v", res.Files, entries)
		}
		if err != nil {
			told++
			continue
		}
		for _, path := range res.Files {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if !ended {
			break
		}
	}
	if told < 5 {
		t.Errorf("it was ended %d times: the test shows little", told)
	}
}
