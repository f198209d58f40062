package comoment

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}

// TestVectorsOfCentre holds the processor's vectors against the loop in Go, bit by bit: of each of
// the 64 places one alone that is missing, or not finite, and of many.
func TestVectorsOfCentre(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261125, 2))
	for round := range 1000 {
		x := make([]float64, 64)
		for i := range x {
			x[i] = 100 + 15*rng.NormFloat64()
		}
		marks := rng.Uint64() | rng.Uint64()
		switch at := round % 64; round / 64 {
		case 0:
			marks = ^uint64(0) &^ (1 << at)
		case 1:
			marks, x[at] = ^uint64(0), math.NaN()
		case 2:
			marks, x[at] = ^uint64(0)&^(1<<at), math.Inf(1) // missing, so that it does not matter
		case 3:
			x[at], x[63-at] = math.Inf(-1), math.Copysign(0, -1)
		}
		centre := []float64{0, 100, -1e9}[round%3]
		wantU, wantHas, u, has := make([]float64, 64), make([]float64, 64), make([]float64, 64), make([]float64, 64)
		want := centreLoop(x, marks, centre, wantU, wantHas)
		got := centreMarked(x, marks, centre, u, has)
		if got != want || !sameBits(has, wantHas) {
			t.Fatalf("round %d: %v, %v, want %v, %v", round, got, has, want, wantHas)
		}
		for i := range u { // NaN has many forms
			if u[i] != wantU[i] && !(math.IsNaN(u[i]) && math.IsNaN(wantU[i])) {
				t.Fatalf("round %d: value %d is %v, want %v", round, i, u[i], wantU[i])
			}
		}
	}
}

// TestSharedSums holds the sums of two columns, of every length up to 70 and by vectors and loop,
// against their definition: integers, so that no sum is rounded.
func TestSharedSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261125, 3))
	for n := range 71 {
		ui, uj, hi, hj := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		var want shared
		for r := range n {
			if rng.IntN(3) > 0 {
				ui[r], hi[r] = float64(rng.IntN(2001)-1000), 1
			}
			if rng.IntN(3) > 0 {
				uj[r], hj[r] = float64(rng.IntN(2001)-1000), 1
			}
			if hi[r] == 1 && hj[r] == 1 {
				want.i += ui[r]
				want.j += uj[r]
				want.ii += ui[r] * ui[r]
				want.jj += uj[r] * uj[r]
				want.ij += ui[r] * uj[r]
			}
		}
		if got := sharedSums(ui, uj, hi, hj); got != want {
			t.Errorf("%d records: %+v, want %+v", n, got, want)
		}
		if got := sharedLoop(ui, uj, hi, hj); got != want {
			t.Errorf("%d records, loop: %+v, want %+v", n, got, want)
		}
	}
	for n := 4; n <= 512; n += 4 { // and bit by bit where sums are rounded
		ui, uj, has := make([]float64, n), make([]float64, n), make([]float64, n)
		for r := range n {
			ui[r], uj[r], has[r] = rng.NormFloat64(), 1e6*rng.ExpFloat64(), 1
		}
		if got, want := sharedSums(ui, uj, has, has), sharedLoop(ui, uj, has, has); got != want {
			t.Errorf("%d records: %+v, want %+v", n, got, want)
		}
	}
}
