package tally

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// countsOf counts values and keeps the given number at either end.
func countsOf(x []float64, keep int) *Counts {
	c := NewCounts(1)
	c.least.keep, c.most.keep = keep, keep
	addAll(c, &microdata.Block{N: len(x)}, x)
	return c
}

// A spectrum represents every record once: its atoms ascend by strata, their weights sum to the
// number of records, and the ends are single values. A sum over the atoms equals that over the
// records, up to the variation of the function within a bin.
func TestSpectrumStandsForAllRecords(t *testing.T) {
	const n = 20_000
	for name, draw := range map[string]func(rng *rand.Rand) float64{
		"incomes":   func(rng *rand.Rand) float64 { return math.Round(100*math.Exp(7+rng.NormFloat64())) / 100 },
		"two signs": func(rng *rand.Rand) float64 { return rng.NormFloat64() },
		"heaps":     func(rng *rand.Rand) float64 { return 10 * float64(rng.IntN(40)) },
	} {
		for _, keep := range []int{1, 50, 9_999, 10_000, 12_000} {
			for _, sampled := range []int{0, 1, 500} {
				rng := rand.New(rand.NewPCG(uint64(keep), uint64(sampled)))
				x := make([]float64, n)
				for i := range x {
					x[i] = draw(rng)
				}
				s := countsOf(x, keep).Spectrum(x[:sampled], map[string]float64{"incomes": 0.01, "heaps": 10}[name])
				slices.Sort(x)
				var total, sum, want float64
				for i, v := range s.X {
					total += s.N[i]
					sum += s.N[i] * v
					// The middle of a bin represents values that were not sampled, and the last
					// value of an end may be in the same bin.
					if i > 0 && v < s.X[i-1]-math.Abs(s.X[i-1])/1024 {
						t.Fatalf("%s, keep %d: atom %d, %v, lies below the one before, %v", name, keep, i, v, s.X[i-1])
					}
				}
				for _, v := range x {
					want += v
				}
				if total != n || s.Total != n {
					t.Errorf("%s, keep %d, of %d: %v records, and it counts %v", name, keep, sampled, total, s.Total)
				}
				all := 2*keep >= n
				if s.Sampled() == all {
					t.Errorf("%s, keep %d: sampled is %v", name, keep, s.Sampled())
				}
				// The width of a bin is 2⁻¹¹ of its values. A stratum with few samples may cover
				// several bins.
				spread := math.Abs(x[n-1]) + math.Abs(x[0])
				if all && math.Abs(sum-want) > 1e-9*math.Abs(want) || sampled == 500 && math.Abs(sum-want) > 0.02*spread*n {
					t.Errorf("%s, keep %d, of %d: a sum of %v, want %v", name, keep, sampled, sum, want)
				}
				// The values at the ends are known exactly.
				for _, k := range []int{1, 2, keep, n - keep + 1, n} {
					if k < 1 || k > n || min(k, n-k+1) > keep {
						continue
					}
					tau, at, exact := s.OrderStatistic(k)
					if !exact || tau != x[k-1] || s.X[at] != tau {
						t.Errorf("%s, keep %d: number %d is %v, exact %v, want %v", name, keep, k, tau, exact, x[k-1])
					}
				}
			}
		}
	}
	s := ExactSpectrum([]float64{1, 1, 1, 2, 5, 5})
	if !slices.Equal(s.X, []float64{1, 2, 5}) || !slices.Equal(s.N, []float64{3, 1, 2}) || s.Total != 6 || s.Sampled() {
		t.Errorf("%+v", s)
	}
	for k, want := range map[int]float64{1: 1, 3: 1, 4: 2, 5: 5, 6: 5} {
		if tau, _, exact := s.OrderStatistic(k); tau != want || !exact {
			t.Errorf("number %d is %v", k, tau)
		}
	}
	if tau, at, exact := s.OrderStatistic(7); tau == tau || at != -1 || exact {
		t.Errorf("beyond the last: %v, %d, %v", tau, at, exact)
	}
}

// The records of a stratum are divided as evenly as integers allow. The variance of a sum is that
// of a stratified sample drawn without replacement.
func TestStrataAreSharedOut(t *testing.T) {
	s := new(Spectrum)
	s.exact(0)
	s.close(&stratum{count: 10, values: []float64{1, 2, 3}}, 0)
	s.close(&stratum{count: 7, values: []float64{4}}, 0)
	s.close(&stratum{count: 3, middle: 6.126}, 0.01)
	s.close(&stratum{count: 2, middle: 7.126}, 0)
	s.close(&stratum{count: 4, values: []float64{8, 9}}, 0)
	s.exact(10)
	if !slices.Equal(s.X, []float64{0, 1, 2, 3, 4, 6.13, 7.126, 8, 9, 10}) ||
		!slices.Equal(s.N, []float64{1, 3, 3, 4, 7, 3, 2, 2, 2, 1}) {
		t.Errorf("%v, %v", s.X, s.N)
	}
	if !slices.Equal(s.stratum, []int32{-1, 0, 0, 0, 1, 2, 3, 4, 4, -1}) || s.strata != 5 || s.Total != 28 {
		t.Errorf("%v, %d strata, %v records", s.stratum, s.strata, s.Total)
	}
	f := func(i int) float64 { return s.X[i] * s.X[i] }
	// For m of N values with variance s²: N(N−m)s²/m.
	spread := func(v ...float64) (square float64) {
		mean := 0.0
		for _, x := range v {
			mean += x / float64(len(v))
		}
		for _, x := range v {
			square += (x - mean) * (x - mean) / float64(len(v)-1)
		}
		return square
	}
	want := 10*7*spread(1, 4, 9)/3 + 4*2*spread(64, 81)/2
	if got := s.SampleVariance(f); !(math.Abs(got-want) <= 1e-9*want) {
		t.Errorf("variance %v, want %v", got, want)
	}
}

// A tail keeps the most extreme values, in whatever order they arrive.
func TestTailsKeepTheFurthest(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, sign := range []float64{-1, 1} {
		for k, keep := range []int{1, 1, 2, 2, 5, 5, 30, 30} {
			masked, most := 1, 2*keep
			if k%2 == 1 {
				masked, most = wide+1, keep+max(1, keep/2)
			}
			for _, n := range []int{0, 1, 4, 5, 6, 9, 10, 11, 500} {
				x := make([]float64, n)
				for i := range x {
					x[i] = float64(rng.IntN(60))
				}
				whole, left, right := newTail(sign, masked), newTail(sign, masked), newTail(sign, masked)
				whole.keep, left.keep, right.keep = keep, keep, keep
				for i, v := range x {
					whole.add(x[i : i+1])
					if i%3 == 0 {
						left.add([]float64{v})
					} else {
						right.add([]float64{v})
					}
					if len(whole.values) >= most {
						t.Fatalf("keep %d: %d values are kept", keep, len(whole.values))
					}
				}
				want := slices.Sorted(slices.Values(x))
				if sign > 0 {
					want = want[max(0, n-keep):]
				} else {
					want = want[:min(n, keep)]
				}
				left.merge(&right)
				if got, merged := whole.sorted(), left.sorted(); !slices.Equal(got, want) || !slices.Equal(merged, want) {
					t.Errorf("sign %v, keep %d of %d: %v, merged %v, want %v", sign, keep, n, got, merged, want)
				}
				// An inheriting tail accepts only values that would change the other one.
				heir := newTail(sign, 1)
				heir.keep = keep
				heir.inherit(&whole)
				heir.add(x)
				if n >= keep {
					for _, v := range heir.values {
						if sign*(v-whole.bound) <= 0 {
							t.Errorf("sign %v, keep %d: %v was added, but it is not beyond the bound", sign, keep, v)
						}
					}
				}
				whole.reset()
				whole.add(x)
				if again := whole.sorted(); !slices.Equal(again, want) {
					t.Errorf("sign %v, keep %d of %d, emptied: %v", sign, keep, n, again)
				}
			}
		}
	}
	for masked, want := range map[int]int{0: 10_000, 1: 10_000, 209: 10_000, 210: 9_986, 300: 6_990, 100_000: 100} {
		if got := newTail(1, masked).keep; got != want {
			t.Errorf("%d masked columns: %d values are kept, want %d", masked, got, want)
		}
	}
}

// Within a bin, ranks increase evenly: over the multiples of the unit if there is one, on either
// side of 0.
func TestEvenWithinABin(t *testing.T) {
	for _, c := range []struct {
		lo, hi, at, unit, want float64
		single                 bool
	}{
		{10, 20, 0.25, 0, 12.5, false},
		{10, 20, 0.01, 1, 10, false}, {10, 20, 0.99, 1, 19, false}, {10, 20, 0.55, 1, 15, false},
		{-20, -10, 0.01, 1, -19, false}, {-20, -10, 0.99, 1, -10, false}, {-20, -10, 0.55, 1, -14, false},
		{10.2, 11.1, 0.5, 1, 11, true}, {-11.1, -10.2, 0.5, 1, -11, true}, {10.2, 10.9, 0.5, 1, 10.55, false},
		{10, 10.9, 0.9, 1, 10, true}, {9.2, 10, 0.5, 1, 9.6, false},
		{10, 20, 0.5, 100, 15, false}, // a unit coarser than the value is ignored
		{-10, -9.2, 0.5, 1, -9.6, false}, {-10.8, -10, 0.5, 1, -10, true},
	} {
		b := Bin{lo: c.lo, hi: c.hi}
		if v, single := b.even(c.at, c.unit); !(math.Abs(v-c.want) <= 1e-12) || single != c.single {
			t.Errorf("%+v: %v, single %v", c, v, single)
		}
	}
}

// What a sample shows about a bin: values that repeat, and a heap at the given share.
func TestShownByASample(t *testing.T) {
	for _, c := range []struct {
		within       []float64
		at           float64
		v            float64
		repeat, heap bool
	}{
		{nil, 0.5, 0, false, false},
		{[]float64{3}, 0.5, 3, false, false}, {[]float64{3, 3}, 0.5, 3, true, false},
		{[]float64{3, 3, 3}, 0.5, 3, true, true},
		{[]float64{1, 2}, 0.4, 1, false, false}, {[]float64{1, 2}, 0.5, 2, false, false},
		{[]float64{1, 2}, 0.999, 2, false, false},
		{[]float64{1, 1, 2, 3}, 0.1, 1, false, false}, {[]float64{1, 1, 2, 2}, 0.9, 2, true, false},
		{[]float64{1, 1, 1, 2}, 0.3, 1, true, true}, {[]float64{1, 1, 1, 2, 2, 2}, 0.3, 1, true, false},
		{[]float64{1, 1, 1, 2}, 0.9, 2, true, false}, {[]float64{1, 1, 2, 3, 4}, 0.1, 1, false, false},
	} {
		if v, repeat, heap := shown(c.within, c.at); v != c.v || repeat != c.repeat || heap != c.heap {
			t.Errorf("%v at %v: %v, repeat %v, heap %v", c.within, c.at, v, repeat, heap)
		}
	}
}

// The location of an order statistic, with the width of its bin: in a heap it is the heap's value,
// and if the bin contains only one multiple of the unit, the width is 0.
func TestLocated(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	x := make([]float64, 40_000)
	for i := range x {
		switch {
		case i%4 == 0:
			x[i] = 500
		case i%4 == 1:
			x[i] = math.Round(400 + 200*rng.Float64())
		default:
			x[i] = 1000 + 1000*rng.Float64()
		}
	}
	sample := slices.Clone(x[:4000])
	var a Tally
	a.add(x, 1)
	slices.Sort(x)
	for _, k := range []int{2500, 9000, 14_000, 19_000, 25_000, 30_000, 39_000} {
		for _, unit := range []float64{0, 1} {
			v, width, count, known := a.Located(k, sample, unit)
			want := x[k-1]
			bin := math.Ldexp(1, int(math.Floor(math.Log2(want)))-11)
			heap := want == 500
			if !known || !(math.Abs(v-want) <= bin) || heap && (v != 500 || width != 0) || !heap && unit == 0 &&
				math.Abs(width-bin) > 1e-12 && width != 0 {
				t.Errorf("number %d, unit %v: %v ± %v, known %v, want %v", k, unit, v, width, known, want)
			}
			if want < 1000 && unit == 1 && (width != 0 || v != want) { // bins of a quarter
				t.Errorf("number %d: one multiple lies in its bin: %v ± %v, want %v", k, v, width, want)
			}
			in := 0.0
			for _, o := range x {
				if BinCode(o) == BinCode(want) {
					in++
				}
			}
			if count != in {
				t.Errorf("number %d: %v in its bin, want %v", k, count, in)
			}
		}
	}
	for _, k := range []int{0, 40_001} {
		if v, width, count, known := a.Located(k, sample, 0); known || v == v || width != 0 || count != 0 {
			t.Errorf("number %d of 40,000: %v, width %v, %v records", k, v, width, count)
		}
	}
	if _, _, _, known := a.Located(9000, x, 0); known {
		t.Error("the tally's order statistic must not be used with a sample of all records")
	}
	if _, _, _, known := a.Located(9000, x[1:], 0); !known {
		t.Error("the tally's order statistic must be used with a sample of all records but one")
	}
}

// A width of 0 says that the value is that of the data. Values of a continuous distribution do not
// repeat: only a bin of which the sample has all values shows one of them exactly.
func TestExactlyLocated(t *testing.T) {
	const n = 30_000
	g := rand.New(rand.NewPCG(10, 9))
	for name, c := range map[string]struct {
		unit   float64
		sample int
		atMost float64 // share of the values of width 0 that are other values
	}{
		"continuous, small sample": {0, 500, 0}, "continuous, large sample": {0, 10_000, 0},
		"continuous, all but one": {0, n - 1, 0},
		"multiples, small sample": {1, 500, 0.1}, "multiples, large sample": {1, 10_000, 0.1},
		"multiples, all but one": {1, n - 1, 0.1},
	} {
		exact, wrong := 0.0, 0.0
		for range 10 {
			x := make([]float64, n)
			for i := range x {
				x[i] = 15_000 * math.Exp(0.8*g.NormFloat64())
				if c.unit > 0 {
					x[i] = math.Round(x[i]/c.unit) * c.unit
				}
			}
			sample := slices.Clone(x[:c.sample])
			var a Tally
			a.add(x, 1)
			slices.Sort(x)
			for _, k := range []int{n / 200, n / 100, n / 10, n / 2, n - n/10, n - n/100, n - n/200} {
				v, width, _, known := a.Located(k, sample, c.unit)
				switch {
				case !known:
					t.Errorf("%s: number %d is not known", name, k)
				case width == 0:
					exact++
					if v != x[k-1] {
						wrong++
					}
				case math.Abs(v-x[k-1]) > width:
					t.Errorf("%s: number %d is %v ± %v, want %v", name, k, v, width, x[k-1])
				}
			}
		}
		// Small bins are complete in a large sample, and some have one multiple alone.
		if least := 1.0; c.sample > 500 && exact < least || wrong > c.atMost*exact {
			t.Errorf("%s: %v values are said to be exact, of which %v are not those of the data", name, exact, wrong)
		}
	}
	// If one value was counted for eight records, a sample with eight values of its bin need not have
	// the bin's other values.
	var a Tally
	a.add([]float64{1.1}, 8)
	sample := make([]float64, 8)
	for i := range sample {
		sample[i] = 1.1 + 1e-9*float64(i)
	}
	for i := range 2000 {
		a.add([]float64{10 + float64(i)}, 1)
	}
	if v, width, count, known := a.Located(3, sample, 0); !known || width == 0 || count != 8 {
		t.Errorf("in a bin of weighted counts the value is %v ± %v, of %v records, known %v", v, width, count, known)
	}
}

// After Reset a tally keeps its first pages, now empty, and drops pages far away.
func TestResetKeepsSomePages(t *testing.T) {
	var a Tally
	for e := range 70 {
		a.add([]float64{math.Ldexp(1, e)}, 1)
	}
	a.reset()
	pages := 0
	for _, p := range a.pages {
		if p != nil {
			pages++
			if *p != [pageBins]uint32{} {
				t.Error("a page is not empty")
			}
		}
	}
	if pages != 64 || a.N != 0 || a.Seen != 0 {
		t.Errorf("%d pages, %d values of %d", pages, a.Seen, a.N)
	}
}

// Impossible encodings are refused: bins out of order, empty bins, codes of values that are not
// finite, more values than the weights allow, and tails that descend or are too long.
func TestCountsDecodeWhatCanBe(t *testing.T) {
	code := BinCode(100)
	tally := func(seen uint64, pairs ...uint64) []byte {
		var e wire.Encoder
		e.Uint(seen)
		e.Uint(uint64(len(pairs) / 2))
		for _, v := range pairs {
			e.Short(v)
		}
		return e
	}
	for name, c := range map[string]struct {
		data []byte
		ok   bool
	}{
		"nothing": {tally(0), true}, "one bin": {tally(3, code, 3), true}, "two": {tally(4, code, 3, 1, 1), true},
		"the first code":            {tally(1, 0, 1), true},
		"the last of finite values": {tally(1, BinCode(-math.MaxFloat64), 1), true},
		"weights of eight":          {tally(1, code, 8), true}, "too great a weight": {tally(1, code, 16), false},
		"fewer than seen":    {tally(4, code, 3), false},
		"the same bin again": {tally(4, code, 3, 0, 1), false}, "an empty bin": {tally(3, code, 3, 1, 0), false},
		"an empty bin alone": {tally(0, code, 0), false},
		"infinite":           {tally(1, BinCode(math.Inf(1)), 1), false},
		"beyond":             {tally(1, BinCode(math.Inf(-1)), 1), false},
		"a step too far":     {tally(2, code, 1, 1<<(12+pageBits), 1), false},
		"beyond the last":    {tally(2, code, 1, 1<<(12+pageBits)-code, 1), false},
		"too many":           {tally(1, code, 1<<63), false},
		"a sum too great":    {tally(1<<62, code, 1<<62, 1, 1<<62), false},
		"cut short":          {tally(3, code, 3)[:18], false},
		"a bin too few":      {append(tally(3, code, 3)[:8], 9, 0, 0, 0, 0, 0, 0, 0), false},
	} {
		var got Tally
		d := wire.Decoder{Rest: c.data}
		if got.decode(&d); d.Failed == c.ok {
			t.Errorf("%s: failed is %v", name, d.Failed)
			continue
		}
		var e wire.Encoder
		if got.encode(&e); c.ok && !slices.Equal(e, c.data) {
			t.Errorf("%s: written again it differs", name)
		}
	}
	for name, c := range map[string]struct {
		values []float64
		ok     bool
	}{
		"nothing": {nil, true}, "ascending": {[]float64{1, 1, 2}, true}, "descending at last": {[]float64{1, 2, 1}, false},
		"descending": {[]float64{2, 1, 3}, false},
		"infinite":   {[]float64{1, math.Inf(1)}, false}, "NaN": {[]float64{math.NaN(), 1}, false},
		"as many as kept": {make([]float64, 5), true}, "more than kept": {make([]float64, 6), false},
	} {
		var e wire.Encoder
		e.Uint(uint64(len(c.values)))
		e.Floats(c.values...)
		for _, sign := range []float64{-1, 1} {
			got := newTail(sign, 1)
			got.keep = 5
			d := wire.Decoder{Rest: e}
			if got.decode(&d); d.Failed == c.ok || c.ok && !slices.Equal(got.values, c.values) {
				t.Errorf("%s: failed is %v, %v", name, d.Failed, got.values)
			}
		}
	}
}

// The order of the values in a sample does not matter, and every value counts.
func TestSpectrumOfASampleInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 15))
	x := make([]float64, 3000)
	for i := range x {
		x[i] = 1000 * math.Exp(rng.NormFloat64())
	}
	c := countsOf(x, 20)
	low, high := slices.Clone(x), slices.Clone(x)
	slices.Sort(low)
	slices.Sort(high)
	sample := slices.Clone(x[:60])
	sample = slices.DeleteFunc(sample, func(v float64) bool { return v <= low[20] || v >= high[len(high)-21] })
	want := c.Spectrum(sample, 0)
	for range 20 {
		rng.Shuffle(len(sample), func(i, j int) { sample[i], sample[j] = sample[j], sample[i] })
		got := c.Spectrum(sample, 0)
		if !slices.Equal(got.X, want.X) || !slices.Equal(got.N, want.N) {
			t.Fatal("the spectrum depends on the order of the sample")
		}
	}
	for _, v := range sample {
		if !slices.Contains(want.X, v) {
			t.Errorf("%v of the sample is no atom", v)
		}
	}
}
