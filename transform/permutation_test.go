package transform

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A swap applies one permutation to the cells of all its columns, bit by bit. A column without
// nulls, with the places as values, shows the permutation, and every other column must be permuted
// in the same way, including nulls and negative zeros. The permutation is its own inverse.
func TestSwapMovesCellsToTheBit(t *testing.T) {
	const n, window = 1500, 250
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 3))
		columns := append(swapData(n, seed, 30, 3), floats(-1, make([]float64, n)...))
		special := []float64{math.Copysign(0, -1), 0, 5e-324, math.MaxFloat64, -1.5, 0.1}
		for i := range n {
			if columns[4].Values[i] = special[r.IntN(len(special))]; r.IntN(3) == 0 {
				columns[4].Null = append(columns[4].Null, i)
				columns[4].Values[i] = 0
			}
		}
		for _, policy := range []string{"unique", "random"} {
			for _, scope := range []string{"window", "dataset"} {
				setup := testSetup(t, columns...)
				setup.Window = window
				m := swapMask(policy, scope, 0.7)
				m.Columns = []string{"a", "e"}
				c := chain(t, setup, mask(m))
				if scope == "dataset" {
					surveyed(t, c, 2*window, columns...)
				}
				b := apply(t, c, block(0, n, columns...))
				x, y, order := b.Columns[4].Original, b.Columns[4].Out(), b.Columns[0].Out().Values
				moved := 0
				for i := range n {
					j := int(order[i]) - 1
					if order[j] != float64(i+1) {
						t.Fatalf("%s, %s: record %d has the value of place %d, which has that of place %v", policy, scope, i, j,
							order[j]-1)
					}
					if x.Valid.Has(j) != y.Valid.Has(i) || math.Float64bits(x.Values[j]) != math.Float64bits(y.Values[i]) {
						t.Fatalf("%s, %s: record %d must have the value of place %d: %v (%v), got %v (%v)",
							policy, scope, i, j, x.Values[j], x.Valid.Has(j), y.Values[i], y.Valid.Has(i))
					}
					if x.Valid.Has(i) != y.Valid.Has(i) {
						moved++
					}
				}
				if !slices.Equal(slices.Sorted(slices.Values(order)), columns[0].Values) || moved == 0 {
					t.Errorf("%s, %s: no permutation, or of no null", policy, scope)
				}
			}
		}
	}
}
