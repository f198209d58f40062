package tabulation

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

// Finished cells have no records: what needs records is refused, and so are too few contributions for the rules.
func TestFinishedTables(t *testing.T) {
	const text = `version: 1
source: {csv: {path: in.csv}}
finished: {count: n, largest: [x, y], who: [v, w]}
coalition: 2
hierarchies: {nace: {prefix: [1, 2]}}
tables:
  - {name: t, rows: [nace, region], value: turnover, unsafe: [{threshold: 3}, {p_percent: 15}], protect: {suppress: {}}}
  - {name: u, rows: [region], value: turnover, unsafe: [{threshold: 3}, {p_percent: 15}], protect: {suppress: {}}}
sink: {csv: {path: out.csv}}
`
	if c, err := Parse("t.yaml", []byte(text), config.Options{}); err != nil || len(c.Warnings) > 0 {
		t.Fatal(err, c)
	}
	if c, err := Parse("t.yaml", []byte(strings.Replace(text, ", who: [v, w]", "", 1)), config.Options{}); err != nil ||
		len(c.Warnings) != 1 {
		t.Error(err, c)
	}
	const counts = `version: 1
source: {csv: {path: in.csv}}
finished: {count: n}
tables: [{name: t, rows: [nace, region], unsafe: [{threshold: 3}], protect: {METHOD}}]
sink: {csv: {path: out.csv}}
`
	for _, method := range []string{"suppress: {}", "none: {}", "round: {base: 3}", "round: {base: 3, mode: nearest}"} {
		if _, err := Parse("t.yaml", []byte(strings.Replace(counts, "METHOD", method, 1)), config.Options{}); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	for _, c := range []struct{ from, to, want string }{
		{"source: {csv: {path: in.csv}}", "pipeline: p.yaml", "pipeline: must be left out beside finished"},
		{"coalition: 2", "holding: h", "holding: must be left out beside finished: it needs records"},
		{"coalition: 2", "request: h", "request: must be left out beside finished"},
		{"coalition: 2", "equations: [turnover = turnover]", "equations: must be left out beside finished"},
		{"coalition: 2", "map: {}", "map: must be left out beside finished"},
		{"coalition: 2", "identity: [h]", "identity: must be left out beside finished"},
		{"coalition: 2", "key: {file: k}", "key: must be left out beside finished"},
		{"coalition: 2", "unknown: drop", "unknown: must be fail beside finished"},
		{"coalition: 2", "coalition: 3",
			"finished.largest: must have 3 to 100 columns, as the rules and coalition need, got 2"},
		{"largest: [x, y], who: [v, w]", "largest: [x], who: [v]", "finished.largest: must have 2 to 100 columns"},
		{"largest: [x, y], who: [v, w]", "largest: [x, y], who: [v]",
			"finished.who: must have as many columns as largest, 2, got 1"},
		{"count: n, ", "", "finished.count: is required"},
		{"count: n, ", "count: region, ", "finished.count: must be a column of its own, got \"region\" again"},
		{"count: n, ", "count: table, ", "finished.count: must be a column of its own, got \"table\" again"},
		{"count: n, ", "count: x, ", "finished.largest[0]: must be a column of its own, got \"x\" again"},
		{"who: [v, w]", "who: [v, turnover]", "finished.who[1]: must be a column of its own, got \"turnover\" again"},
		{"who: [v, w]", "who: [v, '']", "finished.who[1]: must be the name of a column"},
		{"prefix: [1, 2]", "columns: [a, nace]", "hierarchies.nace.columns: must be left out beside finished"},
		{"rows: [region], value: turnover", "rows: [region], value: other",
			"tables[1].value: must be that of tables[0] beside finished"},
		{"rows: [region], value: turnover", "rows: [region], value: turnover, weight: w",
			"tables[1].weight: must be left out beside finished"},
		{"rows: [region], value: turnover", "rows: [region], value: turnover, absolute: true",
			"tables[1].absolute: must be left out beside finished"},
	} {
		refusedTabulation(t, text, c.from, c.to, c.want)
	}
	for _, c := range []struct{ from, to, want string }{
		{"count: n", "count: n, largest: [x]", "finished.largest: must be left out of tables of counts"},
		{"finished: {count: n}", "finished: {count: n, who: [v]}\ncoalition: 2",
			"finished.who: must have at least 2 columns, as many as coalition, got 1"},
		{"METHOD", "cell_key: {}", "tables[0].protect.cell_key: must be another method beside finished"},
		{"METHOD", "round: {base: 3, mode: random}", "tables[0].protect.round: must be another method beside finished"},
		{"METHOD", "simulate: {}", "tables[0].protect.simulate: must be another method beside finished"},
	} {
		refusedTabulation(t,
			strings.Replace(counts, "METHOD", "suppress: {}", map[bool]int{true: 0, false: 1}[c.from == "METHOD"]), c.from, c.to,
			c.want)
	}
}
