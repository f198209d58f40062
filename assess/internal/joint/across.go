package joint

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// Columns may be computed across the records of a unit: the sum of a person's wages up to this year, the change since
// last year, what part of the household's income it is, the greatest wage of the household, the place among its wages.
// None is a function of the record alone, and each gives the sought value, or a better estimate, once the records of
// the unit are put together.

const (
	mostBundles = 6    // groupings of which columns are looked at in this way
	mostOrders  = 3    // orders of the records of units
	mostAcross  = 12   // columns
	keptAcross  = 12   // estimates that are kept, those that tell most
	bestAcross  = 3    // of which are features at once
	someRows    = 4000 // records in which it is looked first whether a column tells anything
)

// bundle is a grouping by units with the records of each.
type bundle struct {
	unit *grouping
	rows [][]int32 // of the sample, by unit
}

// bundles returns the groupings whose records may be those of one unit.
func (s *sought) bundles() (list []bundle) {
	see := func(unit *grouping) {
		if len(list) < mostBundles && !slices.Contains(unit.columns, s.own) &&
			!slices.ContainsFunc(list, func(b bundle) bool { return b.unit.alike(unit, s.Frame.rows) }) {
			list = append(list, s.bundle(unit))
		}
	}
	for k := range s.groups {
		if unit := &s.groups[k]; unit.identifies && unit.groups < s.Frame.rows {
			see(unit)
		}
	}
	for _, unit := range s.units() {
		see(unit)
	}
	return list
}

// alike reports whether the first rows are in the same groups by another grouping.
func (g *grouping) alike(other *grouping, rows int) bool {
	to, from := make([]int32, g.groups), make([]int32, other.groups) // a place more than 0
	for i := range rows {
		a, b := g.of[i], other.of[i]
		if a < 0 || b < 0 {
			if a != b {
				return false
			}
			continue
		}
		if to[a] == 0 && from[b] == 0 {
			to[a], from[b] = b+1, a+1
		}
		if to[a] != b+1 || from[b] != a+1 {
			return false
		}
	}
	return true
}

// bundle returns the records of the sample by unit.
func (f *Frame) bundle(unit *grouping) bundle {
	rows := make([][]int32, unit.groups)
	for i, at := range unit.of[:f.rows] {
		if at >= 0 {
			rows[at] = append(rows[at], int32(i))
		}
	}
	return bundle{unit, rows}
}

// across returns estimates of x by columns that are computed across the records of a unit, those that tell most beside
// the estimate that there is; NaN in rows of which they say nothing.
func (s *sought) across() []rest {
	if s.acrossed || s.Frame == nil || !s.complete {
		return s.crossing
	}
	s.acrossed = true
	type candidate struct {
		rest
		tells float64
	}
	var list []candidate
	byTells := func(a, b candidate) int { return cmp.Compare(b.tells, a.tells) }
	tell := s.besideReleased()
	add := func(unit *grouping, column int, values []float64) (kept bool) {
		tells := tell(values)
		if kept = tells >= beyondChance/float64(len(s.rows)); kept {
			list = append(list, candidate{rest{unit, column, values}, tells})
			if len(list) > 4*keptAcross {
				slices.SortStableFunc(list, byTells)
				list = list[:keptAcross]
			}
		}
		return kept
	}
	columns := s.Frame.others(s.own)
	columns = columns[:min(len(columns), mostAcross)]
	for _, b := range s.bundles() {
		few := b.some()
		tells, same := s.inSome(few.rows), s.sameIn(few.each, columns)
		outermost := s.outerOf(few.each, same)
		moved := s.movedAlike(few.each)
		for _, c := range columns {
			try := func(b *bundle, see adder) {
				if slices.Contains(same, c) {
					s.extremes(b, c, see)
				} else {
					s.inUnit(b, c, outermost, see)
				}
				for _, multiplied := range moved {
					s.follow(b, c, s.y, multiplied, see)
					s.followOthers(b, c, columns, multiplied, see)
				}
			}
			if !slices.Contains(b.unit.columns, c) && tells(func(see adder) { try(&few, see) }) {
				try(&b, add)
			}
		}
	}
	for k := range s.groups { // one value tells who is in the unit
		unit := &s.groups[k]
		if c := unit.columns[0]; !unit.identifies && slices.Contains(columns, c) && unit.groups > mostLevels {
			b := s.bundle(unit)
			few := b.some()
			if s.inSome(few.rows)(func(see adder) { s.extremes(&few, c, see) }) {
				s.extremes(&b, c, add)
			}
		}
	}
	for _, c := range s.orders() {
		few := c.some()
		var rows [][]int32
		few.each(func(unit []int32) { rows = append(rows, unit) })
		tells, same := s.inSome(rows), s.sameIn(few.each, columns)
		outermost := s.outerOf(few.each, same)
		for _, column := range columns {
			if column != c.column && !slices.Contains(c.unit.columns, column) && !slices.Contains(same, column) &&
				tells(func(see adder) { s.inOrder(few, column, outermost, see) }) {
				s.inOrder(c, column, outermost, add)
			}
		}
	}
	slices.SortStableFunc(list, byTells)
	for _, c := range list[:min(len(list), keptAcross)] {
		s.crossing = append(s.crossing, c.rest)
	}
	return s.crossing
}

// adder takes an estimate by row, of a column and the units across whose records it was computed, and reports whether
// it keeps the values.
type adder func(unit *grouping, column int, values []float64) (kept bool)

// give gives an estimate to an adder. What that does not keep is used again.
func (s *sought) give(add adder, unit *grouping, column int, values []float64) {
	if !add(unit, column, values) {
		s.spare = append(s.spare, values)
	}
}

// some returns every so many-th unit, with about someRows records.
func (b *bundle) some() bundle {
	n := 0
	for _, rows := range b.rows {
		n += len(rows)
	}
	some := bundle{unit: b.unit}
	for k := 0; k < len(b.rows); k += 1 + n/(2*someRows) {
		some.rows = append(some.rows, b.rows[k])
	}
	return some
}

// some returns the course of every so many-th unit, with about someRows records.
func (c *course) some() *course {
	some, k := &course{unit: c.unit, column: c.column, at: c.at}, 0
	c.each(func(rows []int32) {
		if k%(1+len(c.rows)/(2*someRows)) == 0 {
			some.rows = append(some.rows, rows...)
			some.ends = append(some.ends, len(some.rows))
		}
		k++
	})
	return some
}

// inSome returns a function that reports whether one of the estimates which are made of some records tells of x beyond
// chance in these.
func (s *sought) inSome(units [][]int32) func(of func(see adder)) bool {
	in := make([]bool, s.all)
	for _, rows := range units {
		for _, i := range rows {
			in[i] = true
		}
	}
	few := *s
	few.rows = slices.DeleteFunc(slices.Clone(s.rows), func(i int) bool { return !in[i] })
	if len(few.rows) == 0 {
		return func(func(adder)) bool { return false }
	}
	tell := few.besideReleased()
	return func(of func(see adder)) (is bool) {
		of(func(_ *grouping, _ int, values []float64) bool {
			is = is || tell(values) >= beyondChance/float64(len(few.rows))
			return false
		})
		return is
	}
}

// besideReleased returns beside for values by row, with the released ones where there are none.
func (s *sought) besideReleased() func(values []float64) float64 {
	beside := s.beside(s.y)
	return func(values []float64) float64 {
		return beside(func(row int) float64 {
			if v := values[row]; v == v {
				return v
			}
			return s.y[row]
		})
	}
}

// filled returns values with the released ones where there are none.
func (s *sought) filled(values []float64) []float64 {
	out := slices.Clone(values)
	for i, v := range out {
		if v != v {
			if out[i] = s.y[i]; out[i] != out[i] {
				out[i] = s.mean[0]
			}
		}
	}
	return out
}

// nothing returns a value for each row, NaN.
func (s *sought) nothing() []float64 {
	values := s.blank()
	for i := range values {
		values[i] = math.NaN()
	}
	return values
}

// blank returns a value for each row, any.
func (s *sought) blank() (values []float64) {
	last := len(s.spare) - 1
	if last < 0 {
		return make([]float64, s.all)
	}
	values, s.spare = s.spare[last], s.spare[:last]
	return values
}

// inUnit tries a column as a multiple of x by unit (a share, an index), as x less a constant of the unit, as one that
// puts the unit's values in order, as what their running sum, in its own order, is, and as the greatest or the least.
func (s *sought) inUnit(b *bundle, column int, outermost []outer, add adder) {
	z := s.columns[column].numbers
	placed, steps := s.nothing(), s.nothing()
	goes := 0.0
	for _, rows := range b.rows {
		if rows = s.withBoth(rows, z); len(rows) >= 2 {
			goes += s.productWith(rows, z)
		}
	}
	values := make([]float64, 0, 16)
	for _, rows := range b.rows {
		if rows = s.withBoth(rows, z); len(rows) < 2 {
			continue
		}
		values = values[:0]
		for _, i := range rows {
			values = append(values, s.y[i])
		}
		slices.Sort(values)
		rank.Order(rows, z, nil)
		steps[rows[0]] = z[rows[0]]
		for k, i := range rows[1:] {
			steps[i] = z[i] - z[rows[k]]
		}
		if goes < 0 {
			slices.Reverse(rows)
		}
		for from := 0; from < len(rows); {
			to, sum := from, 0.0
			for ; to < len(rows) && z[rows[to]] == z[rows[from]]; to++ {
				sum += values[to]
			}
			for _, i := range rows[from:to] {
				placed[i] = sum / float64(to-from)
			}
			from = to
		}
	}
	s.give(add, b.unit, column, placed)
	s.give(add, b.unit, column, steps)
	for _, at := range s.heights(outermost) {
		for _, multiplied := range []bool{true, false} {
			values, course := s.nothing(), []float64(nil)
			for _, rows := range b.rows {
				if rows = s.withBoth(rows, z); len(rows) < 2 || !math.IsNaN(s.sameOf(rows, z)) {
					continue
				}
				course = course[:0]
				for _, i := range rows {
					course = append(course, z[i])
				}
				raised(values, rows, course, at, multiplied)
			}
			s.give(add, b.unit, column, values)
		}
	}
}

// productWith is the sum of products of what the released values and a column are from their means.
func (s *sought) productWith(rows []int32, z []float64) (sum float64) {
	var sy, sz float64
	for _, i := range rows {
		sy, sz = sy+s.y[i], sz+z[i]
	}
	n := float64(len(rows))
	for _, i := range rows {
		sum += (s.y[i] - sy/n) * (z[i] - sz/n)
	}
	return sum
}

// withBoth returns those of the rows of a unit with a released value and a number, until it is called again; nil of one
// row, which tells of no other.
func (s *sought) withBoth(rows []int32, z []float64) []int32 {
	if len(rows) < 2 {
		return nil
	}
	list := s.both[:0]
	for _, i := range rows {
		if s.y[i] == s.y[i] && z[i] == z[i] {
			list = append(list, i)
		}
	}
	s.both = list
	return list
}

// extremes tries a column that is the same in the records of a unit as the greatest, and as the least, of their values.
// Whose it is, the released values tell: surely, as it seems, or by how probable each is with normal errors, of one
// size or in percent, where nothing is known of the values but that they are not beyond it.
func (s *sought) extremes(b *bundle, column int, add adder) {
	z := s.columns[column].numbers
	sd, relative := math.Sqrt(s.index), s.relative()
	for _, sign := range []float64{1, -1} {
		picked, even, percent := s.nothing(), s.nothing(), s.nothing()
		for _, rows := range b.rows {
			if rows = s.withBoth(rows, z); len(rows) < 2 {
				continue
			}
			best := rows[0]
			for _, i := range rows {
				if sign*s.y[i] > sign*s.y[best] {
					best = i
				}
			}
			picked[best] = z[best]
			s.whoseExtreme(rows, z, sign, func(float64) float64 { return sd }, even)
			s.whoseExtreme(rows, z, sign, func(y float64) float64 { return relative * math.Abs(y) }, percent)
		}
		for _, values := range [][]float64{picked, even, percent} {
			s.give(add, b.unit, column, values)
		}
	}
}

// whoseExtreme sets, for the rows of a unit, the expected values where one is the greatest (with sign −1 the least), z,
// and the others are not beyond it, with errors of a standard deviation.
func (s *sought) whoseExtreme(rows []int32, z []float64, sign float64, sd func(y float64) float64, out []float64) {
	type at struct{ off, below, weight float64 }
	list, sum := make([]at, len(rows)), 0.0
	for k, i := range rows {
		e := &list[k]
		by := max(sd(s.y[i]), 1e-12*math.Abs(z[i]))
		e.off = max(-30, min(30, sign*(z[i]-s.y[i])/by))
		density, under := math.Exp(-e.off*e.off/2), math.Erfc(-e.off/math.Sqrt2)/2+1e-300
		e.below = s.y[i] - sign*by*density/math.Sqrt(2*math.Pi)/under
		if e.off < -8 { // Mills' ratio
			e.below = z[i] + sign*by/e.off
		}
		e.weight = density / by / under
		sum += e.weight
	}
	for k, i := range rows {
		w := list[k].weight / sum
		if w != w {
			w = 1 / float64(len(rows))
		}
		out[i] = w*z[i] + (1-w)*list[k].below
	}
}

// relative is the root mean square of (x − y)/x where it is at most 1.
func (s *sought) relative() float64 {
	var sum, n float64
	for _, i := range s.rows {
		if d := (s.x[i] - s.y[i]) / s.x[i]; d*d <= 1 {
			sum, n = sum+d*d, n+1
		}
	}
	return math.Sqrt(sum / n)
}

// orders returns courses in which columns may have been added up: in the order of the release, and of columns of few
// different values, such as years; of those that put the records into one order, one.
func (s *sought) orders() (list []*course) {
	courses := s.courses()
	for k := range courses {
		c := &courses[k]
		if len(list) == mostOrders || slices.Contains(c.unit.columns, s.own) || c.column == s.own && s.own >= 0 {
			continue
		}
		few := c.column == byOrder || slices.ContainsFunc(s.groups, func(g grouping) bool {
			return g.columns[0] == c.column && g.groups <= fewLevels
		})
		if few && !slices.ContainsFunc(list, func(o *course) bool { return slices.Equal(o.rows, c.rows) }) {
			list = append(list, c)
		}
	}
	return list
}

// inOrder tries a column as the sum of x up to a record of the unit, as the change since the one before, and as x in
// parts, or percent, of the one before.
func (s *sought) inOrder(c *course, column int, outermost []outer, add adder) {
	z := s.columns[column].numbers
	steps := s.nothing()
	c.each(func(rows []int32) {
		steps[rows[0]] = z[rows[0]]
		for k, i := range rows[1:] {
			steps[i] = z[i] - z[rows[k]]
		}
	})
	s.give(add, c.unit, column, steps)
	way := s.wayOfLast(c, z)
	for _, at := range s.heights(outermost) {
		s.give(add, c.unit, column, s.builtUp(c, z, nil, at))
		if way != nil {
			s.give(add, c.unit, column, s.builtUp(c, z, way, at))
		}
	}
}

// stretches visits the parts of a unit's records in which all but the first have a number; each of at least two.
func (s *sought) stretches(rows []int32, z []float64, visit func(part []int32)) {
	from := 0
	for k := 1; k <= len(rows); k++ {
		if k == len(rows) || z[rows[k]] != z[rows[k]] {
			if k-from > 1 {
				visit(rows[from:k])
			}
			from = k
		}
	}
}

// partOfLast are the ways in which a number may say what a value is of the one before.
var partOfLast = []func(z float64) float64{
	func(z float64) float64 { return z },
	func(z float64) float64 { return z / 100 },
	func(z float64) float64 { return 1 + z },
	func(z float64) float64 { return 1 + z/100 },
	math.Exp,
}

// wayOfLast returns the way that is nearest to the released values; nil if there is none.
func (s *sought) wayOfLast(c *course, z []float64) func(z float64) float64 {
	squares, n := make([]float64, len(partOfLast)), 0
	c.each(func(rows []int32) {
		s.stretches(rows, z, func(part []int32) {
			for k, i := range part[1:] {
				if d := math.Log(s.y[i] / s.y[part[k]]); d == d && !math.IsInf(d, 0) && z[i] == z[i] {
					n++
					for w, way := range partOfLast {
						if e := math.Log(way(z[i])) - d; e == e {
							squares[w] += min(e*e, 1e6)
						} else {
							squares[w] += 1e6
						}
					}
				}
			}
		})
	})
	if n < leastRows {
		return nil
	}
	best := 0
	for w, square := range squares {
		if square < squares[best] {
			best = w
		}
	}
	return partOfLast[best]
}

// acrossUnits offers estimates by columns that are computed across the records of a unit, the best first, and then
// those that tell beside them.
func (s *sought) acrossUnits() {
	list := slices.Clone(s.across())
	for len(list) > 0 {
		tell := s.besideOf(s.predicted())
		tells := make(map[*float64]float64, len(list))
		for _, r := range list {
			tells[&r.values[0]] = tell(s.filled(r.values))
		}
		list = slices.DeleteFunc(list, func(r rest) bool { return tells[&r.values[0]] < beyondChance/float64(len(s.rows)) })
		slices.SortStableFunc(list, func(a, b rest) int { return cmp.Compare(tells[&b.values[0]], tells[&a.values[0]]) })
		var features []feature
		for _, r := range list[:min(len(list), bestAcross)] {
			from := append(slices.Clone(r.unit.columns), r.column)
			features = append(features, feature{column: r.column, from: from, values: s.filled(r.values), others: true})
		}
		if !s.offer(features) {
			return
		}
		list = list[len(features):]
	}
}

// predicted returns the linear estimates by row.
func (s *sought) predicted() []float64 {
	out := make([]float64, s.all)
	for i := range out {
		out[i] = s.predict(i)
	}
	return out
}
