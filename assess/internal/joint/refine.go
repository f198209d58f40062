package joint

import (
	"math"
	"slices"
)

// What one linear estimator for all records does not use: it is fitted within groups, and for parts of
// the records each; relations that hold only where all their cells are present, or nearly; and values
// of which the original must be one. Each replaces the estimate where it is better by more than chance.

// refine improves the estimate of a fitted linear estimator. left becomes what is left of x by the best
// estimate, corrected for what was fitted.
func (s *sought) refine() {
	s.byGroups()
	s.settle()
	s.byParts()
	s.byRelations()
	s.besideHeaps()
	s.along()
	s.snap()
}

// byRelations uses relations that are not exact, or lack cells.
func (s *sought) byRelations() {
	s.inBothOrders()
	s.nearly()
}

// mostHeaps is the number of columns whose heaps are looked at.
const mostHeaps = 8

// besideHeaps uses relations in the records alone where a column has its least or greatest value, which many have, or
// alone in the others: hours that are cut at a bound tell of a wage where they are below it, and of what a wage tells.
func (s *sought) besideHeaps() {
	heaps := 0
	for _, c := range s.Frame.others(-1) {
		z := s.columns[c].numbers
		heap, least, greatest := usual(s.there(z)), math.Inf(1), math.Inf(-1)
		for _, i := range s.rows {
			if z[i] == z[i] {
				least, greatest = min(least, z[i]), max(greatest, z[i])
			}
		}
		if heap != least && heap != greatest || least == greatest {
			continue
		}
		if heaps++; heaps > mostHeaps {
			return
		}
		for _, at := range []bool{false, true} {
			s.relateWhere(func(i int) bool { return z[i] == z[i] && (z[i] == heap) == at }, c)
		}
	}
}

// relateWhere uses the relation that leaves least in some rows, by a column, in these.
func (s *sought) relateWhere(in func(row int) bool, by int) {
	places := slices.DeleteFunc(s.places(), func(k int) bool { return !in(s.rows[k]) })
	if len(places) < leastPart || !(dot(s.left, s.left) > 1e-18*s.total) {
		return
	}
	value, tells := s.closest(thinned(places, 128))
	if value == nil {
		return
	}
	s.takeWhere(func(row int) float64 {
		if in(row) {
			return value(row)
		}
		return math.NaN()
	}, false, append(tells, by)...)
}

// inBothOrders uses relations by record in two orders and keeps the better end: the one that leaves least in all, and
// then by their rounding; or the other way about, in which no other fit stands behind the first.
func (s *sought) inBothOrders() {
	other := *s
	other.left, other.tellers = slices.Clone(s.left), slices.Clone(s.tellers)
	s.relate()
	s.roundings()
	other.roundings()
	other.relate()
	if other.square() < s.square() {
		*s = other
	}
}

// settle corrects what is left for the coefficients and means that were fitted.
func (s *sought) settle() {
	by := math.Sqrt(s.factor())
	for k := range s.left {
		s.left[k] *= by
	}
	s.settled, s.steps = true, steps{}
}

const (
	betterBy   = 0.02 // share of the mean square by which an estimate must be better
	leastPart  = 30   // rows of a part that has an estimator of its own
	mostScreen = 5000
)

// better reports whether other errors are less than those of the present estimate by more than chance: by the mean of
// their squares, or, where a few large errors are most of it, by how many are less and how many greater, or because the
// others' own mean square is known well enough to be less: a few values far from all others that the present estimate
// misses, and the other does not.
func (s *sought) better(left []float64) bool {
	var mean, q, square, less, greater, other, spread float64
	for k, e := range left {
		d := s.left[k]*s.left[k] - e*e
		square += s.left[k] * s.left[k]
		delta := d - mean
		of := e*e - other
		other += of / float64(k+1)
		spread += of * (e*e - other)
		mean += delta / float64(k+1)
		q += delta * (d - mean)
		switch {
		case d > 0:
			less++
		case d < 0:
			greater++
		}
	}
	n := float64(len(left))
	return mean > betterBy*square/n &&
		(mean > 3*math.Sqrt(q/n/n) || less-greater > 4*math.Sqrt(less+greater) ||
			other+3*math.Sqrt(spread/n/n) < (1-betterBy)*square/n)
}

// take replaces the estimate if another one is better.
func (s *sought) take(left []float64, estimate func(row int) float64, tells ...int) bool {
	if !s.better(left) {
		return false
	}
	s.left, s.estimate = left, estimate
	for _, c := range tells {
		if c != s.own {
			s.tellers = append(s.tellers, c)
		}
	}
	return true
}

// byGroups fits the estimator within the groups of a column, or of two, if that explains more: each has a
// mean of its own.
func (s *sought) byGroups() {
	places := thinned(s.places(), mostScreen)
	rows := make([]int, len(places))
	screen := make([][3]float64, len(places)) // x, its estimate, and the released value
	for at, k := range places {
		i := s.rows[k]
		rows[at] = i
		screen[at] = [3]float64{s.x[i], s.x[i] - s.left[k], s.y[i]}
		if v := &screen[at]; v[2] != v[2] {
			v[2] = v[1]
		}
	}
	var best *grouping
	least := s.square()
	list := slices.Concat(s.Frame.groups, s.crossings())
	for g := range list {
		at := &list[g]
		if slices.Contains(at.columns, s.own) || s.columns[at.columns[0]].GroupOnly || at.groups > 4*len(rows) ||
			at.ofFew(s.Frame.rows) {
			continue // no snooper knows the mean of the originals of a unit
		}
		if square, used := screened(at, rows, screen); used <= len(rows)/4 {
			chance := 4 * math.Sqrt(2/float64(len(rows)-used))
			if square < least*(1-max(0.05, chance)) && !s.fewUnits(at) {
				best, least = at, square
			}
		}
	}
	if best == nil {
		return
	}
	before, square := *s, s.square()
	s.within, s.used = best, s.groupsOf(best, s.rows)
	s.refit()
	if s.square() > square*(1-betterBy) {
		*s = before
		s.estimate = s.predict
	}
}

// fewUnits reports whether a grouping has units in its groups, each in one, and fewer than four to a group: the region,
// the sex and the job of a person, which stay over the years, may be those of this person alone.
func (s *sought) fewUnits(g *grouping) bool {
	for k := range s.groups {
		unit := &s.groups[k]
		if !unit.ofFew(s.Frame.rows) || slices.Contains(g.columns, unit.columns[0]) {
			continue
		}
		in := make([]int32, unit.groups) // the group of each, and 1 more
		used, nested := map[int32]bool{}, true
		for i, at := range unit.of[:s.Frame.rows] {
			if at < 0 || g.of[i] < 0 {
				continue
			}
			if in[at] == 0 {
				in[at] = g.of[i] + 1
			}
			nested = nested && in[at] == g.of[i]+1
			used[g.of[i]] = true
		}
		if nested && 4*len(used) > unit.groups && 2*unit.groups <= s.Frame.rows {
			return true
		}
	}
	return false
}

// groupsOf is the number of groups that rows have, with that of rows without one.
func (s *sought) groupsOf(g *grouping, rows []int) int {
	seen := make([]bool, g.groups+1)
	n := 0
	for _, i := range rows {
		if at := g.of[i] + 1; !seen[at] {
			seen[at] = true
			n++
		}
	}
	return n
}

// screened returns the mean square that a regression within groups on the estimate and the released
// value leaves, and the number of groups.
func screened(g *grouping, rows []int, screen [][3]float64) (square float64, used int) {
	const x, e, y = 0, 1, 2
	sums := make([][4]float64, g.groups+1)
	values := slices.Clone(screen)
	for k, i := range rows {
		at := &sums[g.of[i]+1]
		for c, v := range values[k] {
			at[c] += v
		}
		at[3]++
	}
	var m [3][3]float64
	for k, i := range rows {
		at := &sums[g.of[i]+1]
		for c := range values[k] {
			values[k][c] -= at[c] / at[3]
		}
		for a := range 3 {
			for b := range 3 {
				m[a][b] += values[k][a] * values[k][b]
			}
		}
	}
	for g := range sums {
		if sums[g][3] > 0 {
			used++
		}
	}
	left := m[x][x]
	if m[e][e] > 0 {
		left -= m[x][e] * m[x][e] / m[e][e]
		if yy := m[y][y] - m[e][y]*m[e][y]/m[e][e]; yy > 1e-9*m[y][y] {
			xy := m[x][y] - m[x][e]*m[e][y]/m[e][e]
			left -= xy * xy / yy
		}
	} else if m[y][y] > 0 {
		left -= m[x][y] * m[x][y] / m[y][y]
	}
	return max(0, left) / math.Max(1, float64(len(rows)-used-2)), used
}

// byParts fits estimators of their own to the records that a mask has given one and the same value, as
// beyond a bound, to those that lack no number, and to those that lack no category: where a category tells the value,
// the released value is of no use, and where it is missing, of much.
func (s *sought) byParts() {
	if heap := usual(s.there(s.y)); heap == heap && s.own >= 0 {
		s.apart(func(i int) bool { return s.y[i] == heap })
	}
	lacks := func(i int) bool {
		return slices.ContainsFunc(s.features[:len(s.Frame.features)], func(f feature) bool {
			if !f.whole {
				return false
			}
			v := s.columns[f.column].numbers[i]
			return v != v
		})
	}
	s.apart(lacks)
	s.byLevels()
	s.apart(func(i int) bool {
		return slices.ContainsFunc(s.Frame.groups, func(g grouping) bool {
			at := g.columns[0]
			return g.of[i] < 0 && at != s.own && s.columns[at].numbers == nil && !s.columns[at].GroupOnly
		})
	})
}

const (
	mostKinds   = 8 // levels of a column by which estimators are fitted apart
	mostLeveled = 8 // such columns
)

// byLevels fits estimators from numbers, with slopes of their own, to the records of each level of a category of few
// levels: amounts in the currency of a year, or sums that have another form in each sector. What a level has too few
// records for all numbers is left out: the best of many columns would fit by chance.
func (s *sought) byLevels() {
	numbers := slices.DeleteFunc(slices.Clone(s.Frame.features), func(f feature) bool { return !f.whole })
	tried := 0
	for g := range s.Frame.groups {
		at := &s.Frame.groups[g]
		if c := at.columns[0]; at.groups > mostKinds || c == s.own || s.columns[c].GroupOnly {
			continue
		}
		if tried++; tried > mostLeveled {
			return
		}
		kind := func(i int) int { return int(at.of[i]) + 1 }
		if s.inKinds(at.groups+1, max(leastPart, 10*(len(numbers)+1)), kind, func(part *sought) {
			part.features = numbers
			part.refit()
		}) {
			s.tellers = append(s.tellers, at.columns[0])
		}
	}
}

// there returns those of a column's values that are numbers.
func (s *sought) there(of []float64) (values []float64) {
	for _, i := range s.rows {
		if v := of[i]; v == v {
			values = append(values, v)
		}
	}
	return values
}

// apart fits estimators to the rows of a kind and to the others.
func (s *sought) apart(is func(row int) bool) {
	s.inKinds(2, leastPart, func(i int) int {
		if is(i) {
			return 1
		}
		return 0
	}, func(part *sought) {
		part.fit()
		part.byGroups()
	})
}

// inKinds fits estimators to the rows of each kind, where there are enough, and reports whether that is better.
func (s *sought) inKinds(kinds, least int, kind func(row int) int, fit func(part *sought)) bool {
	parts, places := make([][]int, kinds), make([][]int, kinds)
	for k, i := range s.rows {
		p := kind(i)
		parts[p], places[p] = append(parts[p], i), append(places[p], k)
	}
	left := slices.Clone(s.left)
	estimates := slices.Repeat([]func(row int) float64{s.estimate}, kinds)
	for p, rows := range parts {
		if len(rows) < least || len(rows) == len(s.rows) {
			continue
		}
		part := &sought{Frame: s.Frame, x: s.x, y: s.y, own: s.own, rows: rows, index: s.index, step: s.step, usual: s.usual,
			used: 1, plain: s.plain}
		part.estimate = part.predict
		fit(part)
		part.settle()
		before := 0.0
		for _, k := range places[p] {
			before += s.left[k] * s.left[k]
		}
		if dot(part.left, part.left) > before*(1-betterBy) {
			continue
		}
		for at, k := range places[p] {
			left[k] = part.left[at]
		}
		estimates[p] = part.estimate
	}
	return s.take(left, func(row int) float64 { return estimates[kind(row)](row) })
}

// relate uses the relation that leaves least where all its cells are present, by itself or together
// with the estimate.
func (s *sought) relate() {
	if !(dot(s.left, s.left) > 1e-18*s.total) {
		return
	}
	value, tells := s.closest(thinned(s.places(), 128))
	if value == nil {
		return
	}
	left := slices.Clone(s.left)
	estimate, plainly := s.otherwise(value)
	for k, i := range s.rows {
		if v := value(i); v == v {
			left[k] = s.x[i] - v
		} else if plainly {
			left[k] = s.x[i] - estimate(i)
		}
	}
	if s.take(left, func(row int) float64 {
		if v := value(row); v == v {
			return v
		}
		return estimate(row)
	}, tells...) {
		s.related = value
	}
}

// otherwise returns the better estimate of the rows in which a value cannot be computed: the present one, or
// that without products, whose factors may be what is missing.
func (s *sought) otherwise(value func(row int) float64) (estimate func(row int) float64, plainly bool) {
	present, plain := 0.0, 0.0
	for _, i := range s.rows {
		if v := value(i); v != v {
			a, b := s.x[i]-s.estimate(i), s.x[i]-s.plain(i)
			present, plain = present+a*a, plain+b*b
		}
	}
	if plain < present {
		return s.plain, true
	}
	return s.estimate, false
}

// closest returns the relation that leaves least of x at some places where its cells are present; nil if none leaves
// less than the estimate.
func (s *sought) closest(places []int) (value func(row int) float64, tells []int) {
	l, left := s.lookAt(s.rowsAt(places)), make([]float64, len(places))
	most, before := 0.0, 0.0
	for at, k := range places {
		left[at] = s.left[k] * s.left[k]
		before += left[at]
	}
	const step = 4 // rows at once: most relations are far off in the first
	s.relations(s, func(r *relation) bool {
		gain, n := 0.0, 0
		for from := 0; from < len(places); from += step {
			to := min(from+step, len(places))
			for at, v := range r.of(l.rows[from:to], l.values) {
				if v != v {
					continue
				}
				n++
				e := l.x[from+at] - v
				if gain += left[from+at] - e*e; gain+before <= most {
					return false // the other rows cannot make it the best
				}
			}
		}
		if n >= leastRows && gain > most {
			most, value, tells = gain, r.kept().at, r.columns()
		}
		return false
	})
	return value, tells
}

// places returns all places in rows.
func (s *sought) places() []int {
	all := make([]int, len(s.rows))
	for k := range all {
		all[k] = k
	}
	return all
}

// rowsAt returns the rows at places.
func (s *sought) rowsAt(places []int) []int {
	rows := make([]int, len(places))
	for at, k := range places {
		rows[at] = s.rows[k]
	}
	return rows
}

// some returns the places in rows on which it is tried whether another estimate is better, before all are.
func (s *sought) some() []int { return thinned(s.places(), 2000) }

// nearer reports whether a value beside rows, or added to their estimates, is nearer to x than the estimate
// is, in these rows.
func (s *sought) nearer(value func(row int) float64, places []int, added bool) bool {
	before, after := 0.0, 0.0
	for _, k := range places {
		e := s.left[k]
		before += e * e
		if v := value(s.rows[k]); v == v {
			if e -= v; !added {
				e = s.x[s.rows[k]] - v
			}
		}
		after += e * e
	}
	return after < (1-betterBy)*before
}
