package tabulation

import (
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

const exchangedTabulation = `version: 1
source: {csv: {path: in.csv}}
key: {env: RELEASE_KEY}
identity: [id]
tables:
  - name: counts
    rows: [region, sex]
    unsafe: [{threshold: 3}]
    protect: {markov: {theta: 0.5, variable: sex}}
map: {methods: [{markov: {theta: [0.1, 1], variable: [region, sex]}}, {simulate: {}}]}
sink: {csv: {path: out.csv}}
`

// A method that exchanges records is read, and the result of a map is written in a form that can be
// read again.
func TestExchangedTabulation(t *testing.T) {
	p, err := Parse("t.yaml", []byte(exchangedTabulation), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m := p.Tables[0].Protect.Markov; m.Theta != 0.5 || m.Variable != "sex" || m.Respondents != "protect" || !p.Keyed() {
		t.Errorf("%+v", m)
	}
	want := []string{
		`markov: {variable: "sex", theta: 0.5}`, `markov: {variable: "region", theta: 0.1}`,
		`markov: {variable: "region", theta: 1}`,
		`markov: {variable: "sex", theta: 0.1}`, `markov: {variable: "sex", theta: 1}`, `simulate: {variable: "sex"}`,
	}
	if words := candidatesReadAgain(t, p); !slices.Equal(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
	simulated := strings.NewReplacer("key: {env: RELEASE_KEY}\nidentity: [id]\n", "",
		"markov: {theta: 0.5, variable: sex}", "simulate: {respondents: ignore}",
		"{markov: {theta: [0.1, 1], variable: [region, sex]}}, ", "").Replace(exchangedTabulation)
	if p, err = Parse("t.yaml", []byte(simulated), config.Options{}); err != nil || p.Keyed() ||
		p.Tables[0].Protect.flow() != "{simulate: {respondents: ignore}}" {
		t.Errorf("%v, %s", err, p.Tables[0].Protect.flow())
	}
}

func TestFaultsOfAnExchangedTabulation(t *testing.T) {
	const markov = "markov: {theta: 0.5, variable: sex}"
	const sex = "rows: [region, sex]\n    unsafe: [{threshold: 3}]\n    protect: {" + markov + "}"
	for _, c := range []struct{ from, to, want string }{
		{"key: {env: RELEASE_KEY}\nidentity: [id]\n", "", "key: is required by tables[0].protect.markov"},
		{"theta: 0.5, ", "", "tables[0].protect.markov.theta: is required"},
		{"theta: 0.5", "theta: 0", "tables[0].protect.markov.theta: must be above 0 and at most 1, got 0 (t.yaml:9:31)"},
		{"theta: 0.5", "theta: 1.01", "tables[0].protect.markov.theta: must be above 0 and at most 1, got 1.01"},
		{"variable: sex", "variable: sexx", `tables[0].protect.markov.variable: must be a variable of the table, got "sexx"`},
		{markov, "simulate: {variable: age}",
			`tables[0].protect.simulate.variable: must be a variable of the table, got "age"`},
		{"rows: [region, sex]", "rows: [sex]",
			"tables[0].protect.markov: must be another method, or rows must name a second variable"},
		{sex, "rows: [sex]\n    unsafe: [{threshold: 3}]\n    protect: {none: {}}",
			"map.methods[1]: must be another method: counts has one variable"},
		{"identity: [id]", "identity: [id]\nholding: h", "tables[0].protect.markov.respondents: must be ignore with holding"},
		{"rows: [region, sex]", "rows: [region, sex]\n    value: turnover",
			"tables[0].value: must be left out with markov, which is for counts"},
		{sex, "rows: [region, sex]\n    weight: w\n    unsafe: [{threshold: 3}]\n    protect: {none: {}}",
			"map.methods[1]: must be suppress: counts is no table of counts without weights"},
		{"[0.1, 1]", "[0.1, 2]", "map.methods[0].markov.theta[1]: must be above 0 and at most 1, got 2"},
		{"[0.1, 1]", "[]", "map.methods[0].markov.theta: must name at least one probability"},
		{"variable: [region, sex]", "variable: [region, age]",
			`map.methods[0].markov.variable[1]: must be a variable of the table, got "age"`},
	} {
		refusedTabulation(t, exchangedTabulation, c.from, c.to, c.want)
	}
}

// With holdings a map tries no exchange, because the inference of a holding is not audited, unless
// respondents are ignored.
func TestExchangesWithHoldings(t *testing.T) {
	text := strings.Replace(exchangedTabulation, "markov: {theta: 0.5, variable: sex}", "suppress: {}", 1)
	text = strings.Replace(text, "identity: [id]", "identity: [id]\nholding: h", 1)
	for respondents, want := range map[string]int{"{}": 1, "{respondents: ignore}": 6} {
		p, err := Parse("t.yaml", []byte(strings.Replace(text, "suppress: {}", "suppress: "+respondents, 1)),
			config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if list, left, err := p.Candidates(); err != nil || len(list) != want || (len(left) == 1) != (want == 1) {
			t.Errorf("%s: %d candidates, left out %q, %v", respondents, len(list), left, err)
		}
	}
}
