package linkage

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// gowerByForce is the distance of target i and record r by Gower (1971), with the mean of all
// records' terms for a key that the record lacks.
func gowerByForce(targets, released Keys, i, r int) float64 {
	sum := 0.0
	for j, x := range targets.Numeric {
		y := released.Numeric[j]
		least, most := math.Inf(1), math.Inf(-1)
		for _, v := range slices.Concat(x, y) {
			if v == v {
				least, most = min(least, v), max(most, v)
			}
		}
		switch {
		case x[i] != x[i]:
		case y[r] == y[r]:
			sum += math.Abs(x[i]-y[r]) / (most - least)
		default:
			mean, n := 0.0, 0.0
			for _, v := range y {
				if v == v {
					mean, n = mean+math.Abs(x[i]-v)/(most-least), n+1
				}
			}
			sum += mean / n
		}
	}
	for j, x := range targets.Categorical {
		y := released.Categorical[j]
		switch {
		case x[i] < 0:
		case y[r] < 0:
			other, n := 0.0, 0.0
			for _, v := range y {
				if v >= 0 {
					if n++; v != x[i] {
						other++
					}
				}
			}
			sum += other / n
		case x[i] != y[r]:
			sum++
		}
	}
	return sum
}

func nearKeys(rng *rand.Rand, n int, missing bool) Keys {
	k := Keys{Numeric: [][]float64{make([]float64, n), make([]float64, n)}, Categorical: [][]int32{make([]int32, n)}}
	for i := range n {
		k.Numeric[0][i], k.Numeric[1][i], k.Categorical[0][i] = float64(rng.IntN(8)), float64(rng.IntN(3)), int32(rng.IntN(3))
		if missing && rng.IntN(9) == 0 {
			k.Numeric[0][i] = math.NaN()
		}
		if missing && rng.IntN(9) == 0 {
			k.Categorical[0][i] = -1
		}
	}
	return k
}

func TestNearestIsThatByForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 15))
	tied := 0
	for round := range 60 {
		targets, released := nearKeys(rng, 1+rng.IntN(20), round%3 == 0),
			nearKeys(rng, 2+rng.IntN(40), round%3 > 0 && round%2 == 0)
		// Both ends occur, so every key has a range.
		released.Numeric[0][0], released.Numeric[0][1] = 0, 7
		released.Numeric[1][0], released.Numeric[1][1] = 0, 2
		released.Categorical[0][0], released.Categorical[0][1] = 0, 1
		got := make([][]int32, targets.Len())
		var mu sync.Mutex
		near, err := newNearest(targets, released, nil, []method{byBlocks, byTree}[round/2%2])
		if err != nil {
			t.Fatal(err)
		}
		near.Second = round%4 > 0
		visit := func(i int, nearest *Neighbours) {
			mu.Lock()
			defer mu.Unlock()
			if got[i] != nil {
				t.Errorf("target %d twice", i)
			}
			got[i] = slices.Clone(nearest.Records)
			distances := make([]float64, released.Len())
			for r := range distances {
				distances[r] = gowerByForce(targets, released, i, r)
				if d := near.Between(i, int32(r)); math.Abs(d-distances[r]) > 1e-12 {
					t.Errorf("target %d is %v from record %d, want %v", i, d, r, distances[r])
				}
			}
			slices.Sort(distances)
			if math.Abs(nearest.Distance-distances[0]) > 1e-12 || near.Second && math.Abs(nearest.Second-distances[1]) > 1e-12 {
				t.Errorf("target %d: the nearest are at %v and %v, want %v", i, nearest.Distance, nearest.Second, distances[:2])
			}
		}
		if err := near.Visit(t.Context(), visit); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			best, want := math.Inf(1), []int32(nil)
			for r := range released.Len() {
				switch d := gowerByForce(targets, released, i, r); {
				case d < best-1e-12:
					best, want = d, []int32{int32(r)}
				case d <= best+1e-12:
					want = append(want, int32(r))
				}
			}
			if len(want) > 1 {
				tied++
			}
			// Values equal by definition may differ by rounding if a mean is involved.
			for _, r := range got[i] {
				if !slices.Contains(want, r) {
					t.Fatalf("target %d: %v, want among %v", i, got[i], want)
				}
			}
			if len(got[i]) == 0 || !slices.ContainsFunc(want, func(r int32) bool {
				return released.Numeric[0][r] != released.Numeric[0][r] || released.Categorical[0][r] < 0
			}) && len(got[i]) != len(want) {
				t.Fatalf("target %d: %v, want %v", i, got[i], want)
			}
		}
	}
	if tied < 50 {
		t.Errorf("%d targets have ties, so little is shown", tied)
	}
}

// TestNearestByGivenRanges: a given range is what counts as 1, and one record has no second.
func TestNearestByGivenRanges(t *testing.T) {
	near, err := NewNearest(Keys{Numeric: [][]float64{{1, 4}}}, Keys{Numeric: [][]float64{{2}}}, []float64{10})
	if err != nil {
		t.Fatal(err)
	}
	near.Second = true
	err = near.Visit(t.Context(), func(i int, n *Neighbours) {
		if want := []float64{0.1, 0.2}[i]; math.Abs(n.Distance-want) > 1e-15 || !math.IsInf(n.Second, 1) {
			t.Errorf("target %d: %+v, want %v", i, n, want)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestNearestIsRefused(t *testing.T) {
	one := Keys{Numeric: [][]float64{{1, 1}}}
	alike, err := NewNearest(Keys{Numeric: [][]float64{{1}}}, one, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	if err := alike.Visit(t.Context(), func(_ int, n *Neighbours) { all += len(n.Records) }); err != nil || all != 2 ||
		alike.Between(0, 1) != 0 {
		t.Errorf("of keys that do not differ %d are nearest: %v", all, err)
	}
	if _, err := NewNearest(Keys{}, one, nil); err == nil {
		t.Error("other keys are taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := alike.Visit(ctx, func(int, *Neighbours) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

func BenchmarkNearestOf(b *testing.B) {
	rng := rand.New(rand.NewPCG(4, 15))
	of := func(n int) (k Keys) {
		for range 4 {
			column := make([]float64, n)
			for i := range column {
				column[i] = rng.NormFloat64()
			}
			k.Numeric = append(k.Numeric, column)
		}
		return k
	}
	targets, released := of(2000), of(100_000)
	for b.Loop() {
		near, err := NewNearest(targets, released, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := near.Visit(context.Background(), func(int, *Neighbours) {}); err != nil {
			b.Fatal(err)
		}
	}
}
