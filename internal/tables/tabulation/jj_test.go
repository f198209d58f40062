package tabulation

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

// A JJ file contains one set of cells with suppression, under a name by which it is recognised.
func TestFaultsOfJJ(t *testing.T) {
	const text = "version: 1\nsource: {csv: {path: in.csv}}\nsink: {csv: {path: out.csv}}\nreport: {jj: t.jj}\n" +
		"tables:\n  - {name: t, rows: [a, b], unsafe: [{threshold: 2}], protect: {suppress: {}}}\n  - {name: u, rows: [a], unsafe: [{threshold: 2}], protect: {suppress: {}}}\n"
	for _, c := range []struct{ from, to, want string }{
		{"t.jj", "t.jj", ""},
		{"t.jj", "t.csv", `report.jj: must end in .jj, by which audit-tables knows the format, got "t.csv"`},
		{"{name: u, rows: [a]", "{name: u, rows: [a], value: v",
			"report.jj: must be left out: tables[1] is of another value than tables[0]"},
		{"suppress: {}", "round: {base: 3}", "report.jj: must be left out: tables[0] is protected by round"},
		{"suppress: {}", "none: {}", ""},
		{"{jj: t.jj}", "{jj: t.jj, cells: t.jj}", "must not be the file of the cells as JJ (report.jj)"},
		{"in.csv", "t.jj", "report.jj"},
	} {
		_, err := Parse("t.yaml", []byte(strings.ReplaceAll(text, c.from, c.to)), config.Options{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: got %v, want %q", c.to, err, c.want)
		}
	}
}
