package transform

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/gathered"
)

// A release is the same whatever the number of cores, of each mask that computes with all values: of more records than
// one core takes at a time, with values that many share, and missing ones.
func TestReleasesDoNotDependOnCores(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	parts := gathered.InPart
	defer func() { gathered.InPart = parts }()
	n := 2*gathered.InPart + 77
	r := rand.New(rand.NewPCG(8, 15))
	columns := []testColumn{floats(1), floats(1), floats(0), floats(-1)}
	for i := range n {
		z := r.NormFloat64()
		columns[0].Values = append(columns[0].Values, math.Round(100+50*z)/10)
		columns[1].Values = append(columns[1].Values, math.Round(max(0, 100*z+50*r.NormFloat64()))/10)
		columns[2].Values = append(columns[2].Values, float64(i%3))
		columns[3].Values = append(columns[3].Values, z+r.NormFloat64())
	}
	columns[1].Null = []int{1, n / 2, n - 1}
	setup := testSetup(t, columns...)
	for name, m := range map[string]Params{
		"rankswap":           &RankSwap{Columns: []string{"a", "b"}, P: ptr(0.2), Top: ptr(0.01)},
		"shuffle":            &Shuffle{Columns: []string{"a", "b"}, On: []string{"d"}},
		"shuffle with gaps":  &Shuffle{Columns: []string{"a"}, On: []string{"b", "d"}},
		"regressions":        &Synthesise{Columns: []string{"a", "b"}, On: []string{"d"}, By: []string{"c"}},
		"normal regressions": &Synthesise{Columns: []string{"a", "b"}, On: []string{"c", "d"}, Method: "normal"},
		"trees":              &Synthesise{Columns: []string{"a", "b"}, On: []string{"d"}, Method: "cart"},
		"trees of categories": &Synthesise{Columns: []string{"c", "a"}, On: []string{"d"}, Categories: []string{"c"},
			Method: "cart"},
		"groups in strata":  &Microaggregate{Columns: []string{"a", "d"}, K: ptr(50), By: []string{"c"}},
		"groups of columns": &Microaggregate{Columns: []string{"a", "b"}, K: ptr(4), Method: "univariate"},
	} {
		var want [][]float64
		for _, cores := range []int{1, 2, 3, 16} {
			runtime.GOMAXPROCS(cores)
			if gathered.InPart = parts; cores == 1 {
				gathered.InPart = n // all at once
			}
			c := chain(t, setup, mask(m))
			blocks, out := [][2]int{{0, n / 3}, {n / 3, n}}, make([][]float64, len(columns))
			for _, b := range blocks {
				if err := c.Survey(block(b[0], b[1], columns...)); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if err := c.EndSurvey(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			changed := false
			for _, of := range blocks {
				b := block(of[0], of[1], columns...)
				if err := c.Apply(b); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for k := range columns {
					v := b.Columns[k].Out()
					changed = changed || !slices.Equal(v.Values, columns[k].Values[of[0]:of[1]])
					for i, x := range v.Values {
						if v.Valid != nil && !v.Valid.Has(i) {
							x = math.Inf(-1)
						}
						out[k] = append(out[k], x)
					}
				}
			}
			if !changed {
				t.Errorf("%s changes nothing", name)
			}
			if want == nil {
				want = out
			}
			for k := range out {
				if !slices.Equal(out[k], want[k]) {
					t.Errorf("%s, column %d: another release on %d cores", name, k, cores)
				}
			}
		}
	}
}
