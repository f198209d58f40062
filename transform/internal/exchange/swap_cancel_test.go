package exchange

import (
	"errors"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// A swap over all records also stops: it decides about no further group or candidate, and moves
// nothing.
func TestSwapGivesUp(t *testing.T) {
	columns := tiedData(3*decision.Every+700, 4)
	begun := func() (*core.Chain, *datasetSwap) {
		c := chain(t, testSetup(t, columns...),
			mask(&Swap{Keys: []string{"d"}, Attribute: "c", Columns: []string{"a"}, Rate: ptr(1.0), Policy: "random",
				Scope: "dataset"}))
		if err := c.Survey(block(0, len(columns[0].Values), columns...)); err != nil {
			t.Fatal(err)
		}
		for _, s := range c.Steps {
			if s, ok := s.(*datasetSwap); ok {
				return c, s
			}
		}
		t.Fatal("no swap")
		return nil, nil
	}
	c, s := begun()
	if err := s.Decide(c); err != nil || len(s.moves) == 0 {
		t.Fatalf("%d sources of moves, %v", len(s.moves), err)
	}
	c, s = begun()
	c.Cancel()
	if err := s.Decide(c); !errors.Is(err, core.ErrCancelled) || s.moves != nil {
		t.Errorf("cancelled: %v, %d sources of moves", err, len(s.moves))
	}
	// Within a group it asks once per fixed number of candidates.
	_, s = begun()
	all := make([]int32, len(s.combos))
	for i := range all {
		all[i] = int32(i)
	}
	checks := 0
	s.stop = func() bool { checks++; return checks > 1 }
	s.expect()
	moves := len(s.decideGroup(nil, all))
	for _, m := range s.received {
		if m.value != nothing {
			moves++
		}
	}
	if moves > 2*decision.Every || checks < 2 {
		t.Errorf("%d moves, asked %d times", moves, checks)
	}
}
