package privacy

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// The figures of OpenDP and dp-accounting (scripts/reference/privacy.py).
func TestReferenceOfOtherPrograms(t *testing.T) {
	text, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var of map[string]json.RawMessage
	if err := json.Unmarshal(text, &of); err != nil {
		t.Fatal(err)
	}
	even := func(k int, keep float64) [][]float64 {
		rows := make([][]float64, k)
		for i := range rows {
			rows[i] = make([]float64, k)
			for j := range rows[i] {
				if rows[i][j] = (1 - keep) / float64(k-1); i == j {
					rows[i][j] = keep
				}
			}
		}
		return rows
	}
	sum := func(sds []float64, one func(sd float64) Loss) (all Loss) {
		for _, sd := range sds {
			all = all.And(one(sd))
		}
		return all
	}
	// dp-accounting's PLD accountant rounds losses up to multiples of 1e-4, and its δ has an error of about 1e-12.
	for name, c := range map[string]struct {
		ours         func(v []float64) float64
		below, above float64 // ours may be less by this, and more by this, absolutely or relatively
	}{
		"laplace":  {func(v []float64) float64 { return Laplace(v[0], v[1]) }, 1e-12, 1e-12},
		"gaussian": {func(v []float64) float64 { return Gaussian(v[0], v[1]) }, 1e-12, 1e-12},
		"response": {func(v []float64) float64 { return Matrix(even(int(v[0]), v[1])) }, 1e-12, 1e-12},
		"composed_pure": {func(v []float64) float64 {
			return sum(v, func(sd float64) Loss { return OfPure(Laplace(1, sd), 0) }).Pure
		}, 1e-12, 1e-12},
		"composed_rho": {func(v []float64) float64 {
			return sum(v, func(sd float64) Loss { return OfGaussian(Gaussian(1, sd), 0) }).TotalRho()
		}, 1e-12, 1e-12},
		"delta_gaussian":   {func(v []float64) float64 { return GaussianDelta(Gaussian(1, v[0]), v[1]) }, 2e-4, 1e-11},
		"epsilon_gaussian": {func(v []float64) float64 { return GaussianEpsilon(Gaussian(1, v[0]), v[1]) }, 2e-4, 1e-6},
		"epsilon_rho":      {func(v []float64) float64 { return ConcentratedEpsilon(v[0], v[1]) }, 1e-6, 1e-6},
		"epsilon_renyi":    {func(v []float64) float64 { return ConcentratedEpsilon(Gaussian(1, v[0]), v[1]) }, 0.02, 1e-6},
		"amplified":        {func(v []float64) float64 { return Amplified(Laplace(1, v[0]), v[1]) }, 2e-4, 1e-6},
	} {
		var list [][]float64
		if err := json.Unmarshal(of[name], &list); err != nil || len(list) < 3 {
			t.Fatalf("%s: %d figures, %v", name, len(list), err)
		}
		for _, v := range list {
			arguments, want := v[:len(v)-1], v[len(v)-1]
			got := c.ours(arguments)
			if slack := max(1, want); got < want-c.below*slack || got > want+c.above*slack || math.IsNaN(got) {
				t.Errorf("%s %v: %v, the other program has %v", name, arguments, got, want)
			}
		}
	}
}
