package joint

import (
	"fmt"
	"math"
	"testing"
)

// A value that another column is a function of is known, in whatever way it was computed, and wherever
// the columns stand: exactly, or to what rounding leaves.
func TestFunctionsOfColumns(t *testing.T) {
	w := newWorld(29, 3000)
	x, a := w.incomes(), w.incomes()
	y := w.noisy(x, 200)
	round := func(v, step float64) float64 { return step * math.Round(v/step) }
	for name, c := range map[string]struct {
		value func(i int) float64
		off   float64 // what rounding leaves of x, at most
	}{
		"logarithm":   {func(i int) float64 { return round(math.Log(x[i]), 1e-9) }, 0},
		"log10":       {func(i int) float64 { return round(math.Log10(x[i]), 1e-9) }, 0},
		"square":      {func(i int) float64 { return x[i] * x[i] }, 0},
		"reciprocal":  {func(i int) float64 { return 1 / x[i] }, 0},
		"share":       {func(i int) float64 { return round(100*x[i]/(x[i]+a[i]), 1e-9) }, 0},
		"other share": {func(i int) float64 { return round(a[i]/(x[i]+a[i]), 1e-9) }, 0},
		"growth":      {func(i int) float64 { return round(100*(x[i]/a[i]-1), 1e-9) }, 0},
		"growth back": {func(i int) float64 { return round(a[i]/x[i]-1, 1e-9) }, 0},
		"rough share": {func(i int) float64 { return round(100*x[i]/(x[i]+a[i]), 1e-3) }, 1},
		"some curve":  {func(i int) float64 { return math.Atan(x[i]/900) + math.Cbrt(x[i]) }, 3.6},
		"falling":     {func(i int) float64 { return -math.Atan(x[i] / 900) }, 9},
	} {
		z := w.of(c.value)
		for _, list := range [][]Column{columns(y, a, z), columns(y, z, a)} {
			// The greatest values are far from one another: nobody's neighbours tell them.
			r := New(list, w.n, true).Estimate(x, y, 0, nil)
			if got := math.Sqrt(r.Square); got > c.off || (got == 0) != r.Exact {
				t.Errorf("%s: off by %v, want at most %v; tells %v", name, got, c.off, r.Tells)
			}
		}
	}
}

// Columns that have nothing to do with a value do not tell it by the neighbours in their order, in few records
// as in many, with ties or without.
func TestNeighboursByChance(t *testing.T) {
	for seed := range uint64(10) {
		w := newWorld(400+seed, []int{60, 300, 3000}[seed%3])
		x := w.incomes()
		y := w.noisy(x, 100)
		list := columns(y)
		for c := range 8 {
			list = append(list,
				Column{Name: fmt.Sprint("number ", c), Values: w.of(func(int) float64 { return float64(w.r.IntN(1 + 5<<(2*c))) })})
		}
		if r := New(list, w.n, true).Estimate(x, y, 0, nil); r.Refined < r.Linear*0.9 {
			t.Errorf("seed %d: linear %v, refined %v, tells %v", seed, r.Linear, r.Refined, r.Tells)
		}
	}
}

// A function of what two columns make together is undone as well, wherever they stand: a tax by brackets that is
// released in a sum, beside the rent that is the rest of it; or as a share of the rent. Where the rest is not released it is not.
func TestFunctionsOfTwoColumns(t *testing.T) {
	w := newWorld(31, 3000)
	x, rent := w.incomes(), w.incomes()
	y := w.noisy(x, 100)
	tax := w.of(func(i int) float64 { return 0.1*x[i] + 0.2*max(0, x[i]-300) + 0.15*max(0, x[i]-800) })
	for name, c := range map[string]struct {
		with  []float64
		rest  bool
		least float64
		most  float64
	}{
		"sum":         {w.of(func(i int) float64 { return tax[i] + rent[i] }), true, 0, 5},
		"difference":  {w.of(func(i int) float64 { return tax[i] - rent[i] }), true, 0, 5},
		"product":     {w.of(func(i int) float64 { return tax[i] * rent[i] }), true, 0, 5},
		"no rest":     {w.of(func(i int) float64 { return tax[i] + rent[i] }), false, 60, 100},
		"other rents": {w.of(func(i int) float64 { return tax[i] + rent[w.n-1-i] }), true, 60, 100},
	} {
		lists := [][]Column{columns(y, c.with)}
		if c.rest {
			lists = [][]Column{columns(y, c.with, rent), columns(y, rent, w.incomes(), c.with)}
		}
		for _, list := range lists {
			r := New(list, w.n, true).Estimate(x, y, 0, nil)
			if got := math.Sqrt(r.Square); got < c.least || got > c.most {
				t.Errorf("%s: off by %v, want %v to %v; tells %v", name, got, c.least, c.most, r.Tells)
			}
		}
	}
}
