package assess

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Sums of a run by definition, for any length, with and without centres; and whether a value lies
// beyond the bounds, tested at every place and on either side of every bound.
func TestSumsOfARun(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 3))
	const lo, hi, low, high = -3.0, 4.0, -5.0, 6.0
	for n := 1; n <= 9; n++ {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = lo+(hi-lo)*rng.Float64(), low+(high-low)*rng.Float64()
		}
		check := func(beyond bool) {
			t.Helper()
			for _, centre := range [][2]float64{{0, 0}, {1.5, -2.25}} {
				var want runSums
				for i := range x {
					want.su += x[i] - centre[0]
					want.sv += y[i] - centre[1]
					want.sd += x[i] - y[i]
					want.sdd += (x[i] - y[i]) * (x[i] - y[i])
				}
				u, v := make([]float64, n), make([]float64, n)
				sums := []runSums{centred(u, v, x, y, centre[0], centre[1], lo, hi, low, high)}
				for i := range u {
					if u[i] != x[i]-centre[0] || v[i] != y[i]-centre[1] {
						t.Errorf("%d of %d: %v and %v", i, n, u[i], v[i])
					}
				}
				if centre[0] == 0 {
					sums = append(sums, plain(x, y, lo, hi, low, high))
				}
				for _, got := range sums {
					for k, d := range []float64{got.su - want.su, got.sv - want.sv, got.sd - want.sd, got.sdd - want.sdd} {
						if !(math.Abs(d) <= 1e-10) {
							t.Errorf("%d values, sum %d: off by %v", n, k, d)
						}
					}
					if got.beyond != beyond {
						t.Errorf("%v and %v: beyond is %v", x, y, got.beyond)
					}
				}
			}
		}
		check(false)
		for i := range n {
			for _, end := range []struct {
				of    []float64
				bound float64
				out   float64
			}{{x, lo, -1}, {x, hi, 1}, {y, low, -1}, {y, high, 1}} {
				before := end.of[i]
				end.of[i] = end.bound
				check(false)
				end.of[i] = math.Nextafter(end.bound, end.bound+end.out)
				check(true)
				end.of[i] = before
			}
		}
	}
}

// Unchanged pairs by definition, over several runs, the last one not full: pairs that are missing,
// not finite or rejected on either side do not count.
func TestUnchangedByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 3))
	for _, n := range []int{1, 63, 64, 65, 700, 1025} {
		x := microdata.Vector{Values: make([]float64, n), Valid: microdata.NewBitmap(n, nil)}
		y := microdata.Vector{Values: make([]float64, n), Valid: microdata.NewBitmap(n, nil)}
		keep := microdata.NewBitmap(n, nil)
		for _, all := range []bool{false, true} {
			want := int64(0)
			for i := range n {
				x.Valid.Set(i)
				y.Valid.Set(i)
				keep.Set(i)
				x.Values[i] = rng.Float64()
				y.Values[i] = x.Values[i]
				if all || i == n-1 {
					want++
					continue
				}
				switch rng.IntN(6) {
				case 0:
					x.Valid.Clear(i)
				case 1:
					y.Valid.Clear(i)
				case 2:
					keep.Clear(i)
				case 3:
					x.Values[i] = math.Inf(1)
					y.Values[i] = math.Inf(1)
				case 4:
					y.Values[i] += 1
				default:
					want++
				}
			}
			a := newAccumulator(t, Options{Columns: []Column{{Name: "a", Masked: true}}, Key: testKey(t)})
			b := new(microdata.Block)
			b.Reset(0, 0, n, 1)
			b.Columns[0].Original = x
			*b.Columns[0].Mutable() = y
			for i := range n {
				if !keep.Has(i) {
					b.Reject(i, "a", "is no number")
				}
			}
			a.Add(b)
			if got := a.columns[0].unchanged; got != want {
				t.Errorf("%d of %d are the same, want %d", got, n, want)
			}
		}
	}
}

// The number of unchanged values that is reported as an excess: Bernstein's bound on the number
// that the law explains, wider if the law is estimated from a sample and the values differ in it.
func TestExcessOverASample(t *testing.T) {
	const n, k = 2000, 200
	key := testKey(t)
	for _, c := range []struct {
		name  string
		share func(x float64) float64
		mean  float64
		most  float64
	}{
		{"all alike", func(float64) float64 { return 0.5 }, 0.5, 1},
		{"some do, some do not", func(x float64) float64 { return float64(int(x) % 2) }, 0.5, 1},
		{"no more than", func(float64) float64 { return 0.9 }, 0.5, 0.5},
	} {
		for _, sampled := range []int{k, -1} {
			// The least count that is reported is compared with its definition, computed from the
			// values of the sample.
			var least int
			run := func(same int) *Measures {
				a := newAccumulator(t,
					Options{Columns: []Column{{Name: "a", Masked: true}}, Sample: sampled, Key: key, Targets: []string{"max"},
						Keeping: func(string, float64) Keeping { return Keeping{Share: c.share, Most: c.most} }})
				b := new(microdata.Block)
				b.Reset(0, 0, n, 1)
				copy(b.Columns[0].Alloc(n, false).Values, numbersUpTo(n))
				v := b.Columns[0].Mutable()
				for i := same; i < n; i++ {
					v.Values[i] += 0.25
				}
				a.Add(b)
				if least == 0 {
					var mean, square, count float64
					a.sample.Settle()
					for _, x := range a.sample.Values[0] {
						p := c.share(x)
						mean += p
						square += p * p
						count++
					}
					mean, square = mean/count, square/count
					variance := 0.0
					if sampled > 0 {
						variance = n * n * (square - mean*mean) / count
					}
					mean = min(mean, c.most)
					variance += n * mean * (1 - mean)
					for least = int(n * mean); ; least++ {
						if d := float64(least) - n*mean; d > 0 && math.Exp(-d*d/(2*(variance+d/3))) < 1e-6 {
							break
						}
					}
				}
				return measured(t, a)
			}
			run(1)
			for _, same := range []int{least - 1, least} {
				if got := run(same).Columns[0].UnchangedExcess; got != (same == least) {
					t.Errorf("%s, sample %d: %d of %d unchanged, reported from %d on: %v", c.name, sampled, same, n, least, got)
				}
			}
		}
	}
}

func numbersUpTo(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	rng.Shuffle(n, func(i, j int) { x[i], x[j] = x[j], x[i] })
	if slices.IsSorted(x) {
		panic("sorted")
	}
	return x
}

// The vector instructions and the loops in Go have the same results, bit by bit, for values beyond each
// of the four bounds at each place, equal pairs, missing values and values that are not finite.
func TestVectorsOfPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261125, 4))
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 400, -400, math.MaxFloat64}
	for round := range 3000 {
		n := pieceLength * (1 + rng.IntN(64))
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
			if y[i] = x[i]; rng.IntN(2) == 0 {
				y[i] += 0.1 * rng.NormFloat64()
			}
		}
		switch round % 4 {
		case 1:
			x[rng.IntN(n)] = special[rng.IntN(len(special))]
		case 2:
			y[rng.IntN(n)] = special[rng.IntN(len(special))]
		case 3:
			for range n / 4 {
				x[rng.IntN(n)], y[rng.IntN(n)] = special[rng.IntN(len(special))], special[rng.IntN(len(special))]
			}
		}
		lo, hi, low, high := -100.0, 100.0, -101.0, 101.0
		if round%5 == 0 { // bounds that values of their own reach
			lo, hi, low, high = x[rng.IntN(n)], x[rng.IntN(n)], y[rng.IntN(n)], y[rng.IntN(n)]
		}
		var got, want [2]float64
		pieces, same := plainPairs(x, y, lo, hi, low, high, &got)
		wantPieces, wantSame := plainLoop(x, y, lo, hi, low, high, &want)
		if pieces != wantPieces || same != wantSame || !sameOrNaN(got[:], want[:]) {
			t.Fatalf("round %d, %d pairs: %x, %d, %v, want %x, %d, %v", round, n, pieces, same, got, wantPieces, wantSame, want)
		}
		if n < 64 {
			continue
		}
		inX, inY := rng.Uint64()|rng.Uint64(), rng.Uint64()|rng.Uint64()
		if round%3 == 0 {
			inX, inY = ^uint64(0), ^uint64(0)
		}
		for i := range 64 { // what is marked is finite
			inX &^= uint64(1-none(x[i]-x[i])) << i
			inY &^= uint64(1-none(y[i]-y[i])) << i
		}
		sums, wanted := pairSums{diff: [4]float64{1, 2, 3, 4}}, pairSums{diff: [4]float64{1, 2, 3, 4}}
		unchanged, beyond := sums.add(x[:64], y[:64], inX, inY, lo, hi, low, high)
		wantUnchanged, wantBeyond := wanted.addLoop(x[:64], y[:64], inX, inY, lo, hi, low, high)
		if unchanged != wantUnchanged || beyond != wantBeyond || !sameOrNaN(sums.diff[:], wanted.diff[:]) ||
			!sameOrNaN(sums.square[:], wanted.square[:]) {
			t.Fatalf("round %d: %x, %v, %v, want %x, %v, %v", round, unchanged, beyond, sums, wantUnchanged, wantBeyond, wanted)
		}
	}
}

func sameOrNaN(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
	})
}
