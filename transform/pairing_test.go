package transform

import (
	"fmt"
	"math"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/racetest"
	"github.com/sdlfilter/sdlfilter/transform/internal/displacement"
)

// The rates of a pairing are compared with releases: the chain swaps groups of given sizes many
// times, and each pair of combinations is counted. The number of exchanges between two combinations
// of one group is at most the smaller size m, so its mean over R groups has a standard error of at
// most m/2/√R. The tolerance is five of those, plus five of the simulated rate's own standard
// error, estimated from the batches.
func TestPairingIsThatOfReleases(t *testing.T) {
	racetest.Alone(t)
	for _, sizes := range [][]int{
		{1, 1}, {1, 1, 1}, {2, 1}, {3, 2}, {5, 1, 1}, {2, 2, 2}, {4, 3, 2, 1}, {9, 8, 7}, {20, 1, 1}, {30, 1},
		{1, 1, 1, 1, 1, 1, 1}, {12, 6, 1, 1, 1, 1, 1, 1}, {3, 3, 3, 3, 2, 2, 1, 1, 1, 1}, {40, 2, 2, 1, 1, 1, 1, 1, 1, 1},
	} {
		for _, policy := range []string{"unique", "random"} {
			for _, scope := range []string{"window", "dataset"} {
				for _, rate := range []float64{0.3, 1} {
					if testing.Short() && (scope == "window") != (rate == 1) {
						continue // each rate with one scope
					}
					t.Run(fmt.Sprint(policy, scope, rate, sizes), func(t *testing.T) { comparePairing(t, policy, scope, rate, sizes) })
				}
			}
		}
	}
}

func comparePairing(t *testing.T, policy, scope string, rate float64, sizes []int) {
	size := 0
	for _, s := range sizes {
		size += s
	}
	groups := min(10000, 60000/size)
	n := groups * size
	columns := swapData(n, 1, 1, 1)
	combo := make([]int, 0, size)
	list := make([]int32, len(sizes))
	for c, s := range sizes {
		list[c] = int32(s)
		for range s {
			combo = append(combo, c)
		}
	}
	for i := range n {
		columns[1].Values[i], columns[2].Values[i], columns[3].Values[i] = float64(i/size), 0, float64(combo[i%size])
	}
	setup := testSetup(t, columns...)
	setup.Window = n
	c := chain(t, setup, mask(swapMask(policy, scope, rate)))
	if scope == "dataset" {
		surveyed(t, c, n, columns...)
	}
	y := apply(t, c, block(0, n, columns...)).Columns[0].Out().Values
	counts := make([][]float64, len(sizes))
	for a := range counts {
		counts[a] = make([]float64, len(sizes))
	}
	for i := range n {
		if j := int(y[i]) - 1; j != i {
			counts[combo[i%size]][combo[j%size]]++
		}
	}
	p := &displacement.Pairer{Rate: rate, Unique: policy == "unique", Dataset: scope == "dataset"}
	of := p.Of(list)
	k := len(of.Sizes)
	for a := range sizes {
		for b := range sizes {
			if a == b {
				continue
			}
			at := of.Class(list[a])*k + of.Class(list[b])
			couples := float64(sizes[a] * sizes[b])
			var sum, squares float64
			for _, rates := range of.Rates {
				sum += rates[at] * couples
				squares += rates[at] * rates[at] * couples * couples
			}
			m := float64(len(of.Rates))
			want, own := sum/m, 0.0
			if m > 1 {
				own = math.Sqrt(max(0, squares/m-want*want) / (m - 1))
			}
			got := counts[a][b] / float64(groups)
			// The variance of a small count is nearly that of a Poisson variable; that of a large
			// count is at most m²/4.
			least := float64(min(sizes[a], sizes[b]))
			se := math.Sqrt(min(least*least/4, max(want, got)*least) / float64(groups))
			if d := math.Abs(got - want); d > 5*se+5*own+1e-12 {
				t.Errorf("sizes %d and %d: %v exchanges a group, want %v ± %v ± %v", sizes[a], sizes[b], got, want, se, own)
			}
			if own > 0.1*want+0.02 {
				t.Errorf("sizes %d and %d: %v ± %v exchanges", sizes[a], sizes[b], want, own)
			}
		}
	}
}
