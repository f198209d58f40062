package transform

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// cancellable are the masks that decide on all values, with the minimum number of times that they
// ask whether to continue: about 13,000 records in two strata, with two or three columns.
func cancellable() map[string]struct {
	mask   Spec
	checks int
} {
	univariate := micro(5, "a", "b")
	univariate.Method = "univariate"
	univariate.By = []string{"d"}
	type of = struct {
		mask   Spec
		checks int
	}
	return map[string]of{
		// once per two groups
		"mdav":       {mask(&Microaggregate{Columns: []string{"a", "b"}, By: []string{"d"}, K: ptr(5)}), 3000 / 5},
		"univariate": {mask(univariate), 2 * 2},
		"rankswap":   {mask(&RankSwap{Columns: []string{"a", "b"}, P: ptr(0.05)}), 2 * 3},
		"shuffle":    {mask(&Shuffle{Columns: []string{"a", "b"}, On: []string{"c"}}), 3 * 3},
		"parametric": {synthesise(Synthesise{Columns: []string{"a", "b"}, On: []string{"c"}, By: []string{"d"}}), 2 * 2 * 3},
		"normal":     {synthesise(Synthesise{Columns: []string{"a", "b"}, Method: "normal"}), 2 * 3},
		"cart":       {synthesise(Synthesise{Columns: []string{"a", "b"}, On: []string{"c"}, Method: "cart"}), 500},
		"logistic": {synthesise(Synthesise{Columns: []string{"d", "a"}, On: []string{"c"}, Categories: []string{"d"}}),
			3 * 3},
	}
}

// cancelData returns columns of numbers and a column with two categories.
func cancelData() []testColumn { return tiedData(3*decision.Every+700, 4) }

// Each mask on all values stops after it is cancelled, at any point. Its loops then check only a
// few more times, and it returns no error. It checks often.
func TestDecisionsGiveUp(t *testing.T) {
	columns := cancelData()
	for name, of := range cancellable() {
		gather := func(stop decision.Stop) (*gathered.Step, *gathered.Data) {
			c := chain(t, testSetup(t, columns...), of.mask)
			if err := c.Survey(block(0, len(columns[0].Values), columns...)); err != nil {
				t.Fatal(err)
			}
			s := c.Steps[0].(*gathered.Step)
			s.Data.SortRuns()
			s.Data.Stop = stop
			if f, ok := s.All.(gathered.Fitting); ok {
				f.Share(&gathered.Fits{})
			}
			return s, &s.Data
		}
		checks := 0
		s, g := gather(func() bool { checks++; return false })
		if err := g.MaskBy(s.All); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all := checks
		if all < of.checks {
			t.Errorf("%s: asks %d times whether to go on, want %d at least", name, all, of.checks)
		}
		for at := 1; at <= all; at += onward(testing.Short(), at, 7) {
			checks = 0
			s, g := gather(func() bool { checks++; return checks >= at })
			_ = g.MaskBy(s.All) // the result is not used
			if checks > at+12 {
				t.Errorf("%s: checks %d times more after it was cancelled at check %d of %d", name, checks-at, at, all)
			}
		}
	}
}

// A chain that is cancelled during such a decision reports that. A cancelled replicate does not
// damage shared results: the next replicate is the same as without it.
func TestCancelledReplicatesSpoilNothing(t *testing.T) {
	columns := cancelData()
	n := len(columns[0].Values)
	released := func(c *Chain) []float64 {
		if err := c.Survey(block(0, n, columns...)); err != nil {
			t.Fatal(err)
		}
		if err := c.EndSurvey(); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(apply(t, c, block(0, n, columns...)).Columns[0].Out().Values)
	}
	for name, of := range cancellable() {
		want := released(chain(t, testSetup(t, columns...), of.mask).Replicate(2))
		for _, at := range []int{1, 2, of.checks / 2, of.checks} {
			c := chain(t, testSetup(t, columns...), of.mask)
			r := c.Replicate(1)
			if err := r.Survey(block(0, n, columns...)); err != nil {
				t.Fatal(err)
			}
			s := r.Steps[0].(*gathered.Step)
			s.All = &cancelling{Masker: s.All, r: r, at: int64(at)}
			if err := r.EndSurvey(); !errors.Is(err, ErrCancelled) || r.Surveyed {
				t.Errorf("%s, cancelled when it asks the %dth time: %v", name, at, err)
			}
			if got := released(c.Replicate(2)); !slices.Equal(got, want) {
				t.Errorf("%s: the replicate differs after another one was cancelled at %d", name, at)
			}
		}
	}
}

// cancelling cancels its chain at the at-th question whether to continue.
type cancelling struct {
	gathered.Masker
	r     *Chain
	at    int64
	asked atomic.Int64
}

func (m *cancelling) MaskAll(g *gathered.Data) *decision.Refusal {
	stop := g.Stop
	g.Stop = func() bool {
		if m.asked.Add(1) == m.at {
			m.r.Cancel()
		}
		return stop()
	}
	err := m.Masker.MaskAll(g)
	g.Stop = stop
	return err
}

func (m *cancelling) Share(fits *gathered.Fits) {
	if f, ok := m.Masker.(gathered.Fitting); ok {
		f.Share(fits)
	}
}
