package explore

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
)

// A point is given to an intruder where the gate judges what he finds, or where losses or what synthetic
// columns tell are asked for; of a map of categories the last two are not.
func TestWhatPointsAreAskedFor(t *testing.T) {
	limit := 0.1
	linked, unchanged := []assess.Rule{{Column: "*", MaxUnchanged: &limit}, {MaxLinked: &limit}}, []assess.Rule{{Column: "wage", MaxUnchanged: &limit}}
	utility, attribute := &config.IntruderUtility{}, &config.IntruderAttribute{}
	for what, c := range map[string]struct {
		intruder                        *config.Intruder
		rules                           []assess.Rule
		categories                      []string
		inverts, judges, loses, guesses bool
	}{
		"no intruder":          {},
		"no rule of him":       {intruder: &config.Intruder{}, rules: unchanged},
		"a rule":               {rules: linked, judges: true},
		"inversion":            {intruder: &config.Intruder{Inversion: true}, inverts: true, judges: true},
		"utility":              {intruder: &config.Intruder{Utility: utility}, loses: true},
		"of categories":        {intruder: &config.Intruder{Utility: utility, Attribute: attribute}, categories: []string{"job"}},
		"attribute":            {intruder: &config.Intruder{Attribute: attribute}, guesses: true},
		"both":                 {intruder: &config.Intruder{Utility: utility, Attribute: attribute}, loses: true, guesses: true},
		"categories, and rule": {intruder: &config.Intruder{Attribute: attribute}, categories: []string{"job"}, rules: linked, judges: true},
	} {
		p := &config.Pipeline{}
		p.Assess.Intruder, p.Gate.Rules, p.Map = c.intruder, c.rules, &config.Map{Categories: c.categories}
		got := [5]bool{inverts(p), judgesIntruder(p), measuresLoss(p), attributes(p), wantsIntruder(p)}
		if want := [5]bool{c.inverts, c.judges, c.loses, c.guesses, c.judges || c.loses || c.guesses}; got != want {
			t.Errorf("%s: inverts, judges, measures losses, guesses, wants: %v, want %v", what, got, want)
		}
	}
}
