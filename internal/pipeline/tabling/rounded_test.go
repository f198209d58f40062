package tabling

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const roundedTables = `version: 1
source: {csv: {path: %s/in.csv}}
hierarchies: {a: {prefix: [1, 2]}}
tables: [{name: t, rows: [a, b], unsafe: [{threshold: 3}], protect: {round: {base: BASE, mode: MODE}}}]
sink: {csv: {path: %s/out.csv}}
report: {cells: %s/cells.csv}
`

// An intruder who enumerates all tables of counts compatible with the rounded ones: no unsafe count
// has only one possible value in a release, and if one has, the tables are withheld. For controlled
// rounding and for small counts, totals are sums.
func TestNothingIsComputedFromRoundedTotals(t *testing.T) {
	for _, mode := range []string{"nearest", "random", "controlled", "small"} {
		rng := rand.New(rand.NewPCG(16, uint64(len(mode))))
		published, withheld := 0, 0
		for trial := range 14 {
			base := 3 + trial%2
			dir := t.TempDir()
			var rows []string
			counts := map[string]int{}
			for _, a := range []string{"x1", "x2", "y1"} {
				for _, b := range []string{"p", "q"} {
					n := 1 + rng.IntN(7)
					counts[a+"|"+b] = n
					for range n {
						rows = append(rows, fmt.Sprintf("%d,%s,%s", 100*trial+len(rows), a, b))
					}
				}
			}
			write(t, dir, "key", testKey)
			write(t, dir, "in.csv", "id,a,b\n"+strings.Join(rows, "\n")+"\n")
			text := strings.NewReplacer("BASE", fmt.Sprint(base), "MODE", mode).Replace(roundedTables)
			if mode == "random" {
				text += "key: {file: %s/key}\nidentity: [id]\n"
			}
			res, err := run(t, dir, text)
			if err != nil {
				if mode == "controlled" && strings.Contains(err.Error(), "tables[0].protect.round.mode: must be small") {
					continue
				}
				t.Fatal(err)
			}
			shown := map[string]int{}
			for _, row := range read(t, dir, "cells.csv")[1:] {
				if shown[row[1]+"|"+row[2]], err = strconv.Atoi(row[len(row)-1]); err != nil {
					t.Fatal(row)
				}
			}
			checkRounded(t, mode, base, shown)
			single := singleValued(shown, counts, base-1, func(cell string, count, y int) bool {
				inner := !strings.Contains(cell, "total") && len(cell) == 4
				switch mode {
				case "nearest":
					return y == (count+base/2)/base*base
				case "small":
					return !inner || count == y && (y >= base || y == 0) || count < base && (y == 0 || y == base && count > 0)
				}
				return count%base == 0 && y == count || count%base > 0 && (y == count-count%base || y == count-count%base+base)
			})
			// Of the totals of small counts only their sums are known.
			if res.Report.Withheld != "" {
				withheld++
				if len(single) == 0 && mode != "random" { // by chance a count may be almost certain
					t.Errorf("%s, trial %d: withheld (%s), but no cell can be computed", mode, trial, res.Report.Withheld)
				}
				continue
			}
			published++
			if len(single) > 0 {
				t.Errorf("%s, trial %d: published, but %v can be computed from %v", mode, trial, single, shown)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "out.csv")); err != nil || strings.Count(string(text), ",rounded\n") != len(shown) {
				t.Errorf("error %v, or the status of a cell is not rounded: %s", err, text)
			}
		}
		t.Logf("%s: %d published, %d withheld", mode, published, withheld)
		if published < 3 {
			t.Errorf("%s: %d published, %d withheld: too few for this test", mode, published, withheld)
		}
	}
}

func checkRounded(t *testing.T, mode string, base int, shown map[string]int) {
	t.Helper()
	for cell, v := range shown {
		if mode != "small" && v%base != 0 || mode == "small" && v > 0 && v < base {
			t.Errorf("%s: %s is published as %d, which is no rounded value", mode, cell, v)
		}
	}
	if mode == "nearest" || mode == "random" {
		return
	}
	for _, b := range []string{"p", "q", "total"} {
		if shown["x1|"+b]+shown["x2|"+b] != shown["x|"+b] || shown["x|"+b]+shown["y|"+b] != shown["total|"+b] {
			t.Errorf("%s: %s does not add up: %v", mode, b, shown)
		}
	}
	for _, a := range []string{"x1", "x2", "y1", "x", "y", "total"} {
		if shown[a+"|p"]+shown[a+"|q"] != shown[a+"|total"] {
			t.Errorf("%s: %s does not add up: %v", mode, a, shown)
		}
	}
}

// Small counts of linked tables need one table with all inner cells.
func TestSmallCountsNeedInnerCells(t *testing.T) {
	dir := t.TempDir()
	people(t, dir, drawPeople(rand.New(rand.NewPCG(16, 13)), 200))
	const text = `version: 1
source: {csv: {path: %s/in.csv}}
tables:
  - {name: t, rows: [region, sex], unsafe: [{threshold: 3}], protect: {round: {base: 3, mode: small}}}
  - {name: u, rows: [sex, age], unsafe: [{threshold: 3}], protect: {round: {base: 3, mode: small}}}
sink: {csv: {path: %s/out.csv}}
`
	if _, err := run(t, dir, text); err == nil || !strings.Contains(err.Error(), "tables[0].protect.round.mode: must be controlled, random or nearest, or one table must have all variables") {
		t.Errorf("inner cells in no table: error %v", err)
	}
	if _, err := run(t, dir, strings.Replace(text, "rows: [region, sex]", "rows: [region, sex, age]", 1)); err != nil {
		t.Error(err)
	}
}
