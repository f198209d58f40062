package linkage

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestExactSum(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		n := 1 + random.IntN(200)
		x := make([]float64, n)
		exact := new(big.Float).SetPrec(4000)
		for i := range x {
			x[i] = math.Ldexp(random.NormFloat64(), random.IntN(2000)-1060)
			if i > 0 && random.IntN(3) == 0 {
				x[i] = -x[i-1]
			}
			exact.Add(exact, new(big.Float).SetFloat64(x[i]))
		}
		want, _ := exact.Float64()
		var first float64
		for try := range 3 {
			var s exactSum
			for _, v := range x {
				s.add(v)
			}
			got := s.total()
			if try == 0 {
				first = got
			}
			if got != first || !(math.Abs(got-want) <= 0x1p-52*math.Abs(want)) {
				t.Fatalf("%v, in another order %v, exactly %v", got, first, want)
			}
			random.Shuffle(n, func(i, j int) { x[i], x[j] = x[j], x[i] })
		}
	}
	for _, c := range [][2]float64{{0, 0}, {1, 1}, {-1, -1}, {5e-324, 5e-324}, {math.MaxFloat64, math.MaxFloat64}} {
		var s exactSum
		s.add(c[0])
		s.carry()
		if s.total() != c[1] {
			t.Errorf("%v sums to %v", c[0], s.total())
		}
	}
	var s exactSum
	s.add(math.Inf(1))
	if !math.IsNaN(s.total()) {
		t.Error("an infinite term is summed")
	}
}

// SDs of 1.5 … with a mean of 10¹⁵, where the usual sum of squares has no digit left.
func TestMoments(t *testing.T) {
	x := []float64{1e15, missing, 1e15 + 3}
	is := momentsOf(x, scaleOf(x))
	if scale := scaleOf(x); is.n != 2 || is.sd/scale != math.Sqrt(4.5) || is.mean/scale != 1e15+1.5 ||
		is.least != 1e15*scale {
		t.Errorf("%+v", is)
	}
}
