package uniqueness

import (
	"math/rand/v2"
	"testing"
)

// By definition, record by record: a unique record can be at any place, also the last,
// and a combination that several released records have counts once.
func TestReplicatedUniques(t *testing.T) {
	for _, c := range []struct {
		name               string
		original, released [][]int32
		uniques, standing  int
	}{
		{"the last stands", [][]int32{{1, 1, 2}, {5, 5, 5}}, [][]int32{{3, 3, 2}, {5, 5, 5}}, 1, 1},
		{"the first stands, twice", [][]int32{{2, 1, 1}}, [][]int32{{2, 2, 1}}, 1, 1},
		{"at other records", [][]int32{{1, 2, 3}}, [][]int32{{3, 1, 2}}, 3, 3},
		{"the other way round", [][]int32{{1, 2}, {2, 1}}, [][]int32{{2, 2}, {2, 1}}, 2, 1},
		{"keys apart", [][]int32{{1, 2}, {1, 2}}, [][]int32{{1, 2}, {2, 1}}, 2, 0},
		{"missing", [][]int32{{-1, 4, 4}}, [][]int32{{-1, 5, 5}}, 1, 1},
		{"a suppressed cell", [][]int32{{1, 4, 4}}, [][]int32{{-1, 4, 4}}, 1, 0},
		{"no unique ones", [][]int32{{1, 1}}, [][]int32{{1, 1}}, 0, 0},
		{"no records", [][]int32{{}}, [][]int32{{}}, 0, 0},
	} {
		r, err := ReplicatedUniques(c.original, c.released)
		if err != nil || r.Uniques != c.uniques || r.Standing != c.standing || r.Uniques > 0 &&
			r.Share != float64(c.standing)/float64(c.uniques) {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
	rng := rand.New(rand.NewPCG(3, 15))
	for range 200 {
		n, keys := 1+rng.IntN(40), 1+rng.IntN(3)
		var sides [2][][]int32
		for s := range sides {
			for range keys {
				column := make([]int32, n)
				for i := range column {
					column[i] = int32(rng.IntN(5)) - 1
				}
				sides[s] = append(sides[s], column)
			}
		}
		same := func(a [][]int32, i int, b [][]int32, j int) bool {
			for k := range keys {
				if a[k][i] != b[k][j] {
					return false
				}
			}
			return true
		}
		uniques, standing := 0, 0
		for i := range n {
			others, there := 0, false
			for j := range n {
				if i != j && same(sides[0], i, sides[0], j) {
					others++
				}
				there = there || same(sides[0], i, sides[1], j)
			}
			if others == 0 {
				uniques++
				if there {
					standing++
				}
			}
		}
		if r, err := ReplicatedUniques(sides[0], sides[1]); err != nil || r.Uniques != uniques || r.Standing != standing {
			t.Fatalf("%+v, %v; want %d of %d", r, err, standing, uniques)
		}
	}
	for _, sides := range [][2][][]int32{{nil, nil}, {{{1}}, nil}, {{{1}, {1, 2}}, {{1}, {1}}},
		{{{1}, {1}}, {{1}, {1, 2}}}} {
		if _, err := ReplicatedUniques(sides[0], sides[1]); err == nil {
			t.Errorf("%v is accepted", sides)
		}
	}
}
