// Package decimals finds the number of decimals of values.
package decimals

import (
	"math"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
)

// Most is the greatest number of decimals that is recognised: docs/methods.md, section 1.
const Most = 9

// None is the result for data with more decimals.
const None = -1

// Of returns the least d ≥ from with which every value equals a decimal
// number with d decimals, Round(x·10^d)/10^d == x; None if more than nine
// are needed. NaN and infinite values are ignored, and integers are on every
// grid. A value whose unit in the last place is coarser than the grid is on
// no grid.
func Of(values []float64, from int) int {
	if from == None {
		return None
	}
	d := from
	for i := 0; i < len(values); {
		i += onGrid(values[i:], d)
		if i == len(values) {
			break
		}
		if x := values[i]; !cell.Finite(x) || x == math.Trunc(x) {
			i++
			continue
		}
		for d++; ; d++ {
			if d > Most {
				return None
			}
			if onGrid(values[i:i+1], d) == 1 {
				break
			}
		}
		i++
	}
	return d
}

var powers = [Most + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// onGrid returns how many leading values have at most d decimals. Adding and
// subtracting 1.5·2⁵² rounds to the nearest integer if |x·10^d| < 2⁵¹;
// larger values are left to the caller. Halves are rounded to even, which does
// not matter: they are not on the grid.
func onGrid(values []float64, d int) int {
	const shift, limit = 3 << 51, 1 << 51
	p := powers[d]
	if d == 0 {
		for i, x := range values {
			if r := (x + shift) - shift; r != x || x >= limit || x <= -limit {
				return i
			}
		}
		return len(values)
	}
	for i, x := range values {
		z := float64(x * p) // rounded: the product must not be fused with the addition
		if r := (z + shift) - shift; r/p != x || z >= limit || z <= -limit {
			return i
		}
	}
	return len(values)
}

// OfSingle is Of for values of type float32: each represents the decimal number whose
// nearest float32 it is, 9.3 and not 9.3000001907. Values of 2²¹ steps of the grid and
// more count as not on it, since at least every fourth float32 would be on it by chance.
func OfSingle(values []float64, from int) int {
	d := from
	for _, x := range values {
		if d == None {
			break
		}
		if !cell.Finite(x) || x == math.Trunc(x) {
			continue
		}
		for ; d <= Most; d++ {
			z := float64(x * powers[d])
			if r := math.RoundToEven(z); math.Abs(r) < 1<<21 && float32(r/powers[d]) == float32(x) {
				break
			}
		}
		if d > Most {
			d = None
		}
	}
	return d
}
