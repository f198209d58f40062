package assess

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// For any distribution: at most 35 bins, no non-empty bin with fewer than 10 values on a side,
// every value in a bin, and no edge equal to a value.
func TestHistogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for name, draw := range map[string]func() float64{
		"normal":    rng.NormFloat64,
		"far":       func() float64 { return 1e9 + rng.NormFloat64() },
		"tiny":      func() float64 { return 1e-12 * rng.Float64() },
		"incomes":   func() float64 { return math.Round(100*math.Exp(6+rng.NormFloat64())) / 100 },
		"heavy":     func() float64 { return math.Exp(5 * rng.NormFloat64()) },
		"thousands": func() float64 { return 1000 * float64(rng.IntN(60)) },
		"classes":   func() float64 { return float64(rng.IntN(3)) },
		"constant":  func() float64 { return 7 },
		"zeros":     func() float64 { return max(0, rng.NormFloat64()) },
		"negative":  func() float64 { return -math.Exp(3 * rng.NormFloat64()) },
		"on edges": func() float64 { // some values are multiples of the width of a bin
			if v := rng.NormFloat64(); rng.IntN(4) > 0 {
				return v
			}
			return float64(rng.IntN(3))
		},
	} {
		for _, n := range []int{10, 35, 177, 5000} {
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i] = draw()
				y[i] = x[i] + 0.1*rng.NormFloat64()*math.Abs(x[i])
			}
			what := fmt.Sprint(name, " ", n)
			h := histogram(x, y)
			if h == nil {
				t.Errorf("%s: no histogram", what)
				continue
			}
			if name == "on edges" && n == 5000 && len(h.Original) < 8 {
				t.Errorf("%s: %d bins, want 8 at least", what, len(h.Original))
			}
			if len(h.Original) > 35 || len(h.Edges) != len(h.Original)+1 || len(h.Released) != len(h.Original) {
				t.Errorf("%s: %d bins, %d edges", what, len(h.Original), len(h.Edges))
			}
			sumX, sumY := 0, 0
			for i := range h.Original {
				for _, k := range []int{h.Original[i], h.Released[i]} {
					if k != 0 && k < leastInBin {
						t.Errorf("%s: bin %d holds %d", what, i, k)
					}
				}
				if h.Edges[i+1] <= h.Edges[i] {
					t.Errorf("%s: edges %v, %v", what, h.Edges[i], h.Edges[i+1])
				}
				sumX, sumY = sumX+h.Original[i], sumY+h.Released[i]
				if want := inBin(x, h, i); want != h.Original[i] {
					t.Errorf("%s: bin %d holds %d, counted %d", what, i, want, h.Original[i])
				}
			}
			if sumX != n || sumY != n {
				t.Errorf("%s: %d and %d of %d values", what, sumX, sumY, n)
			}
			for _, e := range h.Edges {
				for _, v := range x {
					if float64(e) == v {
						t.Errorf("%s: an edge is a value", what)
					}
				}
			}
		}
	}
	if histogram(make([]float64, 9), make([]float64, 20)) != nil {
		t.Error("nine respondents must not be shown")
	}
}

func inBin(x []float64, h *Histogram, i int) (k int) {
	for _, v := range x {
		if v >= float64(h.Edges[i]) && v < float64(h.Edges[i+1]) {
			k++
		}
	}
	return k
}

// A released value equal to the first edge is in the first bin, and needs no bin before it.
func TestHistogramFromItsFirstEdge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	x, y := make([]float64, 300), make([]float64, 300)
	for i := range x {
		x[i] = 0.5 + 29*rng.Float64()
		y[i] = x[i]
	}
	h := histogram(x, y)
	y[7] = float64(h.Edges[0])
	again := histogram(x, y)
	if again.Edges[0] != h.Edges[0] || len(again.Edges) != len(h.Edges) {
		t.Errorf("edges %v, were %v", again.Edges, h.Edges)
	}
	y[7] = math.Nextafter(y[7], -1)
	if below := histogram(x, y); below.Edges[0] >= h.Edges[0] {
		t.Errorf("a value below the first edge: edges %v", below.Edges)
	}
}

// A nice width exceeds the required one, also near powers of ten, and the next smaller nice width
// does not.
func TestNiceAbove(t *testing.T) {
	for k := -300; k <= 300; k++ {
		for m, next := range map[float64]float64{1: 2, 2: 5, 5: 10} {
			p := math.Pow(10, float64(k))
			v := m * p
			// Above 10²² two ways to compute a power of ten differ in the last digits: v is then
			// only close to a nice width.
			exact := k >= 0 && k <= 22
			for at, want := range map[float64]float64{v * (1 - 1e-12): v, v: next * p, v * (1 + 1e-12): next * p} {
				if got := niceAbove(at); !(got > at) || (exact || at != v) && !(math.Abs(got-want) <= 1e-14*want) {
					t.Errorf("above %v: %v, want %v", at, got, want)
				}
			}
		}
	}
}

// A value is counted in the bin that begins with it, one at the last edge in the last bin, and one
// far from all inner edges in the bin at that end.
func TestCountsInBins(t *testing.T) {
	edges := []float64{-50, 0, 1, 2, 90}
	for _, c := range []struct {
		x     float64
		bin   int
		clash bool
	}{{-50, 0, true}, {-49, 0, false}, {-0.5, 0, false}, {0, 1, true}, {0.5, 1, false}, {1, 2, true}, {1.5, 2, false},
		{2, 3, true}, {80, 3, false}, {90, 3, false}} {
		counts, clash := countIn([]float64{c.x}, edges, 0, 1)
		for i, n := range counts {
			if want := map[bool]int{true: 1}[i == c.bin]; n != want || clash != c.clash {
				t.Errorf("%v: %v, clash %v, want it in bin %d, clash %v", c.x, counts, clash, c.bin, c.clash)
				break
			}
		}
	}
}
