package core

import (
	"math"
	"math/bits"
)

// Add computes y = (k_x + k_ε)/mult for up to 64 values x, where ε is scale·e in units of the
// grid. A value whose index is not below the limit stays as it is, and is marked in slow; values
// that differ from x are marked in changed. y may be x.
func (g Grid) Add(y, x, e []float64, scale, limit float64) (changed, slow uint64) {
	if vectors && len(x) == 64 {
		return addAVX2((*[64]float64)(y), (*[64]float64)(x), (*[64]float64)(e), g.Mult, scale, limit)
	}
	return g.addLoop(y, x, e, scale, limit)
}

func (g Grid) addLoop(y, x, e []float64, scale, limit float64) (changed, slow uint64) {
	e, y = e[:len(x)], y[:len(x)]
	for i, old := range x {
		k := float64(old*g.Mult) + Magic - Magic
		ke := float64(e[i]*scale) + Magic - Magic
		v := (k + ke) / g.Mult
		if !(math.Abs(k) < limit) {
			v = old
			slow |= 1 << (i & 63)
		}
		y[i] = v
		if v != old {
			changed |= 1 << (i & 63)
		}
	}
	return changed, slow
}

// nearest writes to on the grid points that are next to up to 64 values x, and marks in slow
// those whose index is not below the limit: what it writes for them has no meaning.
func (g Grid) nearest(on, x []float64, limit float64) (slow uint64) {
	if vectors && len(x) == 64 {
		return snapAVX2((*[64]float64)(on), (*[64]float64)(x), g.Mult, limit)
	}
	return g.snapLoop(on, x, limit)
}

func (g Grid) snapLoop(on, x []float64, limit float64) (slow uint64) {
	on = on[:len(x)]
	for i, v := range x {
		k := float64(v*g.Mult) + Magic - Magic
		if !(math.Abs(k) < limit) {
			slow |= 1 << (i & 63)
		}
		on[i] = k / g.Mult
	}
	return slow
}

// snapTo writes to on the values as the grid has them, as snap gives them. on must not be x.
func (g Grid) snapTo(on, x []float64) {
	for from := 0; from < len(x); from += 64 {
		end := min(from+64, len(x))
		for slow := g.nearest(on[from:end], x[from:end], Fast); slow != 0; slow &= slow - 1 {
			i := from + bits.TrailingZeros64(slow)
			on[i] = g.Snap(x[i])
		}
	}
}

// SnapAll is snapTo in place.
func (g Grid) SnapAll(v []float64) {
	var word [64]float64
	for ; len(v) > 0; v = v[min(64, len(v)):] {
		part := v[:min(64, len(v))]
		g.snapTo(word[:], part)
		copy(part, word[:])
	}
}
