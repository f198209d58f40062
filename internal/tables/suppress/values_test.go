package suppress

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// drawnValues makes a table of turnovers: each inner cell has the given average number of firms, with
// log-normal turnovers in whole units. The rules are a threshold of 3 and p = 15 percent.
func drawnValues(t testing.TB, firms, sd float64, levels ...[]int) (audit.Question, *primary.Result, *tables.Knowers) {
	t.Helper()
	set, inner := drawnSet(t, levels...)
	cells := tables.NewCells(set, 0, 2)
	cells.Identify(1)
	firm := uint64(0)
	rng := rand.New(rand.NewPCG(8, 8))
	above := cellsAbove(set)
	for i := range inner {
		for range int(poisson(rng, firms*math.Exp(0.8*rng.NormFloat64()))) {
			firm++
			v := math.Ceil(100 * math.Exp(sd*rng.NormFloat64()))
			for _, c := range above[i] {
				cells.Value[c] += v
				cells.Contribute(c, 1, []uint64{firm})
				cells.Keep(c, tables.Contribution{Value: v, Weight: 1})
			}
		}
	}
	p, problems := primary.Apply(cells, primary.Options{Rules: []primary.Rule{{Threshold: 3}, {PPercent: 15}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	q := audit.Question{Set: set, Value: cells.Value, Hidden: make([]bool, set.Cells())}
	return q, p, tables.NewKnowers(1, cells)
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
					pattern := protect(b, q, p, Options{Knowers: knower, Cost: Log})
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

// The needs that use a cell are those whose current witnesses change the cell, whatever witnesses were
// remembered before.
func TestUsersArePresentWitnesses(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 1))
	const cells, needs = 30, 12
	e := &engine{needs: make([]need, needs), usedBy: make([][]use, cells), may: make([]bool, cells)}
	for c := range e.may {
		e.may[c] = c%5 > 0
	}
	listed := 0
	for range 3000 {
		var ws []witness
		for range rng.IntN(3) {
			w := witness{}
			for range rng.IntN(5) {
				w.cells = append(w.cells, int32(rng.IntN(cells)))
			}
			ws = append(ws, w)
		}
		e.remember(int32(rng.IntN(needs)), ws)
		// for the others only the remembered witnesses are cleaned up
		marked := []int32{int32(rng.IntN(cells / 2)), int32(rng.IntN(cells / 2))}
		var want []int32
		for i, n := range e.needs {
			if slices.ContainsFunc(n.witnesses, func(w witness) bool {
				return slices.ContainsFunc(w.cells, func(c int32) bool { return e.may[c] && slices.Contains(marked, c) })
			}) {
				want = append(want, int32(i))
			}
		}
		got := slices.Clone(e.users(marked))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("users %v of cells %v, want %v", got, marked, want)
		}
		listed += len(want)
	}
	for c, u := range e.usedBy {
		if len(u) > 8*needs {
			t.Errorf("cell %d: %d uses kept", c, len(u))
		}
	}
	if listed < 500 {
		t.Errorf("%d users: the test shows little", listed)
	}
}

// A table of turnovers has large components. Linear programs over parts of them, mirrored witnesses
// and an audit with a small limit of work give a pattern that is safe according to programs over whole
// components, with only few more cells held back.
func TestPatternsOfLargeComponentsOfValues(t *testing.T) {
	levels := [][]int{{4, 3}, {3, 2}, {4}}
	hidden := [2]int{}
	for i := range hidden {
		q, p, knower := drawnValues(t, 10, 2, levels...)
		if i == 1 {
			q.Large, q.Work = 1, 1000
		}
		pattern := protect(t, q, p, Options{Knowers: knower})
		if hidden[i] = pattern.Primary + pattern.Second; !pattern.Verdict.Safe() || len(pattern.Insiders) > 0 ||
			pattern.Primary < 50 {
			t.Fatalf("%d unsafe cells: %+v, %d insiders", pattern.Primary, pattern.Verdict, len(pattern.Insiders))
		}
		q.Large, q.Work = 0, 0
		r, err := audit.Audit(q)
		if err != nil || r.Unsolved > 0 {
			t.Fatal(err, r)
		}
		v, err := audit.Judge(q, r, p)
		if err != nil {
			t.Fatal(err)
		}
		insiders, err := audit.Insiders(q, p, knower)
		if err != nil || !v.Safe() || len(insiders) > 0 {
			t.Fatalf("by programs over all: %+v, insiders %v (%v)", v, insiders, err)
		}
	}
	t.Logf("%d suppressed cells, %d with large components", hidden[0], hidden[1])
	if hidden[1] > hidden[0]*11/10 {
		t.Errorf("%d suppressed cells, %d with large components", hidden[0], hidden[1])
	}
}
