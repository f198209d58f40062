package core

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
	Column *Column
	First  *Law // the draw before this one, and the masks after it; nil if this is the first
	sum    *Law // both draws as one normal sum, which is exact where the tiers do not matter; may be nil
	// of two draws: bounds of the second draw's tiers, half a step of the first above its greatest result below each
	sides  []float64
	scales []float64 // scale of the second draw below the first of these bounds, and above each
	before []Level   // masks before the draw
	Random []Spread
	after  []Level // masks after the draw, the column's type last
	Coarse float64 // greatest step of after, 0 where none rounds
	low    float64 // least and greatest value that after lets through
	high   float64
	Alikes *alikes // of the first of two draws; else nil
}

// lawful is a step that declares what it does to a column, independently of the other
// records and columns. A chain that has a step without this declaration on a column has no
// law there.
type lawful interface {
	// Law returns what the step does to a column that it touches: nothing, level
	// maps, or one draw; an empty stage if that is no law.
	Law(column string) []Stage
}

// Stage is a level or a draw; exactly one is set, or neither if the step has no law.
type Stage struct {
	Level  *Level
	Spread *Spread
}

// Level is a nondecreasing map of a value: a clip or a rounding.
type Level struct {
	Apply func(v float64) float64
	// UpTo returns the greatest v whose image is at most t; −Inf if there is none.
	UpTo func(t float64) float64
	step float64 // of what it rounds to, 0 where it does not round
	// Jumps says that it is neither: values near one another have images far apart. The moments of a draw before it are
	// not in the closed forms.
	Jumps bool
}

// Spread is a draw about a value v on a grid: v plus the grid's multiple nearest to
// scale·z, z of the standard form of the distribution.
type Spread struct {
	Draw  Draw
	Grid  Grid
	Scale func(v float64) float64
	Above []float64 // bounds of the tiers that the scale depends on
	Phi   float64   // bias: the scale is φ|v|
	Lower float64   // redraw: the bounds within which the result must land; else infinite
	Upper float64
}

// Law returns the law of the released values of a column. It returns false if some mask of the
// column does not declare its law, or if there is no closed form.
func (c *Chain) Law(name string) (*Law, bool) { return c.lawOf(name, false) }

// ColumnLaw is Law, and also leaves out masks of the whole column that only give its values to other
// records: the law then holds for the column as a whole, not for a single record.
func (c *Chain) ColumnLaw(name string) (*Law, bool) { return c.lawOf(name, true) }

func (c *Chain) lawOf(name string, permuted bool) (*Law, bool) {
	i := slices.IndexFunc(c.columns, func(col *Column) bool { return col.Name == name })
	l := &Law{low: math.Inf(-1), high: math.Inf(1)}
	if i < 0 {
		return l, true // no mask touches it
	}
	l.Column = c.columns[i]
	if !l.Column.Field.Numeric() {
		return nil, false
	}
	for k, s := range c.Steps {
		if !slices.Contains(c.Masks[k].Params.Masks(), name) {
			continue
		}
		if permuted && Declared(c.Masks[k].Params).Permutes {
			continue
		}
		declares, ok := s.(lawful)
		if !ok {
			return nil, false
		}
		for _, st := range declares.Law(name) {
			switch {
			case st == Stage{}: // with these parameters it has none
				return nil, false
			case st.Level != nil && len(l.Random) == 0:
				l.before = append(l.before, *st.Level)
			case st.Level != nil && st.Level.Jumps:
				return nil, false
			case st.Level != nil:
				l.after = append(l.after, *st.Level)
			case st.Spread.Grid == (Grid{}): // nothing changes
			case len(l.Random) == 0 || l.First == nil && len(l.after) == 0 && l.adds(*st.Spread):
				l.Random = append(l.Random, *st.Spread)
			default:
				two, ok := l.then(*st.Spread)
				if !ok {
					return nil, false
				}
				l = two
			}
		}
	}
	l.after = append(l.after, l.Column.typed()...)
	l.Settle()
	return l, true
}

// Settle computes coarse, low and high from the masks after the draw, when all are known.
func (l *Law) Settle() {
	for _, f := range l.after {
		l.Coarse = max(l.Coarse, f.step)
	}
	l.low, l.high = l.last(math.Inf(-1)), l.last(math.Inf(1))
	if len(l.Random) == 1 {
		r := &l.Random[0]
		half := 0.5 / max(r.Grid.Mult, math.SmallestNonzeroFloat64)
		l.low, l.high = max(l.low, l.last(r.Lower+half)), min(l.high, l.last(r.Upper-half))
	}
	if l.sum != nil {
		l.sum.after = l.after
		l.sum.Settle()
	}
}

// adds reports whether s adds a normal variable of constant scale to a normal sum.
func (l *Law) adds(s Spread) bool {
	free := func(s Spread) bool {
		return s.Draw == Normal && math.IsInf(s.Lower, -1) && math.IsInf(s.Upper, 1)
	}
	return free(s) && len(s.Above) == 0 && s.Phi == 0 && free(l.Random[len(l.Random)-1])
}

// typed returns what fit does to a value: the conversion to the column's type.
func (c *Column) typed() []Level {
	var list []Level
	if !c.refit {
		return nil
	}
	if c.Digits >= 0 {
		list = append(list, RoundingLevel(1/DecimalGrid(c.Digits).Mult, DecimalGrid(c.Digits).Snap))
	}
	if c.coarse != 0 {
		list = append(list, RoundingLevel(c.coarse, func(v float64) float64 {
			return float64(math.RoundToEven(v/c.coarse)*c.coarse) + 0
		}))
	}
	list = append(list, ClippingLevel(c.Lo, c.Hi))
	return list
}

// RoundingLevel is the map to multiples of a step.
func RoundingLevel(step float64, apply func(float64) float64) Level {
	return Level{
		Apply: apply, step: step,
		UpTo: func(t float64) float64 {
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

// ClippingLevel is the map into [lo, hi].
func ClippingLevel(lo, hi float64) Level {
	return Level{
		Apply: func(v float64) float64 { return min(max(v, lo), hi) },
		UpTo: func(t float64) float64 {
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
		v = l.after[i].Apply(v)
	}
	if l.Column != nil && l.Column.Float32 && !math.IsInf(v, 0) {
		v = float64(float32(v))
	}
	return v
}

// about is the draw at one value: y is the result of the later masks for v plus h times the
// integer nearest to s·z/h, z standard, given that this is in [lower, upper].
type about struct {
	v, s, h      float64
	on           float64 // a value of the grid: v, unless a draw before this one is integrated over
	draw         Draw
	lower, upper float64
}

func (l *Law) about(x float64) about {
	v := x
	for i := range l.before {
		v = l.before[i].Apply(v)
	}
	a := about{v: v, lower: math.Inf(-1), upper: math.Inf(1)}
	for i := range l.Random {
		r := &l.Random[i]
		if r.Grid == (Grid{}) {
			continue
		}
		h := r.Step(l, v)
		s := r.Scale(v)
		a.v = r.Grid.Snap(a.v)
		switch {
		case a.h == 0:
			a.s, a.draw, a.lower, a.upper = s, r.Draw, r.Lower, r.Upper
		default:
			// Each of the two draws was rounded: their variances with rounding, less the
			// variance that rounding their sum adds.
			a.s = math.Sqrt(max(0, rounded(Normal, a.s, a.h)+rounded(Normal, s, h)-h*h/12))
		}
		a.h = max(a.h, h)
	}
	a.on = a.v
	return a
}

// Step returns the step of the draw's grid, or the distance of v from the next number if that is
// greater.
func (r *Spread) Step(l *Law, v float64) float64 {
	step := 1 / r.Grid.Mult
	// Below 2²² steps the numbers of either type lie closer than the steps.
	if math.Abs(v) < 0x1p22*step && step <= math.MaxFloat32/0x1p24 && step >= 0x1p-125 {
		return step
	}
	return max(step, l.Unit(v))
}

// Unit returns the distance of v from the next number that the column's type can hold.
func (l *Law) Unit(v float64) float64 {
	v = min(math.Abs(v), math.MaxFloat64/4)
	if l.Column.Float32 {
		f := float32(min(v, math.MaxFloat32/4))
		return float64(math.Nextafter32(f, math.MaxFloat32) - f)
	}
	return math.Nextafter(v, math.MaxFloat64) - v
}

// Moments returns E(y − x) and E(y − x)² of the released value y of an original x.
func (l *Law) Moments(x float64) (shift, square float64) {
	if l.Column == nil {
		return 0, 0
	}
	if l.First != nil {
		return l.momentsOfTwo(x)
	}
	if len(l.Random) == 0 {
		v := x
		for i := range l.before {
			v = l.before[i].Apply(v)
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
	step := max(a.h, l.Coarse)
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
	if a.draw == Uniform {
		far = min(far, 1)
	}
	width := (far - near) / nodes
	sum := 0.0
	for i := range nodes + 1 {
		z := near + float64(i)*width
		w := 1.0 // the density over that at near
		switch a.draw {
		case Normal:
			w = math.Exp((near - z) * (near + z) / 2)
		case Laplace:
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
	if l.Column == nil {
		return x, x
	}
	if l.First != nil {
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
	if l.Column != nil {
		step = l.Coarse
		for i := range l.Random {
			if m := l.Random[i].Grid.Mult; m > 0 {
				step = max(step, 1/m)
			}
		}
	}
	return l.low, l.high, step
}

// Fixed reports whether nothing is drawn: y is then a nondecreasing function of x.
func (l *Law) Fixed() bool { return len(l.Random) == 0 }
