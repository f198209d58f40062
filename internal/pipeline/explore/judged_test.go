package explore

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// A point gets an intruder if the gate uses its results, or if losses or attribute disclosure are
// configured. In a map of categories the last two are omitted.
func TestWhatPointsAreAskedFor(t *testing.T) {
	limit := 0.1
	linked, unchanged := []assess.Rule{{Column: "*", MaxUnchanged: &limit}, {MaxLinked: &limit}},
		[]assess.Rule{{Column: "wage", MaxUnchanged: &limit}}
	utility, attribute := &config.IntruderUtility{}, &config.IntruderAttribute{}
	for what, c := range map[string]struct {
		intruder                        *config.Intruder
		rules                           []assess.Rule
		categories                      []string
		inverts, judges, loses, guesses bool
	}{
		"no intruder":               {},
		"no rule about respondents": {intruder: &config.Intruder{}, rules: unchanged},
		"a rule":                    {rules: linked, judges: true},
		"inversion":                 {intruder: &config.Intruder{Inversion: true}, inverts: true, judges: true},
		"utility":                   {intruder: &config.Intruder{Utility: utility}, loses: true},
		"of categories": {intruder: &config.Intruder{Utility: utility, Attribute: attribute},
			categories: []string{"job"}},
		"attribute": {intruder: &config.Intruder{Attribute: attribute}, guesses: true},
		"both": {intruder: &config.Intruder{Utility: utility, Attribute: attribute}, loses: true,
			guesses: true},
		"categories, and rule": {intruder: &config.Intruder{Attribute: attribute}, categories: []string{"job"},
			rules: linked, judges: true},
	} {
		p := &config.Pipeline{}
		p.Assess.Intruder, p.Gate.Rules, p.Map = c.intruder, c.rules, &config.Map{Categories: c.categories}
		got := [5]bool{inverts(p), judgesIntruder(p), measuresLoss(p), attributes(p), wantsIntruder(p)}
		if want := [5]bool{c.inverts, c.judges, c.loses, c.guesses, c.judges || c.loses || c.guesses}; got != want {
			t.Errorf("%s: inverts, judgesIntruder, measuresLoss, attributes, wantsIntruder are %v, want %v", what, got, want)
		}
	}
}

// With a mask that mixes records, a map uses all of them, otherwise the configured number.
func TestPointsAreTriedOnASample(t *testing.T) {
	p := &config.Pipeline{}
	p.Assess.Sample = 700
	for mixes, want := range map[bool]int{true: -1, false: 700} {
		if got := (&grid{config: p, mixes: mixes}).sample(); got != want {
			t.Errorf("masks mix records %v: a sample of %d, want %d", mixes, got, want)
		}
	}
}

// If pairs cannot be counted, that is an error, not a map without them.
func TestPairsThatCannotBeCounted(t *testing.T) {
	p := &config.Pipeline{Map: &config.Map{Categories: []string{"job"}}}
	for what, twice := range map[string][]assess.Column{
		"no column": nil, "one column twice": {{Name: "wage"}, {Name: "wage"}}} {
		g := &grid{config: p, whole: p, plan: &pipeline.Plan{}}
		g.plan.Assessed = twice
		if err := g.wantPairs(); err == nil || g.pairs != nil {
			t.Errorf("%s: wantPairs returns %v, want an error and no accumulator", what, err)
		}
	}
}

// A point contains the share of unchanged values of a column if a rule limits it.
func TestPointsHaveSharesThatStay(t *testing.T) {
	m := mapOf(t,
		mapped(t, t.TempDir(), "masks: [{noise: {columns: [income], sd: 0.2}}]",
			"map: {column: income, vary: {masks.0.noise.sd: {from: 0.05, to: 0.4, steps: 2}}}",
			"gate: {rules: [{column: income, max_unchanged: 0.9}, {column: income, min_efficiency: 0.1}]}"))
	for i, p := range m.Points {
		// A normal draw with this SD is rounded to a tenth: it is 0 with the probability that it is
		// below half a tenth.
		sd := p.Parameters["masks.0.noise.sd"]
		want := math.Erf(0.05 / sd / math.Sqrt2)
		if got, ok := p.Unchanged["income"]; !ok || !(math.Abs(float64(got)-want) <= 5*math.Sqrt(0.25/1999)) {
			t.Errorf("point %d, SD %v: unchanged share %v (measured: %v), want %v", i, sd, got, ok, want)
		}
	}
}
