package joint

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/rank"
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
	s.relate()
	s.along()
	s.snap()
}

// settle corrects what is left for the coefficients and means that were fitted.
func (s *sought) settle() {
	by := math.Sqrt(s.factor())
	for k := range s.left {
		s.left[k] *= by
	}
	s.settled = true
}

const (
	betterBy   = 0.02 // share of the mean square by which an estimate must be better
	leastPart  = 30   // rows of a part that has an estimator of its own
	mostScreen = 5000
)

// better reports whether other errors are less than those of the present estimate by more than chance.
func (s *sought) better(left []float64) bool {
	var mean, q, square float64
	for k, e := range left {
		d := s.left[k]*s.left[k] - e*e
		square += s.left[k] * s.left[k]
		delta := d - mean
		mean += delta / float64(k+1)
		q += delta * (d - mean)
	}
	n := float64(len(left))
	return mean > betterBy*square/n && mean > 3*math.Sqrt(q/n/n)
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
		if slices.Contains(at.columns, s.own) || s.columns[at.columns[0]].GroupOnly || at.groups > 4*len(rows) {
			continue
		}
		if square, used := screened(at, rows, screen); used <= len(rows)/4 {
			chance := 4 * math.Sqrt(2/float64(len(rows)-used))
			if square < least*(1-max(0.05, chance)) {
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
// beyond a bound, and to those that lack no number.
func (s *sought) byParts() {
	if heap := usual(s.released()); heap == heap && s.own >= 0 {
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
}

func (s *sought) released() (values []float64) {
	for _, i := range s.rows {
		if v := s.y[i]; v == v {
			values = append(values, v)
		}
	}
	return values
}

// apart fits estimators to the rows of a kind and to the others.
func (s *sought) apart(is func(row int) bool) {
	var parts [2][]int
	var places [2][]int
	kind := func(i int) int {
		if is(i) {
			return 1
		}
		return 0
	}
	for k, i := range s.rows {
		p := kind(i)
		parts[p], places[p] = append(parts[p], i), append(places[p], k)
	}
	left := slices.Clone(s.left)
	estimates := [2]func(row int) float64{s.estimate, s.estimate}
	for p, rows := range parts {
		if len(rows) < leastPart || len(rows) == len(s.rows) {
			continue
		}
		part := &sought{Frame: s.Frame, x: s.x, y: s.y, own: s.own, rows: rows, index: s.index, step: s.step, usual: s.usual, used: 1, plain: s.plain}
		part.estimate = part.predict
		part.fit()
		part.byGroups()
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
	s.take(left, func(row int) float64 { return estimates[kind(row)](row) })
}

// relate uses the relation that leaves least where all its cells are present, by itself or together
// with the estimate.
func (s *sought) relate() {
	if !(dot(s.left, s.left) > 1e-18*s.total) {
		return
	}
	value, tells := s.closest()
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
	s.take(left, func(row int) float64 {
		if v := value(row); v == v {
			return v
		}
		return estimate(row)
	}, tells...)
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

// closest returns the relation that leaves least of x where its cells are present, with a slope and a
// constant where these leave less; nil if none leaves less than the estimate.
func (s *sought) closest() (value func(row int) float64, tells []int) {
	places := thinned(s.places(), 128)
	most, before := 0.0, 0.0
	for _, k := range places {
		before += s.left[k] * s.left[k]
	}
	s.relations(s, func(_ bool, at func(row int) float64, columns ...int) bool {
		gain, n := 0.0, 0
		for _, k := range places {
			v := at(s.rows[k])
			if v != v {
				continue
			}
			n++
			e := s.x[s.rows[k]] - v
			if gain += s.left[k]*s.left[k] - e*e; gain+before <= most {
				return false // the other rows cannot make it the best
			}
		}
		if n >= leastRows && gain > most {
			most, value, tells = gain, at, columns
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

// some returns the places in rows on which it is tried whether another estimate is better, before all are.
func (s *sought) some() []int { return thinned(s.places(), 2000) }

// along uses a column of which x is some function, or what is left of it: the value between those of
// the two records that are next to it in the order of that column, which leave out its own.
func (s *sought) along() {
	all, some := s.places(), s.some()
	value := func(k int) float64 { return s.x[s.rows[k]] }
	for c := range s.columns {
		if s.columns[c].numbers == nil || c == s.own || !(dot(s.left, s.left) > 1e-18*s.total) {
			continue
		}
		for _, added := range []bool{false, true} {
			of := value
			if added {
				left := s.left
				of = func(k int) float64 { return left[k] }
			}
			if s.nearer(s.curveOf(c, some, of), some, added) {
				s.takeWhere(s.curveOf(c, all, of), added, c)
			}
		}
	}
}

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

// takeWhere replaces the estimate where there is a value, or adds the value to it, if that leaves less.
func (s *sought) takeWhere(value func(row int) float64, added bool, tells ...int) {
	before := s.estimate
	left := slices.Clone(s.left)
	for k, i := range s.rows {
		if v := value(i); v == v {
			if left[k] -= v; !added {
				left[k] = s.x[i] - v
			}
		}
	}
	s.take(left, func(row int) float64 {
		v := value(row)
		switch {
		case v != v:
			return before(row)
		case added:
			return before(row) + v
		}
		return v
	}, tells...)
}

// curveOf returns, as a function of a row, a value at places in rows as it is beside that row in the order of
// a column: the mean of the others with the same number, else between the next ones; NaN if it has no number.
func (s *sought) curveOf(c int, places []int, value func(k int) float64) func(row int) float64 {
	z := s.columns[c].numbers
	type point struct{ at, sum, n float64 }
	var points []point
	order := make([]int32, 0, len(places))
	own := make([]float64, s.all) // by row; NaN: not among the places
	for i := range own {
		own[i] = math.NaN()
	}
	by := make([]float64, len(places))
	for at, k := range places {
		i := s.rows[k]
		if by[at] = z[i]; z[i] == z[i] {
			order = append(order, int32(at))
		}
		own[i] = value(k)
	}
	rank.Order(order, by, nil)
	for _, at := range order {
		if n := len(points); n == 0 || points[n-1].at != by[at] {
			points = append(points, point{at: by[at]})
		}
		p := &points[len(points)-1]
		p.sum, p.n = p.sum+own[s.rows[places[at]]], p.n+1
	}
	return func(row int) float64 {
		v := z[row]
		if v != v || len(points) < leastRows {
			return math.NaN()
		}
		at, there := slices.BinarySearchFunc(points, v, func(p point, v float64) int { return cmp.Compare(p.at, v) })
		next := at
		if there {
			p := points[at]
			if x := own[row]; x == x {
				p.sum, p.n = p.sum-x, p.n-1
			}
			if p.n > 0 {
				return p.sum / p.n
			}
			next = at + 1
		}
		switch {
		case at == 0:
			return points[next].sum / points[next].n
		case next == len(points):
			return points[at-1].sum / points[at-1].n
		}
		l, r := points[at-1], points[next]
		part := (v - l.at) / (r.at - l.at)
		return (1-part)*l.sum/l.n + part*r.sum/r.n
	}
}

// snap takes the estimate to the nearest of the values that the original can have: the values of the
// column if they are few, those of its lattice, the released values of the group in which values were exchanged.
func (s *sought) snap() {
	some := s.some()
	for _, to := range s.nearests() {
		for _, from := range []func(row int) float64{s.estimate, func(row int) float64 { return s.y[row] }} {
			at := func(row int) float64 {
				v := from(row)
				if v == v {
					return to(row, v)
				}
				return v
			}
			if !s.nearer(at, some, false) {
				continue
			}
			left := slices.Clone(s.left)
			for k, i := range s.rows {
				if v := at(i); v == v {
					left[k] = s.x[i] - v
				}
			}
			estimate := s.estimate
			s.take(left, func(row int) float64 {
				if v := at(row); v == v {
					return v
				}
				return estimate(row)
			})
		}
	}
}

// nearests returns functions that give the value, of those that are possible in a row, which is nearest
// to an estimate.
func (s *sought) nearests() (list []func(row int, v float64) float64) {
	values := make([]float64, len(s.rows))
	for k, i := range s.rows {
		values[k] = s.x[i]
	}
	slices.Sort(values)
	if levels := slices.Compact(slices.Clone(values)); len(levels) > 1 && len(levels) <= min(mostLevels, len(values)/10) {
		list = append(list, func(_ int, v float64) float64 { return nearest(levels, v) })
	}
	if step, offset := latticeOf(values, s.step); step > s.step {
		list = append(list, func(_ int, v float64) float64 { return offset + step*math.Round((v-offset)/step) })
	}
	for g := range s.Frame.groups {
		if at := &s.Frame.groups[g]; s.complete && at.identifies && !slices.Contains(at.columns, s.own) && at.groups*fewMembers >= s.Frame.rows {
			list = append(list, s.ofGroup(at))
		}
	}
	return list
}

// fewMembers is the mean size of groups up to which a record's value is sought among those of its group.
const fewMembers = 8

// ofGroup returns the released value of a row's group that is nearest to an estimate.
func (s *sought) ofGroup(g *grouping) func(row int, v float64) float64 {
	values := make([][]float64, g.groups)
	for i := range s.Frame.rows {
		if at := g.of[i]; at >= 0 && s.y[i] == s.y[i] {
			values[at] = append(values[at], s.y[i])
		}
	}
	for _, v := range values {
		slices.Sort(v)
	}
	return func(row int, v float64) float64 {
		if at := g.of[row]; at >= 0 && len(values[at]) > 0 {
			return nearest(values[at], v)
		}
		return v
	}
}

func nearest(sorted []float64, v float64) float64 {
	at, _ := slices.BinarySearch(sorted, v)
	if at == len(sorted) || at > 0 && v-sorted[at-1] < sorted[at]-v {
		at--
	}
	return sorted[at]
}

// latticeOf returns the greatest of the usual steps on which at least nine of ten values lie, and the offset.
func latticeOf(values []float64, grid float64) (step, offset float64) {
	if grid == 0 {
		return 0, 0
	}
	for _, k := range []float64{2, 5, 10, 20, 25, 50, 100, 250, 500, 1000, 2000, 2500, 5000, 10_000, 50_000, 100_000, 1_000_000} {
		rests, most := map[float64]int{}, 0
		at := 0.0
		for _, v := range thinned(values, 2000) {
			q := math.Round(v / grid)
			r := q - k*math.Floor(q/k)
			rests[r]++
			if rests[r] > most {
				most, at = rests[r], r
			}
		}
		if 10*most >= 9*min(len(values), 2000) {
			step, offset = k*grid, at*grid
		}
	}
	return step, offset
}

// Claims returns what an intruder who has the whole record states of the originals x, estimator by
// estimator and by row; NaN in rows that were not looked at. Among the relations are those that give the
// most values within each of the distances.
func (f *Frame) Claims(x, y []float64, own int, distances []float64) (list [][]float64) {
	s := f.seek(x, y, own)
	if len(s.rows) < leastRows {
		return nil
	}
	s.fit()
	s.enrich()
	add := func(at func(row int) float64) {
		values := make([]float64, f.rows)
		for i := range values {
			values[i] = math.NaN()
		}
		for _, i := range s.rows {
			if values[i] = at(i); values[i] != values[i] {
				if values[i] = y[i]; y[i] != y[i] {
					values[i] = s.predict(i)
				}
			}
		}
		list = append(list, values)
	}
	linear := make([]float64, f.rows)
	for _, i := range s.rows {
		linear[i] = s.predict(i)
	}
	add(func(row int) float64 { return linear[row] })
	exact := f.relation(s)
	if exact == nil {
		exact = s.exactly()
	}
	if exact != nil {
		add(exact.at)
	}
	for _, often := range s.oftenWithin(distances) {
		add(often)
	}
	for _, to := range s.nearests() {
		add(func(row int) float64 { return to(row, linear[row]) })
	}
	s.refine()
	add(s.estimate)
	return list
}

// oftenWithin returns the relations that give the most values exactly, and the most within each of the
// distances: each once, and none that gives only few.
func (s *sought) oftenWithin(distances []float64) (list []func(row int) float64) {
	const fewRows = 64 // in which one that gives a twentieth of the values gives some, in 96 of 100 cases
	rows := interleaved(thinned(s.rows, 256), 256/fewRows)
	type often struct {
		hits  int
		value func(row int) float64
	}
	best := make([]often, 1+len(distances))
	for k := range best {
		best[k].hits = leastRows
	}
	at, last, hits := 0, make([]int, len(best)), make([]int, len(best))
	s.relations(s, func(rounded bool, value func(row int) float64, _ ...int) bool {
		clear(hits)
		found := false
		for at, i := range rows {
			if at == fewRows && !found {
				break
			}
			v, x := value(i), s.x[i]
			if v != v || x == s.usual {
				continue
			}
			off := math.Abs(v - x)
			if off <= s.tolerance(x, rounded) {
				hits[0]++
				found = true
			}
			for k, d := range distances {
				if off <= d*(1+1e-9) {
					hits[k+1]++
					found = true
				}
			}
		}
		at++
		for k, n := range hits {
			if n > best[k].hits {
				best[k], last[k] = often{n, value}, at
			}
		}
		return false
	})
	for k := range best {
		if best[k].value != nil && !slices.Contains(last[:k], last[k]) {
			list = append(list, best[k].value)
		}
	}
	return list
}

// interleaved returns a list in another order: every by-th, then those after them, so that the first are spread evenly.
func interleaved(list []int, by int) (out []int) {
	for from := range by {
		for i := from; i < len(list); i += by {
			out = append(out, list[i])
		}
	}
	return out
}
