package suppress

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
)

// drawnCounts makes a table of log-normal Poisson counts as a configuration would have it: a threshold of
// 3, zeros never held back, every unit a respondent who is protected against.
func drawnCounts(t testing.TB, mean, sd float64, levels ...[]int) (audit.Question, *primary.Result, *tables.Knowers) {
	t.Helper()
	set, inner := drawnSet(t, levels...)
	cells := tables.NewCells(set, 0, 3)
	cells.Counts = true
	cells.Identify(1)
	person := uint64(0)
	rng := rand.New(rand.NewPCG(38, 8))
	above := cellsAbove(set)
	for i := range inner {
		for range int(poisson(rng, mean*math.Exp(sd*rng.NormFloat64()))) {
			person++
			for _, c := range above[i] {
				cells.Value[c]++
				cells.Contribute(c, 1, []uint64{person})
				cells.Keep(c, tables.Contribution{Value: 1, Weight: 1, Who: person})
			}
		}
	}
	p, problems := primary.Apply(cells, primary.Options{Rules: []primary.Rule{{Threshold: 3}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	q := audit.Question{Set: set, Value: cells.Value, Hidden: make([]bool, set.Cells()),
		Lower: make([]float64, set.Cells()), Counts: true}
	for c, v := range q.Value {
		q.Lower[c] = min(v, 1)
	}
	least := slices.Clone(q.Lower)
	for i := set.Sums() - 1; i >= 0; i-- { // sums over later variables come after the others
		s := set.Sum(i)
		sum := 0.0
		for _, c := range s.Parts {
			sum += least[c]
		}
		least[s.Total] = max(least[s.Total], sum)
	}
	for c, v := range q.Value {
		p.Down[c] = min(p.Down[c], v-least[c])
	}
	return q, p, tables.NewKnowers(1, cells)
}

// Counts of which a sixth and more are unsafe, in squares, cubes and hierarchies, against outsiders and against
// each respondent:
//
//	go test -run - -bench Trouble/cube -benchtime 1x ./internal/tables/suppress
func BenchmarkTrouble(b *testing.B) {
	hier := [][]int{{5, 4, 3}, {4, 3}, {4}}
	for _, k := range []struct {
		name     string
		mean, sd float64
		levels   [][]int
	}{
		{"cube", 6, 1.3, [][]int{{10}, {10}, {10}}}, {"square10k", 6, 1.3, [][]int{{100}, {100}}},
		{"cube10k", 6, 1.3, [][]int{{20}, {21}, {21}}}, {"hier", 2.5, 1, hier},
	} {
		for _, respondents := range []bool{false, true} {
			name := k.name
			if respondents {
				name += "Respondents"
			}
			b.Run(name, func(b *testing.B) {
				b.StopTimer()
				for range b.N {
					q, p, knower := drawnCounts(b, k.mean, k.sd, k.levels...)
					if !respondents {
						knower = nil
					}
					b.StartTimer()
					pattern := protect(b, q, p, Options{Knowers: knower})
					b.StopTimer()
					if !pattern.Verdict.Safe() || len(pattern.Insiders) > 0 {
						b.Fatal(pattern.Verdict, len(pattern.Insiders))
					}
					b.ReportMetric(float64(len(q.Value)), "all")
					b.ReportMetric(float64(pattern.Primary), "unsafe")
					b.ReportMetric(float64(pattern.Primary+pattern.Second), "cells")
				}
			})
		}
	}
}

// Many unsafe counts: a quick pass and a long one hold back at most a tenth more cells than a single long pass, and no
// respondent infers too much.
func TestManyUnsafeCounts(t *testing.T) {
	before := mendingNeeds
	t.Cleanup(func() { mendingNeeds = before })
	hidden := [2]int{}
	for i, above := range []int{math.MaxInt, 0} {
		mendingNeeds = above
		q, p, knowers := drawnCounts(t, 6, 1.3, []int{6}, []int{6}, []int{6})
		pattern := protect(t, q, p, Options{Knowers: knowers})
		if hidden[i] = pattern.Primary + pattern.Second; !pattern.Verdict.Safe() || len(pattern.Insiders) > 0 ||
			pattern.Primary < 30 {
			t.Errorf("%d unsafe cells: %+v, %d insiders", pattern.Primary, pattern.Verdict, len(pattern.Insiders))
		}
	}
	t.Logf("%d suppressed cells, %d in two passes", hidden[0], hidden[1])
	if hidden[1] > hidden[0]*11/10 {
		t.Errorf("%d suppressed cells, %d in two passes", hidden[0], hidden[1])
	}
}

// The audit for respondents finds no table of whole numbers for some of many unsafe counts; the search for a pattern
// has found one for each, and hands them over.
func TestTheSearchShowsItsTables(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds")
	}
	q, p, knowers := drawnCounts(t, 6, 1.3, []int{10}, []int{10}, []int{9})
	pattern := protect(t, q, p, Options{Knowers: knowers})
	if !pattern.Verdict.Safe() || len(pattern.Insiders) > 0 {
		t.Errorf("%+v, %d insiders", pattern.Verdict, len(pattern.Insiders))
	}
	alone, err := audit.Insiders(q, p, knowers)
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d respondents without the tables of the search", len(alone)); len(alone) == 0 {
		t.Error("the audit finds all tables itself: the test shows nothing")
	}
}

// A witness that was found for contributors of a cell, who need no range below their own part, shows less than others
// need and does not serve these. Of counts, one that shows more does not serve the contributors.
func TestAWitnessServesThoseWhomItShowsEnough(t *testing.T) {
	for _, k := range []struct {
		counts        bool
		shows, amount float64
		strange       bool
	}{
		{true, 3, 3, false}, {true, 2, 3, true}, {true, 2, 2, false}, {true, 3, 2, true}, {true, -3, 3, true},
		{false, 3, 3, false}, {false, 2, 3, true}, {false, 3, 2, false},
	} {
		e := &engine{q: audit.Question{Value: []float64{5, 5}, Counts: k.counts}}
		w, n := witness{[]int32{1, 0}, []float64{k.shows, -k.shows}}, need{cell: 0, amount: k.amount}
		if got := e.strange(w, nil, &n, 3); got != k.strange {
			t.Errorf("counts %v: a witness that shows %v serves those who need %v: %v", k.counts, k.shows, k.amount, !got)
		}
		if n.meets(w) != (k.shows >= k.amount) {
			t.Errorf("a witness that shows %v meets %v: %v", k.shows, k.amount, n.meets(w))
		}
	}
}

// BenchmarkAudit is the audit of patterns that another program may have made, of which nothing is known but the cells
// that are held back.
func BenchmarkAudit(b *testing.B) {
	for _, n := range []int{8, 10, 12} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q, p, knowers := drawnCounts(b, 6, 1.3, []int{n}, []int{n}, []int{n})
			protect(b, q, p, Options{Knowers: knowers})
			for b.Loop() {
				pattern, err := Audit(q, p, knowers)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(pattern.Primary), "unsafe")
				b.ReportMetric(float64(len(pattern.Insiders)+len(pattern.Verdict.Narrow)), "unproven")
			}
		})
	}
}

// The audit of a pattern of which nothing else is known proves it, finds that hardly a cell of it could be published,
// and leaves the pattern as it is.
func TestAuditOfAPattern(t *testing.T) {
	q, p, knowers := drawnCounts(t, 6, 1.3, []int{5}, []int{6}, []int{6})
	protect(t, q, p, Options{Knowers: knowers})
	hidden := slices.Clone(q.Hidden)
	safe := func() bool {
		pattern, err := Audit(q, p, knowers)
		if err != nil {
			t.Fatal(err)
		}
		return pattern.Verdict.Safe() && len(pattern.Insiders) == 0
	}
	if !safe() {
		t.Error("a pattern that was published is not proven")
	}
	open, all := 0, 0
	for c := range hidden {
		if !hidden[c] || p.Status[c] == tables.Primary || all == 10 {
			continue
		}
		all++
		q.Hidden[c] = false
		if !safe() {
			open++
		}
		q.Hidden[c] = true
	}
	if !slices.Equal(hidden, q.Hidden) || all < 10 || open < all*8/10 {
		t.Errorf("without one of %d cells, %d patterns do not protect", all, open)
	}
}
