package comoment

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// table has columns with and without missing values.
type table struct {
	values [][]float64
	has    [][]bool
}

func randomTable(rng *rand.Rand, n int, nulls bool) table {
	var t table
	for c := range 3 {
		v, has := make([]float64, n), make([]bool, n)
		for i := range v {
			v[i] = []float64{1e9, 0, -5}[c] + []float64{1, 1000, 0.01}[c]*rng.NormFloat64()
			if c > 0 {
				v[i] += 0.3 * t.values[c-1][i] / []float64{1, 1e6, 1e5}[c]
			}
			has[i] = !nulls || rng.IntN(7) > 0
		}
		t.values, t.has = append(t.values, v), append(t.has, has)
	}
	return t
}

// add adds the records [from, to) as one block.
func (t table) add(g *Gram, from, to int) {
	n := to - from
	vectors := make([]microdata.Vector, len(t.values))
	clean := true
	for c := range vectors {
		vectors[c] = microdata.Vector{Values: t.values[c][from:to], Valid: microdata.NewBitmap(n, nil)}
		for i := range n {
			if !t.has[c][from+i] {
				vectors[c].Valid.Clear(i)
				clean = false
			}
		}
		g.Recentre(c, vectors[c], nil)
	}
	for at := 0; at < n; at += cell.Run {
		m := min(cell.Run, n-at)
		u, has, present := Rows(3), Rows(3), make([]cell.Bits, 3)
		sums := make([]float64, 3)
		for c, v := range vectors {
			Centre(v, at, m, nil, g.Centre[c], u[c], has[c], &present[c])
			for _, x := range u[c][:m] {
				sums[c] += x
			}
		}
		var r Run
		if clean {
			r.Clean(m, u, sums)
		} else {
			r.Part(m, u, has, present)
		}
		g.Add(&r)
	}
	g.Fold()
}

// twoPasses is the definition, over the records with a value in both columns.
func (t table) twoPasses(i, j int) Pair {
	var p Pair
	for r := range t.values[i] {
		if t.has[i][r] && t.has[j][r] {
			p.N++
			p.Mi += t.values[i][r]
			p.Mj += t.values[j][r]
		}
	}
	p.Mi, p.Mj = p.Mi/p.N, p.Mj/p.N
	for r := range t.values[i] {
		if t.has[i][r] && t.has[j][r] {
			a, b := t.values[i][r]-p.Mi, t.values[j][r]-p.Mj
			p.Cii += a * a
			p.Cjj += b * b
			p.Cij += a * b
		}
	}
	return p
}

func compare(t *testing.T, what string, g *Gram, of table) {
	t.Helper()
	near := func(name string, got, want, scale float64) {
		if !(math.Abs(got-want) <= 1e-9*math.Max(math.Abs(want), scale)) {
			t.Errorf("%s: %s is %v, want %v", what, name, got, want)
		}
	}
	for i := range g.K {
		for j := range g.K {
			got, want := g.Between(i, j), of.twoPasses(i, j)
			near("n", got.N, want.N, 0)
			near("mean i", got.Mi+got.Li, want.Mi, 0)
			near("mean j", got.Mj+got.Lj, want.Mj, 0)
			near("Cii", got.Cii, want.Cii, 0)
			near("Cjj", got.Cjj, want.Cjj, 0)
			near("Cij", got.Cij, want.Cij, math.Sqrt(want.Cii*want.Cjj))
			near("variance", got.Variance(), want.Cii/(want.N-1), 0)
			near("correlation", got.Correlation(), want.Cij/math.Sqrt(want.Cii*want.Cjj), 1)
		}
	}
}

// Sums over blocks of any size, merged in any grouping and encoded and decoded, equal those of two
// passes over all records.
func TestGramIsThatOfTwoPasses(t *testing.T) {
	for _, nulls := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(5, 1))
		const n = 4000
		all := randomTable(rng, n, nulls)
		whole, parts := New(3), []*Gram{}
		all.add(&whole, 0, n)
		compare(t, "one block", &whole, all)
		for from := 0; from < n; {
			to := min(n, from+1+rng.IntN(900))
			g := New(3)
			middle := from + (to-from)/2
			all.add(&g, from, middle)
			all.add(&g, middle, to)
			parts = append(parts, &g)
			from = to
		}
		merged := New(3)
		for _, g := range parts {
			merged.Merge(g)
		}
		compare(t, "parts", &merged, all)
		var e wire.Encoder
		merged.Encode(&e)
		again, d := New(3), wire.Decoder{Rest: e}
		again.Decode(&d)
		if d.Failed || len(d.Rest) > 0 {
			t.Fatalf("nulls %v: decoding fails", nulls)
		}
		for p := range merged.Pairs {
			if merged.Pairs[p] != again.Pairs[p] {
				t.Errorf("nulls %v: pair %d is %+v after decoding, was %+v", nulls, p, again.Pairs[p], merged.Pairs[p])
			}
		}
		if above := whole.At(0, 0).Above(whole.At(0, 0)); above != 0 {
			t.Errorf("Above of a mean and itself is %v, want 0", above)
		}
	}
}

// If the mean is many standard deviations from 0, many small merges keep its digits.
func TestMeansKeepTheirDigits(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	var sum Pair
	const n, far = 100_000, 1 << 40
	low := 0.0 // a mean not so far from 0
	for range n {
		x := rng.NormFloat64()
		low += x / n
		v := far + x
		low += (v - far - x) / n // the mean after rounding
		sum.merge(Of([]float64{v}))
	}
	// Without the rounding remainder, the mean is wrong by many units in its last place, 2⁻¹². With
	// it, the error is that of float64 sums of x.
	if got := (sum.Mi - far) + sum.Li; !(math.Abs(got-low) <= 1e-8) {
		t.Errorf("the mean is off by %v", got-low)
	}
}

func TestConstantColumnsHaveNoCorrelation(t *testing.T) {
	p := Of([]float64{3, 3, 3})
	if c := p.Correlation(); !math.IsNaN(c) {
		t.Errorf("correlation %v", c)
	}
	if v := p.Variance(); v != 0 {
		t.Errorf("variance %v", v)
	}
	one := Of([]float64{3})
	if v := one.Variance(); !math.IsNaN(v) {
		t.Errorf("variance of one value %v", v)
	}
	var none Pair
	if a := p.Above(&none); !math.IsNaN(a) {
		t.Errorf("Above without values is %v", a)
	}
}

// Values that are left out have no effect, whatever bytes are stored in their places.
func TestCentreLeavesOut(t *testing.T) {
	v := microdata.Vector{Values: []float64{1, math.NaN(), math.Inf(1), 7, 5}, Valid: microdata.NewBitmap(5, nil)}
	v.Valid.Clear(3)
	keep := microdata.NewBitmap(5, nil)
	keep.Clear(0)
	u, has := make([]float64, 5), make([]float64, 5)
	present := cell.Bits{1: 1} // of an earlier run
	Centre(v, 0, 5, keep, 2, u, has, &present)
	if present != (cell.Bits{1 << 4}) {
		t.Errorf("marked: %b", present)
	}
	for i := range 4 {
		if u[i] != 0 || has[i] != 0 {
			t.Errorf("value %d: %v, %v", i, u[i], has[i])
		}
	}
	if u[4] != 3 || has[4] != 1 {
		t.Errorf("value 4: %v, %v", u[4], has[4])
	}
}

// Moments of few values that are close together and far from 0, so that a double cannot hold their
// squares: the sum of squares about the mean has a relative error below 10⁻⁶.
func TestMomentsFarFromZero(t *testing.T) {
	for _, at := range []float64{0, 1e6, -1e9, 1e12} {
		got := Of([]float64{at, at + 1, at + 3, at + 3})
		if want := (7.0*7/16 + 3.0*3/16 + 2*5.0*5/16); got.N != 4 || !(math.Abs(got.Cii-want) <= 1e-3) ||
			math.Abs(got.Mi-(at+1.75)) > 1e-3 {
			t.Errorf("at %v: %+v, want %v", at, got, want)
		}
	}
	if one := Of([]float64{7}); one.N != 1 || one.Mi != 7 || one.Cii != 0 {
		t.Errorf("of one value: %+v", one)
	}
	if none := Of(nil); none != (Pair{}) {
		t.Errorf("of none: %+v", none)
	}
}

// Co-moments are decoded as they were encoded. An unknown kind of a pair, or truncated bytes, is
// refused.
func TestDecodingMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 7))
	for _, nulls := range []bool{false, true} {
		g := New(3)
		randomTable(rng, 300, nulls).add(&g, 0, 300)
		var e wire.Encoder
		g.Encode(&e)
		kinds := []int{40, 40 + 40} // after the moments of the first column and those of the second
		if e[kinds[0]] == pairOwn != nulls {
			t.Fatalf("nulls %v: the first pair is of kind %d", nulls, e[kinds[0]])
		}
		decode := func(data []byte) (Gram, bool) {
			got := New(3)
			d := wire.Decoder{Rest: data}
			got.Decode(&d)
			return got, !d.Failed && len(d.Rest) == 0
		}
		got, ok := decode(e)
		if !ok {
			t.Fatal("a valid encoding is refused")
		}
		for p := range g.Pairs {
			if got.Pairs[p] != g.Pairs[p] {
				t.Errorf("nulls %v, pair %d: %+v, want %+v", nulls, p, got.Pairs[p], g.Pairs[p])
			}
		}
		for cut := range len(e) {
			if _, ok := decode(e[:cut:cut]); ok {
				t.Errorf("cut at %d of %d: accepted", cut, len(e))
			}
		}
		for _, kind := range []byte{0, 3, 255} {
			other := append(wire.Encoder{}, e...)
			other[kinds[0]] = kind
			if _, ok := decode(other); ok {
				t.Errorf("a pair of kind %d is accepted", kind)
			}
		}
	}
}

// Whole words, the last bits of a word and of a run, and the start of a run: only a value's own bit
// leaves it out, and a value that is not finite does not affect its neighbours.
func TestCentreOfEveryPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 12))
	for range 300 {
		n := 1 + rng.IntN(cell.Run)
		from := 64 * rng.IntN(5)
		v := microdata.Vector{Values: make([]float64, from+n), Valid: microdata.NewBitmap(from+n, nil)}
		keep := microdata.NewBitmap(from+n, nil)
		for i := range v.Values {
			v.Values[i] = rng.NormFloat64()
			switch rng.IntN(40) {
			case 0:
				v.Values[i] = math.NaN()
			case 1:
				v.Values[i] = math.Inf(1)
			case 2, 3, 4:
				v.Valid.Clear(i)
			case 5, 6:
				keep.Clear(i)
			}
		}
		if rng.IntN(3) == 0 {
			v.Valid = nil
		}
		if rng.IntN(3) == 0 {
			keep = nil
		}
		u, has := make([]float64, cell.Run), make([]float64, cell.Run)
		var present cell.Bits
		Centre(v, from, n, keep, 0.25, u, has, &present)
		for i := range n {
			x := v.Values[from+i]
			want := keep.Has(from+i) && v.Valid.Has(from+i) && !math.IsNaN(x) && !math.IsInf(x, 0)
			if got := present[i/64]>>(i%64)&1 == 1; got != want || has[i] == 1 != want {
				t.Fatalf("of %d from %d, value %d (%v): marked %t, has %v, want %t", n, from, i, x, got, has[i], want)
			}
			if want && u[i] != x-0.25 || !want && (u[i] != 0 || has[i] != 0) {
				t.Fatalf("of %d from %d, value %d (%v): %v, %v", n, from, i, x, u[i], has[i])
			}
		}
	}
}

// Values with a mean outside the range of float64, positive or negative, are centred at 0.
func TestCentreOfValuesFarApart(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{{[]float64{1.7e308, -1.7e308}, 0}, {[]float64{-1.7e308, 1.7e308}, 0}, {[]float64{8e307, -8e307}, 0},
		{[]float64{3, 7}, 5}} {
		g := New(1)
		g.Recentre(0, microdata.Vector{Values: c.x}, nil)
		if g.Centre[0] != c.want {
			t.Errorf("%v: centred at %v, want %v", c.x, g.Centre[0], c.want)
		}
	}
}
