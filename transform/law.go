package transform

import (
	"math"
	"slices"
)

// Law is the distribution of the released value y of one column given its original value x, in
// closed form and independent of the other records. It leaves out swaps, which permute the
// values of a column: with a swap, the law holds for the column as a whole, but not for a
// single record.
//
// A chain has a law if every mask on the column declares its own (see lawful), and at most two
// of them draw. Normal noise after a bias or after another normal noise counts as one draw with
// it, because the sum is normal.
type Law struct {
	column *column
	first  *Law // the draw before this one, and the masks after it; nil if this is the first
	sum    *Law // both draws as one normal sum, which is exact where the tiers do not matter; may be nil
	// of two draws: bounds of the second draw's tiers, half a step of the first above its greatest result below each
	sides  []float64
	scales []float64 // scale of the second draw below the first of these bounds, and above each
	before []level   // masks before the draw
	random []spread
	after  []level // masks after the draw, the column's type last
	coarse float64 // greatest step of after, 0 where none rounds
	low    float64 // least and greatest value that after lets through
	high   float64
	alikes *alikes // of the first of two draws; else nil
}

// lawful is a step that declares what it does to a column, independently of the other
// records and columns. A chain that has a step without this declaration on a column has no
// law there.
type lawful interface {
	// law returns what the step does to a column that it touches: nothing, level
	// maps, or one draw; an empty stage if that is no law.
	law(column string) []stage
}

// stage is a level or a draw; exactly one is set, or neither if the step has no law.
type stage struct {
	level  *level
	spread *spread
}

// level is a nondecreasing map of a value: a clip or a rounding.
type level struct {
	apply func(v float64) float64
	// upTo returns the greatest v whose image is at most t; −Inf if there is none.
	upTo func(t float64) float64
	step float64 // of what it rounds to, 0 where it does not round
	// jumps says that it is neither: values near one another have images far apart. The moments of a draw before it are
	// not in the closed forms.
	jumps bool
}

// spread is a draw about a value v on a grid: v plus the grid's multiple nearest to
// scale·z, z of the standard form of the distribution.
type spread struct {
	draw  draw
	grid  grid
	scale func(v float64) float64
	above []float64 // bounds of the tiers that the scale depends on
	phi   float64   // bias: the scale is φ|v|
	lower float64   // redraw: the bounds within which the result must land; else infinite
	upper float64
}

// Law returns the law of the released values of a column. It returns false if some mask of the
// column does not declare its law, or if there is no closed form.
func (c *Chain) Law(name string) (*Law, bool) { return c.lawOf(name, false) }

// ColumnLaw is Law, and also leaves out masks of the whole column that only give its values to other
// records: the law then holds for the column as a whole, not for a single record.
func (c *Chain) ColumnLaw(name string) (*Law, bool) { return c.lawOf(name, true) }

func (c *Chain) lawOf(name string, permuted bool) (*Law, bool) {
	i := slices.IndexFunc(c.columns, func(col *column) bool { return col.Name == name })
	l := &Law{low: math.Inf(-1), high: math.Inf(1)}
	if i < 0 {
		return l, true // no mask touches it
	}
	l.column = c.columns[i]
	if !l.column.Field.Numeric() {
		return nil, false
	}
	for k, s := range c.steps {
		if !slices.Contains(c.masks[k].Params.Masks(), name) {
			continue
		}
		if permuted && declared(c.masks[k].Params).Permutes {
			continue
		}
		declares, ok := s.(lawful)
		if !ok {
			return nil, false
		}
		for _, st := range declares.law(name) {
			switch {
			case st == stage{}: // with these parameters it has none
				return nil, false
			case st.level != nil && len(l.random) == 0:
				l.before = append(l.before, *st.level)
			case st.level != nil && st.level.jumps:
				return nil, false
			case st.level != nil:
				l.after = append(l.after, *st.level)
			case st.spread.grid == (grid{}): // nothing changes
			case len(l.random) == 0 || l.first == nil && len(l.after) == 0 && l.adds(*st.spread):
				l.random = append(l.random, *st.spread)
			default:
				two, ok := l.then(*st.spread)
				if !ok {
					return nil, false
				}
				l = two
			}
		}
	}
	l.after = append(l.after, l.column.typed()...)
	l.settle()
	return l, true
}

// settle computes coarse, low and high from the masks after the draw, when all are known.
func (l *Law) settle() {
	for _, f := range l.after {
		l.coarse = max(l.coarse, f.step)
	}
	l.low, l.high = l.last(math.Inf(-1)), l.last(math.Inf(1))
	if len(l.random) == 1 {
		r := &l.random[0]
		half := 0.5 / max(r.grid.mult, math.SmallestNonzeroFloat64)
		l.low, l.high = max(l.low, l.last(r.lower+half)), min(l.high, l.last(r.upper-half))
	}
	if l.sum != nil {
		l.sum.after = l.after
		l.sum.settle()
	}
}

// adds reports whether s adds a normal variable of constant scale to a normal sum.
func (l *Law) adds(s spread) bool {
	free := func(s spread) bool {
		return s.draw == normal && math.IsInf(s.lower, -1) && math.IsInf(s.upper, 1)
	}
	return free(s) && len(s.above) == 0 && s.phi == 0 && free(l.random[len(l.random)-1])
}

// typed returns what fit does to a value: the conversion to the column's type.
func (c *column) typed() []level {
	var list []level
	if !c.refit {
		return nil
	}
	if c.decimals >= 0 {
		list = append(list, rounding(1/decimalGrid(c.decimals).mult, decimalGrid(c.decimals).snap))
	}
	if c.coarse != 0 {
		list = append(list, rounding(c.coarse, func(v float64) float64 {
			return float64(math.RoundToEven(v/c.coarse)*c.coarse) + 0
		}))
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

// last applies the masks after the draw.
func (l *Law) last(v float64) float64 {
	for i := range l.after {
		v = l.after[i].apply(v)
	}
	if l.column != nil && l.column.float32 && !math.IsInf(v, 0) {
		v = float64(float32(v))
	}
	return v
}

// about is the draw at one value: y is the result of the later masks for v plus h times the
// integer nearest to s·z/h, z standard, given that this is in [lower, upper].
type about struct {
	v, s, h      float64
	on           float64 // a value of the grid: v, unless a draw before this one is integrated over
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
		h := r.step(l, v)
		s := r.scale(v)
		a.v = r.grid.snap(a.v)
		switch {
		case a.h == 0:
			a.s, a.draw, a.lower, a.upper = s, r.draw, r.lower, r.upper
		default:
			// Each of the two draws was rounded: their variances with rounding, less the
			// variance that rounding their sum adds.
			a.s = math.Sqrt(max(0, rounded(normal, a.s, a.h)+rounded(normal, s, h)-h*h/12))
		}
		a.h = max(a.h, h)
	}
	a.on = a.v
	return a
}

// step returns the step of the draw's grid, or the distance of v from the next number if that is
// greater.
func (r *spread) step(l *Law, v float64) float64 {
	step := 1 / r.grid.mult
	// Below 2²² steps the numbers of either type lie closer than the steps.
	if math.Abs(v) < 0x1p22*step && step <= math.MaxFloat32/0x1p24 && step >= 0x1p-125 {
		return step
	}
	return max(step, l.unit(v))
}

// unit returns the distance of v from the next number that the column's type can hold.
func (l *Law) unit(v float64) float64 {
	v = min(math.Abs(v), math.MaxFloat64/4)
	if l.column.float32 {
		f := float32(min(v, math.MaxFloat32/4))
		return float64(math.Nextafter32(f, math.MaxFloat32) - f)
	}
	return math.Nextafter(v, math.MaxFloat64) - v
}

// Moments returns E(y − x) and E(y − x)² of the released value y of an original x.
func (l *Law) Moments(x float64) (shift, square float64) {
	if l.column == nil {
		return 0, 0
	}
	if l.first != nil {
		return l.momentsOfTwo(x)
	}
	if len(l.random) == 0 {
		v := x
		for i := range l.before {
			v = l.before[i].apply(v)
		}
		d := l.last(v) - x
		return d, d * d
	}
	return l.moments(x, l.about(x))
}

func (l *Law) moments(x float64, a about) (shift, square float64) {
	z, sure := a.inside()
	if sure {
		d := l.last(a.nearest()) - x
		return d, d * d
	}
	step := max(a.h, l.coarse)
	if coarse := a.s*math.Sqrt(a.draw.variance()) < a.draw.smooth()*step; coarse && !(l.free(a) && step == a.h) {
		low, high := l.reach(a)
		middle := a.on
		if step > a.h {
			middle = math.Round(a.v/step) * step
		}
		return l.lattice(x, low, high, middle, step, func(y float64) float64 { return a.below(l.upTo(y)) })
	}
	return l.smoothly(x, a, z, step)
}

// free reports whether nothing bounds the draw.
func (l *Law) free(a about) bool {
	return math.IsInf(a.lower, -1) && math.IsInf(a.upper, 1) && l.between(a)
}

// smoothly returns the moments if rounding adds only the variance of the step.
func (l *Law) smoothly(x float64, a about, z, step float64) (shift, square float64) {
	c := a.v - x
	if l.free(a) && step == a.h {
		return c, c*c + rounded(a.draw, a.s, a.h)
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

// between reports whether the masks after the draw clip none of its values.
func (l *Law) between(a about) bool {
	r := a.s*a.draw.reach() + a.h
	return a.v-r >= l.low && a.v+r <= l.high
}

// inside returns the probability of the interval of a redraw, and whether the result is
// certain: nothing is drawn, or the interval is out of reach.
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

// nearest returns v, or the nearest bound of a redraw if v lies outside its bounds.
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

// tail integrates by Simpson's rule over the interval of a redraw that lies on one side of the
// value, where the closed forms would be small differences of large numbers.
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
func (l *Law) lattice(x, low, high, middle, step float64, below func(y float64) float64) (shift, square float64) {
	before := 0.0
	take := func(y float64) {
		p := below(y)
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
	if l.first != nil {
		return l.reachOfTwo(x)
	}
	return l.reach(l.about(x))
}

func (l *Law) reach(a about) (low, high float64) {
	if _, sure := a.inside(); sure {
		y := l.last(a.nearest())
		return y, y
	}
	r := a.s*a.draw.reach() + a.h
	low, high = min(max(a.v, a.lower), a.upper)-r, min(max(a.v, a.lower), a.upper)+r
	return l.last(max(low, a.lower)), l.last(min(high, a.upper))
}

// Support returns the least and the greatest value that can be released, infinite if there is
// none, and the step of which released values are multiples, 0 if there is none.
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
