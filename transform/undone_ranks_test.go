package transform

import (
	"fmt"
	"math"
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
		{1, 5}, {1, 5, 6}, {1, 2, 4, 8}, {0, 0, 3, 7, 20}, {1, 2, 3, 3, 3, 9}, {1, 2, 4, 8, 16, 32, 64}, {1, 3, 4, 4, 9, 11, 11, 11}, {2, 2, 5, 6, 7, 8, 30, 31, 90},
	} {
		n := len(values)
		for reach := 1; reach <= min(n, 8); reach++ {
			for _, ends := range [][2]int{{0, 0}, {0, 1}, {2, 0}, {1, 2}} {
				if ends[0]+ends[1] >= n {
					continue
				}
				r := RankExchange{P: (float64(reach) + 0.5) / float64(n), Bottom: (float64(ends[0]) + 0.5) / float64(n), Top: (float64(ends[1]) + 0.5) / float64(n)}
				t.Run(fmt.Sprint(values, reach, ends), func(t *testing.T) { compareUndoneRanks(t, r, values, reach, ends[0], ends[1]) })
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
	stated := func(y float64) (likeliest, mean float64) {
		total, best := 0.0, joint[[2]float64{y, y}]
		for pair, p := range joint {
			if pair[1] == y {
				total += p
				mean += p * pair[0]
			}
		}
		likeliest = y
		for _, x := range inner { // of equally probable ones, the one that the program finds first decides nothing
			if p := joint[[2]float64{x, y}]; p > best+1e-9 {
				best, likeliest = p, x
			}
		}
		return likeliest, mean / total
	}
	number := map[float64]float64{}
	for _, x := range inner {
		number[x]++
	}
	by, sums := map[float64][3]float64{}, [3]float64{}
	for pair, p := range joint {
		likeliest, mean := stated(pair[1])
		e := by[pair[0]]
		for i, v := range []float64{pair[1], likeliest, mean} {
			e[i] += p / number[pair[0]] * (pair[0] - v) * (pair[0] - v)
			sums[i] += p * (pair[0] - v) * (pair[0] - v)
		}
		by[pair[0]] = e
	}
	want := min(sums[0], sums[1], sums[2])
	for _, end := range [][]float64{values[:bottom], values[n-top:]} {
		mean := 0.0
		for _, x := range end {
			mean += x / float64(len(end))
		}
		for _, x := range end {
			want += (x - mean) * (x - mean)
		}
	}
	typical, at, ok := r.Undone(values)
	if !ok || len(at) != n {
		t.Fatalf("not known: %v, %d values", ok, len(at))
	}
	// The most probable value among several is ambiguous: then only the other two are compared.
	if ambiguous := typical*float64(n) < want-1e-9 || typical*float64(n) > want+1e-9; ambiguous && min(sums[0], sums[2]) > sums[1] {
		t.Skip("equally probable originals")
	}
	if !(math.Abs(typical*float64(n)-want) <= 1e-9*(1+want)) {
		t.Errorf("the sum is %v, want %v", typical*float64(n), want)
	}
	for k, x := range inner {
		e := by[x]
		if got := at[bottom+k]; !(got <= min(e[0], e[2])+1e-9*(1+x*x)) {
			t.Errorf("rank %d: %v, want at most %v and %v", k, got, e[0], e[2])
		}
	}
	if top == 1 && at[n-1] != 0 {
		t.Errorf("a mean of one value has the expected square %v", at[n-1])
	}
}
