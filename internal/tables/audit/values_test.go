package audit_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabletest"
)

// The possible values of every cell are compared with all possible tables: for small tables all
// possible values are found, and no impossible ones.
func TestPossibleValuesAgainstEveryTable(t *testing.T) {
	sets := tabletest.Small(t)
	for _, name := range []string{"line", "3x3", "2x2x2", "4x2", "linked"} {
		rng := rand.New(rand.NewPCG(9, uint64(len(name))))
		several, single := 0, 0
		for range 25 {
			q := tabletest.Random(t, rng, sets[name], 5, 1)
			q.Hidden[0] = true
			q.Lower, q.Upper = make([]float64, len(q.Value)), make([]float64, len(q.Value))
			wanted := make([]bool, len(q.Value))
			for c, v := range q.Value { // all cells are published with changes of at most 1 or 2
				y := v + float64(rng.IntN(3)-1)
				q.Lower[c], q.Upper[c], wanted[c] = max(0, min(v, y-1)), max(v, y+1), true
			}
			truth := everyValue(q)
			got, ranges, err := audit.Values(q, wanted)
			if err != nil {
				t.Fatal(err)
			}
			for c := range q.Value {
				p := got[int32(c)]
				for v := int64(-1); v < 40; v++ {
					i := v - p.Low
					found := i >= 0 && i < int64(len(p.Value)) && p.Value[i]
					if found != truth[c][float64(v)] {
						t.Fatalf("%s: %s can be %d: %v, by every table %v", name, q.Set.Name(c), v, found, truth[c][float64(v)])
					}
				}
				if ranges.Low[c] != float64(p.Low) || ranges.High[c] != float64(p.Low)+float64(len(p.Value)-1) {
					t.Errorf("range %v to %v of %+v", ranges.Low[c], ranges.High[c], p)
				}
				if len(truth[c]) == 1 {
					single++
				} else {
					several++
				}
			}
		}
		if single < 3 || several < 50 {
			t.Errorf("%s: %d cells of one value, %d of several: the test shows little", name, single, several)
		}
	}
}

// everyValue enumerates all tables within the bounds of all cells.
func everyValue(q audit.Question) []map[float64]bool {
	taken := make([]map[float64]bool, len(q.Value))
	for c := range taken {
		taken[c] = map[float64]bool{}
	}
	total := make(map[int32]bool)
	for i := range q.Set.Sums() {
		total[q.Set.Sum(i).Total] = true
	}
	var inner []int
	for c := range q.Value {
		if !total[int32(c)] {
			inner = append(inner, c)
		}
	}
	x := make([]float64, len(q.Value))
	var fill func(i int)
	fill = func(i int) {
		if i < len(inner) {
			for v := q.Lower[inner[i]]; v <= q.Upper[inner[i]]; v++ {
				x[inner[i]] = v
				fill(i + 1)
			}
			return
		}
		for c := range x {
			if total[int32(c)] {
				x[c] = math.NaN()
			}
		}
		for range 5 {
			for i := range q.Set.Sums() {
				s, sum := q.Set.Sum(i), 0.0
				for _, p := range s.Parts {
					sum += x[p]
				}
				if x[s.Total] != x[s.Total] {
					x[s.Total] = sum
				}
			}
		}
		for c, v := range x {
			if v < q.Lower[c] || v > q.Upper[c] {
				return
			}
		}
		for c, v := range x {
			taken[c][v] = true
		}
	}
	fill(0)
	return taken
}
