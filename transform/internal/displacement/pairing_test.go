package displacement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/pinned"
	"github.com/sdlfilter/sdlfilter/internal/racetest"
)

// sums are weighted sums of rows of numbers. Each row has its own weight, so that a changed number,
// or two exchanged ones, changes a sum.
type sums []float64

func (s *sums) add(row int, values ...float64) {
	for len(*s) < len(values) {
		*s = append(*s, 0)
	}
	for i, v := range values {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			(*s)[i] += v * math.Sqrt(float64(row+2))
		}
	}
}

// The rates for groups of many shapes: equal sizes, two sizes, few combinations and many, exact and
// simulated (the simulation depends on the sizes only, so it is repeatable).
func TestFiguresOfPairings(t *testing.T) {
	racetest.Further(t)
	var f pinned.Figures
	many := slices.Repeat([]int32{3, 1, 1, 2}, 90)
	for _, sizes := range [][]int32{
		{1}, {4}, {1, 1}, {1, 1, 1}, {1, 2}, {3, 2}, {1, 1, 5}, {2, 2, 2}, {1, 2, 3, 4}, {9, 8, 7}, {20, 1, 1}, {30, 1},
		{6, 6, 6, 6, 6, 6, 6}, {40, 30, 20},
		{1, 1, 1, 1, 1, 1, 1}, {12, 6, 1, 1, 1, 1, 1, 1}, {3, 3, 3, 3, 2, 2, 1, 1, 1, 1}, {40, 2, 2, 1, 1, 1, 1, 1, 1, 1},
		{70, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		slices.Repeat([]int32{1}, 300), append(slices.Repeat([]int32{1}, 280), 50),
		append(slices.Repeat([]int32{1}, 40), 64, 20), many, {400, 300},
	} {
		for _, unique := range []bool{true, false} {
			for _, dataset := range []bool{true, false} {
				for _, rate := range []float64{0.3, 1} {
					p := &Pairer{Rate: rate, Unique: unique, Dataset: dataset}
					of := p.Of(sizes)
					if again := p.Of(slices.Sorted(slices.Values(sizes))); again != of {
						t.Errorf("%v is simulated twice", sizes)
					}
					var all sums
					for b, rates := range of.Rates {
						for i, r := range rates {
							all.add(97*b+i, r)
						}
					}
					what := fmt.Sprint(sizes)
					if len(sizes) > 40 {
						what = fmt.Sprint(len(sizes), " sizes to ", slices.Max(sizes))
					}
					f.Add(fmt.Sprintf("%s unique %v dataset %v rate %v", what, unique, dataset, rate),
						append(all, float64(len(of.Rates)), float64(len(of.Sizes)))...)
				}
			}
		}
	}
	f.Check(t, "testdata/pairings.txt")
}

// The quantile of a binomial is the smallest number of heads with a distribution function of at
// least u. If rounding leaves the distribution function below 1 at the end, it is the greatest
// number.
func TestBinomialQuantile(t *testing.T) {
	b := binomial{low: 3, cdf: []float64{0.25, 0.5, 0.875}}
	for u, want := range map[float64]int32{0: 3, 0.2: 3, 0.25: 3, 0.3: 4, 0.5: 4, 0.6: 5, 0.875: 5, 0.9: 5, 1: 5} {
		if got := b.quantile(u); got != want {
			t.Errorf("%v: %d, want %d", u, got, want)
		}
	}
	for _, n := range []int{1, 2, 7, 40} {
		for _, p := range []float64{-1, 0, 1e-9, 0.1, 0.5, 0.93, 1 - 1e-9, 1, 2} {
			b := newBinomial(n, p)
			at := min(1, max(0, p))
			sum := 0.0
			for x := range n + 1 {
				// By the product, without logarithms.
				prob := 1.0
				for k := range x {
					prob *= at * float64(n-k) / float64(k+1)
				}
				for range n - x {
					prob *= 1 - at
				}
				if prob > 1e-6 { // u in the middle of the step, far from rounding errors
					if got := b.quantile(sum + prob/2); got != int32(x) {
						t.Errorf("n %d, p %v: %d at %v, want %d", n, p, got, sum+prob/2, x)
					}
				}
				sum += prob
			}
			if got := b.quantile(math.Nextafter(1, 0)); got < 0 || int(got) > n {
				t.Errorf("n %d, p %v: %d heads", n, p, got)
			}
		}
	}
	// With many coins, only the tails beyond nine standard deviations are omitted.
	const n, p = 100_000, 0.25
	many := newBinomial(n, p)
	sd := math.Sqrt(n * p * (1 - p))
	if low, high := float64(many.low), float64(int(many.low)+len(many.cdf)-1); low < n*p-9*sd-10 || low > n*p-8*sd ||
		high < n*p+8*sd || high > n*p+9*sd+10 {
		t.Errorf("heads from %v to %v", low, high)
	}
	if last := many.cdf[len(many.cdf)-1]; !(math.Abs(last-1) <= 1e-9) || !slices.IsSorted(many.cdf) {
		t.Errorf("probabilities sum to %v", last)
	}
}

// The centre of a column is the median of its values, by sorting. With many values it is the median
// of every second, fourth, … value, starting with the first. Values that take no part are ignored.
func TestMiddle(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 15))
	for _, n := range []int{0, 1, 2, 3, 125, 126, 127, 250, 251, 252, 253, 1000, 5000} {
		w := &displacing{}
		var x, all []float64
		for len(all) < n {
			v, here := r.NormFloat64(), r.IntN(4) > 0
			if x, w.here = append(x, v), append(w.here, here); here {
				all = append(all, v)
			}
		}
		every := 1
		for n > 125*every {
			every *= 2
		}
		var some []float64
		for i := 0; i < n; i += every {
			some = append(some, all[i])
		}
		want := 0.0
		if slices.Sort(some); n > 0 {
			want = some[len(some)/2]
		}
		if got := w.middle(x); got != want {
			t.Errorf("of %d values: %v, want %v", n, got, want)
		}
	}
}

// The probability of an exchange with a given record is the mean over the batches, the same from either side.
func TestBetween(t *testing.T) {
	of := (&Pairer{Rate: 0.7, Dataset: true}).Of([]int32{12, 1, 5, 1, 3})
	if len(of.Rates) != batches {
		t.Fatalf("%d batches", len(of.Rates))
	}
	for i, a := range of.Sizes {
		for j, b := range of.Sizes {
			sum := 0.0
			for _, rates := range of.Rates {
				sum += rates[i*len(of.Sizes)+j] / batches
			}
			if got := of.Between(a, b); math.Abs(got-sum) > 1e-15 || math.Abs(of.Between(b, a)-got) > 1e-15 {
				t.Errorf("sizes %d and %d: %v, want %v", a, b, got, sum)
			}
		}
	}
}
