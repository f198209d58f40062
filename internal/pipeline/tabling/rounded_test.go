package tabling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
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
	racetest.Further(t)
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
			if text, err := os.ReadFile(filepath.Join(dir, "out.csv")); err != nil ||
				strings.Count(string(text), ",rounded\n") != len(shown) {
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
	racetest.Further(t)
	dir := t.TempDir()
	people(t, dir, drawPeople(rand.New(rand.NewPCG(16, 13)), 200))
	const text = `version: 1
source: {csv: {path: %s/in.csv}}
tables:
  - {name: t, rows: [region, sex], unsafe: [{threshold: 3}], protect: {round: {base: 3, mode: small}}}
  - {name: u, rows: [sex, age], unsafe: [{threshold: 3}], protect: {round: {base: 3, mode: small}}}
sink: {csv: {path: %s/out.csv}}
`
	if _, err := run(t, dir, text); err == nil ||
		!strings.Contains(err.Error(),
			"tables[0].protect.round.mode: must be controlled, random or nearest, or one table must have all variables") {
		t.Errorf("inner cells in no table: error %v", err)
	}
	if _, err := run(t, dir, strings.Replace(text, "rows: [region, sex]", "rows: [region, sex, age]", 1)); err != nil {
		t.Error(err)
	}
}

// In three dimensions and in linked tables, what is believed of counts that are rounded under control is the share of
// the tables that could have been rounded so: all tables of counts are enumerated, without code of the program. Tables
// are published exactly if no unsafe count has a value with more than 0.9 of them.
func TestControlledRoundingIsJudgedByAllTables(t *testing.T) {
	const text = `version: 1
source: {csv: {path: %s/in.csv}}
tables:
  - {name: t, rows: [a, b, c], unsafe: [{threshold: 3}], protect: {round: {base: BASE, respondents: ignore}}}
MORE
sink: {csv: {path: %s/out.csv}}
report: {cells: %s/cells.csv, json: %s/report.json}
`
	const base = 3
	published, withheld, sure := 0, 0, 0
	rng := rand.New(rand.NewPCG(38, 2))
	trials := 40
	if testing.Short() {
		trials = 10
	}
	for trial := range trials {
		dir := t.TempDir()
		var rows []string
		var counts [8]int
		for i := range counts {
			counts[i] = rng.IntN(8)
			if i == 0 { // every code occurs
				counts[i] = 1 + rng.IntN(7)
			}
			if i == 7 {
				counts[i] = 4
			}
			for range counts[i] {
				rows = append(rows, fmt.Sprintf("%d,%d,%d", i&1, i>>1&1, i>>2))
			}
		}
		write(t, dir, "in.csv", "a,b,c\n"+strings.Join(rows, "\n")+"\n")
		more := ""
		if trial%2 == 1 {
			more = "  - {name: u, rows: [a, c], unsafe: [{threshold: 3}], protect: {round: {base: 3, respondents: ignore}}}\n"
		}
		res, err := run(t, dir, strings.NewReplacer("MORE\n", more, "BASE", fmt.Sprint(base)).Replace(text))
		if err != nil {
			if strings.Contains(err.Error(), "no rounding takes") {
				continue
			}
			t.Fatal(err)
		}
		shown := map[[3]int]int{} // 2: the total
		for _, row := range read(t, dir, "cells.csv")[1:] {
			if row[0] != "t" {
				continue
			}
			var at [3]int
			for k := range at {
				if at[k] = 2; row[1+k] != "total" {
					at[k], _ = strconv.Atoi(row[1+k])
				}
			}
			if shown[at], err = strconv.Atoi(row[len(row)-1]); err != nil {
				t.Fatal(row)
			}
		}
		if len(shown) != 27 {
			t.Fatalf("%d cells", len(shown))
		}
		worst, risk, respondents := mostOfAll(t, counts, shown, base)
		if got := float64(res.Report.Tables[0].Risk); math.Abs(got-risk) > 1e-9*max(risk, 1) {
			t.Errorf("trial %d: risk %v, by all tables %v", trial, got, risk)
		}
		if res.Report.Withheld == "" {
			published++
		} else {
			withheld++
		}
		if (res.Report.Withheld != "") != (worst > 0.9) {
			t.Errorf("trial %d: withheld %q, and an unsafe count has one value in %v of all tables: %v published as %v", trial,
				res.Report.Withheld, worst, counts, shown)
		}
		asked,
			err := run(t, dir, strings.ReplaceAll(strings.NewReplacer("MORE\n", more, "BASE", fmt.Sprint(base)).Replace(text),
			"respondents: ignore", "respondents: protect"))
		if err != nil {
			t.Fatal(err)
		}
		if (asked.Report.Withheld != "") != (max(worst, respondents) > 0.9) {
			t.Errorf("trial %d: with respondents withheld %q, and one is certain to %v of a count: %v published as %v", trial,
				asked.Report.Withheld, respondents, counts, shown)
		}
		if respondents > 0.9 {
			sure++
		}
		if r := res.Report.Families[0].Rounding; r == nil || r.Changes < r.AtLeast || r.Changes == 0 {
			t.Errorf("trial %d: changes %+v", trial, r)
		}
	}
	t.Logf("%d published, %d withheld, %d for respondents", published, withheld, sure)
	if published < trials*3/4 {
		t.Errorf("%d published, %d withheld: too few for this test", published, withheld)
	}
}

// mostOfAll returns the greatest share of the tables of 2 × 2 × 2 counts that could have been rounded to what is shown
// in which a count below 3 has the same value, the greatest 1/entropy of what is believed of one, and the greatest
// share of the true count among the tables with somebody in the cell of a respondent who is not alone in the count.
func mostOfAll(t *testing.T, counts [8]int, shown map[[3]int]int, base int) (worst, risk, respondents float64) {
	t.Helper()
	near := func(count, y int) bool {
		if count%base == 0 {
			return y == count
		}
		return y == count-count%base || y == count-count%base+base
	}
	cells := map[[3]int][]int{}
	for at := range shown {
		for i := range 8 {
			if code := [3]int{i & 1, i >> 1 & 1, i >> 2}; (at[0] == 2 || at[0] == code[0]) && (at[1] == 2 || at[1] == code[1]) &&
				(at[2] == 2 || at[2] == code[2]) {
				cells[at] = append(cells[at], i)
			}
		}
	}
	sum := func(x [8]int, of []int) (n int) {
		for _, i := range of {
			n += x[i]
		}
		return n
	}
	taken := map[[3]int]map[int]float64{}
	all := 0.0
	var knows [8]float64 // tables with somebody in an inner cell
	var both [8]map[[3]int]float64
	for i := range both {
		both[i] = map[[3]int]float64{}
	}
	var x [8]int
	var fill func(i int)
	fill = func(i int) {
		if i == 8 {
			for at, of := range cells {
				if !near(sum(x, of), shown[at]) {
					return
				}
			}
			all++
			for i := range x {
				if x[i] > 0 {
					knows[i]++
				}
			}
			for at, of := range cells {
				if sum(counts, of) > 0 && sum(counts, of) < 3 {
					if taken[at] == nil {
						taken[at] = map[int]float64{}
					}
					taken[at][sum(x, of)]++
					for i := range x {
						if x[i] > 0 && sum(x, of) == sum(counts, of) {
							both[i][at]++
						}
					}
				}
			}
			return
		}
		y := shown[[3]int{i & 1, i >> 1 & 1, i >> 2}]
		for x[i] = max(y-base+1, 0); x[i] < y+base; x[i]++ {
			fill(i + 1)
		}
	}
	fill(0)
	for _, values := range taken {
		entropy := 0.0
		for _, n := range values {
			worst = max(worst, n/all)
			entropy -= n / all * math.Log(n/all)
		}
		risk = max(risk, 1/entropy)
	}
	for i, n := range counts {
		for at, b := range both[i] {
			if alone := sum(counts, cells[at]) == 1 && slices.Contains(cells[at], i); n > 0 && !alone {
				respondents = max(respondents, b/knows[i])
			}
		}
	}
	return worst, risk, respondents
}
