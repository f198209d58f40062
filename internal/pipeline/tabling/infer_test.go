package tabling

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	_ "github.com/sdlfilter/sdlfilter/internal/formats"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// run makes the tables of a configuration in a folder; %s in the text is replaced by the folder.
func run(t testing.TB, dir, text string) (*Result, error) {
	t.Helper()
	c,
		err := tabulation.Parse("t.yaml", []byte(strings.ReplaceAll(text, "%s", dir)),
		config.Options{Environ: func() []string { return nil }})
	if err != nil {
		return nil, err
	}
	return Run(context.Background(), c, pipeline.Options{Version: "test", Log: zerolog.Nop()})
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, dir, name string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// An intruder enumerates all integer tables compatible with the public file, knowing that no cell
// with value 0 is ever suppressed. For every count below the threshold, the range of possible
// values is as wide as the rule requires: from the file and the records alone, for two tables at
// once, over one hierarchy.
func TestNothingIsInferredFromThePublicFile(t *testing.T) {
	const threshold = 3
	rng := rand.New(rand.NewPCG(16, 1))
	published, withheld, unsafe := 0, 0, 0
	for trial := range 40 {
		dir := t.TempDir()
		counts := map[[2]string]int{}
		var text strings.Builder
		text.WriteString("a,b\n")
		as, bs := []string{"x1", "x2", "y1"}, []string{"p", "q"}
		for _, a := range as {
			for _, b := range bs {
				n := rng.IntN(5)
				counts[[2]string{a, b}] = n
				for range n {
					fmt.Fprintf(&text, "%s,%s\n", a, b)
				}
			}
		}
		fmt.Fprintf(&text, "x1,p\nx2,q\ny1,p\n") // every code occurs
		counts[[2]string{"x1", "p"}]++
		counts[[2]string{"x2", "q"}]++
		counts[[2]string{"y1", "p"}]++
		write(t, dir, "in.csv", text.String())
		respondents := []string{"protect", "ignore"}[trial%2]
		res, err := run(t, dir, `version: 1
source: {csv: {path: %s/in.csv}}
hierarchies: {a: {prefix: [1, 2]}}
tables:
  - {name: t, rows: [a, b], unsafe: [{threshold: 3}], protect: {suppress: {respondents: `+respondents+`}}}
  - {name: u, rows: [b], unsafe: [{threshold: 3}], protect: {suppress: {respondents: `+respondents+`}}}
sink: {csv: {path: %s/out.csv}}
`)
		if err != nil {
			t.Fatal(err)
		}
		if res.Report.Withheld != "" {
			withheld++
			continue
		}
		published++
		shown := map[[2]string]int{}
		hidden := map[[2]string]bool{}
		for _, row := range read(t, dir, "out.csv")[1:] {
			cell := [2]string{row[1], row[2]}
			if row[4] == "suppressed" {
				hidden[cell] = true
				if row[3] != "" {
					t.Fatalf("a suppressed cell has a value: %v", row)
				}
				continue
			}
			v, err := strconv.Atoi(row[3])
			if err != nil {
				t.Fatal(row)
			}
			if old, twice := shown[cell]; twice && old != v {
				t.Fatalf("%v has two different published values", cell)
			}
			shown[cell] = v
		}
		for cell := range hidden {
			if _, ok := shown[cell]; ok {
				t.Fatalf("%v is suppressed in one table and published in the other", cell)
			}
		}
		low, high, truth := enumerate(as, bs, shown, hidden, counts)
		for cell, v := range truth {
			if v == 0 || v >= threshold {
				continue
			}
			unsafe++
			switch {
			case !hidden[cell]:
				t.Errorf("trial %d: the unsafe cell %v = %d is published", trial, cell, v)
			case low[cell] == high[cell]:
				t.Errorf("trial %d: the unsafe cell %v can be computed", trial, cell)
			case high[cell] < v+threshold:
				t.Errorf("trial %d: the unsafe cell %v = %d can be bounded by %d, which is too near", trial, cell, v, high[cell])
			}
		}
	}
	if published < 25 || unsafe < 80 {
		t.Errorf("%d tables were published and %d withheld, with %d unsafe cells: too few for this test", published, withheld,
			unsafe)
	}
}

// enumerate enumerates all integer tables up to a bound.
func enumerate(as, bs []string, shown map[[2]string]int, hidden map[[2]string]bool, counts map[[2]string]int) (low,
	high, truth map[[2]string]int) {
	parents := map[string][]string{"x1": {"x1", "x", "total"}, "x2": {"x2", "x", "total"}, "y1": {"y1", "y", "total"}}
	low, high, truth = map[[2]string]int{}, map[[2]string]int{}, map[[2]string]int{}
	add := func(to map[[2]string]int, a, b string, n int) {
		for _, up := range parents[a] {
			to[[2]string{up, b}] += n
			to[[2]string{up, "total"}] += n
		}
	}
	var cells [][2]string
	last := map[[2]string]int{} // of a sum: the last of its inner cells
	for _, a := range as {
		for _, b := range bs {
			cells = append(cells, [2]string{a, b})
			add(truth, a, b, counts[[2]string{a, b}])
			for _, up := range parents[a] {
				last[[2]string{up, b}], last[[2]string{up, "total"}] = len(cells)-1, len(cells)-1
			}
		}
	}
	sums := map[[2]string]int{}
	first := true
	var fill func(i int)
	fill = func(i int) {
		if i == len(cells) {
			for cell, v := range shown {
				if sums[cell] != v {
					return
				}
			}
			for cell := range hidden {
				if sums[cell] == 0 {
					return // known not to be suppressed
				}
			}
			for cell := range truth {
				if v := sums[cell]; first {
					low[cell], high[cell] = v, v
				} else {
					low[cell], high[cell] = min(low[cell], v), max(high[cell], v)
				}
			}
			first = false
			return
		}
		a, b := cells[i][0], cells[i][1]
		from, to := 1, 9 // more than any count plus the required distance above it
		for _, up := range parents[a] {
			for _, across := range []string{b, "total"} {
				sum := [2]string{up, across}
				if v, ok := shown[sum]; ok {
					if to = min(to, v-sums[sum]); i == last[sum] {
						from = max(from, v-sums[sum])
					}
				}
			}
		}
		if v, ok := shown[cells[i]]; ok {
			from = v
		}
		for v := from; v <= to; v++ {
			add(sums, a, b, v)
			fill(i + 1)
			add(sums, a, b, -v)
		}
	}
	fill(0)
	return low, high, truth
}
