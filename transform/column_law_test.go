package transform

import (
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
	"github.com/sdlfilter/sdlfilter/transform/internal/record"
)

// The law of a topcode with means is the map that the mask applies, at the bounds, beside them and beyond; a column
// that is permuted has the law of its other masks, a record of it has none; means of ends have none.
func TestLawOfMeansAndPermutations(t *testing.T) {
	s := &record.TailStep{Of: &Topcode{Replace: "mean"},
		Columns: []record.Tail{{Column: &core.Column{ColumnInfo: ColumnInfo{Name: "x"}}, Lower: 10, Upper: 50, Low: 4,
			High: 80}}}
	f := s.Law("x")[0].Level
	for x, want := range map[float64]float64{-3: 4, 9.99: 4, 10: 10, 30: 30, 50: 50, 50.01: 80, 1000: 80} {
		if got := f.Apply(x); got != want {
			t.Errorf("%v becomes %v, want %v", x, got, want)
		}
	}
	for _, bound := range []float64{3.9, 4, 9, 10, 20, 50, 79, 80, 90} {
		most := f.UpTo(bound)
		for _, x := range []float64{-1e9, 3, 9.999, math.Nextafter(10, 0), 10, 19, 20, 21, 50, math.Nextafter(50, 60), 79, 81,
			1e9} {
			if (x <= most) != (f.Apply(x) <= bound) {
				t.Errorf("values that become at most %v end at %v, but %v becomes %v", bound, most, x, f.Apply(x))
			}
		}
	}
	s.Columns[0].High = 49.5 // a mean that rounding brought inside
	if got := s.Law("x"); len(got) != 1 || got[0] != (core.Stage{}) {
		t.Errorf("a map that decreases has the law %v", got)
	}
	ends := 0.1
	for name, c := range map[string]struct {
		p    Params
		want bool
	}{"rankswap": {&RankSwap{}, true}, "with ends": {&RankSwap{Top: &ends}, false}, "shuffle": {&Shuffle{}, true},
		"microaggregate": {&Microaggregate{}, false}} {
		if core.Declared(c.p).Permutes != c.want {
			t.Errorf("%s permutes: %v", name, !c.want)
		}
	}
}
