package pipeline

import (
	"errors"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
)

const invariantMask = "masks: [{pram: {columns: [kind], keep: 0.5, categories: [a, b, c, d], invariant: true, by: [region]}}]\n"

// Categories are counted in a first pass, by column and stratum, for the masks and for their
// replicates. If any call of the pass fails, the error is returned.
func TestFrequenciesAreCounted(t *testing.T) {
	p := people(t, columns+invariantMask)
	pl := planFor(t, p, true)
	if pl.Frequencies() != nil {
		t.Error("the plan has frequencies before a pass")
	}
	if err := pl.Settle(t.Context(), new(Progress)); err != nil {
		t.Fatal(err)
	}
	if len(pl.Frequencies()) != 1 {
		t.Fatalf("the frequencies are %v, want those of one mask", pl.Frequencies())
	}
	for _, f := range pl.Frequencies() {
		if f.Strata() != 3 {
			t.Errorf("%d strata, want the 3 regions", f.Strata())
		}
	}
	if _, err := pl.newChain(t.Context(), keytest.Key(1), new(Progress)); err != nil {
		t.Error(err)
	}
	if _, err := pl.newReplicate(p.Masks, keytest.Key(1)); err != nil {
		t.Error(err)
	}
	attempt := settling(t, p, func(*Plan) error { return nil })
	calls := new(faulty.Calls)
	if err := attempt(calls); err != nil {
		t.Fatal(err)
	}
	for name, n := range faulty.Each(calls.Counts()) {
		if err := attempt(&faulty.Calls{Name: name, N: n}); err == nil && !strings.HasPrefix(name, "close") {
			t.Errorf("%s, call %d fails, but Settle returns no error", name, n)
		}
	}
}

// readOnce is a source that can be read once.
type readOnce struct{ connectors.Source }

func (readOnce) Rewindable() bool { return false }

// Categories that cannot be counted are an error with the place.
func TestFrequenciesThatCannotBeCounted(t *testing.T) {
	for name, c := range map[string]struct{ masks, want string }{
		"categories that are no numbers": {
			"masks: [{pram: {columns: [wage], keep: 0.5, categories: [low, high], invariant: true}}]\n",
			`masks[0].pram: categories: column "wage" holds numbers, and "high" is none`},
		"strata of one category": {
			"masks: [{pram: {columns: [kind], keep: 0.5, categories: [y, z], other: z, invariant: true, by: [region]}}]\n",
			`masks[0].pram: must have strata with at least two categories: in each stratum all values of "kind" are the same`},
	} {
		pl := planFor(t, people(t, columns+c.masks), true)
		var wrong config.Errors
		if err := pl.Settle(t.Context(), new(Progress)); !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	// A pipe can be read once.
	pl := planFor(t, people(t, columns+invariantMask), true)
	pl.Source = readOnce{pl.Source}
	var wrong config.Errors
	if err := pl.Settle(t.Context(), new(Progress)); !errors.As(err, &wrong) ||
		wrong[0].Path != "masks[0].pram.invariant" || !strings.Contains(wrong[0].Text, "give frequencies") {
		t.Errorf("a source that can be read only once: error %v", err)
	}
}
