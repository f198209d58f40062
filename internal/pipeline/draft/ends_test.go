package draft

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
)

// If reading a source for a draft is cancelled at any point, the error is returned and nothing is
// drafted.
func TestDraftEndsAtEveryStep(t *testing.T) {
	path := survey(t, ",", 50)
	failures := 0
	for n := range eventually.Steps {
		ctx := eventually.Ends(t.Context(), n)
		d, err := Of(ctx, path, &csv.SourceConfig{Path: path})
		if err != nil && (!ctx.Ended() || !errors.Is(err, context.Canceled) || d != nil) || err == nil && d == nil {
			t.Fatalf("context ended at check %d: result %v, error %v", n, d, err)
		}
		if err != nil {
			failures++
		} else if !ctx.Ended() {
			break
		}
	}
	if failures < 3 {
		t.Errorf("Of failed for %d ends of the context, want at least 3", failures)
	}
	if d, err := Of(t.Context(), path+"x", &csv.SourceConfig{Path: path + "x"}); err == nil || d != nil {
		t.Errorf("missing file: Of returns %v, want an error", d)
	}
}

// If any call to the source fails, the error is returned and nothing is drafted.
func TestEveryCallOfADraftFailsOnce(t *testing.T) {
	path := survey(t, ",", 50)
	attempt := func(calls *faulty.Calls) (*Draft, error) {
		return Of(t.Context(), path, calls.Config(&csv.SourceConfig{Path: path}))
	}
	all := new(faulty.Calls)
	if d, err := attempt(all); err != nil || d == nil {
		t.Fatal(err)
	}
	if d, err := attempt(&faulty.Calls{Wraps: true}); err != nil || d == nil {
		t.Errorf("a wrapped io.EOF is not taken for the end: %v", err)
	}
	for name, n := range faulty.Each(all.Counts()) {
		d, err := attempt(&faulty.Calls{Name: name, N: n})
		// everything has been read by then
		if told := errors.Is(err, faulty.ErrCall) && d == nil; told != (name != "close the reader") {
			t.Errorf("%s, call %d fails: result %v, error %v", name, n, d, err)
		}
	}
}

// A source of which everything has been read is called whole, also if it has as many records as are
// read at most, or ends in the last block that is read. Of a longer one only the first records are read.
func TestWholeSourceIsKnownAsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.csv")
	for n, whole := range map[int]bool{looked - 1: true, looked: true, looked + 1: true, 2 * looked: false} {
		if err := os.WriteFile(path, []byte("number\n"+strings.Repeat(strings.Repeat("1", 16)+"\n", n)), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := (&csv.SourceConfig{Path: path}).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		look, err := Source(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		if look.All != whole || (look.Records == int64(n)) != whole || look.Records < min(looked, int64(n)) {
			t.Errorf("of %d records %d are read; all: %v", n, look.Records, look.All)
		}
	}
}
