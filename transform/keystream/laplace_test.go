package keystream

import (
	"math"
	"math/rand/v2"
	"testing"
)

// logWithBranches is log as docs/keystream.md defines it, for a number above 0.
func logWithBranches(x float64) float64 {
	m, e := math.Frexp(x)
	if m < 0.70710678118654752440 {
		m, e = 2*m, e-1
	}
	k, f := float64(e), m-1
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	odd := [4]float64{6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01,
		1.479819860511658591e-01}
	even := [3]float64{3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01}
	t1, t2 := odd[3], even[2]
	for i := 2; i >= 0; i-- {
		t1 = odd[i] + float64(s4*t1)
	}
	for i := 1; i >= 0; i-- {
		t2 = even[i] + float64(s4*t2)
	}
	t1, t2 = float64(s2*t1), float64(s4*t2)
	h := float64(float64(0.5*f) * f)
	return float64(k*6.93147180369123816490e-01) -
		((h - (float64(s*(h+(t1+t2))) + float64(k*1.90821492927058770002e-10))) - f)
}

// TestLogWithoutBranches: the bits equal those of the formula, near every power of 2 and near √2
// times each, at the ends of the range and at random. The same holds for the half of a Laplace
// draw.
func TestLogWithoutBranches(t *testing.T) {
	same := func(x float64) {
		if got, want := log(x), logWithBranches(x); math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("log %x is %x, want %x", x, got, want)
		}
	}
	for e := -1074; e < 1024; e++ {
		for _, m := range []float64{1, math.Sqrt2} {
			x := math.Ldexp(m, e)
			for _, y := range []float64{math.Nextafter(x, 0), x, math.Nextafter(x, math.Inf(1))} {
				if y > 0 && y <= math.MaxFloat64 {
					same(y)
				}
			}
		}
	}
	words := []uint64{0, 1, 1 << 11, 1<<12 - 1, 1 << 12, 1<<63 - 1, 1 << 63, 1<<63 + 1<<12, math.MaxUint64 - 1<<12,
		math.MaxUint64}
	r := rand.New(rand.NewPCG(3, 4))
	for range 1_000_000 {
		words = append(words, r.Uint64())
	}
	for _, w := range words {
		u := uniform(w)
		same(u)
		want := logWithBranches(2 * u)
		if u > 0.5 {
			want = -logWithBranches(2 * (1 - u))
		}
		for _, got := range []float64{laplace(w), LaplaceQuantile(u)} {
			if math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("word %x: the Laplace draw is %x, want %x", w, got, want)
			}
		}
	}
}
