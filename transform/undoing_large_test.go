package transform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/transform/internal/displacement"
)

// Beyond the groups that are enumerated, the expected square of the mean is compared with releases of many groups of
// the same records: by the probabilities of the pairing, the snooper takes the mean of the released values of a group.
// The error must not be overstated. 2 %, and for a single record 5 % of the mean over the records are allowed,
// which is three standard errors and more; the lower bounds follow from the 2/n by which it is lowered, and 10 %.
func TestUndoingInLargerGroups(t *testing.T) {
	for _, sizes := range [][]int{{5, 4}, {5, 5}, {3, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {8, 2}, {8, 1}, {10, 10},
		{20, 20}, {1, 12}, {3, 17}} {
		for _, policy := range []string{"unique", "random"} {
			if policy == "unique" && sizes[0] != 1 && sizes[len(sizes)-1] != 1 {
				continue // nobody is a candidate
			}
			for _, scope := range []string{"window", "dataset"} {
				for _, rate := range []float64{0.5, 1} {
					if testing.Short() && (scope == "window") != (rate == 1) {
						continue // each rate with one scope
					}
					t.Run(fmt.Sprint(policy, scope, rate, sizes), func(t *testing.T) {
						compareLargeUndoing(t, policy, scope, rate, sizes)
					})
				}
			}
		}
	}
}

func compareLargeUndoing(t *testing.T, policy, scope string, rate float64, sizes []int) {
	var combo []int
	for c, s := range sizes {
		for range s {
			combo = append(combo, c)
		}
	}
	size := len(combo)
	r := rand.New(rand.NewPCG(uint64(size), 3))
	x := make([]float64, size)
	for i := range x {
		x[i] = math.Round(1000 * (math.Exp(r.NormFloat64()) + 0.5*float64(combo[i])))
	}
	groups := 60000 / size
	n := groups * size
	columns := swapData(n, 1, 1, 1)
	for i := range n {
		columns[0].Values[i] = x[i%size]
		columns[1].Values[i], columns[2].Values[i], columns[3].Values[i] = float64(i/size), 0, float64(combo[i%size])
	}
	setup := testSetup(t, columns...)
	setup.Window = n
	c := chain(t, setup, mask(swapMask(policy, scope, rate)))
	if scope == "dataset" {
		surveyed(t, c, n, columns...)
	}
	y := apply(t, c, block(0, n, columns...)).Columns[0].Out().Values
	m := displacements(t, c, n, columns)[0]
	var sum, expected float64
	squares, wanted := make([]float64, size), make([]float64, size)
	of := (&displacement.Pairer{Rate: rate, Unique: policy == "unique", Dataset: scope == "dataset"}).Of(int32s(sizes))
	for i := range size {
		at := make([]float64, size)
		at[i] = 1
		for j := range size {
			if combo[j] != combo[i] {
				for _, rates := range of.Rates {
					at[j] += rates[of.Class(int32(sizes[combo[i]]))*len(of.Sizes)+of.Class(int32(sizes[combo[j]]))] /
						float64(len(of.Rates))
				}
				at[i] -= at[j]
			}
		}
		for g := range groups {
			e := -x[i]
			for j, p := range at {
				e += p * y[g*size+j]
			}
			squares[i] += e * e / float64(groups)
		}
		wanted[i] = m.Mean[i] / m.Weight[i]
		sum += squares[i]
		expected += wanted[i]
	}
	if least := 1 - 2/float64(size) - 0.1; !(expected <= 1.02*sum && expected >= least*sum) {
		t.Errorf("the sum is %v, and %v in releases", expected, sum)
	}
	for i := range size {
		if !(wanted[i] <= 1.02*squares[i]+0.05*sum/float64(size)) {
			t.Errorf("record %d: %v, and %v in releases, of %v in all", i, wanted[i], squares[i], sum)
		}
	}
}

func int32s(list []int) (to []int32) {
	for _, v := range list {
		to = append(to, int32(v))
	}
	return to
}
