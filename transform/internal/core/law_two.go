package core

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Two successive draws: the first makes v from x, the second y from v, so that
//
//	P(y ≤ t | x) = ∫ P(y ≤ t | v) dP(v | x),
//
// and the moments likewise. For v from which the second draw cannot reach the other side of t,
// only the distribution function of v is needed. In between the integral is computed by
// Gauss-Legendre quadrature, in panels that are narrow compared with either draw and cut where
// the scale of the second changes; or as a sum over the grid, if few of its values lie there.

const (
	nodes   = 8   // of a panel
	panel   = 3   // its width, in scales of the narrower draw
	lattice = 200 // values of the grid up to which they are summed
	// widest is the greatest φ, times the normal draw's reach, for which the values are known
	// that a bias may turn into a given one.
	widest = 0.9
)

// abscissas and weights of the rule on (−1, 1).
var abscissas, weights = func() (x, w [nodes]float64) {
	quad.Legendre{}.FixedLocations(x[:], w[:], -1, 1)
	return x, w
}()

// then returns the law of draw s after those of l; false if there is no closed form.
func (l *Law) then(s Spread) (*Law, bool) {
	redraw := !math.IsInf(s.Lower, -1) || !math.IsInf(s.Upper, 1)
	if l.First != nil || redraw || s.Phi*s.Draw.reach() > widest {
		return nil, false
	}
	two := &Law{Column: l.Column, First: l, Random: []Spread{s}}
	if plain := s; len(l.after) == 0 && s.Phi == 0 {
		if plain.Above = nil; l.adds(plain) {
			sum := *l
			sum.Random = append(slices.Clone(l.Random), s)
			two.sum = &sum
		}
	}
	inner := *l.Column
	inner.Float32 = false // values are fitted to the type after the last mask only
	l.Column = &inner
	l.Settle()
	l.Alikes = &alikes{}
	_, _, step := l.Support()
	two.scales = []float64{s.Scale(math.Inf(-1))}
	for _, bound := range s.Above {
		two.sides = append(two.sides, (math.Floor(bound/step+1e-9)+0.5)*step)
		two.scales = append(two.scales, s.Scale(math.Nextafter(bound, math.Inf(1))))
	}
	return two, true
}

// middle is the distribution of the result v of the first draw: cells of one width, each with
// its probability, and two bounds that have the probability beyond the cells.
type middle struct {
	about
	of        *Law
	narrow    float64 // the length over which the density changes
	z         float64 // probability of the bounds of a redraw
	sure      bool
	cell      float64
	from, to  float64 // ends of the cells
	low, high float64 // the bounds, infinite where there are none, and their probabilities
	pLow      float64
	pHigh     float64
	plain     bool  // no tier's bound is near: the two draws are one normal sum
	sum       about // with plain: that sum
	cells     cells // if they were counted
}

// cells are those of a middle whose values are summed one by one, between its ends.
type cells struct {
	first  float64   // number of the first, see end
	ends   []float64 // one more than cells, each less offset
	mass   []float64
	offset float64
}

// end returns the k-th end, from 0.
func (c *cells) end(k int) float64 { return c.ends[k] + c.offset }

// count computes the cells once for many sums, if there are few. It returns what is kept of them for originals that lie
// alike; nil if nothing is.
func (m *middle) count() *alikeCells {
	if !m.countable() {
		return nil
	}
	if of := m.alike(); of != nil {
		return of
	}
	m.cells = m.counted()
	return nil
}

// countable reports whether sums go through the cells, and these are few.
func (m *middle) countable() bool {
	return !m.sure && !m.plain && m.from < m.to && (m.to-m.from)/m.cell <= lattice
}

// counted returns the cells with their probabilities.
func (m *middle) counted() (c cells) {
	lo := m.from
	c.first = math.Floor(lo/m.cell + 0.5 + 1e-6)
	c.ends = append(make([]float64, 0, int((m.to-m.from)/m.cell)+4), lo)
	for j := c.first; lo < m.to; j++ {
		lo = max(lo, min(m.end(j), m.to))
		c.ends = append(c.ends, lo)
	}
	c.mass = m.masses(c.ends)
	return c
}

// masses returns mass of the intervals between successive ends, with the same bits: both intervals at an
// end take its tail from one evaluation.
func (m *middle) masses(ends []float64) []float64 {
	mass := make([]float64, len(ends)-1)
	if m.draw != Normal {
		for i := range mass {
			mass[i] = m.mass(ends[i], ends[i+1])
		}
		return mass
	}
	at := make([]float64, 2*len(ends))
	z, tail := at[:len(ends)], at[len(ends):]
	for i, v := range ends {
		z[i] = (min(max(v, m.lower), m.upper) - m.v) / m.s
	}
	keystream.NormalTails(tail, z)
	for i := range mass {
		switch a, b := z[i], z[i+1]; {
		case !(a < b):
		case a > 0:
			mass[i] = (tail[i] - tail[i+1]) / m.z
		case b < 0:
			mass[i] = (tail[i+1] - tail[i]) / m.z
		default:
			mass[i] = max(0, 1-tail[i]-tail[i+1]) / m.z
		}
	}
	return mass
}

// piece returns the end and the probability of the part of cell j between lo and hi.
func (m *middle) piece(j, lo, hi float64) (right, p float64) {
	k := int(j - m.cells.first)
	if k < 0 || k >= len(m.cells.mass) {
		right = min(m.end(j), hi)
		return right, m.mass(lo, right)
	}
	if right = min(m.cells.end(k+1), hi); lo == m.cells.end(k) && right == m.cells.end(k+1) {
		return right, m.cells.mass[k]
	}
	return right, m.mass(lo, right)
}

func (l *Law) middle(x float64) middle {
	m := l.First.leaves(x)
	if m.plain = !m.sure && l.isPlain(&m); m.plain {
		m.sum = l.sum.about(x)
	}
	return m
}

func (l *Law) leaves(x float64) middle {
	m := middle{about: l.about(x), of: l, from: math.Inf(-1), to: math.Inf(1), low: l.low, high: l.high}
	if m.z, m.sure = m.inside(); m.sure {
		m.v = l.last(m.nearest())
		return m
	}
	if l.low >= l.high { // every result is rounded and clipped to one value
		m.v, m.sure = l.low, true
		return m
	}
	m.cell = max(m.h, l.Coarse)
	centre := min(max(m.v, m.lower), m.upper)
	m.narrow = m.s
	if m.draw == Normal { // far from v the density of a redraw falls faster
		m.narrow /= max(1, math.Abs(centre-m.v)/m.s)
	}
	reach := m.s * m.draw.reach()
	if m.low > math.Inf(-1) {
		m.from = min(m.edge(l.upTo(m.low)), m.upper)
		m.pLow = m.below(m.from)
	}
	if m.high < math.Inf(1) {
		m.to = max(m.edge(l.upTo(m.high-1e-4*m.cell)), m.lower)
		m.pHigh = m.mass(m.to, math.Inf(1))
	}
	m.from, m.to = max(m.from, centre-reach-m.cell/2, m.lower), min(m.to, centre+reach+m.cell/2, m.upper)
	return m
}

func (m *middle) below(v float64) float64 { return m.mass(math.Inf(-1), v) }

// mass returns the probability of an interval, before the masks after the draw.
func (m *middle) mass(lo, hi float64) float64 {
	lo, hi = max(lo, m.lower), min(hi, m.upper)
	return m.draw.mass((lo-m.v)/m.s, (hi-m.v)/m.s) / m.z
}

func (m *middle) density(v float64) float64 {
	switch z := (v - m.v) / m.s; m.draw {
	case Laplace:
		return math.Exp(-math.Abs(z)) / (2 * m.s * m.z)
	case Uniform:
		if math.Abs(z) > 1 {
			return 0
		}
		return 1 / (2 * m.s * m.z)
	default:
		return math.Exp(-z*z/2) / (math.Sqrt(2*math.Pi) * m.s * m.z)
	}
}

// outward returns the end of a cell below lo, and that of a cell above hi.
func (m *middle) outward(lo, hi float64) (float64, float64) {
	return m.end(math.Floor(lo/m.cell) - 1), m.end(math.Ceil(hi / m.cell))
}

// end is the upper end of the j-th cell. Of values that are rounded twice a half belongs to the
// even cell.
func (m *middle) end(j float64) float64 {
	if m.cell > m.h {
		return m.edge(m.of.upTo(j * m.cell))
	}
	return (j + 0.5) * m.cell
}

// each calls f for the values v of an interval with their weights. extra is the variance that
// the grid adds to v if an integral replaces the sum over the grid. The function to be summed
// must be smooth over a fraction of scale, except at kink.
func (m *middle) each(lo, hi, scale, kink float64, f func(v, w, extra float64)) {
	lo, hi = max(lo, m.from), min(hi, m.to)
	if !(lo < hi) {
		return
	}
	if (hi-lo)/m.cell <= lattice {
		for j := math.Floor(lo/m.cell + 0.5 + 1e-6); lo < hi; j++ {
			right, p := m.piece(j, lo, hi)
			if p > 0 {
				f(j*m.cell, p, 0)
			}
			lo = max(lo, right) // the end of what is clipped is infinite
		}
		return
	}
	cuts := [5]float64{lo, min(max(m.v, lo), hi), min(max(kink, lo), hi), hi, hi}
	if m.draw == Uniform {
		cuts[1], cuts[3] = min(max(m.v-m.s, lo), hi), min(max(m.v+m.s, lo), hi)
	}
	slices.Sort(cuts[:])
	extra := m.cell * m.cell / 12
	for i := range len(cuts) - 1 {
		width := cuts[i+1] - cuts[i]
		if !(width > 0) {
			continue
		}
		panels := math.Ceil(width / (panel * min(m.narrow, scale)))
		half := width / panels / 2
		for k := range int(panels) {
			centre := cuts[i] + half*float64(2*k+1)
			for n, z := range abscissas {
				v := centre + half*z
				f(v, half*weights[n]*m.density(v), extra)
			}
		}
	}
}

// isPlain reports whether the tiers do not matter at v: the two draws are a normal sum.
func (l *Law) isPlain(m *middle) bool {
	if l.sum == nil {
		return false
	}
	r := m.s*m.draw.reach() + m.h
	for _, side := range l.sides {
		if math.Abs(side-m.v) <= r {
			return false
		}
	}
	return true
}

// tier returns the interval of v of one tier.
func (l *Law) tier(i int, m *middle) (lo, hi float64) {
	lo, hi = math.Inf(-1), math.Inf(1)
	if i > 0 {
		lo = m.end(math.Floor(l.sides[i-1] / m.cell))
	}
	if i < len(l.sides) {
		hi = m.end(math.Floor(l.sides[i] / m.cell))
	}
	return lo, hi
}

// scaleOf is the scale of the second draw at v.
func (l *Law) scaleOf(v float64) float64 {
	if phi := l.Random[0].Phi; phi > 0 {
		return phi * math.Abs(v)
	}
	i := len(l.sides)
	for i > 0 && v <= l.sides[i-1] {
		i--
	}
	return l.scales[i]
}

// around returns the interval of v of one tier from which the second draw may reach the value
// at, and the least scale of the draw there.
func (l *Law) around(tier int, at float64) (lo, hi, scale float64) {
	r := &l.Random[0]
	if r.Phi > 0 {
		q := r.Phi * r.Draw.reach()
		a, b := at/(1+q), at/(1-q)
		return min(a, b), max(a, b), r.Phi * math.Abs(a)
	}
	scale = l.scales[tier]
	return at - scale*r.Draw.reach(), at + scale*r.Draw.reach(), scale
}

// second returns the second draw at v.
func (l *Law) second(v float64) about {
	r := &l.Random[0]
	a := about{v: v, on: r.Grid.Snap(v), s: l.scaleOf(v), draw: r.Draw, lower: r.Lower, upper: r.Upper}
	a.h = max(1/r.Grid.Mult, l.Unit(v))
	return a
}

// belowEachOfTwo is BelowEach of two draws.
func (l *Law) belowEachOfTwo(x []float64) func(t float64, p []float64) {
	each := make([]middle, len(x))
	for i, v := range x {
		each[i] = l.middle(v)
		each[i].count()
	}
	known := &shares{}
	return func(t float64, p []float64) {
		t = l.upTo(t)
		for i := range each {
			p[i] = l.belowOfTwo(&each[i], t, known)
		}
	}
}

// shares are the probabilities that the second draw's result is below an edge, of successive values of the
// first draw's grid. Originals that lie close together share most of them.
type shares struct {
	edge, cell float64
	first      float64 // number of the first value
	of         []float64
}

// mostShares bounds the shares that are kept.
const mostShares = 1 << 14

// from returns the shares of n values from the j-th on.
func (s *shares) from(j float64, n int, edge, cell float64, share func(v, extra float64) float64) []float64 {
	if edge != s.edge || cell != s.cell || !(j >= s.first && j <= s.first+float64(len(s.of))) || len(s.of) > mostShares {
		*s = shares{edge, cell, j, s.of[:0]}
	}
	k := int(j - s.first)
	for len(s.of) < k+n {
		s.of = append(s.of, share((s.first+float64(len(s.of)))*cell, 0))
	}
	return s.of[k : k+n]
}

// addCells adds to sum, for the counted cells in an interval, their probabilities times their shares.
func (m *middle) addCells(sum, lo, hi, edge float64, known *shares, share func(v, extra float64) float64) float64 {
	c := &m.cells
	if lo, hi = max(lo, m.from), min(hi, m.to); !(lo < hi) {
		return sum
	}
	k := int(math.Floor(lo/m.cell+0.5+1e-6) - c.first)
	n := 1
	for c.end(k+n) < hi {
		n++
	}
	for i, s := range known.from(c.first+float64(k), n, edge, m.cell, share) {
		right, p := c.end(k+i+1), c.mass[k+i]
		if lo != c.end(k+i) || right > hi {
			right, p = m.piece(c.first+float64(k+i), lo, hi)
		}
		sum += p * s
		lo = max(lo, right)
	}
	return sum
}

// belowOfTwo is the probability that the result of the second draw is at most t. known (nil: none) has
// shares of earlier calls.
func (l *Law) belowOfTwo(m *middle, t float64, known *shares) float64 {
	switch {
	case m.sure:
		a := l.second(m.v)
		return a.below(t)
	case m.plain:
		return m.sum.below(t)
	}
	if math.IsInf(t, 0) {
		if t > 0 {
			return 1
		}
		return 0
	}
	on := l.second(min(max(m.v, m.low), m.high)) // whatever t, so that the grid is the same
	edge, draw := on.edge(t), l.Random[0].Draw
	if mult := l.Random[0].Grid.Mult; on.h == 1/mult { // the same bits for all originals, see shares
		edge = (math.Floor(edge*mult) + 0.5) / mult
	}
	share := func(v, extra float64) float64 {
		s := l.scaleOf(v)
		if draw == Normal && extra > 0 {
			s = math.Sqrt(s*s + extra)
		}
		if s == 0 {
			if v <= edge {
				return 1
			}
			return 0
		}
		return draw.mass(math.Inf(-1), (edge-v)/s)
	}
	sum := 0.0
	if m.pLow > 0 {
		sum += m.pLow * share(m.low, 0)
	}
	if m.pHigh > 0 {
		sum += m.pHigh * share(m.high, 0)
	}
	for i := range l.scales {
		lo, hi := l.tier(i, m)
		from, to, scale := l.around(i, edge)
		from, to = m.outward(from, to)
		sum += m.mass(max(lo, m.from), min(hi, from, m.to))
		if lo, hi = max(lo, from), min(hi, to); known != nil && len(m.cells.mass) > 0 {
			sum = m.addCells(sum, lo, hi, edge, known, share)
			continue
		}
		m.each(lo, hi, max(scale, m.cell), edge, func(v, w, extra float64) { sum += w * share(v, extra) })
	}
	return max(0, min(1, sum))
}

// reachOfTwo is Reach of two draws.
func (l *Law) reachOfTwo(x float64) (low, high float64) {
	m := l.middle(x)
	if m.sure {
		return l.reach(l.second(m.v))
	}
	low, high = l.First.reach(l.First.about(x))
	widest := max(l.scaleOf(low), l.scaleOf(high))
	for i, s := range l.scales {
		if from, to := l.tier(i, &m); from < high && to > low && l.Random[0].Phi == 0 {
			widest = max(widest, s)
		}
	}
	r := widest*l.Random[0].Draw.reach() + max(1/l.Random[0].Grid.Mult, l.Unit(low), l.Unit(high))
	return l.last(low - r), l.last(high + r)
}

// momentsOfTwo is Moments of two draws.
func (l *Law) momentsOfTwo(x float64) (shift, square float64) {
	m := l.middle(x)
	if m.sure {
		return l.moments(x, l.second(m.v))
	}
	if m.plain {
		return l.sum.moments(x, m.sum)
	}
	alike := m.count()
	step := max(1/l.Random[0].Grid.Mult, l.Coarse)
	smooth := m.s*math.Sqrt(m.draw.variance()) >= m.draw.smooth()*step
	if l.Coarse > 1/l.Random[0].Grid.Mult && !smooth && !l.smooth(step) {
		low, high := l.reachOfTwo(x)
		return l.lattice(x, low, high, math.Round(m.v/step)*step, step, func(y float64) float64 {
			return l.belowOfTwo(&m, l.upTo(y), nil)
		})
	}
	if alike != nil {
		if variance, ok := l.evenly(&m.cells, m.cell); ok {
			c := m.on - x
			return c*alike.whole + alike.shift, (c*c+variance)*alike.whole + 2*c*alike.shift + alike.squares
		}
	}
	var last about // that of which rounding's variance is known
	variance := 0.0
	add := func(v, w, extra float64) {
		var a, b float64
		if of := l.second(v); of.s > 0 && max(of.h, l.Coarse) == of.h && l.free(of) {
			if of.s != last.s || of.h != last.h {
				last, variance = of, rounded(of.draw, of.s, of.h)
			}
			a, b = of.v-x, (of.v-x)*(of.v-x)+variance
		} else {
			a, b = l.momentsAt(x, v, smooth, m.cell)
		}
		shift += w * a
		square += w * (b + extra)
	}
	if m.pLow > 0 {
		a, b := l.moments(x, l.second(m.low))
		shift, square = shift+m.pLow*a, square+m.pLow*b
	}
	if m.pHigh > 0 {
		a, b := l.moments(x, l.second(m.high))
		shift, square = shift+m.pHigh*a, square+m.pHigh*b
	}
	for i := range l.scales {
		lo, hi := l.tier(i, &m)
		l.eachPart(&m, i, lo, hi, add)
	}
	return shift, square
}

// eachPart calls add for the values of a tier, in narrow panels where a mask after the second
// draw may clip its result or not.
func (l *Law) eachPart(m *middle, tier int, lo, hi float64, add func(v, w, extra float64)) {
	lo, hi = max(lo, m.from), min(hi, m.to)
	at := lo
	for _, bound := range []float64{l.low, l.high} {
		if math.IsInf(bound, 0) {
			continue
		}
		from, to, scale := l.around(tier, bound)
		from, to = m.outward(from, to)
		from, to = min(max(from, at), hi), min(max(to, at), hi)
		m.each(at, from, math.Inf(1), at, add)
		m.each(from, to, max(scale, m.cell), bound, add)
		at = max(at, to)
	}
	m.each(at, hi, math.Inf(1), at, add)
}

// smooth reports whether the SD of the second draw is large enough for a step (draw.smooth) in
// every tier.
func (l *Law) smooth(step float64) bool {
	r := &l.Random[0]
	return r.Phi == 0 && slices.Min(l.scales)*math.Sqrt(r.Draw.variance()) >= r.Draw.smooth()*step
}

// momentsAt returns the moments of the second draw at v. If the first draw is smooth for the
// step of the later masks, so is the result, however small the second draw is.
func (l *Law) momentsAt(x, v float64, smooth bool, cell float64) (shift, square float64) {
	a := l.second(v)
	if !smooth {
		return l.moments(x, a)
	}
	step := max(a.h, l.Coarse)
	if a.s == 0 {
		d := min(max(v, l.low), l.high) - x
		if v < l.low || v > l.high {
			return d, d * d
		}
		return d, d*d + max(0, step*step-cell*cell)/12
	}
	return l.smoothly(x, a, 1, step)
}
