package draft

import (
	"context"
	"errors"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
)

// Wherever a look at a source is told to end, it says so, and nothing is drafted.
func TestDraftEndsAtEveryStep(t *testing.T) {
	path := survey(t, ",", 50)
	told := 0
	for n := range eventually.Steps {
		ctx := eventually.Ends(t.Context(), n)
		d, err := Of(ctx, path, &csv.SourceConfig{Path: path})
		if err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled) || d != nil) || err == nil && d == nil {
			t.Fatalf("ended at question %d: %v, %v", n, d, err)
		}
		if err != nil {
			told++
		} else if !ctx.Ended() {
			break
		}
	}
	if told < 3 {
		t.Errorf("it was ended %d times: the test shows little", told)
	}
	if d, err := Of(t.Context(), path+"x", &csv.SourceConfig{Path: path + "x"}); err == nil || d != nil {
		t.Errorf("no file: %v", d)
	}
}
