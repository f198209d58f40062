package transform

import (
	"math"
	"math/bits"
)

// add computes y = (k_x + k_ε)/mult for up to 64 values x, where ε is scale·e in units of the
// grid. A value whose index is not below the limit stays as it is, and is marked in slow; values
// that differ from x are marked in changed. y may be x.
func (g grid) add(y, x, e []float64, scale, limit float64) (changed, slow uint64) {
	if vectors && len(x) == 64 {
		return addAVX2((*[64]float64)(y), (*[64]float64)(x), (*[64]float64)(e), g.mult, scale, limit)
	}
	return g.addLoop(y, x, e, scale, limit)
}

func (g grid) addLoop(y, x, e []float64, scale, limit float64) (changed, slow uint64) {
	e, y = e[:len(x)], y[:len(x)]
	for i, old := range x {
		k := float64(old*g.mult) + magic - magic
		ke := float64(e[i]*scale) + magic - magic
		v := (k + ke) / g.mult
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
func (g grid) nearest(on, x []float64, limit float64) (slow uint64) {
	if vectors && len(x) == 64 {
		return snapAVX2((*[64]float64)(on), (*[64]float64)(x), g.mult, limit)
	}
	return g.snapLoop(on, x, limit)
}

func (g grid) snapLoop(on, x []float64, limit float64) (slow uint64) {
	on = on[:len(x)]
	for i, v := range x {
		k := float64(v*g.mult) + magic - magic
		if !(math.Abs(k) < limit) {
			slow |= 1 << (i & 63)
		}
		on[i] = k / g.mult
	}
	return slow
}

// snapTo writes to on the values as the grid has them, as snap gives them. on must not be x.
func (g grid) snapTo(on, x []float64) {
	for from := 0; from < len(x); from += 64 {
		end := min(from+64, len(x))
		for slow := g.nearest(on[from:end], x[from:end], fast); slow != 0; slow &= slow - 1 {
			i := from + bits.TrailingZeros64(slow)
			on[i] = g.snap(x[i])
		}
	}
}

// snapAll is snapTo in place.
func (g grid) snapAll(v []float64) {
	var word [64]float64
	for ; len(v) > 0; v = v[min(64, len(v)):] {
		part := v[:min(64, len(v))]
		g.snapTo(word[:], part)
		copy(part, word[:])
	}
}
