package tables

import (
	"slices"
	"testing"
)

// Sets of different values have their own sums, and an equation for each combination of codes between
// the sets that have it, each once, also where a set has the codes in other tables.
func TestJoinedSets(t *testing.T) {
	a, _ := NewDimension("a", "", edges("x<A", "y<A", "z<"))
	b, _ := NewDimension("b", "", edges("p<", "q<"))
	wide, _ := NewSet(Table{Name: "ab", Dimensions: []*Dimension{a, b}})
	two, _ := NewSet(Table{Name: "b", Dimensions: []*Dimension{b}}, Table{Name: "a", Dimensions: []*Dimension{a}})
	narrow, _ := NewSet(Table{Name: "b", Dimensions: []*Dimension{b}})
	sets := []*Set{narrow, wide, two}
	asked := 0
	joined, from, err := Join(func(has []bool) (list []Equation) {
		asked++
		switch { // set 1 is the sum of 0 and 2, and 2 a copy of 1 where 0 is not
		case has[0] && has[1] && has[2]:
			return []Equation{{Total: 1, Parts: []int{0, 2}}}
		case has[1] && has[2]:
			return []Equation{{Total: 2, Parts: []int{1}}}
		}
		return nil
	}, sets...)
	if err != nil || asked != 3 ||
		!slices.Equal(from, []int32{0, int32(narrow.Cells()), int32(narrow.Cells() + wide.Cells())}) {
		t.Fatalf("from %v, asked %d times: %v", from, asked, err)
	}
	if joined.Cells() != narrow.Cells()+wide.Cells()+two.Cells() {
		t.Fatalf("%d cells", joined.Cells())
	}
	own, between := 0, 0
	for i, s := range sets {
		for k := range s.Sums() {
			sum, got := s.Sum(k), joined.Sum(own)
			own++
			for n, p := range sum.Parts {
				if got.Parts[n] != p+from[i] || got.Total != sum.Total+from[i] || len(got.Parts) != len(sum.Parts) {
					t.Fatalf("sum %d of set %d is %v, want %v from %d", k, i, got, sum, from[i])
				}
			}
		}
		for cell := range s.Cells() {
			if got := joined.Name(cell + int(from[i])); got != s.Name(cell) {
				t.Fatalf("cell %d of set %d is %s, want %s", cell, i, got, s.Name(cell))
			}
		}
	}
	at := func(set int, table int, codes ...string) int32 {
		c, err := sets[set].At(table, codes...)
		if err != nil {
			t.Fatal(err)
		}
		return from[set] + int32(c)
	}
	want := map[int32][]int32{}
	for _, code := range []string{"total", "p", "q"} {
		want[at(1, 0, "total", code)] = []int32{at(0, 0, code), at(2, 0, code)}
	}
	for _, code := range []string{"A", "x", "y", "z"} {
		want[at(2, 1, code)] = []int32{at(1, 0, code, "total")}
	}
	for i := own; i < joined.Sums(); i++ {
		s := joined.Sum(i)
		if !slices.Equal(want[s.Total], s.Parts) {
			t.Errorf("equation %v, want %v", s, want[s.Total])
		}
		between++
	}
	if between != len(want) {
		t.Errorf("%d equations, want %d", between, len(want))
	}
}
