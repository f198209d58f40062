// Package joint estimates how well an intruder who has the whole released record, masked and
// unmasked columns, computes the original value of one masked column.
//
// The intruder knows the joint distribution of originals and released columns (their second moments)
// and how the masks work. The estimate is the best of: the linear estimator from all released columns
// (with indicators of categories, means over the records of a group, and products and quotients that
// tell), exact relations between columns, and a small tree on what the linear estimator leaves.
package joint

import (
	"math"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/cores"
	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// Column is what leaves of one column, or a grouping that the intruder knows.
type Column struct {
	Name   string
	Values []float64 // by row; NaN: no value; categories as cell.Category gives them
	// GroupOnly says that the column is not released: the intruder knows which records have the same
	// value (the members of a household), not the value.
	GroupOnly bool

	numbers []float64 // those of Values that are numbers, NaN elsewhere
}

// Limits of what is tried. They bound the time, which grows with rows·features².
const (
	mostColumns = 200        // the columns beyond that tell least by their correlation are left out
	mostLevels  = 30         // categories with more values have no indicators
	mostFit     = 120        // features of a linear estimator
	mostGroups  = 8          // groupings whose means are features
	work        = 60_000_000 // rows·features² of a fit, at most
	leastRows   = 5
	mostRows    = 30_000
)

// Frame holds the released columns of the rows of a sample, and of further rows for which an
// estimate is wanted.
type Frame struct {
	rows     int // of the sample; further rows follow
	all      int
	columns  []Column
	features []feature
	groups   []grouping
	complete bool

	// Share is the part of all records that the sample is, if it is not complete; 0: not known.
	Share float64
	// InOrder says that the rows are in the order of the release, which the intruder sees as well.
	InOrder bool
	// Exchanges are those by which columns have moved between records.
	Exchanges []Exchange

	crossing, coursing, uniting sync.Once
	crossed                     []grouping // by several columns
	coursed                     []course
	united                      []*grouping
}

// New prepares the released columns of n records. Columns may have further values behind, of
// records that are not of the sample. complete says that the n records are all there are: only then
// can means over groups be computed.
func New(columns []Column, n int, complete bool) *Frame {
	f := &Frame{rows: n, columns: slices.Clone(columns), complete: complete}
	if len(columns) > 0 {
		f.all = len(columns[0].Values)
	}
	parts := make([]*Frame, len(columns))
	cores.Each(len(columns), func(i int) {
		parts[i] = &Frame{rows: n, all: f.all, columns: f.columns, complete: complete}
		parts[i].prepare(i)
	})
	for _, p := range parts {
		f.features, f.groups = append(f.features, p.features...), append(f.groups, p.groups...)
	}
	return f
}

// Columns returns the number of columns.
func (f *Frame) Columns() int { return len(f.columns) }

// Target is an original value that the intruder is after.
type Target struct {
	X   float64
	Row int // of the record that holds it, in the columns' values; −1: not known
}

// Found is the mean squared error of a target.
type Found struct {
	Square   float64 // mean of (x − x̂)² over records near the target
	Index    float64 // mean of (x − y)² over the same records
	Realised float64 // (x − x̂)² of the target's own record; NaN if it is not known
}

// Result is what the intruder finds of a column.
type Result struct {
	Rows    int     // on which the errors are measured
	Square  float64 // mean of (x − x̂)², x̂ the best estimate; NaN if there are too few records
	Noise   float64 // its variance
	Linear  float64 // of the linear estimator alone
	Refined float64 // of what else was found, without the tree; NaN if a relation gives the value
	Index   float64 // mean of (x − y)² over the same records
	Ratio   float64 // Square/Index, at most 1
	Exact   bool    // whether a relation gives the value
	Tells   []string
	Of      []Found // by target
	// Open says that means over groups matter but cannot be computed, because not all records
	// are held; the value then counts as known.
	Open bool
	// Beyond says that the error is reckoned from what records of one unit tell of one another in the sample, to all
	// records of the unit.
	Beyond bool
}

// Estimate measures the estimators of a column with originals x and released values y, by row of
// the sample. own is the column's place among the frame's columns, −1 if it is not released.
func (f *Frame) Estimate(x, y []float64, own int, targets []Target) Result {
	s := f.seek(x, y, own)
	r := Result{Rows: len(s.rows), Square: math.NaN(), Linear: math.NaN(), Refined: math.NaN(), Index: s.index,
		Ratio: math.NaN(), Noise: math.NaN()}
	for range targets {
		r.Of = append(r.Of, Found{math.NaN(), math.NaN(), math.NaN()})
	}
	if len(s.rows) < leastRows {
		return r
	}
	exact := f.relation(s)
	if exact == nil {
		if by := f.dependence(s); by != nil {
			exact = by
			r.Open = by.open
		}
	}
	s.fit()
	s.middles()
	s.enrich()
	r.Linear = s.square()
	if exact == nil {
		exact = s.exactly()
	}
	r.Tells = s.tells()
	gain := 0.0
	if exact == nil {
		s.refine()
		r.Refined = min(s.square(), r.Linear)
		gain = s.grow()
		r.Square = r.Refined * (1 - gain)
		r.Tells = s.told(r.Tells)
	}
	if r.Beyond = s.beyond < 1 && exact == nil; r.Beyond {
		r.Square, r.Refined, gain = r.Square*s.beyond, r.Refined*s.beyond, 1-(1-gain)*s.beyond
	}
	if exact != nil {
		r.Exact, r.Square, r.Tells = true, 0, exact.tells
	}
	r.Tells = once(r.Tells)
	r.Noise = s.noise()
	if r.Exact {
		r.Noise = 0
	}
	r.Ratio = ratio(r.Square, s.index)
	order := s.byValue()
	for i, t := range targets {
		if t.X != t.X {
			continue
		}
		near := s.near(order, t.X)
		square, index := 0.0, 0.0
		for _, k := range near {
			square += s.left[k] * s.left[k] / float64(len(near))
			index += s.error(int(k)) * s.error(int(k)) / float64(len(near))
		}
		at := Found{Square: square * s.factor() * (1 - gain), Index: index, Realised: math.NaN()}
		if r.Exact {
			at.Square = 0
		}
		if t.Row >= 0 && t.Row < f.all {
			d := t.X - s.estimate(t.Row)
			at.Realised = d * d
			if exact != nil && (exact.at == nil || exact.holds(s, t.X, t.Row)) {
				at.Realised = 0
			}
		}
		r.Of[i] = at
	}
	return r
}

// once returns names in their order, each once: a column stands there twice if others give it.
func once(names []string) (list []string) {
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func ratio(square, index float64) float64 {
	if !(index > 0) {
		return math.NaN()
	}
	return min(1, square/index)
}

// sought is one column that the intruder is after.
type sought struct {
	*Frame
	x, y  []float64
	own   int
	rows  []int // with an original and, where there are such, a released value
	index float64
	step  float64 // of the grid of x; 0: none
	usual float64 // the most frequent value of x if at least a tenth of the records have it, else NaN

	features []feature
	base     int // features that are not made of others
	chosen   []int
	centre   [][]float64 // of the features: their mean, and those of groups
	mean     []float64   // of x, likewise
	within   *grouping   // the fit is within its groups; nil: one mean for all
	used     int         // means fitted
	settled  bool        // left is corrected for what was fitted
	estimate func(row int) float64
	plain    func(row int) float64 // the linear estimate without products
	rested   bool
	rest     []rest // of rests, once they are looked for
	acrossed bool
	crossing []rest                // of across, likewise
	related  func(row int) float64 // the relation that gives the estimates of rows for which it is a number; nil: none
	tellers  []int                 // columns that tell beside the fit
	beta     []float64
	steps    steps       // of the fit, until it is settled
	gains    []float64   // by feature chosen: how much less the sum of squares was when it was chosen
	beyond   float64     // of the mean square, what would be left with all records of each unit
	drop     []float64   // by feature chosen: how much the sum of squares grows without it
	left     []float64   // x − x̂ by place in rows
	spare    [][]float64 // values by row that nobody needs any more
	both     []int32     // memory of withBoth
	total    float64     // Σ (x − x̄)²
	alone    float64     // what y alone leaves of total
}

func (f *Frame) seek(x, y []float64, own int) *sought {
	s := &sought{Frame: f, x: x, y: y, own: own, index: math.NaN(), used: 1}
	s.estimate = s.predict
	both := func(i int) bool { return x[i] == x[i] && y[i] == y[i] }
	there := func(i int) bool { return x[i] == x[i] }
	for _, has := range []func(int) bool{both, there} {
		if len(s.rows) >= leastRows {
			break
		}
		s.rows = s.rows[:0]
		for i := range f.rows {
			if has(i) {
				s.rows = append(s.rows, i)
			}
		}
	}
	if p := 1 + len(f.features); len(s.rows) > 0 {
		most := min(mostRows, max(5000, work/(p*p)))
		s.rows = thinned(s.rows, most)
	}
	sum, n := 0.0, 0.0
	values := make([]float64, len(s.rows))
	for k, i := range s.rows {
		values[k] = x[i]
		if d := x[i] - y[i]; d == d {
			sum += d * d
			n++
		}
	}
	if n > 0 {
		s.index = sum / n
	}
	s.step, s.usual = stepOf(values), usual(values)
	s.centred()
	return s
}

// thinned returns at most n of a list of rows or values, evenly spread.
func thinned[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	out := make([]T, n)
	for k := range out {
		out[k] = list[k*len(list)/n]
	}
	return out
}

// error is x − y at a place in rows; 0 if there is no y.
func (s *sought) error(k int) float64 {
	i := s.rows[k]
	if d := s.x[i] - s.y[i]; d == d {
		return d
	}
	return 0
}

// tolerance is the distance within which a relation gives a value: what rounding leaves, or, with
// rounded, half a step of the value's grid.
func (s *sought) tolerance(x float64, rounded bool) float64 {
	switch fine := 1e-9 * math.Abs(x); {
	case s.step > 0 && rounded:
		return 0.49 * s.step
	case s.step > 0:
		return min(0.49*s.step, max(1e-3*s.step, fine))
	default:
		return max(fine, 1e-9*math.Sqrt(s.total/float64(len(s.rows))))
	}
}

// byValue returns places in rows in the order of x.
func (s *sought) byValue() []int32 {
	order, x := make([]int32, len(s.rows)), make([]float64, len(s.rows))
	for k, i := range s.rows {
		order[k], x[k] = int32(k), s.x[i]
	}
	rank.Order(order, x, nil)
	return order
}

// Near is the number of records that are near a target, of n.
func Near(n int) int { return min(n, max(20, min(200, n/10))) }

// near returns the places of the records whose values are nearest to x: a tenth of all, at least 20
// and at most 200 as in the replicates of Duncan et al. (2004).
func (s *sought) near(order []int32, x float64) []int32 {
	k := Near(len(order))
	at, _ := slices.BinarySearchFunc(order, x, func(p int32, v float64) int {
		if s.x[s.rows[p]] < v {
			return -1
		}
		return 1
	})
	from, to := at, at
	for to-from < k {
		down, up := math.Inf(1), math.Inf(1)
		if from > 0 {
			down = x - s.x[s.rows[order[from-1]]]
		}
		if to < len(order) {
			up = s.x[s.rows[order[to]]] - x
		}
		if down < up {
			from--
		} else {
			to++
		}
	}
	return order[from:to]
}

// stepOf returns the decimal step of values; 0 if they have none of nine decimals or fewer.
func stepOf(values []float64) float64 {
	step := 1.0
	for range 10 {
		if !slices.ContainsFunc(values, func(v float64) bool {
			q := v / step
			return math.Abs(q-math.Round(q)) > 1e-6+1e-15*math.Abs(q)
		}) {
			return step
		}
		step /= 10
	}
	return 0
}

// usual returns the most frequent value if at least a tenth are equal to it, else NaN.
func usual(values []float64) float64 {
	sorted := slices.Clone(values)
	rank.Sort(sorted)
	best, most := math.NaN(), 0
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to] == sorted[from] {
			to++
		}
		if to-from > most {
			best, most = sorted[from], to-from
		}
		from = to
	}
	if 10*most < len(values) || most < 3 {
		return math.NaN()
	}
	return best
}
