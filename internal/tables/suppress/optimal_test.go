package suppress

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/primary"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// Cells and bounds of the test problems under the usual limit, with the time of both:
//
//	go test -run - -bench Optimal -benchtime 1x ./internal/tables/suppress
func BenchmarkOptimal(b *testing.B) {
	for _, k := range []struct {
		name   string
		around float64
	}{{"2d8", 1}, {"2d8", 3}, {"2d50", 1}, {"2d50", 3}, {"3d10", 1}, {"3d10", 3}} {
		b.Run(k.name, func(b *testing.B) {
			b.StopTimer()
			for range b.N {
				q, p := load(b, k.name, k.around)
				b.StartTimer()
				pattern := protect(b, q, p, Options{Optimal: true})
				b.StopTimer()
				if !pattern.Verdict.Safe() {
					b.Fatal(pattern.Verdict)
				}
				b.ReportMetric(float64(pattern.Primary+pattern.Second), "cells")
				b.ReportMetric(pattern.Optimum.AtLeast+float64(pattern.Primary), "at_least")
				b.ReportMetric(float64(pattern.Optimum.Nodes), "nodes")
				b.ReportMetric(float64(pattern.Optimum.Cuts), "cuts")
			}
		})
	}
}

// The optima that HiGHS proved for the test problems are found and proven here. For 3d10 no optimum is
// known; its lower bound stays below the cost that was found.
func TestOptimaOfTheTestProblems(t *testing.T) {
	for _, k := range []struct {
		name   string
		around float64
		cells  int
	}{{"2d8", 1, 13}, {"2d8", 3, 15}, {"2d50", 1, 96}, {"2d50", 3, 113}} {
		q, p := load(t, k.name, k.around)
		pattern := protect(t, q, p, Options{Optimal: true})
		o := pattern.Optimum
		if n := pattern.Primary + pattern.Second; n != k.cells || !o.Proven() || o.Cost != float64(pattern.Second) ||
			o.AtLeast != o.Cost || !pattern.Verdict.Safe() {
			t.Errorf("%s ± %v: %d cells, optimum %d, %+v, %+v", k.name, k.around, n, k.cells, o, pattern.Verdict)
		}
	}
	if testing.Short() {
		return // what follows searches for seconds, and finds no optimum
	}
	q, p := load(t, "3d10", 3)
	usual := protect(t, q, p, Options{})
	pattern := protect(t, q, p, Options{Optimal: true, Work: 100_000_000})
	o := pattern.Optimum
	if o.Proven() || !(o.AtLeast >= 1) || pattern.Second > usual.Second || o.Cost != float64(pattern.Second) ||
		!pattern.Verdict.Safe() {
		t.Errorf("3d10: %d cells, %d usually, %+v, %+v", pattern.Second, usual.Second, o, pattern.Verdict)
	}
	q, p = load(t, "3d10", 3)
	if again := protect(t, q, p, Options{Optimal: true, Work: 100_000_000}); !reflect.DeepEqual(again.Status,
		pattern.Status) || *again.Optimum != *o {
		t.Errorf("a second run gives another pattern: %+v, %+v", again.Optimum, o)
	}
}

// The cheapest pattern is compared with all patterns and, for each, all possible tables, for outsiders
// and for respondents, with all kinds of costs: no pattern that protects is cheaper than the lower
// bound, and a proven pattern costs as much as the cheapest one.
func TestOptimaAgainstEveryPattern(t *testing.T) {
	sets := tabletest.Small(t)
	for _, name := range []string{"line", "3x3", "2x2x2", "4x2", "linked"} {
		rng := rand.New(rand.NewPCG(8, uint64(len(name))))
		trials, proven, cheaper := 0, 0, 0
		for trial := 0; trial < 2000 && trials < 14; trial++ {
			q, p, ok := unsafeTable(t, rng, sets[name], float64(1+trial%2))
			if !ok {
				continue
			}
			o := Options{}
			var knower []int32
			if trial%3 == 1 {
				o.Cost = Value
			} else if trial%3 == 2 {
				for range q.Value {
					o.Own = append(o.Own, float64(rng.IntN(40))/7)
				}
			}
			if trial%4 == 3 {
				knower = make([]int32, len(q.Value))
				for c, s := range p.Status {
					if knower[c] = -1; s == tables.Primary {
						knower[c] = int32(rng.IntN(3))
					}
				}
				o.Knowers = tables.Alone(knower)
			}
			var candidates []int
			for c := range q.Value {
				if o.may(q, p, c) {
					candidates = append(candidates, c)
				}
			}
			for len(candidates) > 9 { // every pattern is tried
				k := rng.IntN(len(candidates))
				p.Published[candidates[k]] = true
				candidates = slices.Delete(candidates, k, k+1)
			}
			usual, problems, err := Protect(q, p, o)
			if err != nil || len(problems) > 0 || usual.Second == 0 {
				continue
			}
			usually := costOf(q, o, usual)
			o.Optimal = true
			pattern := protect(t, q, p, o)
			found := pattern.Optimum
			if !pattern.Verdict.Safe() || len(pattern.Insiders) > 0 || !(math.Abs(found.Cost-costOf(q, o, pattern)) <= 1e-9) ||
				found.Cost > usually+1e-9 {
				t.Fatalf("%s: %+v, %+v, cost %v, %v usually, of the table %v", name, pattern.Verdict, found, costOf(q, o, pattern),
					usually, q.Value)
			}
			least := cheapest(q, p, o, knower, candidates)
			if found.AtLeast > least+1e-9 || found.Cost < least-1e-9 || found.Proven() &&
				!(math.Abs(found.Cost-least) <= 1e-6*(1+least)) {
				t.Fatalf("%s: %+v, the cheapest pattern costs %v, of the table %v", name, found, least, q.Value)
			}
			if trials++; found.Proven() {
				proven++
			}
			if found.Cost < usually-1e-9 {
				cheaper++
			}
		}
		t.Logf("%s: %d tables, %d proven, %d cheaper than usual", name, trials, proven, cheaper)
		if trials < 8 || proven < trials*3/4 {
			t.Errorf("%s: %d tables, %d proven: the test shows little", name, trials, proven)
		}
	}
}

// The linear programs find an inequality that x violates, or none. Every inequality holds for every
// pattern that protects according to all possible tables. If x is whole and there is no inequality,
// there is a table that meets the need, unless the need cannot be met at all.
func TestCutsAgainstEveryPattern(t *testing.T) {
	sets := tabletest.Small(t)
	cuts, met := 0, 0
	for _, name := range []string{"line", "3x3", "2x2x2", "4x2", "linked"} {
		rng := rand.New(rand.NewPCG(9, uint64(len(name))))
		for trials := 0; trials < 80; {
			q, p, ok := unsafeTable(t, rng, sets[name], float64(1+rng.IntN(2)))
			if !ok {
				continue
			}
			trials++
			q.Upper = make([]float64, len(q.Value)) // so that the ends of ranges are near
			o, knowers := Options{}, make([]int32, len(q.Value))
			var candidates []int32
			for c := range q.Value {
				q.Upper[c] = q.Value[c] + float64(1+rng.IntN(3))
				if knowers[c] = -1; p.Status[c] == tables.Primary {
					knowers[c] = int32(rng.IntN(3))
				}
				if o.may(q, p, c) && len(candidates) < 7 {
					candidates = append(candidates, int32(c))
				}
			}
			for i := range q.Set.Sums() { // the reference uses the upper bounds of inner cells only
				q.Upper[q.Set.Sum(i).Total] = math.Inf(1)
			}
			a, err := newAttacks(q, p.Status, candidates, tables.Alone(knowers))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range needsOf(p) {
				for knower := int32(-1); knower < 3; knower++ {
					if knower == knowers[n.cell] || n.amount <= 0 || a.partOf[n.cell] < 0 {
						continue
					}
					var who []int32
					if knower >= 0 {
						who = []int32{knower}
					}
					whole := rng.IntN(2) == 0
					x := make([]float64, len(candidates))
					for i := range x {
						if x[i] = rng.Float64(); whole {
							x[i] = math.Round(x[i])
						}
					}
					c, reached, err := a.separate(&n, who, x, whole)
					if err != nil {
						t.Fatal(err)
					}
					if c == nil {
						if met++; whole && reached == nil && a.possible(t, &n, who) {
							t.Fatalf("%s: neither an inequality nor a table, x %v, of the table %v", name, x, q.Value)
						}
						continue
					}
					cuts++
					if !(c.of(x) < 1) {
						t.Fatalf("%s: x keeps to the inequality %+v", name, c)
					}
					everyPatternKeepsTo(t, q, p, &n, knowers, knower, candidates, c)
				}
			}
		}
	}
	t.Logf("%d inequalities, %d met", cuts, met)
	if cuts < 300 || met < 60 {
		t.Errorf("%d inequalities, %d met: the test shows little", cuts, met)
	}
}

// possible reports whether a need is met if all cells are suppressed.
func (a *attacks) possible(t *testing.T, n *need, who []int32) bool {
	all := make([]float64, len(a.q.Value))
	for i := range all {
		all[i] = 1
	}
	_, reached, err := a.separate(n, who, all, true)
	if err != nil {
		t.Fatal(err)
	}
	return reached != nil
}

// everyPatternKeepsTo checks that an inequality holds for every pattern in which one need is met
// against a knower.
func everyPatternKeepsTo(t *testing.T, q audit.Question, p *primary.Result, n *need, knowers []int32, knower int32,
	candidates []int32, c *cut) {
	t.Helper()
	q.Hidden = make([]bool, len(q.Value))
	x := make([]float64, len(candidates))
	for held := range 1 << len(candidates) {
		for k, s := range p.Status {
			q.Hidden[k] = s == tables.Primary && (knower < 0 || knowers[k] != knower)
		}
		for i, k := range candidates {
			x[i] = float64(held >> i & 1)
			q.Hidden[k] = x[i] == 1
		}
		if c.of(x) >= 1-1e-9 {
			continue
		}
		low, high, _ := tabletest.Enumerated(q)
		v := q.Value[n.cell]
		if n.up && high[n.cell] >= v+n.amount || !n.up && low[n.cell] <= v-n.amount {
			t.Fatalf("a pattern that protects breaks %+v: %b of %v, of the table %v", c, held, candidates, q.Value)
		}
	}
}

// If a pattern is refused although no linear program shows that it is unsafe, nothing is proven from
// then on. Here this happens to all patterns, because there are no needs and so no linear programs.
func TestNothingIsProvenBesideLinearPrograms(t *testing.T) {
	q, p := load(t, "2d8", 3)
	protect(t, q, p, Options{})
	o := Options{Work: 50_000_000}
	s, err := o.optimum(q, p, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	s.needs = nil
	if err := s.search(); err != nil {
		t.Fatal(err)
	}
	if s.result.AtLeast != 0 || len(s.cuts) < 1 || !(s.least > 0) {
		t.Errorf("%+v, %d cuts, the least cost %v", s.result, len(s.cuts), s.least)
	}
}

func costOf(q audit.Question, o Options, pattern *Pattern) (cost float64) {
	for c, s := range pattern.Status {
		if s == tables.Secondary {
			cost += o.CostOf(q, int32(c))
		}
	}
	return cost
}

// cheapest returns the least cost of all patterns that protect according to all tables of whole
// numbers.
func cheapest(q audit.Question, p *primary.Result, o Options, knower []int32, candidates []int) float64 {
	least := math.Inf(1)
	q.Hidden = slices.Clone(q.Hidden)
	patterns := make([]uint, 1<<len(candidates))
	for i := range patterns {
		patterns[i] = uint(i)
	}
	slices.SortFunc(patterns, func(a, b uint) int { return bits.OnesCount(a) - bits.OnesCount(b) })
	var protect []uint
	for _, held := range patterns {
		if slices.ContainsFunc(protect, func(less uint) bool { return less&held == less }) {
			continue // it contains a pattern that protects, so it costs at least as much
		}
		cost := 0.0
		for k, c := range candidates {
			if q.Hidden[c] = held>>k&1 == 1; q.Hidden[c] {
				cost += o.CostOf(q, int32(c))
			}
		}
		if cost >= least {
			continue
		}
		if ok, _ := met(q, p); ok && (knower == nil || withstands(q, p, knower)) {
			least, protect = cost, append(protect, held)
		}
	}
	return least
}
