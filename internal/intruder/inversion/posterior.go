package inversion

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// law is the distribution of a released value given the original: transform.Law, or the noise of
// the default limit.
type law interface {
	Below(x, t float64) float64
	Reach(x float64) (low, high float64)
	Support() (low, high, step float64)
}

// ofNoise is the law of normal noise of SD λ.
type ofNoise float64

func (l ofNoise) Below(x, t float64) float64 { return math.Erfc((x-t)/(float64(l)*math.Sqrt2)) / 2 }
func (l ofNoise) Reach(x float64) (low, high float64) {
	return x - 7*float64(l), x + 7*float64(l)
}
func (ofNoise) Support() (low, high, step float64) { return math.Inf(-1), math.Inf(1), 0 }

// lawOf returns the law of the masks on the column, without the masks that exchange values as
// they are. It returns nil if there is no closed form.
func lawOf(masks []transform.Spec, name string, grid, sd float64) law {
	var alone []transform.Spec
	for i, m := range masks {
		if !slices.Contains(m.Params.Masks(), name) {
			continue
		}
		switch transform.ActionOf(m.Params, name, sd).(type) {
		case transform.Exchange:
			continue
		case transform.Addition, transform.Multiplication, transform.Bounding, transform.Rounding:
		default:
			return nil
		}
		onColumn := m.Params.Describe().OnColumn
		if onColumn == nil {
			return nil
		}
		alone = append(alone, transform.Spec{Name: transform.Label(masks, i), Params: onColumn(name)})
	}
	decimals := -1
	if d := -math.Log10(grid); math.Abs(d-math.Round(d)) < 1e-9 && d > -0.5 && d < 9.5 {
		decimals = int(math.Round(d))
	}
	key, err := keystream.NewKey([]byte("of a law, from which none draws!")) // a chain needs one
	if err != nil {
		return nil
	}
	chain, err := transform.NewChain(alone, transform.Setup{Key: key, Window: 1, Columns: []transform.ColumnInfo{{
		Name: name, Field: microdata.Field{Name: name, Type: arrow.PrimitiveTypes.Float64}, Decimals: decimals, SD: sd,
		Mean: math.NaN(),
	}}})
	if err != nil {
		return nil
	}
	l, ok := chain.Law(name)
	if !ok {
		return nil
	}
	return l
}

// mostCells is the number of cells in which a class's values that can have been released as a value
// are counted, if there are more than mostPoints of them.
const mostCells, mostPoints = 48, 96

// element is a possible original value (width 0), or a cell of such values, with its mass in the
// posterior: with the frequencies as prior (full), and with every point of a lattice alike
// (even).
type element struct {
	at, width  float64
	full, even float64
}

// believer computes posteriors of one column, from what one release has of it, or several with independent draws.
type believer struct {
	prior  *prior
	sights []sight // of the releases
	list   []element
	runs   []run
	full   []float64 // sums of list's masses before each element
	even   []float64
	most   [2]float64 // no value has a greater posterior, full and even
}

// run is a stretch of the list, ascending and of one width: of a class, or of frequent values.
type run struct{ from, to int }

// sight is the law of a release.
type sight struct {
	law   law
	knots []knot
	low   float64 // the least and the greatest value that can be released
	high  float64
	step  float64 // of released values
}

// knot holds what a value can be released as.
type knot struct{ x, low, high float64 }

func newBeliever(p *prior, laws ...law) *believer {
	b := &believer{prior: p}
	width := p.high - p.low
	from, to := p.low, p.high
	last := &p.classes[len(p.classes)-1]
	margin := max(width, last.Step) // values beyond the data are possible
	from, to = from-margin, to+margin
	const knots = 768
	for _, l := range laws {
		s := sight{law: l}
		s.low, s.high, s.step = l.Support()
		for i := range knots + 1 {
			x := from + (to-from)*float64(i)/knots
			low, high := l.Reach(x)
			s.knots = append(s.knots, knot{x, low, high})
		}
		b.sights = append(b.sights, s)
	}
	return b
}

// reach returns an interval with all values that can have been released as y.
func (s *sight) reach(y float64) (low, high float64) {
	first, last := -1, -1
	for i := 1; i < len(s.knots); i++ {
		l, r := &s.knots[i-1], &s.knots[i]
		if min(l.low, r.low) <= y && y <= max(l.high, r.high) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return y, y
	}
	can := func(x float64) bool {
		l, h := s.law.Reach(x)
		return l <= y && y <= h
	}
	// The ends lie within their cells: halve them, keeping what may be beyond.
	low, high = s.knots[first-1].x, s.knots[last].x
	inside := s.knots[first].x
	if !can(inside) {
		inside = min(max(y, low), s.knots[first].x)
	}
	if !can(low) && can(inside) {
		for range 12 {
			if m := (low + inside) / 2; can(m) {
				inside = m
			} else {
				low = m
			}
		}
	}
	inside = s.knots[last-1].x
	if !can(inside) {
		inside = max(min(y, high), s.knots[last-1].x)
	}
	if !can(high) && can(inside) {
		for range 12 {
			if m := (high + inside) / 2; can(m) {
				inside = m
			} else {
				high = m
			}
		}
	}
	return low, high
}

// likely returns the probability, by an original value, of what was released as y; low and high are those of reach.
func (s *sight) likely(y, low, high float64) func(x float64) float64 {
	half := max(s.step/2, (high-low)/4000)
	from, to := y-half, y+half
	if y <= s.low+s.step/4 { // a bound to which values were moved
		from, to = math.Inf(-1), y+s.step/4
	} else if y >= s.high-s.step/4 {
		from, to = y-s.step/4, math.Inf(1)
	} else {
		from, to = max(from, s.low+s.step/4), min(to, math.Nextafter(s.high-s.step/4, math.Inf(-1)))
	}
	return func(x float64) float64 {
		p := 1.0
		if !math.IsInf(to, 1) {
			p = s.law.Below(x, to)
		}
		if !math.IsInf(from, -1) {
			p -= s.law.Below(x, from)
		}
		return max(p, 0)
	}
}

// at computes the posterior of the value that was released as y by each of the laws; NaN: not by this one. At least one
// of them is a number.
func (b *believer) at(y ...float64) {
	b.list, b.runs = b.list[:0], b.runs[:0]
	low, high, near := math.Inf(-1), math.Inf(1), math.NaN()
	var each []func(x float64) float64
	for i, v := range y {
		if v != v {
			continue
		}
		l, h := b.sights[i].reach(v)
		each = append(each, b.sights[i].likely(v, l, h))
		if low, high = max(low, l), min(high, h); near != near {
			near = v
		}
	}
	likely := each[0]
	if len(each) > 1 {
		likely = func(x float64) float64 {
			p := 1.0
			for _, one := range each {
				p *= one(x)
			}
			return p
		}
	}
	if low <= high {
		for k := range b.prior.classes {
			b.class(&b.prior.classes[k], low, high, near, likely)
			b.run()
		}
		spikes := b.prior.spikes
		i := sort.Search(len(spikes), func(i int) bool { return spikes[i].value >= low-1e-9*math.Abs(low) })
		j := sort.Search(len(spikes), func(i int) bool { return spikes[i].value > high+1e-9*math.Abs(high) })
		b.heaps(spikes[i:j], likely)
		b.run()
	}
	var full, even float64
	for i := range b.list {
		full += b.list[i].full
		even += b.list[i].even
	}
	for i := range b.list {
		e := &b.list[i]
		if full > 0 {
			e.full /= full
		}
		if even > 0 {
			e.even /= even
		}
	}
	b.most = [2]float64{}
	for _, r := range b.runs { // values may be in several runs
		var most [2]float64
		for i := r.from; i < r.to; i++ {
			most[0], most[1] = max(most[0], b.list[i].full), max(most[1], b.list[i].even)
		}
		b.most[0] += most[0]
		b.most[1] += most[1]
	}
	b.full, b.even = append(b.full[:0], 0), append(b.even[:0], 0)
	for i := range b.list {
		b.full = append(b.full, b.full[i]+b.list[i].full)
		b.even = append(b.even, b.even[i]+b.list[i].even)
	}
}

// class adds the values of a class within [low, high].
func (b *believer) class(c *class, low, high, y float64, likely func(float64) float64) {
	if len(c.distinct) == 0 {
		return
	}
	first, last := math.Ceil((low-c.Offset)/c.Step-1e-6), math.Floor((high-c.Offset)/c.Step+1e-6)
	level := c.level(y) * c.Step
	if last-first < mostPoints {
		for k := first; k <= last; k++ {
			x := c.Offset + k*c.Step
			p := likely(x)
			if p > 0 {
				b.list = append(b.list, element{x, 0, c.density(x) * c.Step * p, level * p})
			}
		}
		return
	}
	width := (high - low) / mostCells
	for i := range mostCells {
		x := low + (float64(i)+0.5)*width
		if p := likely(x); p > 0 {
			b.list = append(b.list, element{x, width, c.density(x) * width * p, level / c.Step * width * p})
		}
	}
}

// heaps adds the frequent values, those with the least mass in cells if there are many.
func (b *believer) heaps(spikes []spike, likely func(float64) float64) {
	if len(spikes) <= mostPoints {
		for _, s := range spikes {
			if p := likely(s.value); p > 0 {
				b.list = append(b.list, element{s.value, 0, s.mass * p, 0})
			}
		}
		return
	}
	var total float64
	for _, s := range spikes {
		total += s.mass
	}
	low := spikes[0].value
	width := (spikes[len(spikes)-1].value - low) / mostCells
	cells := make([]float64, mostCells)
	for _, s := range spikes {
		if s.mass < total/mostCells {
			cells[min(int((s.value-low)/width), mostCells-1)] += s.mass
		} else if p := likely(s.value); p > 0 {
			b.list = append(b.list, element{s.value, 0, s.mass * p, 0})
		}
	}
	b.run()
	for i, mass := range cells {
		x := low + (float64(i)+0.5)*width
		if mass == 0 {
			continue
		}
		if p := likely(x); p > 0 {
			b.list = append(b.list, element{x, width, mass * p, 0})
		}
	}
}

// run ends a run of the list.
func (b *believer) run() {
	from := 0
	if n := len(b.runs); n > 0 {
		from = b.runs[n-1].to
	}
	if from < len(b.list) {
		b.runs = append(b.runs, run{from, len(b.list)})
	}
}

// best returns the value with the greatest posterior of the values within a distance of it, from
// the sums of full or even masses. It is a value that can be an original, or the middle of a cell of such
// values; with between also a place between two that is nearer to both than the distance.
func (b *believer) best(sums []float64, within float64, between bool) (claim, p float64) {
	claim = math.NaN()
	if n := len(b.list); n == 0 || within >= b.list[n-1].at-b.list[0].at && len(b.runs) == 1 && b.list[0].width == 0 {
		if n > 0 {
			claim, p = b.list[n/2].at, 1
		}
		return claim, p
	}
	try := func(c, within float64) {
		d := within + 1e-12*math.Abs(c)
		var sum float64
		for _, r := range b.runs {
			sum += b.between(sums, r, c-d, c+d)
		}
		if sum > p {
			claim, p = c, sum
		}
	}
	for i := range b.list {
		try(b.list[i].at, within*(1+1e-6))
		if nearer := within * (1 - 1e-6); between && b.list[i].width == 0 {
			try(b.list[i].at+nearer, nearer*(1+1e-9))
		}
	}
	return claim, min(p, 1)
}

// between returns the mass of a run between two values.
func (b *believer) between(sums []float64, r run, low, high float64) float64 {
	list := b.list[r.from:r.to]
	half := list[0].width / 2
	from := r.from + sort.Search(len(list), func(i int) bool { return list[i].at-half >= low })
	to := r.from + sort.Search(len(list), func(i int) bool { return list[i].at+half > high })
	if half == 0 {
		return sums[max(to, from)] - sums[from]
	}
	part := func(i int) float64 { // of a cell that is not wholly inside
		e := &b.list[i]
		inside := min(high, e.at+half) - max(low, e.at-half)
		return (sums[i+1] - sums[i]) * max(inside, 0) / e.width
	}
	var sum float64
	if from > r.from {
		sum += part(from - 1)
	}
	if to < from { // within one cell
		return sum
	}
	sum += sums[to] - sums[from]
	if to < r.to {
		sum += part(to)
	}
	return sum
}

// standardNormal returns n values of a standard normal variable that are spread evenly.
func standardNormal(n int) []float64 {
	z := make([]float64, n)
	for i := range z {
		_, f := math.Modf(0.5 + float64(i)*0.6180339887498949)
		z[i] = distuv.UnitNormal.Quantile(min(max(f, 1e-9), 1-1e-9))
	}
	return z
}
