package transform

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
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
		var g gatheredData
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
				want[key{scope, stream, b.Place(i)}] = g.n + i
				last[at] = b.Place(i) + 1
			}
			g.follow(b, g.n)
			g.n += n
		}
		g.sortRuns()
		near := rng.IntN(12) - 2
		for range 60 {
			k := key{string("abc"[rng.IntN(3)]), rng.IntN(3), int64(rng.IntN(40) - 1)}
			at, there := want[k]
			if !there {
				at = -1
			}
			if got := g.find(k.scope, k.stream, k.place, &near); got != at {
				t.Fatalf("round %d: %+v is at %d, want %d, of runs %+v", round, k, got, at, g.runs)
			}
		}
		for k, at := range want {
			if got := g.find(k.scope, k.stream, k.place, &near); got != at {
				t.Fatalf("round %d: %+v is at %d, want %d, of runs %+v", round, k, got, at, g.runs)
			}
		}
	}
	var g gatheredData
	for i, first := range []int64{5, 8, 11, 15} {
		b := new(microdata.Block)
		b.Reset(0, first, 3, 0)
		g.follow(b, 3*i)
	}
	if n := slices.Collect(func(yield func(int) bool) {
		for _, r := range g.runs {
			yield(r.n)
		}
	}); !slices.Equal(n, []int{9, 3}) {
		t.Errorf("runs of %v records, want one of 9 and one of 3", n)
	}
}
