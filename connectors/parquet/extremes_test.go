package parquet

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestExtremesByDefinition holds the least and the greatest number against a sort, of every length up to
// 100: an extreme at every place alone, infinities, and NaN at any place, or everywhere.
func TestExtremesByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261125, 7))
	check := func(v []float64) {
		t.Helper()
		numbers := slices.DeleteFunc(slices.Clone(v), math.IsNaN)
		slices.Sort(numbers)
		wantLo, wantHi := math.Inf(1), math.Inf(-1)
		if n := len(numbers); n > 0 {
			wantLo, wantHi = numbers[0], numbers[n-1]
		}
		if lo, hi := extremes(v); lo != wantLo || hi != wantHi {
			t.Fatalf("%v: %v and %v, want %v and %v", v, lo, hi, wantLo, wantHi)
		}
		single, wantLo32, wantHi32 := make([]float32, len(v)), float32(wantLo), float32(wantHi)
		for i, x := range v {
			single[i] = float32(x)
		}
		if lo, hi := extremes(single); lo != wantLo32 || hi != wantHi32 {
			t.Fatalf("%v: %v and %v, want %v and %v", single, lo, hi, wantLo32, wantHi32)
		}
	}
	for n := range 101 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		check(v)
		for i := range v {
			for _, x := range []float64{100, -100, math.Inf(1), math.Inf(-1), math.NaN(), 0} {
				before := v[i]
				v[i] = x
				check(v)
				v[i] = before
			}
		}
		for i := range v {
			if v[i] = math.NaN(); rng.IntN(3) == 0 {
				v[i] = rng.NormFloat64()
			}
		}
		check(v)
		for i := range v {
			v[i] = math.NaN()
		}
		check(v)
	}
}
