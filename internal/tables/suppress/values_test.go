package suppress

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// drawnValues makes a table of turnovers: so many firms an inner cell on average, of
// log-normal turnover in whole units, under a threshold of 3 and 15 percent.
func drawnValues(t testing.TB, firms, sd float64, levels ...[]int) (audit.Question, *primary.Result, []int32) {
	t.Helper()
	set, inner := drawnSet(t, levels...)
	cells := tables.NewCells(set, 0, 2)
	rng := rand.New(rand.NewPCG(8, 8))
	above := cellsAbove(set)
	for i := range inner {
		for range int(poisson(rng, firms*math.Exp(0.8*rng.NormFloat64()))) {
			v := math.Ceil(100 * math.Exp(sd*rng.NormFloat64()))
			for _, c := range above[i] {
				cells.Value[c] += v
				cells.Contributors[c]++
				cells.Keep(c, tables.Contribution{Value: v, Weight: 1})
			}
		}
	}
	p, problems := primary.Apply(cells, primary.Options{Rules: []primary.Rule{{Threshold: 3}, {PPercent: 15}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	q := audit.Question{Set: set, Value: cells.Value, Hidden: make([]bool, set.Cells())}
	return q, p, tables.SoleContributors(cells)
}

// Turnovers in the shape of "hier" and of "hierbig", in 200 by 200 cells and in 30 by 30 by
// 30; skewed: in which few firms make up most. Respondents: against each who is alone in a
// cell as well:
//
//	go test -run - -bench Values/hier$ -benchtime 1x ./internal/tables/suppress
func BenchmarkValues(b *testing.B) {
	for _, k := range []struct {
		name      string
		firms, sd float64
		levels    [][]int
	}{
		{"hier", 10, 1.5, [][]int{{5, 4, 3}, {4, 3}, {4}}},
		{"hierbig", 10, 1.5, [][]int{{8, 5, 5}, {5, 4}, {6}}}, {"skewed", 10, 2.5, [][]int{{8, 5, 5}, {5, 4}, {6}}},
		{"square", 10, 1.5, [][]int{{200}, {200}}}, {"skewsquare", 10, 2.5, [][]int{{200}, {200}}},
		{"cube", 10, 1.5, [][]int{{30}, {30}, {30}}},
	} {
		for _, respondents := range []bool{false, true} {
			name := k.name
			if respondents {
				name += "Respondents"
			}
			b.Run(name, func(b *testing.B) {
				b.StopTimer()
				for range b.N {
					q, p, knower := drawnValues(b, k.firms, k.sd, k.levels...)
					if !respondents {
						knower = nil
					}
					b.StartTimer()
					pattern := protect(b, q, p, Options{Knower: knower, Cost: Log})
					b.StopTimer()
					if !pattern.Verdict.Safe() || len(pattern.Insiders) > 0 {
						b.Fatal(pattern.Verdict, len(pattern.Insiders))
					}
					b.ReportMetric(float64(pattern.Primary), "unsafe")
					b.ReportMetric(float64(pattern.Primary+pattern.Second), "cells")
					b.ReportMetric(float64(pattern.Programs), "programs")
				}
			})
		}
	}
}

// cellsAbove lists, for every inner cell in their order, the cells that it is part of.
func cellsAbove(set *tables.Set) (above [][]int) {
	dims := set.Tables[0].Dimensions
	up := make([][][]int, len(dims))
	for k, d := range dims {
		up[k] = make([][]int, len(d.Codes))
		for node := range d.Codes {
			for _, l := range d.Leaves(node) {
				up[k][l] = append(up[k][l], node)
			}
		}
	}
	for cell := range set.Cells() {
		_, nodes := set.Home(cell)
		leaf := true
		for k, node := range nodes {
			leaf = leaf && dims[k].IsLeaf(node)
		}
		if !leaf {
			continue
		}
		at := []int{0}
		for k, node := range nodes {
			var wider []int
			for _, a := range at {
				for _, u := range up[k][node] {
					wider = append(wider, a*len(dims[k].Codes)+u)
				}
			}
			at = wider
		}
		above = append(above, at)
	}
	return above
}
