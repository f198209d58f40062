package entered_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/entered"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// What became of a release follows from how its files got their names: one that has its name counts, whatever failed
// behind it, and so does one of which it is not known.
func TestOutcomes(t *testing.T) {
	objecttest.Serve(t, "s3", "data")
	p := release{name: "a", masks: noise, noLedger: true}.parse(t, records(t, 1))
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
			p.Ledger = at
			l, err := entered.Open(t.Context(), p, keytest.Key(1), zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			if err := l.EnterTables(&ledger.Tables{Name: "a"}, nil); err != nil {
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
	var none *entered.Ledger
	none.Settle(nil)
	none.Tell(nil)
	none.Add(nil)
	if none.Close() != nil || none.Enter(nil, nil, nil) != nil {
		t.Error("without a ledger something fails")
	}
}
