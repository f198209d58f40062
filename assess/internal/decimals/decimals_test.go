package decimals

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDecimals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		values []float64
		want   int
	}{
		{nil, 0}, {[]float64{nan, inf}, 0}, {[]float64{1, 2, -3}, 0}, {[]float64{1e20, -1e300}, 0},
		{[]float64{1 << 52, 1<<53 + 2}, 0},
		{[]float64{0.1}, 1}, {[]float64{1, 2.5, -0.25}, 2}, {[]float64{50.05, 18777.2}, 2}, {[]float64{0.5, nan, 1e18}, 1},
		{[]float64{0.30000000000000004}, -1}, {[]float64{1e-9}, 9}, {[]float64{1e-10}, -1}, {[]float64{1. / 3}, -1},
		{[]float64{math.Pi}, -1},
		{[]float64{123456.789012345}, 9}, {[]float64{12345678.901234567}, -1}, {[]float64{math.SmallestNonzeroFloat64}, -1},
		// From 2⁵¹ steps on doubles are too coarse to show a grid.
		{[]float64{(1<<51 - 1) / 10.0}, 1}, {[]float64{(1 - 1<<51) / 10.0}, 1}, {[]float64{(1 << 51) / 10.0}, -1},
		{[]float64{-(1 << 51) / 10.0}, -1},
	} {
		if got := Of(c.values, 0); got != c.want {
			t.Errorf("%v: %d decimals, want %d", c.values, got, c.want)
		}
	}
	// Compared with the definition, on values with every number of decimals.
	rng := rand.New(rand.NewPCG(1, 9))
	for range 3000 {
		d := rng.IntN(10)
		x := math.Round(rng.NormFloat64()*1e4*powers[d]) / powers[d]
		want := 0
		for math.Round(x*powers[want])/powers[want] != x {
			want++
		}
		if got := Of([]float64{x}, 0); got != want {
			t.Fatalf("%v: %d decimals, want %d", x, got, want)
		}
	}
}

// The profile does not depend on how the values are split, and equals the definition. A float32 has
// the decimals of the shortest number that identifies it, or none if its digits extend to its last
// bit.
func TestDecimalsOfSingle(t *testing.T) {
	single := func(values ...float64) []float64 {
		for i, v := range values {
			values[i] = float64(float32(v))
		}
		return values
	}
	for _, c := range []struct {
		values []float64
		want   int
	}{
		{single(1, 2, 3e10), 0},
		{single(9.3, -0.1, 12), 1},
		{single(1999.99, 0.05, 3), 2},
		{single(0.000123, math.NaN()), 6},
		{single(math.Pi, math.E), None},
		{single(9.3, 100000/3.0), None},
	} {
		if got := OfSingle(c.values, 0); got != c.want {
			t.Errorf("%v: got %d, want %d", c.values, got, c.want)
		}
	}
}
