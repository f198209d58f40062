package keystream

import (
	"math"
	"math/rand/v2"
	"testing"
)

// NormalTails has the same bits as NormalCDF: near every bound of its approximations and cells,
// where its exponential uses another branch, and at random.
func TestNormalTailsAreTheFunction(t *testing.T) {
	var x []float64
	near := func(v float64) {
		for _, step := range []float64{0, 1e-16, 1e-15, 1e-12, 1e-9, 1e-8, 0x1p-28, 1e-5} {
			x = append(x, v, v+step, v-step, -v-step, -v+step)
		}
		x = append(x, math.Nextafter(v, 40), math.Nextafter(v, -40))
	}
	for i := range 41 * 16 {
		near(float64(i) / 16)
		near((float64(i) + 0.999999) / 16)
	}
	for _, v := range []float64{0.67448975, 5.656854248, 39, 1e300, math.MaxFloat64, math.SmallestNonzeroFloat64,
		math.Inf(1), math.NaN()} {
		near(v)
	}
	for v := 5.3; v < 5.7; v += 1e-6 {
		x = append(x, v)
	}
	rng := rand.New(rand.NewPCG(17, 1))
	for range 1_000_000 {
		x = append(x, 3*rng.NormFloat64())
	}
	q := make([]float64, len(x))
	NormalTails(q, x)
	for i, v := range x {
		if want := NormalCDF(-math.Abs(v)); math.Float64bits(q[i]) != math.Float64bits(want) &&
			(want == want || q[i] == q[i]) {
			t.Fatalf("at %v: %x, want %x", v, q[i], want)
		}
	}
	own := append([]float64(nil), x...)
	NormalTails(own, own)
	for i := range own {
		if own[i] != q[i] && q[i] == q[i] {
			t.Fatalf("in place, at %v: %v, want %v", x[i], own[i], q[i])
		}
	}
}

func BenchmarkNormalTails(b *testing.B) {
	x, q := make([]float64, 2000), make([]float64, 2000)
	for i := range x {
		x[i] = 16*float64(i)/2000 - 8
	}
	b.Run("each", func(b *testing.B) {
		for b.Loop() {
			for i, v := range x {
				q[i] = NormalCDF(-math.Abs(v))
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2000, "ns/value")
	})
	b.Run("together", func(b *testing.B) {
		for b.Loop() {
			NormalTails(q, x)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2000, "ns/value")
	})
}
