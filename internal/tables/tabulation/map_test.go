package tabulation

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

const mappedTabulation = `version: 1
source: {csv: {path: in.csv}}
key: {env: RELEASE_KEY}
identity: [id]
request: asked
tables:
  - name: counts
    rows: [region, sex]
    unsafe: [{threshold: 3}]
    protect: {suppress: {zeros: may}}
  - name: protect   # a name that is a field's
    rows: [region]
    unsafe: [{threshold: 3}]
    protect:
      suppress:
        zeros: may
      # the end
  - name: turnover
    rows: [region]
    value: turnover
    unsafe: [{threshold: 3}, {p_percent: 10}]
    protect: {suppress: {}}
map:
  table: counts
  methods:
    - suppress: {cost: [unit, log], interval: [{absolute: 3}, {absolute: 7, percent: 5}, {percent: 90}]}
    - round: {base: [3, 5], mode: [controlled, random]}
    - cell_key: {max: [1, 3], variance: [0.5, 2], least: [0, 2]}
gate: {rules: [{max_risk: 0.9}]}
sink: {csv: {path: out.csv}}
`

// A map compares the configured protection and then each combination once. Impossible combinations
// are omitted, with the reason.
func TestCandidatesOfAMap(t *testing.T) {
	p, err := Parse("t.yaml", []byte(mappedTabulation), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list, left, err := p.Candidates()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range list {
		got = append(got, list[i].String())
	}
	want := []string{
		"suppress: {cost: unit, zeros: may}",
		"suppress: {cost: unit, zeros: may}, interval: {absolute: 3}",
		"suppress: {cost: unit, zeros: may}, interval: {absolute: 7, percent: 5}",
		"suppress: {cost: log, zeros: may}, interval: {absolute: 3}",
		"suppress: {cost: log, zeros: may}, interval: {absolute: 7, percent: 5}",
		"round: {base: 3, mode: controlled}", "round: {base: 5, mode: controlled}", "round: {base: 3, mode: random}",
		"round: {base: 5, mode: random}",
		"cell_key: {max: 1, variance: 0.5}",
		"cell_key: {max: 3, variance: 0.5}", "cell_key: {max: 3, variance: 2}", "cell_key: {max: 3, variance: 2, least: 2}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(left) != 5 || left[0] != "interval: {percent: 90}, narrower than the tables ask for: {absolute: 3}" ||
		!strings.HasPrefix(left[1], "cell_key: {max: 1, variance: 0.5, least: 2}: ") ||
		!strings.Contains(left[2], "variance") {
		t.Errorf("left out: %q", left)
	}
	if tables, err := p.Mapped(); err != nil || !slices.Equal(tables, []int{0, 1}) {
		t.Errorf("mapped are %v, %v", tables, err)
	}
	if p.Keyed() || !p.Mapping().Keyed() || !p.Mapping().NeedsKeys(&p.Tables[1]) || p.Mapping().NeedsKeys(&p.Tables[2]) {
		t.Error("who needs keys")
	}
}

// Without a list all possible methods of the tables are compared: methods with keys only with an
// identity, and for values only suppression.
func TestUsualCandidates(t *testing.T) {
	section := mappedTabulation[strings.Index(mappedTabulation, "map:"):strings.Index(mappedTabulation, "gate:")]
	for _, c := range []struct {
		table, change string
		methods       string
		left          int
	}{
		{"counts", "", "cell_key markov round sample simulate suppress swap", 3},
		{"counts", "key: {env: RELEASE_KEY}\nidentity: [id]\n", "round simulate suppress", 1},
		{"turnover", "", "suppress", 1},
	} {
		text := strings.Replace(mappedTabulation, section, "map: {table: "+c.table+"}\n", 1)
		p, err := Parse("t.yaml", []byte(strings.Replace(text, c.change, "", 1)), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list, left, err := p.Candidates()
		if err != nil {
			t.Fatal(err)
		}
		methods := map[string]bool{}
		for i := range list {
			methods[list[i].Protect.Name()] = true
		}
		var names []string
		for name := range methods {
			names = append(names, name)
		}
		slices.Sort(names)
		if strings.Join(names, " ") != c.methods || len(left) != c.left {
			t.Errorf("%s: %v, left out %q", c.table, names, left)
		}
	}
	p, err := Parse("t.yaml", []byte(strings.Replace(mappedTabulation, section, "", 1)), config.Options{})
	if err == nil || !strings.Contains(err.Error(), "key: must be left out") {
		t.Errorf("a key without a use: %v, %v", p, err)
	}
}

// Every candidate is written so that the text equals the compared protection and nothing else
// changes: for block and flow mappings, with comments, with and without an interval.
func TestAppliedProtection(t *testing.T) {
	for _, layout := range []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		func(s string) string {
			return strings.Replace(s,
				"  - name: counts\n    rows: [region, sex]\n    unsafe: [{threshold: 3}]\n    protect: {suppress: {zeros: may}}\n",
				"  - {name: counts, rows: [region, sex], unsafe: [{threshold: 3}], protect: {suppress: {zeros: may}}}\n", 1)
		},
		func(s string) string {
			s = strings.Replace(s, "    protect: {suppress: {zeros: may}}\n",
				"    interval:\n      absolute: 3 # units\n    protect: {suppress: {zeros: may}}\n", 1)
			return strings.Replace(s, "      # the end\n", "      # the end\n    interval: {absolute: 3}\n", 1)
		},
	} {
		text := layout(mappedTabulation)
		p, err := Parse("t.yaml", []byte(text), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := p.Candidates()
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			c := &list[i]
			out, err := p.Protected(c)
			if err != nil {
				t.Fatalf("%s: %v", c, err)
			}
			q, err := Parse("t.yaml", out, config.Options{})
			if err != nil {
				t.Fatalf("%s: %v in\n%s", c, err, out)
			}
			for k := range q.Tables {
				table := p.Tables[k]
				if k < 2 {
					table.Protect = c.Protect
					if c.Interval != nil {
						table.Interval = c.Interval
					}
				}
				if !reflect.DeepEqual(q.Tables[k], table) {
					t.Errorf("%s: table %d is %+v, want %+v", c, k, q.Tables[k], table)
				}
			}
			for _, kept := range []string{"# a name that is a field's",
				"    - cell_key: {max: [1, 3], variance: [0.5, 2], least: [0, 2]}"} {
				if !strings.Contains(string(out), kept) {
					t.Errorf("%s: %q is gone from\n%s", c, kept, out)
				}
			}
		}
	}
}

// If the protection is not in the file or is set from outside, nothing is written.
func TestProtectionFromOutsideIsNotApplied(t *testing.T) {
	p,
		err := Parse("t.yaml", []byte(mappedTabulation),
		config.Options{Set: []string{"tables.0.protect.suppress.cost=log", "tables.1.protect.suppress.cost=log"}})
	if err != nil {
		t.Fatal(err)
	}
	c := TableCandidate{
		Protect: Protect{Suppress: &Suppress{Cost: "unit", Zeros: "never", Respondents: "protect", Effort: "usual"}}}
	if out, err := p.Protected(&c); err == nil {
		t.Errorf("written:\n%s", out)
	}
}

// If key and identity become unused, which is an error without a section map, the message says what
// to do.
func TestKeyWithoutUseIsNotLeftBehind(t *testing.T) {
	const text = "version: 1\nsource: {csv: {path: in.csv}}\nkey: {env: RELEASE_KEY}\nidentity: [id]\nMAP" +
		"tables: [{name: t, rows: [a], unsafe: [{threshold: 3}], protect: {cell_key: {}}}]\nsink: {csv: {path: out.csv}}\n"
	c := TableCandidate{
		Protect: Protect{Suppress: &Suppress{Cost: "unit", Zeros: "never", Respondents: "protect", Effort: "usual"}}}
	for section, want := range map[string]string{"": "map: must be given, map: {} will do", "map: {}\n": ""} {
		p, err := Parse("t.yaml", []byte(strings.Replace(text, "MAP", section, 1)), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := p.Protected(&c); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\n%s", section, err, out)
		}
	}
}

func TestFaultsOfATableMap(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"table: counts\n", "table: count\n", `map.table: must be the name of a table, got "count" (did you mean "counts"?)`},
		{"cost: [unit, log]", "cost: [unit, logs]", `map.methods[0].suppress.cost[1]: must be unit, value, log, got "logs"`},
		{"{absolute: 3}, {absolute: 7", "{absolute: -2.5}, {absolute: 7",
			"map.methods[0].suppress.interval[0].absolute: must be at least 0, got -2.5"},
		{"base: [3, 5]", "base: [3, 1]", "map.methods[1].round.base[1]: must be between 2 and 10000, got 1"},
		{"base: [3, 5]", "base: []", "map.methods[1].round.base: must name at least one base"},
		{"mode: [controlled, random]", "mode: [controlled, up]",
			"map.methods[1].round.mode[1]: must be controlled, small, random, nearest"},
		{"max: [1, 3]", "max: [1, 0]", "map.methods[2].cell_key.max[1]: must be between 1 and 1000, got 0"},
		{"variance: [0.5, 2]", "variance: [0.5, -2]",
			"map.methods[2].cell_key.variance[1]: must be greater than 0 and finite, got -2"},
		{"least: [0, 2]", "least: [0, -1]", "map.methods[2].cell_key.least[1]: must be between 0 and 1000, got -1"},
		{"key: {env: RELEASE_KEY}\n", "", "key: is required by map.methods[1].round"},
		{"identity: [id]\n", "", "identity: is required by map.methods[1].round"},
		{"  table: counts\n", "  table: turnover\n",
			"map.methods[1]: must be suppress: turnover is no table of counts without weights"},
		{"interval: [{absolute: 3}, {absolute: 7, percent: 5}, {percent: 90}]",
			"interval: [" + strings.Repeat("{absolute: 3},", 600) + "]", "map.methods: must give at most 1000 points, got 1212"},
	} {
		if err := refusedTabulation(t, mappedTabulation, c.from, c.to, c.want); err != nil &&
			!strings.Contains(err.Error(), "(t.yaml") {
			t.Errorf("%q: %v does not say where", c.to, err)
		}
	}
	p, err := Parse("t.yaml", []byte(strings.Replace(mappedTabulation, "  table: counts\n", "", 1)), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Candidates(); err == nil ||
		!strings.Contains(err.Error(), "map.table: must be given: tables[2] is of another value than tables[0]") {
		t.Errorf("of which tables: %v", err)
	}
	if !Is([]byte(mappedTabulation)) || Is([]byte("version: 1\nmasks: []\n")) || Is([]byte("a: [")) || Is(nil) {
		t.Error("what is a configuration of tables")
	}
}
