package tabling

import (
	"errors"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
)

const hstConfig = `version: 1
source: {csv: {path: %s/in.csv}}
tables: [{name: t, rows: [region, size], value: turnover, unsafe: [{threshold: 2}], protect: {suppress: {}}, apriori: %s/a.HST}]
sink: {csv: {path: %s/out.csv}}
report: {cells: %s/cells.csv}
`

// hstRecords has cells of 100, 110, … in n and 200, 210, … in s, of four records each, but one record in s,c.
func hstRecords() string {
	var b strings.Builder
	b.WriteString("region,size,turnover\n")
	for _, region := range []string{"n", "s", "w"} {
		for _, size := range []string{"a", "b", "c", "d"} {
			n := 4
			if region+size == "sc" {
				n = 1
			}
			for range n {
				b.WriteString(region + "," + size + ",25.5\n")
			}
		}
	}
	return b.String()
}

// A list of tau-Argus has the effect of the same list as CSV, with each separator, in any order of its lines.
func TestListsOfArgus(t *testing.T) {
	cells := func(list string) map[string][]string {
		t.Helper()
		dir := t.TempDir()
		write(t, dir, "in.csv", hstRecords())
		write(t, dir, "a.HST", list)
		res, err := run(t, dir, hstConfig)
		if err != nil || res.Report.Withheld != "" {
			t.Fatal(err, res)
		}
		of := map[string][]string{}
		for _, row := range read(t, dir, "cells.csv")[1:] {
			of[row[1]+","+row[2]] = row[3:]
		}
		return of
	}
	const list = "n;a;u\nn;b;p\nn;a;pl;20;40.5\nw;c;c;0.001\nn;c;W;0.001\n;b;s\nn ; d; c; 5\ns;c;pl;3;90\n"
	got := cells(list)
	if c := got["n,a"]; c[2] != "primary" || c[3] != "apriori" || c[4] != "61.5" || c[5] != "142.5" {
		t.Errorf("the cell of 102 with the levels 20 down and 40.5 up, so that it reaches as far down as up, is %v", c)
	}
	// 30 % down, as the rule requires: more than 3
	if c := got["s,c"]; c[2] != "primary" || c[3] != "threshold" || c[4] != "17.8" || c[5] != "115.5" {
		t.Errorf("the cell of 25.5 with the levels 3 down and 90 up is %v", c)
	}
	for _, name := range []string{"n,b", "total,b"} {
		if c := got[name]; c[2] == "primary" || c[2] == "secondary" {
			t.Errorf("%s is %v", name, c)
		}
	}
	for _, name := range []string{"n,c"} {
		if got[name][2] != "secondary" {
			t.Errorf("%s costs nearly nothing and is %v", name, got[name])
		}
	}
	for _, other := range []string{strings.ReplaceAll(list, ";", ","), strings.ReplaceAll(list, ";", "\t"),
		"\ufeff" + strings.ReplaceAll(list, "\n", "\r\n"),
		"s;c;PL;3;90;\nn;d;c;5;\nn;a;pl;20;40.5\nn;c;C;0.001\nw;c;w;0.001\ntotal;b;S\nn;b;P\n\"n\";\"a\";U\n"} {
		for name, c := range cells(other) {
			if strings.Join(c, " ") != strings.Join(got[name], " ") {
				t.Errorf("%q: %s is %v, not %v", other, name, c, got[name])
			}
		}
	}
}

// What has no counterpart, and what contradicts itself, is refused by line without its values.
func TestListsOfArgusThatDoNotFit(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"n;a;u\nn;z;u\n", "a.HST:2: table t: variable size has no code"},
		{"n;a\n", "a.HST:1: must have the codes of 2 variables and a change"},
		{"n;a;u\nn;b;m\n", "a.HST:2: m, held back by hand to protect others, is not possible"},
		{"n;b;ml\n", "a.HST:1: ml, held back by hand"},
		{"n;b;ab;1;4711\n", "a.HST:1: ab, bounds that everybody knows, is not possible"},
		{"n;b;z\n", "a.HST:1: the change must be one of s, u, p, c, w and pl"},
		{"n;b;4711\n", "a.HST:1: the change must be one of"},
		{"n;b;c\n", "a.HST:1: c must have 1 numbers behind it"},
		{"n;b;u;4711\n", "a.HST:1: u must have 0 numbers behind it"},
		{"n;b;u\nn;b;pl;4711\n", "a.HST:2: pl must have 2 numbers behind it"},
		{"n;b;c;0\n", "a.HST:1: the cost must be above 0"},
		{"n;b;c;-4711\n", "a.HST:1: the cost must be a number of at least 0"},
		{"n;b;u\nn;b;pl;4711x;2\n", "a.HST:2: the lower protection level must be a number of at least 0"},
		{"n;b;u\nn;b;pl;2;NaN\n", "a.HST:2: the upper protection level must be a number of at least 0"},
		{"n;b;u\nn;a;u\nn;b;s\n", "a.HST:3: line 1 says the same of this cell already, or something else"},
		{"n;b;c;1\nn;b;w;1\n", "a.HST:2: line 1 says the same"},
		{"n;b;u\n\"n;b;u\n", "cannot be read at line"},
		{"n;b;c;1\nn;b;pl;1;1\n", "list:1: cell region=n, size=b breaks no rule, so that it has no protection levels"},
	} {
		dir := t.TempDir()
		write(t, dir, "in.csv", hstRecords())
		write(t, dir, "a.HST", c.list)
		_, err := run(t, dir, hstConfig)
		var problems config.Errors
		if !errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "4711") {
			t.Errorf("list %q: error %v, want %q", c.list, err, c.want)
		}
	}
}
