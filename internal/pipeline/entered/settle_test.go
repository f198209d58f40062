package entered

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// What became of a release follows from how its files got their names: one that has its name counts, whatever failed
// behind it, and so does one of which it is not known.
func TestOutcomes(t *testing.T) {
	objecttest.Serve(t, "s3", "data")
	for name, c := range map[string]struct {
		err              error
		known, published bool
	}{
		"published":        {nil, true, true},
		"has its name":     {&publish.NamedError{}, true, true},
		"not published":    {errors.New("the disk is full"), true, false},
		"not known":        {account.Unsure([]string{"out.csv"}, errors.New("lost")), false, true},
		"partly published": {account.Partly([]string{"out.csv"}, errors.New("lost")), false, true},
	} {
		for _, at := range []string{filepath.Join(t.TempDir(), "ledger"), "s3://data/" + name} {
			held, err := ledger.Open(t.Context(), at, nil)
			if err != nil {
				t.Fatal(err)
			}
			l := &Ledger{held: held, log: zerolog.Nop()}
			if l.number, err = held.Enter(&ledger.Release{Name: "a", Releasing: json.RawMessage("{}")}); err != nil {
				t.Fatal(err)
			}
			l.Settle(c.err)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			look, err := ledger.Look(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			if r := look.All()[0]; r.Known != c.known || r.Published != c.published {
				t.Errorf("%s: %s: known %v, published %v", at, name, r.Known, r.Published)
			}
		}
	}
	var none *Ledger
	none.Settle(nil)
	none.Tell(nil)
	none.Add(nil)
	if none.Close() != nil || none.Enter(nil, nil, nil) != nil {
		t.Error("without a ledger something fails")
	}
}
