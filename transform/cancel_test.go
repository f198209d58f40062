package transform

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// A chain that is cancelled decides nothing more: before the decision, and in the middle of it, by
// either way of counting missing cells.
func TestEndSurveyIsCancelled(t *testing.T) {
	r := categoriesAt(rand.New(rand.NewPCG(5, 6)), 3*every, []int{40, 40, 40}, 0.01)
	columns := r.columns(arrow.PrimitiveTypes.Int64)
	for _, missing := range []string{"any", "none"} {
		begun := func() *Chain {
			c := chain(t, testSetup(t, columns...), mask(&Suppress{Keys: names(3), K: ptr(3), Missing: missing}))
			if err := c.Survey(block(0, len(r), columns...)); err != nil {
				t.Fatal(err)
			}
			return c
		}
		c := begun()
		c.Cancel()
		if err := c.EndSurvey(); !errors.Is(err, ErrCancelled) || c.surveyed {
			t.Errorf("missing %s, cancelled before: %v", missing, err)
		}
		// The search itself gives up where it is asked to: at the first, second … time that it asks, and it
		// asks several times.
		asked := 0
		for at := 1; ; at++ {
			c := begun()
			s := c.steps[0].(*suppressStep)
			s.data.sortRuns()
			asked = 0
			s.suppress.cancelled = func() bool { asked++; return asked >= at }
			if _, err := s.suppress.hide(s.codes); err != nil {
				t.Fatal(err)
			}
			if asked < at {
				break // it has come to the end
			}
			if most := at + 1; asked > most { // the loop behind the one that was left asks once
				t.Errorf("missing %s: goes on after it was told to give up %d times", missing, asked-at)
			}
		}
		if asked < 4 {
			t.Errorf("missing %s: asks %d times whether to go on", missing, asked)
		}
	}
}
