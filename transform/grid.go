package transform

import (
	"math"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// grid is the set of numbers that a mask's results are taken from: the
// multiples of 1/mult, docs/methods.md, section 1. The low bits of the float64 nearest to x + ε
// disclose x (Mironov 2012); the sum of two integers k_x + k_ε does not,
// since every integer is attainable from every x. A number is held as the
// integer k, exact below 2^53, and becomes a float64 in one division, so that
// it is the float64 nearest to the decimal and prints as short as that.
//
// The zero value is no grid.
type grid struct{ mult float64 }

// decimalGrid is the grid of numbers with d ≥ 0 decimals.
func decimalGrid(d int) grid { return grid{math.Pow10(d)} }

// binaryGrid is the grid of the largest power of two at or below λ/2²⁰, for columns without
// decimals; none if λ is 0, which moves nothing.
func binaryGrid(lambda float64) grid {
	if !(lambda > 0) {
		return grid{}
	}
	_, exp := math.Frexp(lambda) // 2^(exp-1) ≤ λ < 2^exp
	return grid{math.Ldexp(1, min(20-(exp-1), 1023))}
}

// index returns k of the grid point nearest to x, halves to even.
func (g grid) index(x float64) float64 { return math.RoundToEven(float64(x * g.mult)) }

// value returns the grid point k. Adding 0 makes a positive zero of a negative one.
func (g grid) value(k float64) float64 { return (k + 0) / g.mult }

// exact reports whether k is held exactly; a value with a greater k has fewer
// decimals than the grid and stays as it is.
func exact(k float64) bool { return math.Abs(k) <= microdata.MaxExact }

// snap returns the grid point nearest to x, or x where that is not held exactly.
func (g grid) snap(x float64) float64 {
	if k := g.index(x); exact(k) {
		return g.value(k)
	}
	return x
}

// inward returns the indexes of the least and greatest grid point within
// [lower, upper]; an infinite bound stays infinite. A bound that is a grid
// point in decimal notation is taken as that point, whatever its last bit.
func (g grid) inward(lower, upper float64) (lo, hi float64) {
	lo, hi = g.index(lower), g.index(upper)
	if g.value(lo) < lower {
		lo++
	}
	if g.value(hi) > upper {
		hi--
	}
	return lo, hi
}

// In loops over columns an index is rounded by adding and subtracting magic,
// which rounds halves to even and never gives a negative zero, as long as it is
// below fast; math.RoundToEven costs about twice as much there.
const (
	magic = 1.5 * (1 << 52)
	fast  = 1 << 51
)

// finite replaces ±Inf by the greatest or least finite float64.
func finite(y float64) float64 {
	switch {
	case y > math.MaxFloat64:
		return math.MaxFloat64
	case y < -math.MaxFloat64:
		return -math.MaxFloat64
	}
	return y
}
