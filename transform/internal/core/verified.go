package core

import (
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/sdlfilter/sdlfilter/internal/places"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Place is a pair of columns that hold a point of each record, which is verified after all masks: how far the released
// point is from the true one, and how many people a snooper cannot tell apart there.
type Place struct {
	Columns [2]string
	Unit    string         // degrees or metres
	People  *places.People // nil if Of says whose places, or the population is not known
	Of      *PeopleOf
	K       int // the number of people that the mask asks for; 0: none
	// Ring returns where, about a true place, the released point may lie; Same: the radii are those of every place. nil:
	// anywhere.
	Ring func(people *places.People, at places.Point) (inner, outer float64, ok bool)
	Same bool
}

// PlacesOf returns the points that a mask displaces.
func PlacesOf(p Params) []Place { return Declared(p).Places }

// Counts reports whether the population about the points is known.
func (p Place) Counts() bool { return p.People != nil || p.Of != nil }

// Verified is what is released of a pair of columns, over the records that have both coordinates.
//
// The spatial k of a released point is the number of people who live as near to it as the true place is, or nearer
// (Allshouse et al. 2010). A snooper who knows the mask knows as well from where it can have come: Candidates is the
// number of people in such places. Whoever has the population and the mask may take, in place of the released point,
// the mean of these places: SquareGuess is for that.
type Verified struct {
	Records int64 `json:"records"`
	// Σ d², d the distance in metres of the released point and the true one
	Square Squares `json:"square"`
	// of the mean of the candidates, or the released point where there are none
	SquareGuess Squares         `json:"square_guess"`
	Guessed     bool            `json:"guessed,omitempty"`
	Least       float64         `json:"least"` // the least and greatest distance
	Greatest    float64         `json:"greatest"`
	K           map[int64]int64 `json:"k,omitempty"` // records, by spatial k, of which three digits are kept
	Candidates  map[int64]int64 `json:"candidates,omitempty"`
	Lesser      map[int64]int64 `json:"lesser,omitempty"` // by the lesser of both
}

// Squares is a sum of squares in units of 10⁻⁴ m², in 128 bits, so that it does not depend on an order.
type Squares [2]uint64

// Add adds the square of a distance in metres.
func (s *Squares) Add(distance float64) {
	s.plus(Squares{0, uint64(math.Round(distance * distance * 1e4))})
}

func (s *Squares) plus(o Squares) {
	var carry uint64
	s[1], carry = bits.Add64(s[1], o[1], 0)
	s[0], _ = bits.Add64(s[0], o[0], carry)
}

// Mean is the mean of n squares.
func (s Squares) Mean(n int64) float64 {
	return (math.Ldexp(float64(s[0]), 64) + float64(s[1])) / 1e4 / float64(n)
}

// RMSE is the root mean squared distance, in metres, of the best guess of the true place: the released point, or the
// mean of the candidates.
func (v *Verified) RMSE() float64 {
	square := v.Square.Mean(v.Records)
	if v.Guessed {
		square = min(square, v.SquareGuess.Mean(v.Records))
	}
	return math.Sqrt(square)
}

// Quantile returns the least number that the share of the records, from 0 to 1, is at or below.
func Quantile(counts map[int64]int64, share float64) int64 {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	sum := int64(0)
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if sum += counts[k]; float64(sum) >= share*float64(total) && sum > 0 {
			return k
		}
	}
	return 0
}

// Below is the share of the records below a number.
func Below(counts map[int64]int64, limit int64) float64 {
	below, total := int64(0), int64(0)
	for k, n := range counts {
		if total += n; k < limit {
			below += n
		}
	}
	return float64(below) / float64(total)
}

// Merge adds what other records have.
func (v *Verified) Merge(o Verified) {
	if o.Records == 0 {
		return
	}
	if v.Records == 0 || o.Least < v.Least {
		v.Least = o.Least
	}
	v.Records += o.Records
	v.Greatest = max(v.Greatest, o.Greatest)
	v.Square.plus(o.Square)
	v.SquareGuess.plus(o.SquareGuess)
	v.Guessed = v.Guessed || o.Guessed
	for _, m := range []struct {
		to   *map[int64]int64
		from map[int64]int64
	}{{&v.K, o.K}, {&v.Candidates, o.Candidates}, {&v.Lesser, o.Lesser}} {
		for k, n := range m.from {
			if *m.to == nil {
				*m.to = map[int64]int64{}
			}
			(*m.to)[k] += n
		}
	}
}

// Kept returns a number of people with three digits, rounded down.
func Kept(people float64) int64 {
	k, unit := int64(people*(1+1e-9)), int64(1) // weights that add up to 3 may be 2.9999999
	for k/unit >= 1000 {
		unit *= 10
	}
	return k / unit * unit
}

// verifying verifies a pair of columns of a chain.
type verifying struct {
	Place
	unit  places.Unit
	index [2]int
	rings []atomic.Pointer[ringAt] // by point of the population, where radii differ
	mu    sync.Mutex
	v     Verified
	slack float64     // how far, in metres, the rounding of released coordinates can move a point off its ring
	cell  *[2]float64 // the steps of the grid, if nothing but rounding masks the columns
	cells sync.Map    // by released point: crowd
}

type ringAt struct {
	inner, outer float64
	ok           bool
}

// verified returns what the chain verifies: what its masks displace, and the places of the setup.
func (c *Chain) verified() (list []*verifying) {
	if c.ReplicateNumber > 0 {
		return nil
	}
	all := slices.Clone(c.Setup.Places)
	for _, m := range c.Masks {
		all = append(all, Declared(m.Params).Places...)
	}
	for _, p := range all {
		unit, perMetre, finest := UnitOf(p.Unit)
		w := &verifying{Place: p, unit: unit}
		known, square, steps := true, 0.0, [2]float64{}
		for k, name := range p.Columns {
			info := c.Info(name)
			if known = known && info != nil && info.Field.Numeric(); known {
				w.index[k] = info.Index
				steps[k] = c.lastStep(name, finest)
				half := steps[k] / 2 / perMetre
				square += float64(half * half)
			}
		}
		if !known {
			continue
		}
		w.slack = math.Sqrt(square) + 1e-3
		if c.onlyRounds(p.Columns[0]) && c.onlyRounds(p.Columns[1]) {
			w.cell = &steps
		}
		if p.Of != nil {
			w.People = c.Setup.People[*p.Of]
		}
		if w.People != nil && p.Ring != nil && !p.Same {
			w.rings = make([]atomic.Pointer[ringAt], w.People.Len())
		}
		list = append(list, w)
	}
	return list
}

// verdict is what a snooper knows of one released point.
type verdict struct {
	distance, guess float64 // metres from the true place, and those of the guess
	guessed         bool
	k, candidates   float64
}

// see verifies the records of a masked block.
func (w *verifying) see(b *microdata.Block) {
	var x, y [2]microdata.Vector
	for k, i := range w.index {
		x[k], y[k] = b.Columns[i].Original, b.Columns[i].Out()
		if x[k].Values == nil || y[k].Values == nil {
			return
		}
	}
	type pair struct{ from, to places.Point }
	known := map[pair]verdict{}
	var sum Verified
	for i := range b.N {
		if b.Rejected(i) || !x[0].Valid.Has(i) || !x[1].Valid.Has(i) || !y[0].Valid.Has(i) || !y[1].Valid.Has(i) {
			continue
		}
		p := pair{places.Point{A: x[0].Values[i], B: x[1].Values[i]}, places.Point{A: y[0].Values[i], B: y[1].Values[i]}}
		if !w.unit.Valid(p.from) {
			continue
		}
		one, again := known[p]
		if !again {
			one = w.judge(p.from, p.to)
			known[p] = one
		}
		sum.add(one, w.People != nil)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.v.Merge(sum)
}

func (v *Verified) add(one verdict, people bool) {
	if v.Records == 0 || one.distance < v.Least {
		v.Least = one.distance
	}
	v.Records++
	v.Greatest = max(v.Greatest, one.distance)
	v.Square.Add(one.distance)
	v.SquareGuess.Add(one.guess)
	if !people {
		return
	}
	if v.K == nil {
		v.K, v.Lesser = map[int64]int64{}, map[int64]int64{}
	}
	lesser := one.k
	if one.guessed {
		if v.Candidates == nil {
			v.Candidates = map[int64]int64{}
		}
		v.Candidates[Kept(one.candidates)]++
		v.Guessed = true
		lesser = min(lesser, one.candidates)
	}
	v.K[Kept(one.k)]++
	v.Lesser[Kept(lesser)]++
}

// judge verifies a point.
func (w *verifying) judge(from, to places.Point) verdict {
	v := verdict{distance: w.unit.Distance(from, to)}
	v.guess = v.distance
	if w.People == nil {
		return v
	}
	v.k = w.People.AsNear(to, from)
	var guess places.Point
	if v.candidates, guess = w.candidates(to); v.candidates > 0 {
		v.guess, v.guessed = w.unit.Distance(from, guess), true
	}
	return v
}

// fartherOut is how many of its outer radii about a released point are searched for candidates: of places where few
// people live the rings are wide, and those that lie farther away are left out, which counts fewer candidates.
const fartherOut = 2

// candidates returns how many people live where a released point can have come from, and the mean of their places, each
// weighted by the density with which the mask would have put the point there.
func (w *verifying) candidates(to places.Point) (people float64, guess places.Point) {
	switch {
	case w.cell != nil:
		return w.inCell(to)
	case w.Ring == nil:
		return 0, to
	case w.Same:
		inner, outer, _ := w.Ring(w.People, to)
		return w.People.Ring(to, max(0, inner-w.slack), outer+w.slack)
	}
	_, most, ok := w.Ring(w.People, to)
	if !ok {
		return 0, to
	}
	mean := places.NewMean(w.unit)
	w.People.Nearest(to, func(i int, distance, n float64) bool {
		if distance > fartherOut*most {
			return false
		}
		at := w.rings[i].Load()
		if at == nil {
			at = new(ringAt)
			at.inner, at.outer, at.ok = w.Ring(w.People, w.People.At(i))
			w.rings[i].Store(at)
		}
		if at.ok && distance >= at.inner-w.slack && distance <= at.outer+w.slack {
			people += n
			mean.Add(w.People.At(i), n/(w.unit.Area(at.outer)-w.unit.Area(at.inner)))
		}
		return true
	})
	return people, mean.Point(to)
}

// Verified returns what is released of each place.
func (c *Chain) Verified() (list []Verified, of []Place) {
	for _, w := range c.verifies {
		w.mu.Lock()
		v := Verified{}
		v.Merge(w.v)
		w.mu.Unlock()
		list, of = append(list, v), append(of, w.Place)
	}
	return list, of
}

// ResumeVerified adds what other chains of the same masks have verified.
func (c *Chain) ResumeVerified(list []Verified) {
	for i, v := range list {
		if i < len(c.verifies) {
			c.verifies[i].mu.Lock()
			c.verifies[i].v.Merge(v)
			c.verifies[i].mu.Unlock()
		}
	}
}

// crowd is people and the mean of their places.
type crowd struct {
	people float64
	mean   places.Point
}

// inCell returns how many people live in the cell of the grid that a released point stands for, and the mean of their
// places: whoever knows the grid looks there, however near others live.
func (w *verifying) inCell(to places.Point) (people float64, mean places.Point) {
	if known, ok := w.cells.Load(to); ok {
		return known.(crowd).people, known.(crowd).mean
	}
	sum := places.NewMean(w.unit)
	w.People.Nearest(to, func(i int, distance, n float64) bool {
		p := w.People.At(i)
		in := func(v, released float64, k int) bool {
			return math.RoundToEven(v/w.cell[k]) == math.RoundToEven(released/w.cell[k])
		}
		if in(p.A, to.A, 0) &&
			(in(p.B, to.B, 1) || w.unit == places.Degrees && (in(p.B+360, to.B, 1) || in(p.B-360, to.B, 1))) {
			people += n
			sum.Add(p, n)
		}
		return distance <= w.slack*(1+1e-6)
	})
	mean = sum.Point(to)
	w.cells.Store(to, crowd{people, mean})
	return people, mean
}

// onlyRounds reports whether nothing but rounding masks a column.
func (c *Chain) onlyRounds(name string) bool {
	rounds := false
	for _, m := range c.Masks {
		if slices.Contains(m.Params.Masks(), name) {
			if _, rounds = ActionOf(m.Params, name, 1).(Rounding); !rounds {
				return false
			}
		}
	}
	return rounds
}

// lastStep is the step of a released column: the last of its decimals, or that to which a mask rounds.
func (c *Chain) lastStep(name string, finest int) float64 {
	step := math.Pow10(-finest)
	if col := c.Lookup(name); col != nil && col.Digits >= 0 {
		step = math.Pow10(-col.Digits)
	}
	for _, m := range c.Masks {
		if slices.Contains(m.Params.Masks(), name) {
			if r, ok := ActionOf(m.Params, name, 1).(Rounding); ok {
				step = max(step, r.Step)
			}
		}
	}
	return step
}

// String is the pair in words.
func (p Place) String() string {
	return strconv.Quote(p.Columns[0]) + " and " + strconv.Quote(p.Columns[1])
}
