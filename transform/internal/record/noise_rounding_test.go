package record

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/core"
)

// Fast rounding gives the same result as exact rounding, also for values near the limit between the
// two.
func TestFastRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	n := 64 * 500
	x, e := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = (r.Float64() - 0.5) * math.Exp2(60*r.Float64())
		if i%7 == 0 {
			x[i] = math.Trunc(x[i]) + 0.5
		}
		e[i] = r.NormFloat64() * math.Exp2(20*r.Float64())
	}
	col := &NoiseColumn{Grid: core.DecimalGrid(1), Fast: core.Fast}
	got, inPlace := make([]float64, n), slices.Clone(x)
	changed, again := make([]uint64, n/64), make([]uint64, n/64)
	col.Add(got, x, e, 3, changed)
	if col.Add(inPlace, inPlace, e, 3, again); !slices.Equal(inPlace, got) || !slices.Equal(again, changed) {
		t.Fatal("added in place, the sums differ")
	}
	for i := range x {
		want := col.Sum(x[i], e[i]*3)
		if got[i] != want || math.Signbit(got[i]) != math.Signbit(want) {
			t.Fatalf("%v + %v: got %v, want %v", x[i], e[i]*3, got[i], want)
		}
		if changed[i/64]>>(i%64)&1 == 1 != (got[i] != x[i]) {
			t.Fatalf("record %d: changed is wrong", i)
		}
	}
	bias := &biasColumn{Grid: core.DecimalGrid(1), Phi: 0.1}
	inPlace = slices.Clone(x)
	bias.Multiply(got, x, e, changed)
	if bias.Multiply(inPlace, inPlace, e, changed); !slices.Equal(inPlace, got) {
		t.Fatal("multiplied in place, the products differ")
	}
	for i := range x {
		if want := bias.Product(x[i], 1+float64(0.1*e[i])); math.Abs(e[i]) < 64 && got[i] != want {
			t.Fatalf("%v·%v: got %v, want %v", x[i], 1+0.1*e[i], got[i], want)
		}
	}
	// Indexes on both sides of the limit of fast rounding, times a factor near 1.
	for _, phi := range []float64{0, 1e-9, 1e-3, 0.1} {
		bias := &biasColumn{Grid: core.DecimalGrid(1), Phi: phi}
		for i := range x {
			x[i] = (core.Fast + (r.Float64()-0.5)*(1<<40)) / 10 * float64(1+i%4)
			e[i] = r.NormFloat64()
		}
		bias.Multiply(got, x, e, changed)
		for i := range x {
			if want := bias.Product(x[i], 1+float64(phi*e[i])); got[i] != want {
				t.Fatalf("φ %v: %v·%v: got %v, want %v", phi, x[i], 1+phi*e[i], got[i], want)
			}
		}
	}
}
