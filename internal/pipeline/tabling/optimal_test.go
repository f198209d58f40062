package tabling

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

const optimalTables = `version: 1
source: {csv: {path: %s/in.csv}}
HIERARCHIES
tables: [{name: t, rows: [a, b], VALUE unsafe: [{threshold: 2}], interval: {absolute: 1}, protect: {suppress: {effort: optimal, respondents: ignore, COST}}}]
sink: {csv: {path: %s/out.csv}}
report: {json: %s/r.json}
`

// In a table of three by three with one count of 1, three further cells are suppressed, a
// rectangle, which is the minimum. By value, they are the three with the smallest sum, in the unit
// of the value.
func TestEffortOptimal(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("a,b,v\n")
	for i, row := range [3][3]int{{1, 5, 9}, {4, 6, 3}, {8, 2, 7}} {
		for j, n := range row {
			for range n {
				fmt.Fprintf(&b, "a%d,b%d,0.5\n", i, j)
			}
		}
	}
	write(t, dir, "in.csv", b.String())
	for _, c := range []struct {
		value, cost string
		want        float64
	}{{"", "cost: unit", 3}, {"value: v,", "cost: value", 0.5 * (5 + 8 + 2)}} {
		text := strings.NewReplacer("HIERARCHIES", "", "VALUE", c.value, "COST", c.cost).Replace(optimalTables)
		result, err := run(t, dir, text)
		if err != nil {
			t.Fatal(err)
		}
		o := result.Report.Families[0].Optimum
		if o == nil || !o.Proven || float64(o.Cost) != c.want || o.AtLeast != o.Cost || o.Gap != 0 ||
			!result.Report.Gate.Passed || result.Report.Tables[0].Secondary != 3 {
			t.Errorf("%s: optimum %+v, table %+v", c.cost, o, result.Report.Tables[0])
		}
		usual, err := run(t, dir, strings.Replace(text, "effort: optimal", "effort: usual", 1))
		if err != nil || usual.Report.Families[0].Optimum != nil {
			t.Errorf("effort usual: error %v, families %+v, want no optimum", err, usual.Report.Families)
		}
	}
}

// A table that is too large for this method is refused before the records are added up, with its
// place.
func TestEffortOptimalOfManyCells(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.csv", "a,b,v\n0,0,1\n")
	codes := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("%q", fmt.Sprint(i)))
		}
		return strings.Join(list, ", ")
	}
	text := strings.NewReplacer("HIERARCHIES",
		fmt.Sprintf("hierarchies: {a: {codes: [%s]}, b: {codes: [%s]}}", codes(59), codes(50)), "VALUE", "", "COST",
		"cost: unit").Replace(optimalTables)
	_, err := run(t, dir, text)
	if _, ok := err.(config.Errors); !ok ||
		!strings.Contains(err.Error(),
			"tables[0].protect.suppress.effort: must be usual for tables of more than 3000 cells together, got optimal for 3060") {
		t.Error(err)
	}
}
