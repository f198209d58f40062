package joint

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWithValue: the parts of units in which a column has one value are numbered in the order of the records; those
// without a unit, or a value, are in none.
func TestWithValue(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	const n = 500
	unit, column := make([]float64, n), make([]float64, n)
	for i := range n {
		unit[i], column[i] = float64(r.IntN(60)), float64(r.IntN(7))
		if r.IntN(9) == 0 {
			unit[i] = math.NaN()
		}
		if r.IntN(9) == 0 {
			column[i] = math.NaN()
		}
	}
	f := New([]Column{{Name: "unit", Values: unit}, {Name: "column", Values: column}}, n-20, true)
	s := &sought{Frame: f}
	g := s.withValue(&f.groups[0], 1)
	at := map[[2]float64]int32{}
	for i, got := range g.of {
		want := int32(-1)
		if key := [2]float64{unit[i], column[i]}; key == key {
			number, there := at[key]
			if !there {
				number = int32(len(at))
				at[key] = number
			}
			want = number
		}
		if got != want {
			t.Fatalf("record %d of unit %v with %v is in part %d, want %d", i, unit[i], column[i], got, want)
		}
	}
	if g.groups != len(at) || len(at) < 200 {
		t.Errorf("%d parts, want %d", g.groups, len(at))
	}
}
