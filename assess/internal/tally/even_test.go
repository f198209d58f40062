package tally

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The value at a share of a bin is the multiple of the unit at that share of all multiples in the
// bin. The test enumerates them, with units that are powers of two, so that multiples and bin ends
// are exact.
func TestEvenByCounting(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 5))
	several := 0
	for range 4000 {
		unit := math.Ldexp(1, rng.IntN(9)-4)
		lo := unit * float64(4+rng.IntN(4000)) / 4
		hi := lo + unit*float64(1+rng.IntN(40))/4
		at := (float64(rng.IntN(1000)) + 0.5) / 1000
		b := Bin{lo: lo, hi: hi}
		if rng.IntN(2) == 0 {
			b = Bin{lo: -hi, hi: -lo}
		}
		// lo ≤ |v| < hi, in ascending order of v.
		var multiples []float64
		for k := -5000.0; k <= 5000; k++ {
			if v := k * unit; math.Abs(v) >= lo && math.Abs(v) < hi && math.Signbit(v) == math.Signbit(b.lo) {
				multiples = append(multiples, v)
			}
		}
		plain := b.lo + at*(b.hi-b.lo)
		want := plain
		if n := len(multiples); n > 0 && unit < math.Abs(plain) {
			want = multiples[int(at*float64(n))]
		} else if n > 0 {
			continue // as coarse as the value
		}
		if len(multiples) > 1 {
			several++
		}
		if got, single := b.even(at, unit); !(math.Abs(got-want) <= 1e-12*math.Abs(want)) ||
			single != (len(multiples) == 1 && unit < math.Abs(plain)) {
			t.Fatalf("[%v, %v] at %v in units of %v: %v, single %v, want %v of %v", b.lo, b.hi, at, unit, got, single, want,
				multiples)
		}
	}
	if several < 1000 {
		t.Errorf("%d bins of several multiples", several)
	}
}
