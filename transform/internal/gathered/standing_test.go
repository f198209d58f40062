package gathered

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// More than half unchanged, and a mean distance below half a rank, by counting for each value.
func TestStandingByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	found := map[bool]int{}
	for range 4000 {
		n := 1 + r.IntN(12)
		before, after, strata := make([]float64, n), make([]float64, n), make([]int32, n)
		for i := range before {
			before[i] = float64(r.IntN(1 + r.IntN(8)))
			after[i] = before[i]
			switch r.IntN(8) {
			case 0:
				after[i] = float64(r.IntN(16)) / 2
			case 1:
				before[i], after[i] = math.NaN(), math.NaN()
			case 2:
				strata[i] = -1
				after[i] += 100
			}
		}
		same, distance, records := 0, 0.0, 0
		for i := range before {
			if before[i] != before[i] || strata[i] < 0 {
				continue
			}
			records++
			if before[i] == after[i] {
				same++
			}
			rank := func(x float64) (sum float64) {
				for k, v := range before {
					switch {
					case strata[k] < 0 || v != v:
					case v < x:
						sum++
					case v == x:
						sum += 0.5
					}
				}
				return sum
			}
			distance += math.Abs(rank(before[i]) - rank(after[i]))
		}
		want := 2*same > records && distance/float64(records) < 0.5
		if got := standing([][]float64{after, before}, [][]float64{before, after}, strata); got[1] != want {
			t.Fatalf("%v became %v (%v): %v, want %v", before, after, strata, got, want)
		}
		found[want]++
	}
	if found[true] < 100 || found[false] < 100 {
		t.Errorf("the cases show little: %v", found)
	}
	// With many records, only the first ones are examined; their ranks are correspondingly closer
	// together.
	n := 4 * greatestStanding
	before, strata := make([]float64, n), make([]int32, n)
	for i := range before {
		before[i] = float64(i * 7919 % n) // 7919 is prime: each rank occurs once
	}
	for by, want := range map[float64]bool{0.3: true, 0.4: true, 0.6: false, 2: false} {
		after := slices.Clone(before)
		for i := 0; i < greatestStanding; i += 50 {
			after[i] += 50 * by // the mean over all is given by
		}
		if got := standing(firstOf([][]float64{before}), [][]float64{after}, strata)[0]; got != want {
			t.Errorf("of many, a mean of %v ranks: %v, want %v", by, got, want)
		}
	}
}
