package tabulation

import (
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

const swappedTabulation = `version: 1
source: {csv: {path: in.csv}}
key: {env: RELEASE_KEY}
identity: [id]
tables:
  - name: counts
    rows: [region, sex, age]
    unsafe: [{threshold: 3}]
    protect: {swap: {rate: 0.3, match: [sex]}}
map: {methods: [{swap: {rate: [0.1, 0.5], variable: [region, age]}}, {swap: {rate: [1], variable: [region], match: [age]}}]}
sink: {csv: {path: out.csv}}
`

// A swap is read, and the result of a map is written in a form that can be read again.
func TestSwappedTabulation(t *testing.T) {
	p, err := Parse("t.yaml", []byte(swappedTabulation), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Tables[0].Protect.Swap; s.Rate != 0.3 || !slices.Equal(s.Match, []string{"sex"}) ||
		s.Respondents != "protect" || !p.Keyed() {
		t.Errorf("%+v", s)
	}
	want := []string{
		`swap: {match: ["sex"], rate: 0.3}`, `swap: {variable: "region", rate: 0.1}`, `swap: {variable: "region", rate: 0.5}`,
		`swap: {variable: "age", rate: 0.1}`, `swap: {variable: "age", rate: 0.5}`,
		`swap: {variable: "region", match: ["age"], rate: 1}`,
	}
	if words := candidatesReadAgain(t, p); !slices.Equal(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
}

func TestFaultsOfASwappedTabulation(t *testing.T) {
	const swap = "swap: {rate: 0.3, match: [sex]}"
	for _, c := range []struct{ from, to, want string }{
		{"key: {env: RELEASE_KEY}\nidentity: [id]\n", "", "identity: is required by tables[0].protect.swap"},
		{"rate: 0.3, ", "", "tables[0].protect.swap.rate: is required"},
		{"rate: 0.3", "rate: 0", "tables[0].protect.swap.rate: must be above 0 and at most 1, got 0"},
		{"rate: 0.3", "rate: 1.01", "tables[0].protect.swap.rate: must be above 0 and at most 1, got 1.01"},
		{swap, "swap: {rate: 0.3, variable: x}", `tables[0].protect.swap.variable: must be a variable of the table, got "x"`},
		{"match: [sex]}", "match: [sexx]}", `tables[0].protect.swap.match[0]: must be a variable of the table, got "sexx"`},
		{"match: [sex]}", "match: [region]}",
			`tables[0].protect.swap.match[0]: must not be the variable whose codes are paired, got "region"`},
		{"match: [sex]}", "match: [age], variable: age}",
			`tables[0].protect.swap.match[0]: must not be the variable whose codes are paired, got "age"`},
		{"match: [sex]}", "match: [sex, sex]}", `tables[0].protect.swap.match[1]: must not repeat a variable`},
		{"match: [sex]}", "match: [sex, age]}", `tables[0].protect.swap.match: must leave out at least one variable`},
		{"rows: [region, sex, age]", "rows: [region]",
			"tables[0].protect.swap: must be another method, or rows must name a second variable"},
		{"identity: [id]", "identity: [id]\nholding: h", "tables[0].protect.swap.respondents: must be ignore with holding"},
		{"unsafe", "weight: w\n    unsafe", "tables[0].weight: must be left out with swap"},
		{"[0.1, 0.5]", "[0.1, 2]", "map.methods[0].swap.rate[1]: must be above 0 and at most 1, got 2"},
		{"[0.1, 0.5]", "[]", "map.methods[0].swap.rate: must name at least one rate"},
		{"variable: [region, age]", "variable: [x]",
			`map.methods[0].swap.variable[0]: must be a variable of the table, got "x"`},
		{"match: [age]}}]", "match: [region]}}]",
			`map.methods[1].swap.match[0]: must not be the variable whose codes are paired`},
		{swap, "suppress: {}", ""},
		{
			"key: {env: RELEASE_KEY}\nidentity: [id]\ntables:\n  - name: counts\n    rows: [region, sex, age]\n    unsafe: [{threshold: 3}]\n    protect: {" + swap, "tables:\n  - name: counts\n    rows: [region, sex, age]\n    unsafe: [{threshold: 3}]\n    protect: {suppress: {}", "key: is required by map.methods[0].swap"},
	} {
		_, err := Parse("t.yaml", []byte(strings.Replace(swappedTabulation, c.from, c.to, 1)), config.Options{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: got %v, want %q", c.to, err, c.want)
		}
	}
}
