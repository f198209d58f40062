package exchange

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// enumeratedRanks goes through all exchanges that docs/methods.md describes, for n ranks and a reach.
func enumeratedRanks(n, reach int, visit func(from []int, p float64)) {
	from, taken := make([]int, n), make([]bool, n)
	for i := range from {
		from[i] = i
	}
	var next func(k int, p float64)
	next = func(k int, p float64) {
		if k == n {
			visit(from, p)
			return
		}
		var partners []int
		for j := k + 1; j <= k+reach && j < n; j++ {
			if !taken[j] {
				partners = append(partners, j)
			}
		}
		if taken[k] || len(partners) == 0 {
			next(k+1, p)
			return
		}
		for _, j := range partners {
			taken[k], taken[j] = true, true
			from[k], from[j] = j, k
			next(k+1, p/float64(len(partners)))
			from[k], from[j] = k, j
			taken[k], taken[j] = false, false
		}
	}
	next(0, 1)
}

// The expected squares for a rank swap are those of the enumeration of all exchanges: with few and many ranks within
// reach, equal values at the ends and in the middle, and means at the ends.
func TestUndoneRanksAreThoseOfTheEnumeration(t *testing.T) {
	for _, values := range [][]float64{
		{1, 5}, {1, 5, 6}, {1, 2, 4, 8}, {0, 0, 3, 7, 20}, {1, 2, 3, 3, 3, 9}, {1, 2, 4, 8, 16, 32, 64},
		{1, 3, 4, 4, 9, 11, 11, 11}, {2, 2, 5, 6, 7, 8, 30, 31, 90},
	} {
		n := len(values)
		for reach := 1; reach <= min(n, 8); reach++ {
			for _, ends := range [][2]int{{0, 0}, {0, 1}, {2, 0}, {1, 2}} {
				if ends[0]+ends[1] >= n {
					continue
				}
				r := RankExchange{P: (float64(reach) + 0.5) / float64(n), Bottom: (float64(ends[0]) + 0.5) / float64(n),
					Top: (float64(ends[1]) + 0.5) / float64(n)}
				t.Run(fmt.Sprint(values, reach, ends), func(t *testing.T) {
					compareUndoneRanks(t, r, values, reach, ends[0], ends[1])
				})
			}
		}
	}
}

func compareUndoneRanks(t *testing.T, r RankExchange, values []float64, reach, bottom, top int) {
	n := len(values)
	inner := values[bottom : n-top]
	joint := map[[2]float64]float64{} // of the original and the released value of one record
	enumeratedRanks(len(inner), reach, func(from []int, p float64) {
		for k, j := range from {
			joint[[2]float64{inner[j], inner[k]}] += p
		}
	})
	number := map[float64]float64{}
	for _, x := range inner {
		number[x]++
	}
	mean, total, greatest := map[float64]float64{}, map[float64]float64{}, map[float64]float64{} // by released value
	for pair, p := range joint {
		mean[pair[1]] += p * pair[0]
		total[pair[1]] += p
		greatest[pair[1]] = max(greatest[pair[1]], p)
	}
	by, linked, averaged := map[float64][2]float64{}, 0.0, 0.0
	for pair, p := range joint {
		e := by[pair[0]]
		for i, v := range []float64{pair[1], mean[pair[1]] / total[pair[1]]} {
			e[i] += p / number[pair[0]] * (pair[0] - v) * (pair[0] - v)
		}
		by[pair[0]] = e
		m := mean[pair[1]] / total[pair[1]]
		linked += p * (pair[0] - pair[1]) * (pair[0] - pair[1])
		averaged += p * (pair[0] - m) * (pair[0] - m)
	}
	// Of equally probable originals any may be taken for the most probable one: the best choices and the
	// worst are the bounds.
	best, worst := 0.0, 0.0
	for y, most := range greatest {
		low, high := math.Inf(1), 0.0
		for _, x := range inner {
			if joint[[2]float64{x, y}] < most-1e-9 {
				continue
			}
			sum := 0.0
			for _, other := range slices.Compact(slices.Sorted(slices.Values(inner))) {
				sum += joint[[2]float64{other, y}] * (other - x) * (other - x)
			}
			low, high = min(low, sum), max(high, sum)
		}
		best, worst = best+low, worst+high
	}
	least, want := min(linked, best, averaged), min(linked, worst, averaged)
	for _, end := range [][]float64{values[:bottom], values[n-top:]} {
		mean := 0.0
		for _, x := range end {
			mean += x / float64(len(end))
		}
		for _, x := range end {
			least, want = least+(x-mean)*(x-mean), want+(x-mean)*(x-mean)
		}
	}
	typical, at, ok := r.Undone(values)
	if !ok || len(at) != n {
		t.Fatalf("not known: %v, %d values", ok, len(at))
	}
	if sum := typical * float64(n); !(sum >= least-1e-9*(1+want) && sum <= want+1e-9*(1+want)) {
		t.Errorf("the sum is %v, want %v to %v", sum, least, want)
	}
	for k, x := range inner {
		e := by[x]
		if got := at[bottom+k]; !(got <= min(e[0], e[1])+1e-9*(1+x*x)) {
			t.Errorf("rank %d: %v, want at most %v and %v", k, got, e[0], e[1])
		}
	}
	if top == 1 && at[n-1] != 0 {
		t.Errorf("a mean of one value has the expected square %v", at[n-1])
	}
}
