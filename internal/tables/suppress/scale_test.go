package suppress

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// drawTable makes a table of log-normal Poisson counts, with a protection of ± 3. Each number in a
// hierarchy says into how many codes a code of that level is divided.
func drawTable(t testing.TB, mean, sd float64, levels ...[]int) (audit.Question, *primary.Result) {
	t.Helper()
	set, inner := drawnSet(t, levels...)
	rng := rand.New(rand.NewPCG(7, 7))
	counts := make([]float64, inner)
	for i := range counts {
		counts[i] = poisson(rng, mean*math.Exp(sd*rng.NormFloat64()))
	}
	return fill(set, counts, 3)
}

// drawnSet makes the set of such a table and returns its number of inner cells.
func drawnSet(t testing.TB, levels ...[]int) (set *tables.Set, inner int) {
	t.Helper()
	var dims []*tables.Dimension
	inner = 1
	for k, splits := range levels {
		var h tables.Hierarchy
		level := []string{""}
		for _, n := range splits {
			var next []string
			for _, parent := range level {
				for i := range n {
					code := fmt.Sprint(parent, "/", i)
					h.Edges = append(h.Edges, tables.Edge{Child: code, Parent: parent})
					next = append(next, code)
				}
			}
			level = next
		}
		d, problems := tables.NewDimension(fmt.Sprint("d", k), "all", h)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		dims = append(dims, d)
		inner *= len(level)
	}
	set, problems := tables.NewSet(tables.Table{Name: "drawn", Dimensions: dims})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return set, inner
}

func poisson(rng *rand.Rand, mean float64) float64 {
	if mean > 200 {
		return math.Round(mean + math.Sqrt(mean)*rng.NormFloat64())
	}
	limit, product, n := math.Exp(-mean), rng.Float64(), 0.0
	for product > limit {
		product *= rng.Float64()
		n++
	}
	return n
}

// The shape of "hier" with more and more unsafe cells (278, 891, 1,241 of 7,310), a table
// of a million cells (5,969 and 96,307 of 1,220,989), and one whose cells are empty for the most part
// (19,141 of 121,989 unsafe):
//
//	go test -run - -bench Scale/dense -benchtime 1x ./internal/tables/suppress
func BenchmarkScale(b *testing.B) {
	hier := [][]int{{5, 4, 3}, {4, 3}, {4}}
	for _, k := range []struct {
		name     string
		mean, sd float64
		levels   [][]int
	}{
		{"sparse", 10, 1, hier}, {"dense", 3, 1, hier}, {"denser", 2, 1, hier},
		{"million", 300, 2, [][]int{{10, 10, 10}, {6, 5, 4}, {6}}},
		{"troubled", 12, 2, [][]int{{10, 10, 10}, {6, 5, 4}, {6}}},
		{"empty", 0.02, 2, [][]int{{10, 10}, {6, 5, 4}, {6}}},
	} {
		b.Run(k.name, func(b *testing.B) {
			b.StopTimer()
			for range b.N {
				q, p := drawTable(b, k.mean, k.sd, k.levels...)
				b.StartTimer()
				pattern := protect(b, q, p, Options{})
				b.StopTimer()
				if !pattern.Verdict.Safe() {
					b.Fatal(pattern.Verdict)
				}
				b.ReportMetric(float64(pattern.Primary), "unsafe")
				b.ReportMetric(float64(pattern.Primary+pattern.Second), "cells")
			}
		})
	}
}
