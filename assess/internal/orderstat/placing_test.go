package orderstat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Bins cover the values except 1/500 of them at either end, estimated from a probe of about a thousand
// values. If the rest of the probe is one value, there are no bins.
func TestFitPlacesBinsOverTheBulk(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{1, 2, 400, 499, 500, 1023, 1024, 1025, 2047, 2048, 5000, 100_000} {
		v := make([]float64, n)
		for i := range v {
			if v[i] = rng.NormFloat64(); i%9 == 4 {
				v[i] = math.NaN()
			}
		}
		var probe []float64
		for i := 0; i < n; i += max(1, n/1024) {
			if v[i] == v[i] {
				probe = append(probe, v[i])
			}
		}
		slices.Sort(probe)
		cut := len(probe) / 500
		lo, hi := probe[cut], probe[len(probe)-1-cut]
		want := Placing{Lo: lo, Scale: 2048 / (hi - lo)}
		if lo == hi {
			want = Placing{}
		}
		var s Selector
		if s.Fit(v); s.Placing != want {
			t.Errorf("%d values: %+v, want %+v", n, s.Placing, want)
		}
	}
	for name, v := range map[string][]float64{"none": nil, "no numbers": {math.NaN()}, "equal": {3, 3, 3},
		"too near": {0, 1e-300}} {
		s := Selector{Placing: Placing{Lo: 7, Scale: 7}}
		if s.Fit(v); s.Placing != (Placing{}) {
			t.Errorf("%s: %+v", name, s.Placing)
		}
	}
}

// If one bin gets more than a sixteenth of the values, the bins are placed again for the next set,
// at most eight times. Otherwise they stay.
func TestPoorPlacingsAreMadeAnew(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	v := make([]float64, 4000)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	sorted := slices.Sorted(slices.Values(v))
	ranks, out := []int{10, 2000, 2000, 3999}, make([]float64, 4)
	check := func() {
		t.Helper()
		s := out
		for i, r := range ranks {
			if s[i] != sorted[r] {
				t.Fatalf("rank %d: %v, want %v", r, s[i], sorted[r])
			}
		}
	}
	var good Selector
	good.Fit(v)
	fitted := good.Placing
	poor := Selector{Placing: Placing{Lo: 100, Scale: 1}} // all values lie below the bins
	for round := range 12 {
		good.Ranks(v, ranks, out)
		check()
		if good.Placing != fitted {
			t.Fatal("bins with few values are placed again")
		}
		poor.Lo, poor.Scale = 100, 1
		poor.Ranks(v, ranks, out)
		check()
		if anew := round < 8; (poor.Lo == fitted.Lo) != anew || poor.refits != min(round+1, 8) {
			t.Errorf("round %d: %+v", round, poor.Placing)
		}
	}
	// One value in sixteen is just allowed: 250 of 4000 below the bins.
	for below, anew := range map[int]bool{250: false, 251: true} {
		s := Selector{Placing: Placing{Lo: (sorted[below-1] + sorted[below]) / 2, Scale: 1e-9}}
		s.Scale = 2048 / (sorted[3999] - s.Lo) * 0.999
		before := s.Placing
		s.Ranks(v, []int{3}, out[:1])
		if out[0] != sorted[3] || (s.refits == 1) != anew || (s.Placing != before) != anew {
			t.Errorf("%d below: %+v", below, s.Placing)
		}
	}
}

// The n-th of few and of many values, with ties and at both ends.
func TestNthIsThatOfTheSorted(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 5))
	for _, n := range []int{1, 2, 24, 25, 26, 100, 1000} {
		for _, distinct := range []int{1, 2, 5, 100_000} {
			v := make([]float64, n)
			for i := range v {
				v[i] = float64(rng.IntN(distinct))
			}
			sorted := slices.Sorted(slices.Values(v))
			for k := 0; k < n; k += 1 + n/40 {
				part := slices.Clone(v)
				if got := Nth(part, k); got != sorted[k] {
					t.Fatalf("number %d of %d: %v, want %v", k, n, got, sorted[k])
				}
				// Values before it are not greater, values after it are not smaller.
				if k > 0 && slices.Max(part[:k]) > sorted[k] || k < n-1 && slices.Min(part[k+1:]) < sorted[k] {
					t.Fatalf("number %d of %d: other values are on the wrong side of it", k, n)
				}
			}
		}
	}
}
