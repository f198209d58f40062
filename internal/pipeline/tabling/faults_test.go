package tabling

import (
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// Errors in hierarchies, contributions and the requirements of a rule are all reported together,
// with place and codes and never with a value.
func TestFaultsOfTheDataAreSaidAtOnce(t *testing.T) {
	racetest.Further(t)
	const tables = `version: 1
source: {csv: {path: %s/in.csv}}
hierarchies:
  region: {file: %s/regions.csv}
  size: {file: %s/sizes.csv}
tables:
  - {name: t, rows: [region, size], value: turnover, decimals: 0, apriori: %s/known.csv, unsafe: [{p_percent: 10}], protect: {suppress: {}}}
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json}
`
	const sizes = "child,parent\nsmall,\nbig,\n"
	for _, c := range []struct {
		name, regions, sizes, in string
		want                     []string
	}{
		{"hierarchies", "child,parent\nN,\nn1,N\nn1,S\nS,\nx,y\ny,x\n", "child,parent\nsmall,big\nbig,small\n", shops,
			[]string{
				`regions.csv:4: code "n1" has two parents, "N" and "S"`, `code "x" is its own ancestor (a cycle)`,
				`code "small" is its own ancestor (a cycle)`,
			}},
		{"a leaf that is a total", regions, sizes, "region,size,turnover\nN,small,7351\nn1,big,7352\n", []string{
			"hierarchies.region: 1 record with a code that region does not have as a leaf",
		}},
		{"negative contributions", regions, sizes,
			"region,size,turnover\nn1,small,-7351\nn1,big,7352\nn2,big,7353\ns1,small,7354\n", []string{
				"compare contributions, and some are negative (cell region=n1, size=small): tabulate",
			}},
		{"what cannot be protected", regions, sizes,
			"region,size,turnover\nn1,small,7351\nn2,small,7352\nn2,small,7353\nn2,small,7354\ns1,big,7355\ns1,big,7356\ns1,big,7357\n", []string{
				"every unsafe cell can be protected",
			}},
	} {
		dir := t.TempDir()
		write(t, dir, "in.csv", c.in)
		write(t, dir, "regions.csv", c.regions)
		write(t, dir, "sizes.csv", c.sizes)
		write(t, dir, "known.csv", "region,size,as\nN,small,published\nn2,small,published\n")
		res, err := run(t, dir, tables)
		said := ""
		if err != nil {
			said = err.Error()
		} else if text, err := res.Report.JSON(); err != nil || !strings.Contains(string(text), "region=n1, size=small: it could not be protected") {
			t.Errorf("%s: the report does not name the cell (%v)", c.name, err)
		} else {
			said = res.Report.Withheld
		}
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is missing in\n%s", c.name, want, said)
			}
		}
		if strings.Contains(strings.ReplaceAll(said, dir, ""), "735") {
			t.Errorf("%s: the text contains a value:\n%s", c.name, said)
		}
	}
}
