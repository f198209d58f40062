package transform

import (
	"math"
	"slices"
	"testing"
)

// Places are ordered by scope, then stream, then row, and only identical places are equal.
func TestPlacesAreInOrder(t *testing.T) {
	var places []place
	for _, scope := range []string{"", "a", "b"} {
		for _, stream := range []int{0, 1, 7} {
			for _, row := range []int64{0, 3, 1 << 40} {
				places = append(places, place{scope, stream, row})
			}
		}
	}
	for i, p := range places {
		for j, q := range places {
			if got, want := p.compare(q), min(1, max(-1, i-j)); got != want {
				t.Errorf("comparison of %v with %v: %d, want %d", p, q, got, want)
			}
			// Kept records are ordered by their drawn number, then by place.
			for _, order := range []uint64{0, 1, math.MaxUint64} {
				s := sources{list: []place{{q.scope, q.stream, 0}, {p.scope, p.stream, 0}}}
				got := s.compare(swapRecord{order: order, row: p.row, source: 1}, swapRecord{order: 1, row: q.row})
				want := min(1, max(-1, i-j))
				switch order {
				case 0:
					want = -1
				case math.MaxUint64:
					want = 1
				}
				if got != want {
					t.Errorf("comparison of kept %v with %d and %v with 1: %d, want %d", p, order, q, got, want)
				}
			}
			run := recordRun{scope: p.scope, stream: p.stream, first: p.row}
			if got, want := run.compare(q.scope, q.stream, q.row), min(1, max(-1, i-j)); got != want {
				t.Errorf("comparison of a run at %v with %v: %d, want %d", p, q, got, want)
			}
		}
	}
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
	if low, high := float64(many.low), float64(int(many.low)+len(many.cdf)-1); low < n*p-9*sd-10 || low > n*p-8*sd || high < n*p+8*sd || high > n*p+9*sd+10 {
		t.Errorf("heads from %v to %v", low, high)
	}
	if last := many.cdf[len(many.cdf)-1]; !(math.Abs(last-1) <= 1e-9) || !slices.IsSorted(many.cdf) {
		t.Errorf("probabilities sum to %v", last)
	}
}
