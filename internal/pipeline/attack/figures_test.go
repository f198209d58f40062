package attack

import (
	"maps"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pinned"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// The results of an attack do not change unnoticed, for all masks and for all knowledge about them.
func TestFiguresOfAttacks(t *testing.T) {
	racetest.Further(t)
	var f pinned.Figures
	cases := map[string]struct{ masks, extra string }{
		"noise": {
			"{noise: {columns: [wage], sd: 10%}}, {noise: {columns: [debt], sd: 5}}, {round: {columns: [wage], base: 10}}",
			"assess: {keys: [wage, debt], intruder: {targets: 60, linkage: {}, bayes: {}, interval: [0.05, 0.2]}}"},
		"bias": {
			"{bias: {columns: [wage], phi: 0.1}}, {noise: {columns: [wage], sd: 10}}, {bias: {columns: [wage], phi: 0.05}}",
			"assess: {sample: 5000, keys: [wage], intruder: {targets: 60, bayes: {threshold: 0.01, population: 500}, linkage: {distance: mahalanobis, one_to_one: true}}}"},
		"what is told": {
			"{swap: {keys: [region], attribute: age, columns: [wage], rate: 0.5, policy: random}}, {noise: {columns: [debt], sd: 5%}}",
			"assess: {keys: [wage, debt], intruder: {targets: 60, bayes: {phi: {wage: 0.1, debt: 0.2}, sigma: {wage: 30, debt: 4}}, linkage: {distance: ranks}}}"},
		"priors": {"{noise: {columns: [wage, debt], sd: 10%, correlated: true}}",
			"assess: {keys: [wage, debt], intruder: {targets: 60, bayes: {knowledge: d2}, linkage: {distance: gower}}}"},
		"correlated": {"{noise: {columns: [wage, debt], sd: 10%, correlated: true}}",
			"assess: {keys: [debt, wage], intruder: {targets: 60, bayes: {}}}"},
		"uniqueness": {"{noise: {columns: [wage], sd: 10%}}",
			"assess: {keys: [age, region, wage], intruder: {targets: 30, uniqueness: {weight: weight, household: house, sensitive: [house], alpha: 0.5, k: [2, 4], approximate: false}}}"},
		"as asked": {"{noise: {columns: [wage], sd: 10%}}, {recode: {columns: [region], map: {n: a, s: a, w: w}}}",
			"assess: {keys: [age, region, wage]}"},
		"utility": {"{noise: {columns: [wage, debt], sd: 10%}}",
			"assess: {keys: [wage], intruder: {targets: 30, utility: {propensity: true, regressions: [{response: wage, predictors: [debt], level: 0.9}]}}}"},
		"inversion": {"{bias: {columns: [wage], phi: 0.0001}}, {noise: {columns: [debt], sd: 3}}",
			"assess: {keys: [wage], intruder: {targets: 30, inversion: true}}"},
		"a sample": {"{noise: {columns: [wage], sd: 10%}}",
			"assess: {sample: 50, keys: [age, wage], intruder: {targets: 30, linkage: {}}}"},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		r, _, err := Run(t.Context(), survey(t, 180, c.masks, c.extra), pipeline.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.AddTree(name, r, nil)
	}
	f.Check(t, "testdata/figures.tsv")
}
