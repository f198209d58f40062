package tabulation

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

const perturbedTabulation = `version: 1
source: {csv: {path: in.csv}}
key: {env: RELEASE_KEY}
identity: [id]
tables:
  - name: counts
    rows: [region, sex]
    unsafe: [{threshold: 3}]
    protect: {cell_key: {max: 5, variance: 2, least: 2}}
  - name: turnover
    rows: [region]
    value: turnover
    unsafe: [{threshold: 3}]
    protect: {suppress: {patience: 30s}}
gate: {rules: [{max_risk: 1.5}, {min_utility: 0.1}]}
sink: {csv: {path: out.csv}}
`

func TestPerturbedTabulation(t *testing.T) {
	p, err := Parse("t.yaml", []byte(perturbedTabulation), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Tables[0].Protect.CellKey; c.Max != 5 || c.Variance != 2 || c.Least != 2 || !p.Keyed() ||
		*p.Gate.Rules[0].MaxRisk != 1.5 || p.Tables[1].Protect.Perturbs() {
		t.Errorf("%+v, %+v", c, p.Gate)
	}
	if p, err = Parse("t.yaml", []byte(strings.Replace(perturbedTabulation, "{max: 5, variance: 2, least: 2}", "{}", 1)),
		config.Options{}); err != nil {
		t.Fatal(err)
	}
	if c := p.Tables[0].Protect.CellKey; c.Max != 3 || c.Variance != 1.5 || c.Least != 0 {
		t.Errorf("defaults: %+v", c)
	}
}

// Values are changed by shares of the largest contributions; what is for counts is refused beside them, and they beside
// counts.
func TestKeyedValues(t *testing.T) {
	text := strings.Replace(perturbedTabulation, "suppress: {patience: 30s}",
		"cell_key: {values: {most: 0.5, large: 0.2, point: 1000, epsilon: [1, 0.5], least: 2.5}}", 1)
	p, err := Parse("t.yaml", []byte(text), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Tables[1].Protect.CellKey.Values.Units(2); v.Most != 0.5 || v.Large != 0.2 || v.Point != 100_000 ||
		v.Q != 3 || v.Least != 250 || len(v.Epsilon) != 2 {
		t.Errorf("%+v", v)
	}
	for _, c := range []struct{ from, to, want string }{
		{"    value: turnover\n", "", "tables[1].protect.cell_key.values: must be left out of a table of counts"},
		{"{values: {", "{max: 3, values: {", "tables[1].protect.cell_key.max: must be left out beside values"},
		{"{values: {", "{p_table: p.txt, values: {", "tables[1].protect.cell_key.p_table: must be left out beside values"},
		{"{values: {", "{respondents: ignore, values: {",
			"tables[1].protect.cell_key.respondents: must be left out beside values"},
		{"most: 0.5, ", "", "tables[1].protect.cell_key.values.most: is required"},
		{"most: 0.5", "most: 1", "tables[1].protect.cell_key.values.most: must be above 0 and at most 0.95, got 1"},
		{"point: 1000, ", "", "tables[1].protect.cell_key.values: must have both large and point"},
		{"epsilon: [1, 0.5]", "epsilon: [0.5, 1]",
			"tables[1].protect.cell_key.values.epsilon: must be 1 and at most 5 further weights"},
		{"least: 2.5", "least: -1", "tables[1].protect.cell_key.values.least: must be at least 0, got -1"},
		{"least: 2.5", "q: 1", "tables[1].protect.cell_key.values.q: must be between 2 and 10, got 1"},
		{"    value: turnover\n", "    value: turnover\n    weight: w\n", "tables[1].weight: must be left out with cell_key"},
		{"gate:", "map: {table: counts}\ngate:", "tables[1].protect.cell_key.values: must be left out beside map"},
	} {
		refusedTabulation(t, text, c.from, c.to, c.want)
	}
}

func TestFaultsOfAPerturbedTabulation(t *testing.T) {
	const cellKey = "cell_key: {max: 5, variance: 2, least: 2}"
	for _, c := range []struct{ from, to, want string }{
		{"key: {env: RELEASE_KEY}\n", "", "key: is required by tables[0].protect.cell_key"},
		{"identity: [id]\n", "", "identity: is required by tables[0].protect.cell_key"},
		{"identity: [id]", "identity: []", "identity: is required by tables[0].protect.cell_key"},
		{"identity: [id]", "identity: [id, id]", `identity[1]: must be a column of its own, got "id"`},
		{"source: {csv: {path: in.csv}}", "pipeline: p.yaml", "key: must not stand beside pipeline, which brings its own"},
		{cellKey, "suppress: {}",
			"identity: must be left out: no table is protected by cell_key, markov, swap or sample, or rounded at random"},
		{"variance: 2", "variance: 9",
			"tables[0].protect.cell_key.variance: must be greater than 1 and less than 5, with which every count can be changed by at most 5 without a bias, got 9 (t.yaml:9:44)"},
		{"max: 5", "max: 0", "tables[0].protect.cell_key.max: must be between 1 and 1000, got 0"},
		{"rows: [region, sex]\n", "rows: [region, sex]\n    weight: w\n", "tables[0].weight: must be left out with cell_key"},
		{"suppress: {patience: 30s}", "cell_key: {}",
			"tables[1].value: must be left out with cell_key without values, which is for counts"},
		{"patience: 30s", "patience: -30s", "tables[1].protect.suppress.patience: must be a positive length of time"},
		{cellKey, "round: {}", "tables[0].protect.round.base: is required"},
		{cellKey, "round: {base: 1}", "tables[0].protect.round.base: must be between 2 and 10000, got 1"},
		{cellKey, "round: {base: 3, mode: up}", "tables[0].protect.round.mode: must be"},
		{cellKey, "round: {base: 3}", "identity: must be left out"},
		{"key: {env: RELEASE_KEY}\nidentity: [id]\n", "", "key: is required by tables[0].protect.cell_key"},
		{"suppress: {patience: 30s}", "round: {base: 3}", "tables[1].value: must be left out with round"},
		{"max_risk: 1.5", "max_risk: 0", "gate.rules[0].max_risk: must be greater than 0, got 0"},
		{"min_utility: 0.1", "min_utility: -1", "gate.rules[1].min_utility: must be greater than 0, got -1"},
		{"{env: RELEASE_KEY}", "{file: out.csv}", "sink.csv.path: must not be the key itself"},
	} {
		refusedTabulation(t, perturbedTabulation, c.from, c.to, c.want)
	}
}
