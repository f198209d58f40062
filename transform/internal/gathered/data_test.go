package gathered

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// A gathered record is retrieved from its place, in whichever blocks it arrived and whichever
// record was read before. A record of another scope, source or place is not present. Consecutive
// blocks of one source form one run.
func TestGatheredRecordsAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 7))
	for round := range 200 {
		type key struct {
			scope  string
			stream int
			place  int64
		}
		var g Data
		want, last := map[key]int{}, map[string]int64{}
		for range 1 + rng.IntN(8) {
			scope, stream, n := string("ab"[rng.IntN(2)]), rng.IntN(2), 1+rng.IntN(3)
			at := fmt.Sprint(scope, stream)
			b := new(microdata.Block)
			b.Reset(stream, last[at]+int64(rng.IntN(3))%2, n, 0)
			b.Scope = scope
			if rng.IntN(3) == 0 { // places with gaps between them
				b.Places = nil
				for i := range n {
					b.Places = append(b.Places, b.First+int64(2*i))
				}
			}
			for i := range n {
				want[key{scope, stream, b.Place(i)}] = g.N + i
				last[at] = b.Place(i) + 1
			}
			g.Follow(b, g.N)
			g.N += n
		}
		g.SortRuns()
		near := rng.IntN(12) - 2
		for range 60 {
			k := key{string("abc"[rng.IntN(3)]), rng.IntN(3), int64(rng.IntN(40) - 1)}
			at, there := want[k]
			if !there {
				at = -1
			}
			if got := g.Find(k.scope, k.stream, k.place, &near); got != at {
				t.Fatalf("round %d: %+v is at %d, want %d, of runs %+v", round, k, got, at, g.runs)
			}
		}
		for k, at := range want {
			if got := g.Find(k.scope, k.stream, k.place, &near); got != at {
				t.Fatalf("round %d: %+v is at %d, want %d, of runs %+v", round, k, got, at, g.runs)
			}
		}
	}
	var g Data
	for i, first := range []int64{5, 8, 11, 15} {
		b := new(microdata.Block)
		b.Reset(0, first, 3, 0)
		g.Follow(b, 3*i)
	}
	if n := slices.Collect(func(yield func(int) bool) {
		for _, r := range g.runs {
			yield(r.n)
		}
	}); !slices.Equal(n, []int{9, 3}) {
		t.Errorf("runs of %v records, want one of 9 and one of 3", n)
	}
}

// Runs are ordered by scope, then stream, then place, and only identical ones are equal.
func TestRunsAreInOrder(t *testing.T) {
	var runs []recordRun
	for _, scope := range []string{"", "a", "b"} {
		for _, stream := range []int{0, 1, 7} {
			for _, first := range []int64{0, 3, 1 << 40} {
				runs = append(runs, recordRun{scope: scope, stream: stream, first: first})
			}
		}
	}
	for i, p := range runs {
		for j, q := range runs {
			if got, want := p.compare(q.scope, q.stream, q.first), min(1, max(-1, i-j)); got != want {
				t.Errorf("comparison of a run at %v with %v: %d, want %d", p, q, got, want)
			}
		}
	}
}

// doubling doubles values.
type doubling struct{}

func (doubling) MaskAll(g *Data) *decision.Refusal {
	for _, values := range g.Values {
		for i := range values {
			values[i] *= 2
		}
	}
	return nil
}

func (doubling) Most() int { return 99 }

func (doubling) Takes() (record, value int64) { return 0, 0 }

// Gathered values differ if any value of any column or stratum differs.
func TestGatheredAreToldApart(t *testing.T) {
	const n = 1<<13 + 3 // more than a part
	g := &Data{Values: [][]float64{make([]float64, n), make([]float64, n), make([]float64, n)},
		Strata: make([]int32, n)}
	seen := map[any]bool{g.Sum(): true}
	for _, at := range []int{0, 1, n/2 + 1, 1<<13 - 1, 1 << 13, n - 1} {
		for k := range g.Values {
			g.Values[k][at] = 1
			sum := g.Sum()
			if again := g.Sum(); again != sum {
				t.Fatal("the same data have two different sums")
			}
			if seen[sum] {
				t.Errorf("the sum does not depend on value %d of column %d", at, k)
			}
			seen[sum] = true
			g.Values[k][at] = 0
		}
		for _, stratum := range []int32{-1, 1, 1 << 20} {
			g.Strata[at] = stratum
			if sum := g.Sum(); seen[sum] {
				t.Errorf("the sum does not depend on stratum %d of record %d", stratum, at)
			} else {
				seen[sum] = true
			}
			g.Strata[at] = 0
		}
	}
	// A remembered result of other values is not used.
	one, two := &outcomes{}, &Data{Values: [][]float64{{1, 2, 3, 4}, {5, 6, 7, 9}}, Strata: make([]int32, 4)}
	for range 2 {
		for _, last := range []float64{9, 11} {
			of := &Data{Values: [][]float64{slices.Clone(two.Values[0]), slices.Clone(two.Values[1])},
				Strata:  two.Strata,
				Columns: []*core.Column{{Digits: -1}, {Digits: -1}}}
			of.Values[1][3] = last
			if err := one.of(of, doubling{}); err != nil {
				t.Fatal(err)
			}
			if got := of.Values[1][3]; got != 2*last {
				t.Errorf("the last value %v became %v", last, got)
			}
		}
	}
}
