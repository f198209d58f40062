package fileorder

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The joint loop over two bins gives each bin the sums of its own records, bit by bit and in their
// order. Bins of different lengths, or with a value that is not finite, are left to the general
// code.
func TestTwoBinsAreEachForItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	alone := func(x, y []float64) orderBin {
		var sx, sy, square float64
		for i := range x {
			d := x[i] - x[0]
			sx, sy, square = sx+d, sy+(y[i]-y[0]), square+d*d
		}
		n := float64(len(x))
		return orderBin{n, x[0] + sx/n, y[0] + sy/n, math.Max(0, square-sx*sx/n)}
	}
	for length := 1; length <= 70; length++ {
		x, y := make([]float64, 2*length+3), make([]float64, 2*length+3)
		for i := range x {
			x[i] = math.Copysign(math.Exp(5*rng.NormFloat64()), rng.NormFloat64())
			y[i] = x[i] + rng.NormFloat64()
		}
		x[1], y[2] = math.Copysign(0, -1), 0
		r, s := records{1, 1 + length, 4}, records{1 + length, 1 + 2*length, 5}
		one, two, ok := binsOfWhole(x, y, r, s)
		if !ok || one != alone(x[r.from:r.to], y[r.from:r.to]) || two != alone(x[s.from:s.to], y[s.from:s.to]) {
			t.Fatalf("length %d: %v and %v, %v", length, one, two, ok)
		}
		if _, _, ok := binsOfWhole(x, y, r, records{s.from, s.to + 1, 5}); ok {
			t.Errorf("length %d: the second bin is longer", length)
		}
		if length == 1 {
			continue
		}
		for _, odd := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64} {
			for _, v := range [][]float64{x, y} {
				for _, at := range []int{r.from, r.to - 1, s.from, s.to - 1} {
					before := v[at]
					v[at] = odd
					one, two, ok := binsOfWhole(x, y, r, s)
					if ok && (one != alone(x[r.from:r.to], y[r.from:r.to]) || two != alone(x[s.from:s.to], y[s.from:s.to])) || ok &&
						odd-odd != 0 {
						t.Errorf("length %d: %v at %d gives %v and %v", length, odd, at, one, two)
					}
					v[at] = before
				}
			}
		}
	}
}
