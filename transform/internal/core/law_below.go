package core

import (
	"math"

	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Below returns P(y ≤ t) of the released value y of an original x.
func (l *Law) Below(x, t float64) float64 {
	if l.Column == nil {
		if x <= t {
			return 1
		}
		return 0
	}
	if l.First != nil {
		m := l.middle(x)
		if m.countable() {
			m.alike() // the same bits as among others
		}
		return l.belowOfTwo(&m, l.upTo(t), nil)
	}
	a := l.about(x)
	return a.below(l.upTo(t))
}

// BelowEach returns a function that writes Below(x[i], t) into p[i] for each of the originals.
// It computes what depends on x only once, because distributions are evaluated at about a
// hundred t. x must not change while the function is in use, and p must have the length of x.
func (l *Law) BelowEach(x []float64) func(t float64, p []float64) {
	if l.Column == nil {
		return func(t float64, p []float64) {
			for i, v := range x {
				p[i] = l.Below(v, t)
			}
		}
	}
	if l.First != nil {
		return l.belowEachOfTwo(x)
	}
	if of := l.FreeDraws(x); of != nil {
		return func(t float64, p []float64) { of.below(l.upTo(t), p) }
	}
	each := make([]about, len(x))
	for i, v := range x {
		each[i] = l.about(v)
	}
	return func(t float64, p []float64) {
		t = l.upTo(t)
		for i := range each {
			p[i] = each[i].below(t)
		}
	}
}

// upTo returns the greatest result of the draw that the masks after it, and the column's type,
// map to t or less.
func (l *Law) upTo(t float64) float64 {
	if l.Column.Float32 && !math.IsInf(t, 0) { // the decimal that a float32 near t represents
		if g := DecimalGrid(max(l.Column.Digits, 0)); l.Column.Digits >= 0 && float64(float32(g.Snap(t))) <= t {
			t = max(t, g.Snap(t))
		} else if l.Column.Digits < 0 {
			t += l.Unit(t) / 2
		}
	}
	for i := len(l.after) - 1; i >= 0; i-- {
		t = l.after[i].UpTo(t)
	}
	return t
}

// below is the probability that the draw's result is at most t.
func (a *about) below(t float64) float64 {
	z, sure := a.inside()
	if sure {
		if a.nearest() <= t+1e-9*a.h {
			return 1
		}
		return 0
	}
	edge := min(a.edge(t), a.upper)
	lo := (a.lower - a.v) / a.s
	return min(1, a.draw.mass(lo, (edge-a.v)/a.s)/z)
}

// edge is half a step beyond the greatest v + jh that is at most t.
func (a *about) edge(t float64) float64 {
	edge := a.on + (math.Floor((t-a.on)/a.h+1e-6)+0.5)*a.h
	if math.IsInf(t, 0) || math.IsNaN(edge) {
		return t
	}
	return edge
}

// freeDraws are normal draws that nothing bounds, one for each original.
type freeDraws []freeDraw

// freeDraw is v plus the multiple of h nearest to s·z.
type freeDraw struct{ v, s, h float64 }

// FreeDraws returns the draws at the originals if all are normal and unbounded; otherwise nil.
func (l *Law) FreeDraws(x []float64) freeDraws {
	of := make(freeDraws, len(x))
	for i, v := range x {
		a := l.about(v)
		if a.draw != Normal || !math.IsInf(a.lower, -1) || !math.IsInf(a.upper, 1) ||
			!(a.s > 0 && a.s <= math.MaxFloat64 && a.h > 0 && math.Abs(a.v) <= math.MaxFloat64) {
			return nil
		}
		of[i] = freeDraw{a.v, a.s, a.h}
	}
	return of
}

// below writes the probability that each result is at most t into p, with the same bits as
// about.below.
func (of freeDraws) below(t float64, p []float64) {
	var place [256]float64 // of the edge, in SDs from the value
	endless := math.IsInf(t, 0)
	for len(of) > 0 {
		z := place[:min(len(of), len(place))]
		for i := range z {
			a := &of[i]
			edge := a.v + (math.Floor((t-a.v)/a.h+1e-6)+0.5)*a.h
			if endless || edge != edge {
				edge = t
			}
			z[i] = (edge - a.v) / a.s
		}
		q := p[:len(z)]
		keystream.NormalTails(q, z)
		for i, v := range z {
			switch {
			case v >= 0:
				q[i] = 1 - q[i]
			case v != v:
				q[i] = 0
			}
		}
		of, p = of[len(z):], p[len(z):]
	}
}
