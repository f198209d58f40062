package explore

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pinned"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// The results of maps do not change unnoticed: grids and searches, groups, several strategies, and
// rules about other columns and about respondents.
func TestFiguresOfMaps(t *testing.T) {
	racetest.Further(t)
	const few = "assess: {replicates: 6, sample: 150, targets: [p10, max]}"
	const lots = "gate: {max_quarantined: 0.5, rules: [{column: income, target: p10, knowledge: index, min_rmse: 150}, {column: income, min_efficiency: 0.5}]}"
	const two = "columns: {income: {role: sensitive, unit: EUR, decimals: 1}, kind: {role: sensitive, decimals: 0}, region: {role: other}}"
	var f pinned.Figures
	cases := map[string][]string{
		"a grid":       {few, lots},
		"its own axis": {few, lots},
		"a bias first": {
			few, lots, "masks: [{bias: {columns: [income], phi: 0.1}}, {noise: {columns: [income], sd: 20%}}]"},
		"logarithms": {
			few, lots, "map: {vary: {masks.0.noise.sd: {from: 1%, to: 81%, steps: 4, scale: log}}, margin: 1}"},
		"two axes": {
			few, lots,
			"map: {vary: {masks.0.noise.sd: {from: 10, to: 300, steps: 3, scale: variance}, masks.1.truncate.lower: {from: 0, to: 200, steps: 2}}}"},
		"groups":   {few, lots, "map: {vary: {masks.0.noise.sd: {from: 5%, to: 40%, steps: 2}}, by: [kind, region]}"},
		"a search": {few, lots, "map: {search: true, vary: {masks.0.noise.sd: {from: 1%, to: 90%, steps: 5}}}"},
		"a search by log": {few, "gate: {max_quarantined: 0.5, rules: [{column: income, min_efficiency: 0.9}]}",
			"map: {search: true, vary: {masks.0.noise.sd: {from: 1%, to: 90%, steps: 5, scale: log}, masks.1.truncate.lower: {from: 0, to: 100, steps: 2}}}"},
		"another column": {strings.Replace(few, "}", ", intruder: {inversion: false}}", 1), two,
			"masks: [{noise: {columns: [income, kind], sd: 10%}}, {noise: {columns: [kind], sd: 0.5}}]",
			"gate: {max_quarantined: 0.5, rules: [{column: kind, min_efficiency: 0.4}, {column: kind, max_unchanged: 0.9}, {column: income, max_unchanged: 0.1}]}", "map: {column: income, vary: {masks.0.noise.sd: {from: 2%, to: 42%, steps: 3}}}"},
		"respondents": {
			strings.Replace(few, "}",
				", keys: [income, kind], intruder: {targets: 40, linkage: {}, bayes: {}, inversion: false}}", 1), two,
			"masks: [{noise: {columns: [income], sd: 10%}}, {noise: {columns: [kind], sd: 0.5}}]",
			"gate: {max_quarantined: 0.5, rules: [{max_linked: 0.5}, {column: income, min_efficiency: 0.1}]}",
			"map: {column: income, vary: {masks.0.noise.sd: {from: 2%, to: 42%, steps: 2}}}"},
		"inversion": {
			"assess: {replicates: 6, sample: 150, targets: [max], keys: [income], intruder: {targets: 40, inversion: true}}",
			"gate: {max_quarantined: 0.5, rules: [{column: income, min_efficiency: 0.1}]}",
			"map: {vary: {masks.0.noise.sd: {from: 2%, to: 42%, steps: 2}}}"},
		"strategies": {"assess: {replicates: 3, targets: [max], intruder: {inversion: false}}",
			"gate: {max_quarantined: 0.5, rules: [{column: income, target: max, knowledge: index, min_rmse: 150}]}",
			`map: {vary: {masks.0.noise.sd: {from: 5%, to: 40%, steps: 2}}, strategies: [{name: fixed, masks: [{noise: {columns: [income], sd: 5%, tiers: [{above: 3500, variance_factor: 2}]}}], vary: {}}, ` +
				`{name: swap, masks: [{swap: {keys: [kind], attribute: region, columns: [income], rate: 0.2, policy: random}}], vary: {masks.0.swap.rate: {from: 0.1, to: 0.5, steps: 2}}}]}`},
		"no law": {"assess: {replicates: 3, targets: [max]}",
			"gate: {max_quarantined: 0.5, rules: [{column: income, target: max, knowledge: index, min_rmse: 150}]}",
			"masks: [{swap: {keys: [kind], attribute: region, columns: [income], rate: 0.2, policy: random}}, {noise: {columns: [income], sd: 50, distribution: laplace}}, {truncate: {columns: [income], lower: 100, mode: redraw}}]",
			"map: {vary: {masks.1.noise.sd: {from: 50, to: 400, steps: 2}}}"},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		p := mapped(t, t.TempDir(), cases[name]...)
		if name == "its own axis" || name == "a bias first" {
			p.Map = nil // the program chooses the axis
		}
		m := mapOf(t, p)
		f.AddTree(name, m, func(path string) bool {
			_, risk, _ := strings.Cut(path, "risk[")
			// two targets are enough
			return strings.HasSuffix(path, ".version") || strings.HasSuffix(path, ".schema") ||
				strings.Contains(path, ".rules") || risk != "" && risk[0] > '1'
		})
	}
	// For categories: R and U over the probability to keep, over a level and over k, with one
	// column and with two.
	kinds := map[string]struct{ masks, section string }{
		"categories kept": {
			"[{pram: {columns: [job], keep: 0.9, categories: [j0, j1, j2, j3, j4]}}, {suppress: {keys: [place, job, sex], k: 2}}]", "{categories: [place, job], vary: {masks.0.pram.keep: {from: 0.5, to: 0.9, steps: 2}}}"},
		"categories suppressed": {"[{suppress: {keys: [place, job, sex], k: 2}}]",
			"{categories: [job], vary: {masks.0.suppress.k: {from: 2, to: 4, steps: 2}}}"},
		"categories joined": {"[{recode: {columns: [place], file: DIR/tree.csv, level: 1}}]",
			"{categories: [place], vary: {masks.0.recode.level: {from: 1, to: 2}}}"},
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		c := kinds[name]
		p, err := coded(t, t.TempDir(), c.masks, "{max_changed: 0.9}", c.section)
		if err != nil {
			t.Fatal(err)
		}
		p.Assess.Replicates = 3
		if name == "categories joined" {
			p.Assess.Sample = 150 // of 400 records
		}
		f.AddTree(name, mapOf(t, p), func(path string) bool {
			return strings.HasSuffix(path, ".version") || strings.HasSuffix(path, ".schema") || strings.Contains(path, ".rules")
		})
	}
	f.Check(t, "testdata/figures.tsv")
}
