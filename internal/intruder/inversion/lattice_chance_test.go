package inversion

import (
	"math/rand/v2"
	"testing"
)

// Few values lie on a coarse lattice by chance (two always do), and no snooper knows it. Of data on
// multiples of 100 a coarser lattice is found in at most 1 % of the sets, whatever their size, and
// multiples of 100 are found from a few values on. The bound of one step is 0.1 %, and some
// thirty steps are tried, most of which need more values than the least; 2,000 sets have a standard
// error of 0.2 points.
func TestLatticeByChance(t *testing.T) {
	const sets = 2000
	for _, n := range []int{1, 2, 3, 4, 5, 7, 10, 15, 30, 100} {
		r := rand.New(rand.NewPCG(uint64(n), 7))
		coarser, found := 0, 0
		for range sets {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(100 * (5 + r.IntN(60)))
			}
			step := 1.0
			for _, l := range lattices(values, 1) {
				if l.Share >= halfShare {
					step = l.Step
				}
			}
			if step > 100 {
				coarser++
			}
			if step >= 100 {
				found++
			}
		}
		if coarser > sets/100 {
			t.Errorf("%d values: %d of %d sets have a lattice coarser than 100", n, coarser, sets)
		}
		if n >= 5 && found < sets*95/100 {
			t.Errorf("%d values: multiples of 100 are found in %d of %d sets", n, found, sets)
		}
	}
}

// Two values that are repeated are a lattice all the same: everybody knows that a bonus is 0 or 50,000.
func TestLatticeOfRepeatedValues(t *testing.T) {
	for _, pair := range [][2]float64{{0, 50_000}, {50_000, 0}, {137, 4138}} {
		var values []float64
		for i := range 200 {
			values = append(values, pair[i%2])
		}
		list := lattices(values, 1)
		if got, want := list[len(list)-1].Step, max(pair[0]-pair[1], pair[1]-pair[0]); got != want {
			t.Errorf("%v: step %v, want %v", pair, got, want)
		}
	}
}
