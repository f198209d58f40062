package joint

import (
	"math/rand/v2"
	"testing"
)

// The parts of units by value are those of pairs of unit and value, numbered as they come.
func TestWithValue(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	for _, n := range []int{0, 1, 7, 500} {
		unit := grouping{columns: []int{0}, groups: n/3 + 1, of: make([]int32, n)}
		by := grouping{columns: []int{1}, groups: 4, of: make([]int32, n)}
		for i := range n {
			unit.of[i], by.of[i] = int32(rng.IntN(unit.groups+1))-1, int32(rng.IntN(by.groups+1))-1
		}
		s := &sought{Frame: &Frame{all: n, rows: n, groups: []grouping{unit, by}}}
		got, at := s.withValue(&unit, 1), map[[2]int32]int32{}
		for i := range n {
			want := int32(-1)
			if unit.of[i] >= 0 && by.of[i] >= 0 {
				key := [2]int32{unit.of[i], by.of[i]}
				if _, there := at[key]; !there {
					at[key] = int32(len(at))
				}
				want = at[key]
			}
			if got.of[i] != want {
				t.Fatalf("record %d of %d is in part %d, want %d", i, n, got.of[i], want)
			}
		}
		if got.groups != len(at) {
			t.Errorf("%d records: %d parts, want %d", n, got.groups, len(at))
		}
	}
}
