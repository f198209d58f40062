package expectation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/tally"
)

// shared returns values that several records have, in ascending order.
func shared(seed uint64, values, most int) (x []float64) {
	rng := rand.New(rand.NewPCG(seed, 4))
	for range values {
		v := math.Exp(rng.NormFloat64())
		for range 1 + rng.IntN(most) {
			x = append(x, v)
		}
	}
	slices.Sort(x)
	return x
}

// P(y_(k) ≤ t) is the probability that at least k records are below t, computed here by adding one draw after another
// with all records that share it; the widest lumps are of the given size, and the rest of a value's records share a
// draw.
func TestAtMostCountsDraws(t *testing.T) {
	law := slanted{0, 0.4}
	for _, size := range []int{2, 3, math.MaxInt} {
		for _, values := range []int{1, 2, 30, 1500} {
			x := shared(uint64(values), values, 8)
			n := len(x)
			e := expected(x, law)
			for _, k := range []int{1, 2, n / 3, n - 1, n} {
				if k < 1 {
					continue
				}
				w := e.window(k, size)
				for _, at := range []float64{0.02, 0.3, 0.5, 0.7, 0.98} {
					limit := w.from + at*(w.to-w.from)
					counts := make([]float64, n+1)
					counts[0] = 1
					for i := 0; i < n; {
						m := 1
						for i+m < n && m < size && x[i+m] == x[i] {
							m++
						}
						p := law.Below(x[i], limit)
						for j := n; j >= 0; j-- {
							counts[j] *= 1 - p
							if j >= m {
								counts[j] += counts[j-m] * p
							}
						}
						i += m
					}
					want := 0.0
					for _, c := range counts[k:] {
						want += c
					}
					got, _ := w.atMost(limit)
					// As without lumps, clusters are within a twentieth of the SD, and the normal approximation is used from a
					// variance of 60 squares of the widest lump on: a sixth of a lump's share of the SD, 1/√60/6 = 0.02, and the same
					// for clusters.
					if !(math.Abs(got-want) <= 0.04) {
						t.Errorf("size %d, %d values, k %d at %v: %v, want %v", size, values, k, at, got, want)
					}
					w.refine(e, w.from, w.to)
					// With finer clusters only the approximation is left.
					if got, _ = w.atMost(limit); !(math.Abs(got-want) <= 0.02) || values <= 30 && !(math.Abs(got-want) <= 0.002) {
						t.Errorf("size %d, %d values, k %d at %v, refined: %v, want %v", size, values, k, at, got, want)
					}
				}
			}
		}
	}
}

// Lumps hold all records of a value, the rest in one of its own size; a part of a record is a part of a lump.
func TestLumps(t *testing.T) {
	var l lumps
	l.add(0, 7, 3)
	l.add(1, 2.5, 3)
	l.add(1, 6, 3)
	l.add(2, 3, math.MaxInt)
	if want := (lumps{{{3, 2}, {1, 1}}, {{3, 2 + 2.5/3}}, {{3, 1}}}); !slices.EqualFunc(l, want, slices.Equal) {
		t.Errorf("got %v, want %v", l, want)
	}
	var none lumps
	if none.add(0, 5, 1); none != nil {
		t.Errorf("records of their own are in lumps %v", none)
	}
}

// The expectation by position is the least over the numbers of records that may share a draw, and says so where these
// differ.
func TestLeastOverLumps(t *testing.T) {
	x := shared(7, 40, 8)
	law := slanted{0, 0.4}
	alone, e := expected(x, law), expected(x, law)
	e.Shared = true
	for _, k := range []int{1, 9, len(x) / 2, len(x)} {
		q := e.Seek(k, new(tally.Tally), x)
		least, most := math.Inf(1), 0.0
		for _, size := range append([]int{1}, sizes...) {
			square, _, _ := alone.byPosition(q, size)
			least, most = min(least, square), max(most, square)
		}
		own, _, safe := alone.ByPosition(q)
		if square, _, bound := e.ByPosition(q); math.Abs(square-least) > 1e-9*least || bound != (most-least > 0.01*most) ||
			safe || own < square {
			t.Errorf("k %d: %v, a bound: %v, want %v of at most %v; alone %v", k, square, bound, least, most, own)
		}
	}
}
