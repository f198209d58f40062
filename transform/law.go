package transform

import (
	"math"
	"slices"
)

// Law is the law of the released value y of one column given its original value x,
// in closed form: what the masks of a chain make of a record whatever the other
// records are. A swap, which permutes the values of a column, is left out of it: the
// values of the column as a whole have the law, those of a record have not.
//
// A chain has a law where every mask on the column says its own (see lawful), and
// at most one of them draws, or a normal noise follows a bias or another normal
// noise: the sum is then normal.
type Law struct {
	column *column
	before []level // masks in front of the draw
	random []spread
	after  []level // masks behind it, the column's type last
	coarse float64 // greatest step of after, 0 where none rounds
	low    float64 // least and greatest value that after lets through
	high   float64
}

// lawful is a step that says what it does to a column by itself, independently of the
// other records and columns. What a step does not say is not known, and a chain
// with such a step on a column has no law there.
type lawful interface {
	// law returns what the step does to a column that it touches: nothing, level
	// maps, or one draw.
	law(column string) []stage
}

// stage is a level or a draw; exactly one is set.
type stage struct {
	level  *level
	spread *spread
}

// level is a nondecreasing map of a value: a clip or a rounding.
type level struct {
	apply func(v float64) float64
	// upTo returns the greatest v of which the image is at most t; −Inf where there is
	// none.
	upTo func(t float64) float64
	step float64 // of what it rounds to, 0 where it does not round
}

// spread is a draw about a value v on a grid: v plus the grid's multiple nearest to
// scale·z, z of the standard form of the distribution.
type spread struct {
	draw  draw
	grid  grid
	scale func(v float64) float64
	tiers bool    // whether the scale depends on the tier of the value
	lower float64 // redraw: the bounds within which the result must land; else infinite
	upper float64
}

// Law returns the law of what the chain makes of a column, false where some mask
// on it does not say what it does, or where there is no closed form.
func (c *Chain) Law(name string) (*Law, bool) {
	i := slices.IndexFunc(c.columns, func(col *column) bool { return col.Name == name })
	l := &Law{low: math.Inf(-1), high: math.Inf(1)}
	if i < 0 {
		return l, true // no mask touches it
	}
	l.column = c.columns[i]
	if !l.column.Field.Numeric() {
		return nil, false
	}
	drawn := false
	for k, s := range c.steps {
		if !slices.Contains(c.masks[k].Params.Masks(), name) {
			continue
		}
		said, ok := s.(lawful)
		if !ok {
			return nil, false
		}
		for _, st := range said.law(name) {
			switch {
			case st.level != nil && !drawn:
				l.before = append(l.before, *st.level)
			case st.level != nil:
				l.after = append(l.after, *st.level)
			case !drawn:
				drawn = true
				l.random = append(l.random, *st.spread)
			default:
				if len(l.after) > 0 || !l.adds(*st.spread) {
					return nil, false
				}
				l.random = append(l.random, *st.spread)
			}
		}
	}
	l.after = append(l.after, l.column.typed()...)
	for _, f := range l.after {
		l.coarse = max(l.coarse, f.step)
	}
	l.low, l.high = l.last(math.Inf(-1)), l.last(math.Inf(1))
	if len(l.random) == 1 {
		r := &l.random[0]
		half := 0.5 / max(r.grid.mult, math.SmallestNonzeroFloat64)
		l.low, l.high = max(l.low, l.last(r.lower+half)), min(l.high, l.last(r.upper-half))
	}
	return l, true
}

// adds reports whether a draw adds a normal variable of one scale to a normal sum.
func (l *Law) adds(s spread) bool {
	free := func(s spread) bool {
		return s.draw == normal && math.IsInf(s.lower, -1) && math.IsInf(s.upper, 1)
	}
	return free(s) && !s.tiers && s.scale(0) == s.scale(1) && free(l.random[len(l.random)-1])
}

// typed is what becomes of a value in the column's type, as fit does it.
func (c *column) typed() []level {
	var list []level
	if !c.refit {
		return nil
	}
	if c.decimals >= 0 {
		list = append(list, rounding(1/decimalGrid(c.decimals).mult, decimalGrid(c.decimals).snap))
	}
	if c.coarse != 0 {
		list = append(list, rounding(c.coarse, func(v float64) float64 { return float64(math.RoundToEven(v/c.coarse)*c.coarse) + 0 }))
	}
	list = append(list, clipping(c.lo, c.hi))
	return list
}

// rounding is the map to multiples of a step.
func rounding(step float64, apply func(float64) float64) level {
	return level{
		apply: apply, step: step,
		upTo: func(t float64) float64 {
			if math.IsInf(t, 0) {
				return t
			}
			edge := (math.Floor(t/step+1e-9) + 0.5) * step
			if !(apply(edge) <= t+1e-9*step) { // a half goes to an even multiple
				edge -= 1e-6 * step
			}
			return edge
		},
	}
}

// clipping is the map into [lo, hi].
func clipping(lo, hi float64) level {
	return level{
		apply: func(v float64) float64 { return min(max(v, lo), hi) },
		upTo: func(t float64) float64 {
			switch {
			case t >= hi:
				return math.Inf(1)
			case t < lo:
				return math.Inf(-1)
			}
			return t
		},
	}
}

// last applies the masks behind the draw.
func (l *Law) last(v float64) float64 {
	for i := range l.after {
		v = l.after[i].apply(v)
	}
	if l.column != nil && l.column.float32 && !math.IsInf(v, 0) {
		v = float64(float32(v))
	}
	return v
}

// about is the draw at one value: y is what the masks behind make of v plus h times
// the integer nearest to s·z/h, z standard, given that it lands in [lower, upper].
type about struct {
	v, s, h      float64
	draw         draw
	lower, upper float64
}

func (l *Law) about(x float64) about {
	v := x
	for i := range l.before {
		v = l.before[i].apply(v)
	}
	a := about{v: v, lower: math.Inf(-1), upper: math.Inf(1)}
	for i := range l.random {
		r := &l.random[i]
		if r.grid == (grid{}) {
			continue
		}
		h := max(1/r.grid.mult, l.unit(v))
		s := r.scale(v)
		a.v = r.grid.snap(a.v)
		switch {
		case a.h == 0:
			a.s, a.draw, a.lower, a.upper = s, r.draw, r.lower, r.upper
		default:
			// Each of the two was rounded: the variance that rounding left them, less
			// what it adds to their sum.
			a.s = math.Sqrt(max(0, rounded(normal, a.s, a.h)+rounded(normal, s, h)-h*h/12))
		}
		a.h = max(a.h, h)
	}
	return a
}

// unit is the distance of a value from the next one that its type can hold.
func (l *Law) unit(v float64) float64 {
	v = min(math.Abs(v), math.MaxFloat64/4)
	if l.column.float32 {
		f := float32(min(v, math.MaxFloat32/4))
		return float64(math.Nextafter32(f, math.MaxFloat32) - f)
	}
	return math.Nextafter(v, math.MaxFloat64) - v
}

// reach is beyond what no draw of the standard form lies but with a probability
// below 1e-15.
func (d draw) reach() float64 {
	switch d {
	case laplace:
		return 36
	case uniform:
		return 1
	}
	return 8
}

// mass is the probability of [a, b] under the standard form.
func (d draw) mass(a, b float64) float64 {
	switch {
	case !(a < b):
		return 0
	case d == uniform:
		return max(0, min(b, 1)-max(a, -1)) / 2
	case a > 0:
		return d.cdf(-a) - d.cdf(-b)
	case b < 0:
		return d.cdf(b) - d.cdf(a)
	}
	return max(0, 1-d.cdf(a)-d.cdf(-b))
}

// partial returns ∫ z and ∫ z² of the standard form over [a, b].
func (d draw) partial(a, b float64) (first, second float64) {
	if !(a < b) {
		return 0, 0
	}
	switch d {
	case uniform:
		a, b = max(a, -1), min(b, 1)
		if a >= b {
			return 0, 0
		}
		return (b*b - a*a) / 4, (b*b*b - a*a*a) / 6
	case laplace:
		// ∫₀^t z e^−z/2 and ∫₀^t z² e^−z/2.
		one := func(t float64) float64 {
			if math.IsInf(t, 0) {
				return 0.5
			}
			t = math.Abs(t)
			return 0.5 - 0.5*(1+t)*math.Exp(-t)
		}
		two := func(t float64) float64 {
			if math.IsInf(t, 0) {
				return math.Copysign(1, t)
			}
			return math.Copysign(1-0.5*(2+2*math.Abs(t)+t*t)*math.Exp(-math.Abs(t)), t)
		}
		return one(b) - one(a), two(b) - two(a)
	}
	density := func(t float64) (value, times float64) {
		if math.Abs(t) > 38 {
			return 0, 0
		}
		value = math.Exp(-t*t/2) / math.Sqrt(2*math.Pi)
		return value, t * value
	}
	fa, ta := density(a)
	fb, tb := density(b)
	return fa - fb, d.mass(a, b) + ta - tb
}

// variance of the standard form.
func (d draw) variance() float64 {
	switch d {
	case laplace:
		return 2
	case uniform:
		return 1.0 / 3
	}
	return 1
}

// smooth is the SD, in steps, from which on rounding adds a twelfth of the square of
// the step to a moment and changes nothing else: of a normal variable but for
// exp(−2π²·9), of the others but for a few thousandths of that twelfth.
func (d draw) smooth() float64 {
	if d == normal {
		return 3
	}
	return 16
}

// rounded is the variance of h times K, the integer nearest to s·z/h: the sum of
// (2j−1)·P(|K| ≥ j) over j ≥ 1, in closed form where that is a geometric or an
// arithmetic series.
func rounded(d draw, s, h float64) float64 {
	if s == 0 || h == 0 {
		return s * s * d.variance()
	}
	r := h / s
	switch d {
	case laplace: // P(|K| ≥ j) = exp(−(j−½)r)
		if r < 1e-3 {
			return 2*s*s + h*h/12
		}
		q := math.Exp(-r)
		return h * h * math.Exp(r/2) * (2*q/((1-q)*(1-q)) - q/(1-q))
	case uniform: // P(|K| ≥ j) = 1 − (j−½)r
		j := math.Floor(1/r + 0.5)
		if j > 1e4 {
			return s*s/3 + h*h/12
		}
		return h * h * (j*j - r*j*(4*j*j-1)/6)
	}
	if s >= d.smooth()*h {
		return s*s + h*h/12
	}
	sum := 0.0
	for j := 1.0; (j-0.5)*r <= d.reach(); j++ {
		sum += (2*j - 1) * 2 * d.mass((j-0.5)*r, math.Inf(1))
	}
	return sum * h * h
}

// Moments returns E(y − x) and E(y − x)² of the released value y of an original x.
func (l *Law) Moments(x float64) (shift, square float64) {
	if l.column == nil {
		return 0, 0
	}
	a := l.about(x)
	z, sure := a.inside()
	if sure {
		d := l.last(a.nearest()) - x
		return d, d * d
	}
	step, c := max(a.h, l.coarse), a.v-x
	free := math.IsInf(a.lower, -1) && math.IsInf(a.upper, 1) && l.between(a)
	coarse := a.s*math.Sqrt(a.draw.variance()) < a.draw.smooth()*step
	switch {
	case free && step == a.h:
		return c, c*c + rounded(a.draw, a.s, a.h)
	case coarse:
		return l.lattice(x, a, step)
	}
	lo, hi := (a.lower-a.v)/a.s, (a.upper-a.v)/a.s
	if lo > 0 || hi < 0 {
		return l.tail(x, a, lo, hi)
	}
	from, to := max(lo, (l.low-a.v)/a.s), min(hi, (l.high-a.v)/a.s)
	below, above := a.draw.mass(lo, min(from, hi))/z, a.draw.mass(max(to, lo), hi)/z
	from, to = min(from, hi), max(to, lo)
	within := a.draw.mass(from, to) / z
	first, second := a.draw.partial(from, to)
	first, second = a.s*first/z, a.s*a.s*second/z
	shift = c*within + first
	square = c*c*within + 2*c*first + second + within*step*step/12
	if below > 0 {
		d := l.low - x
		shift, square = shift+below*d, square+below*d*d
	}
	if above > 0 {
		d := l.high - x
		shift, square = shift+above*d, square+above*d*d
	}
	return shift, square
}

// between reports whether the masks behind the draw clip nothing of it.
func (l *Law) between(a about) bool {
	r := a.s*a.draw.reach() + a.h
	return a.v-r >= l.low && a.v+r <= l.high
}

// inside returns the probability of the bounds of a redraw, and whether the outcome is
// sure: nothing is drawn, or the bounds are beyond reach.
func (a *about) inside() (z float64, sure bool) {
	if a.s == 0 {
		return 1, true
	}
	if math.IsInf(a.lower, -1) && math.IsInf(a.upper, 1) {
		return 1, false
	}
	z = a.draw.mass((a.lower-a.v)/a.s, (a.upper-a.v)/a.s)
	return z, z < unlikely
}

// nearest is v, or the bound of a redraw nearest to it where it lies outside.
func (a *about) nearest() float64 {
	v := a.v
	if v < a.lower {
		return a.lower + a.h/2 // the bounds are half a step wide of the values
	}
	if v > a.upper {
		return a.upper - a.h/2
	}
	return v
}

// tail integrates over the bounds of a redraw that lie on one side of the value, where
// the closed forms are small differences, by Simpson's rule.
func (l *Law) tail(x float64, a about, lo, hi float64) (shift, square float64) {
	const nodes = 400 // even
	sign, near, far := 1.0, lo, hi
	if hi < 0 {
		sign, near, far = -1, -hi, -lo
	}
	far = min(far, near+a.draw.reach())
	if a.draw == uniform {
		far = min(far, 1)
	}
	width := (far - near) / nodes
	sum := 0.0
	for i := range nodes + 1 {
		z := near + float64(i)*width
		w := 1.0 // the density over that at near
		switch a.draw {
		case normal:
			w = math.Exp((near - z) * (near + z) / 2)
		case laplace:
			w = math.Exp(near - z)
		}
		switch {
		case i%2 == 1:
			w *= 4
		case i > 0 && i < nodes:
			w *= 2
		}
		y := min(max(l.last(a.v+sign*z*a.s), l.low), l.high)
		sum += w
		shift += w * (y - x)
		square += w * (y - x) * (y - x)
	}
	return shift / sum, square / sum
}

// lattice sums over the released values, which are multiples of a step and the bounds.
func (l *Law) lattice(x float64, a about, step float64) (shift, square float64) {
	low, high := l.Reach(x)
	middle := a.v
	if step > a.h {
		middle = math.Round(a.v/step) * step
	}
	before := 0.0
	take := func(y float64) {
		p := a.below(l.upTo(y))
		if p > before {
			d := l.last(y) - x
			shift += (p - before) * d
			square += (p - before) * d * d
			before = p
		}
	}
	take(low)
	for j := math.Floor((low - middle) / step); before < 1; j++ {
		y := middle + j*step
		if y >= high {
			break
		}
		if y > low {
			take(l.last(y))
		}
	}
	take(high)
	return shift, square
}

// Reach returns an interval outside which the released value y of an original x
// lies with a probability below 1e-15.
func (l *Law) Reach(x float64) (low, high float64) {
	if l.column == nil {
		return x, x
	}
	a := l.about(x)
	if _, sure := a.inside(); sure {
		y := l.last(a.nearest())
		return y, y
	}
	r := a.s*a.draw.reach() + a.h
	low, high = min(max(a.v, a.lower), a.upper)-r, min(max(a.v, a.lower), a.upper)+r
	return l.last(max(low, a.lower)), l.last(min(high, a.upper))
}

// Support returns the least and the greatest value that can be released, infinite
// where there is none, and the step that released values are multiples of, 0
// where there is none.
func (l *Law) Support() (low, high, step float64) {
	if l.column != nil {
		step = l.coarse
		for i := range l.random {
			if m := l.random[i].grid.mult; m > 0 {
				step = max(step, 1/m)
			}
		}
	}
	return l.low, l.high, step
}

// Fixed reports whether nothing is drawn: y is then a nondecreasing function of x.
func (l *Law) Fixed() bool { return len(l.random) == 0 }
