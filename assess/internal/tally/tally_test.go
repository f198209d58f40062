package tally

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Order statistics of a tally differ from those of the data by at most the width of a bin, for
// every shape: both signs, heaps, decimals, far from 0 and near 0.
func TestTallyOrderStatistics(t *testing.T) {
	const n, sampled = 200_000, 10_000
	rng := rand.New(rand.NewPCG(3, 1))
	for name, draw := range map[string]func() float64{
		"normal":    func() float64 { return 100 + 15*rng.NormFloat64() },
		"two signs": func() float64 { return rng.NormFloat64() },
		"incomes":   func() float64 { return math.Round(50000*math.Exp(0.8*rng.NormFloat64())) / 100 },
		"clipped":   func() float64 { return max(0, rng.NormFloat64()) },
		"counts":    func() float64 { return float64(rng.IntN(7) - 3) },
		"tiny":      func() float64 { return 1e-300 * rng.NormFloat64() },
		"heavy":     func() float64 { return math.Pow(1-rng.Float64(), -1/1.2) },
	} {
		t.Run(name, func(t *testing.T) {
			var whole, left, right Tally
			x := make([]float64, n)
			for i := range x {
				x[i] = draw()
			}
			whole.add(x, 1)
			left.add(x[:777], 1)
			right.add(x[777:], 1)
			right.merge(&left)
			sample := x[:sampled]
			sorted := slices.Clone(x)
			slices.Sort(sorted)
			for _, k := range []int{1, 2000, 20_000, 100_000, 180_000, 198_000, n} {
				got, ok := whole.OrderStatistic(k, sample)
				again, okToo := right.OrderStatistic(k, sample)
				want := sorted[k-1]
				if ok != okToo || ok && got != again {
					t.Fatalf("k = %d: %v in one, %v merged", k, got, again)
				}
				if !ok && k > 1 && k < n {
					t.Errorf("k = %d has no result", k)
				}
				if ok && math.Abs(got-want) > math.Abs(want)/2048 {
					t.Errorf("k = %d: got %v, want %v within 1/2048 of it", k, got, want)
				}
			}
		})
	}
}

// If one bin contains most of the data, the tally reports that it does not know.
func TestTallyKnowsItsLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	x := make([]float64, 10_000)
	for i := range x {
		x[i] = 1.7e9 + rng.NormFloat64()
	}
	var a Tally
	a.add(x, 1)
	if v, ok := a.OrderStatistic(5000, x[:1000]); ok {
		t.Errorf("got %v from one bin", v)
	}
	if v, width, count, known := a.Located(5000, x[:1000], 0); !math.IsNaN(v) || width != 0 || count != 0 || known {
		t.Errorf("in one bin: %v, width %v, %v records, known %v", v, width, count, known)
	}
	for _, k := range []int{0, 10_001} {
		if v, ok := a.OrderStatistic(k, x); ok || !math.IsNaN(v) {
			t.Errorf("k = %d: got %v", k, v)
		}
	}
	if v, ok := new(Tally).OrderStatistic(1, nil); ok {
		t.Errorf("got %v from nothing", v)
	}
}

// addAll counts values that are both the original and the released ones of a block, and keeps their ends.
func addAll(c *Counts, b *microdata.Block, x []float64) {
	c.Add(b, microdata.Vector{Values: x}, microdata.Vector{Values: x}, nil)
	c.AddEnds(x)
	c.BoundEnds()
}

// Released values after the first million rows are counted in chunks with weight eight, in whatever
// blocks they arrive. The weights sum to the number of rows, up to sampling error.
func TestTallyOfLongStreams(t *testing.T) {
	const n = 4_000_000 // rows in the part that is counted in chunks
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	fresh := func() *Counts { return NewCounts(1) }
	whole, parts := fresh(), fresh()
	const first = counted - 1000
	addAll(whole, &microdata.Block{N: n, First: first}, x)
	for from := 0; from < n; {
		to := min(n, from+1+from%3001)
		addAll(parts, &microdata.Block{N: to - from, First: first + int64(from)}, x[from:to])
		from = to
	}
	if *whole.X.pages[1023+21] != *parts.X.pages[1023+21] || *whole.Y.pages[1023+21] != *parts.Y.pages[1023+21] ||
		whole.Y.N != parts.Y.N || whole.X.N != n {
		t.Error("the count depends on how the records are cut")
	}
	// Of n/512 = 7813 chunks one in eight counts, with weight eight. The relative standard error is
	// √(7/7813) = 3 % in total, and twice that below any quarter.
	if r := float64(whole.Y.N) / n; !(math.Abs(r-1) <= 5*0.03) {
		t.Errorf("weights come to %v of the records", r)
	}
	if got, ok := whole.Y.OrderStatistic(int(whole.Y.N/4), x[:1000]); !ok || !(math.Abs(got/(n/4)-1) <= 5*0.06) {
		t.Errorf("first quartile: got %v of %v", got, n/4)
	}
	if whole.Y.Seen >= whole.Y.N/7 {
		t.Errorf("counted %d of %d", whole.Y.Seen, n)
	}
}

// The weight of a record depends on its place, whatever gaps are before it.
func TestTallyWithGaps(t *testing.T) {
	const n = 40_000
	x, places := make([]float64, n), make([]int64, n)
	for i := range x {
		x[i] = float64(i % 700)
		places[i] = counted - 5000 + int64(i) + int64(i/9)*3
	}
	fresh := func() *Counts { return NewCounts(1) }
	whole, single := fresh(), fresh()
	addAll(whole, &microdata.Block{N: n, First: places[0], Places: places}, x)
	for i, place := range places {
		addAll(single, &microdata.Block{N: 1, First: place}, x[i:i+1])
	}
	if whole.Y.N != single.Y.N || whole.Y.Seen != single.Y.Seen || whole.Y.Seen == n || whole.X.N != n || single.X.N != n {
		t.Errorf("%d counted for %d, one by one %d for %d", whole.Y.Seen, whole.Y.N, single.Y.Seen, single.Y.N)
	}
	for p, page := range single.Y.pages {
		if page != nil && *page != *whole.Y.pages[p] {
			t.Errorf("page %d differs", p)
		}
	}
}

func BenchmarkTally(b *testing.B) {
	x := make([]float64, cell.Run)
	for i := range x {
		x[i] = 100 + 15*rand.NormFloat64()
	}
	var a Tally
	for b.Loop() {
		a.add(x, 1)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*cell.Run), "ns/value")
	if fmt.Sprint(a.N) == "0" {
		b.Fatal("nothing counted")
	}
}

// Bins are in the order of their values, contain the values that they count, and have ascending
// ends, on either side of 0.
func TestBinsHoldTheirValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 2))
	var x []float64
	for range 3000 {
		x = append(x, math.Ldexp(rng.NormFloat64(), rng.IntN(7)-3))
	}
	x = append(x, 0, math.Copysign(0, -1), 1, -1, 2, -2, math.MaxFloat64, -math.MaxFloat64)
	var tally Tally
	tally.add(x, 1)
	slices.Sort(x)
	at, last := 0, math.Inf(-1)
	tally.Each(func(b Bin) bool {
		if !(b.lo < b.hi) || b.lo < last {
			t.Fatalf("a bin from %v to %v after %v", b.lo, b.hi, last)
		}
		last = b.hi
		for range b.Count {
			v := x[at]
			if at++; v < b.lo || v > b.hi || math.Abs(v) == max(math.Abs(b.lo), math.Abs(b.hi)) {
				t.Fatalf("%v in a bin from %v to %v", v, b.lo, b.hi)
			}
		}
		return true
	})
	if at != len(x) {
		t.Errorf("%d of %d values are in bins", at, len(x))
	}
	n := 0
	tally.Each(func(Bin) bool { n++; return n < 5 })
	if n != 5 {
		t.Errorf("Each continued for %d bins after the fifth, where the function returned false", n-5)
	}
}

// All released values have weight one up to a million places. After that the values of one chunk in
// eight have weight eight, and the others weight zero, so that the sum is right.
func TestWeightsOfPlaces(t *testing.T) {
	const counted, rare = 1 << 20, 8
	for _, row := range []int64{0, 1, chunk, counted - chunk, counted - 1} {
		if w := weight(row); w != 1 {
			t.Errorf("place %d counts %d times", row, w)
		}
	}
	const n = 8000
	some := 0
	for k := range int64(n) {
		first := counted + k*chunk
		w := weight(first)
		for _, at := range []int64{1, chunk / 2, chunk - 1} {
			if weight(first+at) != w {
				t.Fatalf("chunk %d counts in parts", k)
			}
		}
		switch w {
		case rare:
			some++
		case 0:
		default:
			t.Fatalf("place %d counts %d times", first, w)
		}
	}
	// Binomial with probability 1/8: SD √(8000·7/64) = 29.6; 5 of them.
	if !(math.Abs(float64(some)-n/8) <= 148) {
		t.Errorf("%d of %d chunks count", some, n)
	}
}

// The values that are marked are those of the marks from any place of a run on, and no others.
func TestMarkedByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261125, 6))
	for range 500 {
		var marks cell.Bits
		for w := range marks {
			marks[w] = rng.Uint64() | rng.Uint64()
		}
		at := rng.IntN(cell.Run)
		values := make([]float64, rng.IntN(cell.Run-at+1))
		var want []float64
		for i := range values {
			values[i] = rng.Float64()
			if marks[(at+i)/64]>>((at+i)%64)&1 == 1 {
				want = append(want, values[i])
			}
		}
		var dst [cell.Run]float64
		if got := marked(&dst, values, &marks, at); !slices.Equal(got, want) {
			t.Fatalf("%d values from %d on: %v, want %v", len(values), at, got, want)
		}
	}
}
