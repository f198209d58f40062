package core

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestVectorsOfGrid compares the results of the vector instructions with those of the loops in Go,
// bit by bit: for ordinary values and for all special values, at every place of a word.
func TestVectorsOfGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261125, 1))
	special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0.5, -0.5, 1.5, 2.5, -2.5,
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, Fast, -Fast, Fast - 1, 1 - Fast, Fast - 0.5, Magic}
	fill := func(v []float64, spread float64, odd bool) {
		for i := range v {
			v[i] = math.Round(rng.NormFloat64()*spread) / 100
			if odd && rng.IntN(4) == 0 {
				v[i] = special[rng.IntN(len(special))]
			}
		}
	}
	same := func(a, b []float64) bool {
		return slices.EqualFunc(a, b, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
	}
	for round := range 2000 {
		g := Grid{[]float64{1, 10, 100, 1 << 20, 1.0 / 1024}[round%5]}
		limit := []float64{Fast, 0, 1000, math.Inf(1), math.NaN()}[rng.IntN(5)]
		scale := []float64{0, 1, 12.5, -3, 1e300}[rng.IntN(5)]
		x, e := make([]float64, 64), make([]float64, 64)
		fill(x, 1e5, round%2 == 1)
		fill(e, 200, round%3 == 1)
		if round%7 == 0 { // nothing but a released value that is the original
			clear(e)
		}
		want, got := make([]float64, 64), make([]float64, 64)
		wantChanged, wantSlow := g.addLoop(want, x, e, scale, limit)
		if round%2 == 0 {
			changed, slow := g.Add(got, x, e, scale, limit)
			if changed != wantChanged || slow != wantSlow || !same(got, want) {
				t.Fatalf("round %d: add gives %x, %x, %v, want %x, %x, %v", round, changed, slow, got, wantChanged, wantSlow, want)
			}
		}
		in := slices.Clone(x)
		if changed, slow := g.Add(in, in, e, scale, limit); changed != wantChanged || slow != wantSlow || !same(in, want) {
			t.Fatalf("round %d: add in place gives %x, %x, %v, want %x, %x, %v", round, changed, slow, in, wantChanged, wantSlow,
				want)
		}
		wantSlow = g.snapLoop(want, x, limit)
		if slow := g.nearest(got, x, limit); slow != wantSlow || !same(got, want) {
			t.Fatalf("round %d: nearest gives %x, %v, want %x, %v", round, slow, got, wantSlow, want)
		}
	}
}

func BenchmarkGrid(b *testing.B) {
	g := Grid{100}
	x, e, y := make([]float64, 64), make([]float64, 64), make([]float64, 64)
	for i := range x {
		x[i], e[i] = float64(i)*3.25, float64(i%7)-3
	}
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"add/loop", func() { g.addLoop(y, x, e, 1500, Fast) }},
		{"add", func() { g.Add(y, x, e, 1500, Fast) }},
		{"nearest/loop", func() { g.snapLoop(y, x, Fast) }},
		{"nearest", func() { g.nearest(y, x, Fast) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(64 * 8)
			for b.Loop() {
				c.do()
			}
		})
	}
}

// TestSnapOfMany holds the grid points of many values, of any number and beside it in place, against
// those of one after another: halves, values beyond the exact integers of the grid, NaN and infinities
// among them, at every place.
func TestSnapOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261125, 5))
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, Fast, -Fast, Fast + 1, 2.5, -2.5, 1 << 53,
		1<<53 + 2}
	for n := range 200 {
		for _, g := range []Grid{{1}, {100}, {1.0 / 8}} {
			x := make([]float64, n)
			for i := range x {
				x[i] = 1000 * rng.NormFloat64()
				if rng.IntN(5) == 0 {
					x[i] = special[rng.IntN(len(special))]
				}
			}
			want, on := make([]float64, n), make([]float64, n)
			for i, v := range x {
				want[i] = g.Snap(v)
			}
			g.snapTo(on, x)
			in := slices.Clone(x)
			g.SnapAll(in)
			for i := range x {
				for _, got := range []float64{on[i], in[i]} {
					if got != want[i] && !(math.IsNaN(got) && math.IsNaN(want[i])) {
						t.Fatalf("%d values, %v units: value %d, %v, is %v, want %v", n, g.Mult, i, x[i], got, want[i])
					}
				}
			}
		}
	}
}
