package adjust

import (
	"fmt"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// Somebody who knows the method to the letter can adjust every table that there could be, and keep those whose
// adjustment is the published one. The audit does not consider him; this says what he gains, if all 2 × 2 tables of
// counts below 8 are equally likely: of how few unsafe counts he is certain to more than 0.9.
func TestWhoRepeatsTheAlgorithm(t *testing.T) {
	set := tabletest.Set(t,
		tables.Table{Name: "ab", Dimensions: []*tables.Dimension{tabletest.Flat(t, "a", 2), tabletest.Flat(t, "b", 2)}})
	const k = 8
	alike := map[string][][4]int{}
	for i := range k * k * k * k {
		at := [4]int{i % k, i / k % k, i / k / k % k, i / k / k / k}
		n := set.Cells()
		p := Problem{Set: set, Value: make([]float64, n)}
		for j, v := range at {
			r, c := 3*(j/2+1), j%2+1
			for _, cell := range []int{0, r, c, r + c} {
				p.Value[cell] += float64(v)
			}
		}
		p.unsafeBelow3()
		a, err := Solve(p)
		if err != nil {
			t.Fatal(at, err)
		}
		alike[fmt.Sprint(a.Value)] = append(alike[fmt.Sprint(a.Value)], at)
	}
	unsafe, certain := 0, 0
	for _, list := range alike {
		for j := range 4 {
			count := map[int]int{}
			for _, x := range list {
				count[x[j]]++
			}
			for _, x := range list {
				if v := x[j]; v > 0 && v < 3 {
					if unsafe++; 10*count[v] > 9*len(list) {
						certain++
					}
				}
			}
		}
	}
	t.Logf("%d unsafe counts, %d certain to somebody who repeats the algorithm", unsafe, certain)
	if certain*50 > unsafe {
		t.Errorf("%d of %d unsafe counts are certain to somebody who repeats the algorithm", certain, unsafe)
	}
}
