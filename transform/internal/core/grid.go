package core

import (
	"math"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// Grid is the set of numbers that a mask's results are taken from: the
// multiples of 1/mult, docs/methods.md, section 1. The low bits of the float64 nearest to x + ε
// disclose x (Mironov 2012); the sum of two integers k_x + k_ε does not,
// since every integer is attainable from every x. A number is held as the
// integer k, exact below 2^53, and becomes a float64 in one division, so that
// it is the float64 nearest to the decimal and prints as short as that.
//
// The zero value is no grid.
type Grid struct{ Mult float64 }

// DecimalGrid is the grid of numbers with d ≥ 0 decimals.
func DecimalGrid(d int) Grid { return Grid{math.Pow10(d)} }

// binaryGrid is the grid of the largest power of two at or below λ/2²⁰, for columns without
// decimals; none if λ is 0, which moves nothing.
func binaryGrid(lambda float64) Grid {
	if !(lambda > 0) {
		return Grid{}
	}
	_, exp := math.Frexp(lambda) // 2^(exp-1) ≤ λ < 2^exp
	return Grid{math.Ldexp(1, min(20-(exp-1), 1023))}
}

// Index returns k of the grid point nearest to x, halves to even.
func (g Grid) Index(x float64) float64 { return math.RoundToEven(float64(x * g.Mult)) }

// Value returns the grid point k. Adding 0 makes a positive zero of a negative one.
func (g Grid) Value(k float64) float64 { return (k + 0) / g.Mult }

// Exact reports whether k is held exactly; a value with a greater k has fewer
// decimals than the grid and stays as it is.
func Exact(k float64) bool { return math.Abs(k) <= microdata.MaxExact }

// Snap returns the grid point nearest to x, or x where that is not held exactly.
func (g Grid) Snap(x float64) float64 {
	if k := g.Index(x); Exact(k) {
		return g.Value(k)
	}
	return x
}

// Inward returns the indexes of the least and greatest grid point within
// [lower, upper]; an infinite bound stays infinite. A bound that is a grid
// point in decimal notation is taken as that point, whatever its last bit.
func (g Grid) Inward(lower, upper float64) (lo, hi float64) {
	lo, hi = g.Index(lower), g.Index(upper)
	if g.Value(lo) < lower {
		lo++
	}
	if g.Value(hi) > upper {
		hi--
	}
	return lo, hi
}

// In loops over columns an index is rounded by adding and subtracting magic,
// which rounds halves to even and never gives a negative zero, as long as it is
// below fast; math.RoundToEven costs about twice as much there.
const (
	Magic = 1.5 * (1 << 52)
	Fast  = 1 << 51
)

// Finite replaces ±Inf by the greatest or least finite float64.
func Finite(y float64) float64 {
	switch {
	case y > math.MaxFloat64:
		return math.MaxFloat64
	case y < -math.MaxFloat64:
		return -math.MaxFloat64
	}
	return y
}
