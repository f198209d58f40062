package tabling

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

// Prior information about cells is used: published cells stay, unsafe cells are suppressed with the
// requested distance, and cheap cells are preferred. Errors of the list are reported by line.
func TestListsOfCells(t *testing.T) {
	const wages = `version: 1
source: {csv: {path: %s/in.csv}}
tables:
  - {name: other, rows: [branch], unsafe: [{threshold: 2}], protect: {suppress: {}}}
  - {name: t, rows: [region, branch], value: turnover, unsafe: [{threshold: 2}], interval: {percent: 10}, protect: {suppress: {}}, apriori: %s/apriori.csv}
sink: {csv: {path: %s/out.csv}}
report: {cells: %s/cells.csv}
`
	data := "region,branch,turnover\n"
	for i, region := range []string{"n", "s", "w", "e"} {
		for k, branch := range []string{"a", "b", "c", "d"} {
			for r := range 3 {
				data += fmt.Sprintf("%s,%s,%d.5\n", region, branch, 100*(i+1)+10*k+r)
			}
		}
	}
	rule := "value: turnover, unsafe: [{threshold: 2}]" // no cell is unsafe by this rule
	status := func(t *testing.T, list string) map[string][]string {
		t.Helper()
		dir := t.TempDir()
		write(t, dir, "in.csv", data)
		write(t, dir, "apriori.csv", list)
		res, err := run(t, dir, strings.Replace(wages, "value: turnover, unsafe: [{threshold: 2}]", rule, 1))
		if err != nil {
			t.Fatal(err)
		}
		if res.Report.Withheld != "" {
			t.Fatal(res.Report.Withheld)
		}
		cells := map[string][]string{}
		for _, row := range read(t, dir, "cells.csv")[1:] {
			if row[0] == "t" {
				cells[row[2]+","+row[1]] = row[3:] // region, branch
			}
		}
		return cells
	}
	for name, c := range status(t, "region,branch,as\n") {
		if c[2] == "primary" || c[2] == "secondary" {
			t.Errorf("%s is suppressed without an a priori list: %v", name, c)
		}
	}
	cells := status(t,
		"\ufeffbranch, region ,as,up,down,cost\nb,s,unsafe,80,90.5,\na,n,published,,,\nc,w,safe,,,\n d , e ,,,,0\n")
	if c := cells["s,b"]; c[2] != "primary" || c[3] != "apriori" || c[4] != "544.0" || c[5] != "714.5" {
		t.Errorf("the unsafe cell of 634.5 with the distances 80 up and 90.5 down is %v", c)
	}
	if c := cells["n,a"]; c[2] == "primary" || c[2] == "secondary" {
		t.Errorf("the cell that must be published is suppressed: %v", c)
	}
	// A cell with cost 0 is suppressed rather than one with a cost.
	free := status(t, "region,branch,as,cost\ns,b,unsafe,\ns,c,,0\nw,b,,0\nw,c,,0\n")
	for _, name := range []string{"s,c", "w,b", "w,c"} {
		if free[name][2] != "secondary" {
			t.Errorf("%s has the cost 0 but is not suppressed: %v", name, free[name])
		}
	}
	if c := free["s,b"]; c[2] != "primary" {
		t.Errorf("an unsafe cell without distances is not primary: %v", c)
	}
	other := status(t, "region,branch,as,cost\ns,b,unsafe,\ne,d,,0\ns,d,,0\ne,b,,0\n")
	for _, name := range []string{"s,d", "e,b", "e,d"} {
		if other[name][2] != "secondary" {
			t.Errorf("%s has the cost 0 but is not suppressed: %v", name, other[name])
		}
	}
	// A cell declared safe is not made unsafe by any rule, at any place in the list.
	rule = "value: turnover, unsafe: [{threshold: 4}]" // by this rule every cell of one region and branch is unsafe
	for name, c := range status(t, "region,branch,as\ns,b,safe\nn,a,published\nw,d,safe\n") {
		region, branch, _ := strings.Cut(name, ",")
		inner := len(region) == 1 && len(branch) == 1
		if listed := name == "s,b" || name == "w,d" || name == "n,a"; (c[2] == "primary") != (inner && !listed) {
			t.Errorf("%s is primary or not, against its list entry: %v", name, c)
		}
	}
	rule = "value: turnover, unsafe: [{threshold: 2}]"
	for _, c := range []struct{ list, want string }{
		{"", "must be CSV with a header"},
		{"region,as\ns,unsafe\n", "must have a column branch"},
		{"region,branch,weight\n", `has a column "weight", which is none of as, up, down, cost, region, branch`},
		{"region,branch,as\ns,b\n", "cannot be read at line 2"},
		{"region,branch,as\ns,z,safe\n", "apriori.csv:2: "},
		{"region,branch,as\ns,b,safe\ns,a,4711\n", "apriori.csv:3: as must be safe, unsafe or published"},
		{"region,branch,as,up\ns,b,unsafe,-4711\n", "apriori.csv:2: up must be a number of at least 0"},
		{"region,branch,as,down\ns,b,unsafe,NaN\n", "apriori.csv:2: down must be a number of at least 0"},
		{"region,branch,as,cost\ns,b,safe,Inf\n", "apriori.csv:2: cost must be a number of at least 0"},
		{"region,branch,as,cost\ns,b,safe,4711x\n", "apriori.csv:2: cost must be a number of at least 0"},
		{"region,branch,as\ns,b,safe\n\"4711\n", "cannot be read at line 3"},
		{"gone", "apriori.csv"},
	} {
		dir := t.TempDir()
		write(t, dir, "in.csv", data)
		if c.list != "gone" {
			write(t, dir, "apriori.csv", c.list)
		}
		_, err := run(t, dir, wages)
		var problems config.Errors
		if !errors.As(err, &problems) || len(problems) != 1 || !strings.HasPrefix(err.Error(), "tables[1].apriori: ") ||
			!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "4711") {
			t.Errorf("list %q: error %v", c.list, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "out.csv")); err == nil {
			t.Errorf("list %q: the run left a release", c.list)
		}
	}
}
