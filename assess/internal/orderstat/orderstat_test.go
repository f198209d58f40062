package orderstat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// ⌈np⌉ in exact arithmetic: 177·0.1 is 17.7, and 200·0.07 is 14, not 14.000000000000002.
func TestRank(t *testing.T) {
	for _, c := range []struct {
		target  string
		n, want int
	}{{"p10", 177, 18}, {"p07", 200, 14}, {"p01", 177, 2}, {"p01", 5, 1}, {"p99", 177, 176}, {"p50", 2, 1},
		{"p99.9", 1000, 999}, {"p99.999", 10, 10}, {"max", 9, 9}, {"min", 9, 1}} {
		target, err := ParseTarget(c.target)
		if err != nil {
			t.Fatal(err)
		}
		if got := target.Rank(c.n); got != c.want {
			t.Errorf("%s of %d: rank %d, want %d", c.target, c.n, got, c.want)
		}
	}
}

func TestOrderStatistics(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for trial := range 60 {
		v := make([]float64, 1+rng.IntN(9000))
		for i := range v {
			switch trial % 4 {
			case 0:
				v[i] = rng.NormFloat64()
			case 1:
				v[i] = float64(rng.IntN(3))
			case 2:
				v[i] = math.Exp(8 * rng.NormFloat64())
			case 3:
				v[i] = 5
			}
		}
		sorted := slices.Sorted(slices.Values(v))
		ranks := []int{0, len(v) - 1}
		for range 8 {
			ranks = append(ranks, rng.IntN(len(v)))
		}
		slices.Sort(ranks)
		var s Selector
		if trial%5 > 0 { // without Fit it works as well
			s.Fit(v[:1+len(v)/2])
		}
		out := make([]float64, len(ranks))
		for range 2 {
			s.Ranks(v, ranks, out)
			for i, r := range ranks {
				if out[i] != sorted[r] {
					t.Fatalf("trial %d: rank %d of %d: %v, want %v", trial, r, len(v), out[i], sorted[r])
				}
			}
		}
	}
}
