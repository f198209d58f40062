package tabling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

const adjustedCounts = `version: 1
source: {csv: {path: %s/in.csv}}
hierarchies: {a: {prefix: [1, 2]}}
tables: [{name: t, rows: [a, b], unsafe: [{threshold: 3}], protect: {adjust: {within: {absolute: 5}, cost: COST}}}]
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json, cells: %s/cells.csv}
`

// An intruder who enumerates all tables of counts that can be published as the adjusted ones, and knows which of these
// are true: no unsafe count has only one possible value in a release. Sums hold, and unsafe counts are 0 or at least 5.
func TestNothingIsComputedFromAdjustedCounts(t *testing.T) {
	racetest.Further(t)
	rng := rand.New(rand.NewPCG(38, 1))
	published, withheld := 0, 0
	for trial := range 12 {
		dir := t.TempDir()
		var rows []string
		counts := map[string]int{}
		for _, a := range []string{"x1", "x2", "y1"} {
			for _, b := range []string{"p", "q"} {
				n := 1 + rng.IntN(6)
				counts[a+"|"+b] = n
				for range n {
					rows = append(rows, fmt.Sprintf("%d,%s,%s", 100*trial+len(rows), a, b))
				}
			}
		}
		write(t, dir, "in.csv", "id,a,b\n"+strings.Join(rows, "\n")+"\n")
		res, err := run(t, dir, strings.Replace(adjustedCounts, "COST", []string{"relative", "unit"}[trial%2], 1))
		if err != nil {
			t.Fatal(err)
		}
		shown, truth := map[string]int{}, map[string]int{}
		for _, row := range read(t, dir, "cells.csv")[1:] {
			x, err := strconv.Atoi(row[len(row)-1])
			if err != nil {
				t.Fatal(row)
			}
			n, _ := strconv.Atoi(row[3])
			shown[row[1]+"|"+row[2]], truth[row[1]+"|"+row[2]] = x, n
			if n > 0 && n < 3 && x > 0 && x < 5 || x < n-5 || x > n+5 {
				t.Errorf("%s of %d records is published as %d", row[1]+"|"+row[2], n, x)
			}
		}
		checkRounded(t, "adjusted", 1, shown)
		single := singleValued(shown, counts, 5, func(cell string, count, y int) bool {
			switch {
			case truth[cell] == y: // the intruder knows which counts were not changed
				return count == y
			case count == 0:
				return y == 0
			case count < 3 && y > 0 && y < 5:
				return false
			}
			return max(y-count, count-y) <= 5
		})
		if res.Report.Withheld != "" {
			withheld++
			if len(single) == 0 {
				t.Logf("trial %d: withheld (%s), but no count can be computed by an outsider", trial, res.Report.Withheld)
			}
			continue
		}
		published++
		if len(single) > 0 {
			t.Errorf("trial %d: published, but %v can be computed from %v", trial, single, shown)
		}
		if c := res.Report.Tables[0].Changed; c == nil || res.Report.Tables[0].Primary > 0 &&
			!(c.Mean > 0 && c.Mean <= c.Greatest && c.AtLeast <= c.Cost) {
			t.Errorf("trial %d: changes %+v", trial, c)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "out.csv")); err != nil ||
			strings.Count(string(text), ",adjusted\n") != len(shown) {
			t.Errorf("error %v, or the status of a cell is not adjusted: %s", err, text)
		}
	}
	t.Logf("%d published, %d withheld", published, withheld)
	if published < 6 {
		t.Errorf("%d published, %d withheld: too few for this test", published, withheld)
	}
}

const adjustedValues = `version: 1
source: {csv: {path: %s/in.csv, types: {v: int64}}}
tables: [{name: t, rows: [a, b], value: v, unsafe: [{p_percent: 20}], protect: {adjust: {RESPONDENTS}}}]
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json, cells: %s/cells.csv}
`

// valueCell is a cell of adjusted values as the confidential file has it.
type valueCell struct {
	value, needLow, needHigh, low, high, published int
	unsafe                                         bool
}

// inferredValues enumerates all tables of 2 × 2 whole numbers whose sums hold, and every cell of which is published as
// it is by a change of at most the greater of an amount and a share, for somebody who knows which cells have their own
// value. It returns the least and the greatest value of each cell. fixed has the inner cells that somebody knows.
func inferredValues(cells map[string]valueCell, absolute, share float64, fixed map[string]int) (low,
	high map[string]int) {
	low, high = map[string]int{}, map[string]int{}
	from, to := map[string]int{}, map[string]int{} // what can be published as the cell is
	for cell, c := range cells {
		from[cell], to[cell] = -1, -1
		for v := 0; v <= 4*c.published+60; v++ {
			d := math.Abs(float64(c.published - v))
			if k, known := fixed[cell]; (d <= absolute || d <= share*float64(v)+1e-9) &&
				(c.published != c.value || v == c.value) && (!known || k == v) {
				if from[cell] < 0 {
					from[cell] = v
				}
				to[cell] = v
			}
		}
	}
	take := func(cell string, v int) {
		if l, seen := low[cell]; !seen || v < l {
			low[cell] = v
		}
		high[cell] = max(high[cell], v)
	}
	within := func(cell string, v int) bool { return v >= from[cell] && v <= to[cell] }
	for a := from["x|p"]; a <= to["x|p"]; a++ {
		for b := from["x|q"]; b <= to["x|q"]; b++ {
			if !within("x|total", a+b) {
				continue
			}
			least, most, first, last := math.MaxInt, -1, 0, 0 // of d, and of the c at which it is taken
			for c := from["y|p"]; c <= to["y|p"]; c++ {
				if !within("total|p", a+c) {
					continue
				}
				l := max(from["y|q"], from["y|total"]-c, from["total|q"]-b, from["total|total"]-a-b-c)
				h := min(to["y|q"], to["y|total"]-c, to["total|q"]-b, to["total|total"]-a-b-c)
				if l > h {
					continue
				}
				if most < 0 {
					first = c
				}
				last, least, most = c, min(least, l), max(most, h)
				take("y|total", c+l)
				take("y|total", c+h)
			}
			if most < 0 {
				continue
			}
			for cell, ends := range map[string][2]int{"x|p": {a, a}, "x|q": {b, b}, "x|total": {a + b, a + b},
				"y|p": {first, last}, "total|p": {a + first, a + last}, "y|q": {least, most}, "total|q": {b + least, b + most}} {
				take(cell, ends[0])
				take(cell, ends[1])
			}
		}
	}
	return low, high
}

// drawAdjusted draws the firms of a table of 2 × 2 cells; alone has the value of the only firm of a cell.
func drawAdjusted(rng *rand.Rand) (rows []string, alone map[string]int) {
	alone = map[string]int{}
	for _, cell := range []string{"x|p", "x|q", "y|p", "y|q"} {
		n := []int{1, 2, 4, 6}[rng.IntN(4)]
		for range n {
			v := 2 + rng.IntN(14)
			rows = append(rows, fmt.Sprintf("%s,%d", strings.Replace(cell, "|", ",", 1), v))
			if n == 1 {
				alone[cell] = v
			}
		}
	}
	return rows, alone
}

// Adjusted values: sums hold, unsafe cells are as far from their values as their rule requires, and the ranges of the
// report are those that somebody finds who enumerates all tables. Each contains what the rule requires in a release,
// also for a firm that is alone in a cell; if one does not, the tables are withheld.
func TestRangesOfAdjustedValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 2))
	published, withheld, unsafe := 0, 0, 0
	trials := 40
	if testing.Short() {
		trials = 10
	}
	for trial := range trials {
		dir := t.TempDir()
		rows, alone := drawAdjusted(rng)
		write(t, dir, "in.csv", "a,b,v\n"+strings.Join(rows, "\n")+"\n")
		// every third run has changes so small that ranges are often too narrow
		// the default of p_percent: 20: 2·25/(100−25) percent, or 20 % of 40 units and 2 more
		within, absolute, share := "", 10.0, 0.67
		if trial%3 == 0 {
			within, absolute, share = "within: {absolute: 4, percent: 30}", 4, 0.3
		}
		res, err := run(t, dir, strings.Replace(adjustedValues, "RESPONDENTS", within, 1))
		if err != nil {
			if trial%3 == 0 &&
				strings.Contains(err.Error(), "tables[0].protect.adjust: must be another method, or have greater changes") {
				continue
			}
			t.Fatal(trial, err)
		}
		cells := map[string]valueCell{}
		for _, row := range read(t, dir, "cells.csv")[1:] {
			var n [6]int
			for i, at := range []int{3, 7, 8, 9, 10, 11} {
				n[i], _ = strconv.Atoi(row[at])
			}
			c := valueCell{n[0], n[1], n[2], n[3], n[4], n[5], row[5] == "primary"}
			cells[row[1]+"|"+row[2]] = c
			if d := c.published - c.value; c.unsafe && d > c.needLow-c.value && d < c.needHigh-c.value {
				t.Errorf("trial %d: %v is published too near: %+v", trial, row, c)
			}
		}
		for _, sum := range [][3]string{{"x|total", "x|p", "x|q"}, {"y|total", "y|p", "y|q"}, {"total|p", "x|p", "y|p"},
			{"total|q", "x|q", "y|q"}, {"total|total", "x|total", "y|total"}} {
			if cells[sum[0]].published != cells[sum[1]].published+cells[sum[2]].published {
				t.Errorf("trial %d: %s is not a sum: %v", trial, sum[0], cells)
			}
		}
		low, high := inferredValues(cells, absolute, share, nil)
		safe := !cells["total|total"].unsafe
		for name, c := range cells {
			if !c.unsafe || name == "total|total" {
				continue
			}
			unsafe++
			if c.low != low[name] || c.high != high[name] {
				t.Errorf("trial %d: %s is said to be between %d and %d, but is between %d and %d: %v", trial, name, c.low, c.high,
					low[name], high[name], cells)
			}
			safe = safe && low[name] <= c.needLow && high[name] >= c.needHigh
			for who, v := range alone {
				if who == name {
					continue
				}
				least := 0 // what her own part is of the cell
				if c.value-v >= 0 &&
					(strings.HasPrefix(name, who[:2]) && strings.HasSuffix(name, "total") || strings.HasPrefix(name, "total") &&
						strings.HasSuffix(name, who[1:])) {
					least = v
				}
				l, h := inferredValues(cells, absolute, share, map[string]int{who: v})
				safe = safe && l[name] <= max(c.needLow, least) && h[name] >= c.needHigh
			}
		}
		if res.Report.Withheld != "" {
			if withheld++; safe {
				t.Logf("trial %d: withheld (%s) though no range is too narrow for those who are alone", trial, res.Report.Withheld)
			}
			continue
		}
		published++
		if !safe {
			t.Errorf("trial %d: published, but a range is too narrow: %v, alone %v", trial, cells, alone)
		}
	}
	t.Logf("%d published, %d withheld, %d unsafe cells", published, withheld, unsafe)
	if published < trials/4 || withheld == 0 && !testing.Short() || unsafe < trials/2 {
		t.Errorf("%d published, %d withheld, %d unsafe cells: too few for this test", published, withheld, unsafe)
	}
}

// Linked tables, weights and decimals: what is published of a cell is the same in both tables, all sums hold to the
// cent, and the public report says by how much values can have changed, and nothing of how much they did.
func TestAdjustedTablesAgree(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in.csv", firmRecords(300))
	const text = `version: 1
unknown: drop
source: {csv: {path: %s/in.csv, types: {wages: float64, balance: float64, weight: float64}}}
tables:
  - {name: t, rows: [region, size], value: wages, decimals: 2, weight: weight, unsafe: [{threshold: 3}, {p_percent: 10}], protect: {adjust: {}}}
  - {name: u, rows: [size], value: wages, decimals: 2, weight: weight, unsafe: [{threshold: 3}, {p_percent: 10}], protect: {adjust: {}}}
sink: {csv: {path: %s/out.csv}}
report: {json: %s/report.json, html: %s/report.html, cells: %s/cells.csv}
`
	res, err := run(t, dir, text)
	if err != nil {
		t.Fatal(err)
	}
	if res.Report.Withheld != "" {
		t.Fatal(res.Report.Withheld)
	}
	rows := read(t, dir, "out.csv")
	shown := map[string]string{}
	for _, row := range rows[1:] {
		key := strings.Join(row[1:4], "|")
		if v, seen := shown[key]; seen && v != row[4] {
			t.Errorf("%s is %s and %s", key, v, row[4])
		}
		shown[key] = row[4]
	}
	public, err := os.ReadFile(filepath.Join(dir, "report.public.json"))
	if err != nil || !strings.Contains(string(public), `"percent"`) || strings.Contains(string(public), "mean") ||
		strings.Contains(string(public), "changed") {
		t.Errorf("public report (%v): %s", err, public)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "report.public.html")); err != nil ||
		!strings.Contains(string(page), "adjusted: each by at most") {
		t.Errorf("the public page (%v) does not say by how much values can have changed", err)
	}
	changed := 0
	for _, row := range read(t, dir, "cells.csv")[1:] {
		if row[len(row)-1] != row[4] {
			changed++
		}
	}
	// 30 % of the threshold, more than the 10 % of the other rule, and 5 for whole units: 2·35/(100−35)
	if changed < 2 || res.Report.Tables[0].Parameters["percent"] != 108 {
		t.Errorf("%d cells changed; %v", changed, res.Report.Tables[0].Parameters)
	}
}
