package joint

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// What is known of the values of a unit but for a constant, or a factor, is a course: changes since last
// year, shares of the unit's total. Its height is known where one value of the unit is, such as one that a
// mask did not cut, or the greatest, which stands in a column of its own.

// mostOutermost is the number of columns that are looked at as the greatest or the least value of units.
const mostOutermost = 3

// goesWithOuter is the least square of the correlation of a column with the greatest or the least released
// values of units of which it may be the greatest or the least.
const goesWithOuter = 0.1

// fewLeft is the share of values that a mask may leave as they are by chance.
const fewLeft = 0.1

// height returns how far, or multiplied in what proportion, the values of some of a unit's rows are from a
// course that they follow; NaN if that is not known.
type height func(rows []int32, course []float64, multiplied bool) float64

// from is how far, or in what proportion, a value is from the course.
func from(value, course float64, multiplied bool) float64 {
	if multiplied {
		return value / course
	}
	return value - course
}

// heights are the ways to find a height: by all released values together; by the greatest or the least of
// what each says, which is right where a mask cuts values from above, or from below, and leaves one of the
// unit; and by columns that are the greatest or the least value of the unit.
func (s *sought) heights(outermost []outer) []height {
	list := []height{s.together}
	if s.leavesSome() {
		list = append(list, s.outermost(slices.Max[[]float64]), s.outermost(slices.Min[[]float64]))
	}
	for _, o := range outermost {
		z, extreme := s.columns[o.column].numbers, o.of
		list = append(list, func(rows []int32, course []float64, multiplied bool) float64 {
			return from(s.sameOf(rows, z), extreme(course), multiplied)
		})
	}
	return list
}

// leavesSome reports whether the mask leaves more than a few values as they are, which one that cuts does.
func (s *sought) leavesSome() bool {
	n := 0
	for _, i := range s.rows {
		if s.x[i] == s.y[i] {
			n++
		}
	}
	return float64(n) > fewLeft*float64(len(s.rows))
}

func (s *sought) together(rows []int32, course []float64, multiplied bool) float64 {
	sy, sc, n := 0.0, 0.0, 0.0
	for k, i := range rows {
		if s.y[i] == s.y[i] {
			sy, sc, n = sy+s.y[i], sc+course[k], n+1
		}
	}
	if multiplied {
		return sy / sc
	}
	return (sy - sc) / n
}

func (s *sought) outermost(choose func([]float64) float64) height {
	return func(rows []int32, course []float64, multiplied bool) float64 {
		var list []float64
		for k, i := range rows {
			if v := from(s.y[i], course[k], multiplied); v == v {
				list = append(list, v)
			}
		}
		if len(list) == 0 {
			return math.NaN()
		}
		return choose(list)
	}
}

// raised sets the values of rows that follow a course at a height.
func raised(out []float64, rows []int32, course []float64, at height, multiplied bool) {
	by := at(rows, course, multiplied)
	for k, i := range rows {
		if out[i] = course[k] + by; multiplied {
			out[i] = course[k] * by
		}
		if math.IsInf(out[i], 0) {
			out[i] = math.NaN()
		}
	}
}

// ownMoves is the greatest part of the variance of what a mask does to values that may differ within units where they
// are moved alike: by a day that is cut off a shifted date, or noise beside a shift.
const ownMoves = 0.25

// movedAlike says whether the mask moved the values of each unit by nearly as much, as dates that are shifted by
// person, and whether it multiplied them by nearly one factor: multiplied, or not.
func (s *sought) movedAlike(each func(visit func(rows []int32))) (list []bool) {
	for _, multiplied := range []bool{false, true} {
		var all, own, of []float64
		each(func(rows []int32) {
			of = of[:0]
			for _, i := range s.withBoth(rows, s.x) {
				if by := from(s.x[i], s.y[i], multiplied); by-by == 0 {
					of = append(of, by)
				}
			}
			if len(of) >= 2 {
				all = append(all, of[0])
				own = append(own, stat.Variance(of, nil))
			}
		})
		if v := stat.Variance(all, nil); len(all) >= leastRows && v > 0 && stat.Mean(own, nil) <= ownMoves*v {
			list = append(list, multiplied)
		}
	}
	return list
}

// mostFollowed is the number of columns of which two are looked at for a shift that one of them has, too.
const mostFollowed = 8

// followOthers tries the released values of each unit, which were moved alike, by what a column is from another one
// that may have been moved with them, as the end of a stay with its beginning.
func (s *sought) followOthers(b *bundle, column int, columns []int, multiplied bool, add adder) {
	for _, c := range columns[:min(len(columns), mostFollowed)] {
		if c != column && !slices.Contains(b.unit.columns, c) {
			s.follow(b, column, s.columns[c].numbers, multiplied, add)
		}
	}
}

// follow tries the released values of each unit, which were moved alike, at the height of another column: by what it
// is from those that moved, they or others, on average, at the least, and at the most, as where it is the first date of
// each person; the middle of both is a linear function of them.
func (s *sought) follow(b *bundle, column int, moved []float64, multiplied bool, add adder) {
	z := s.columns[column].numbers
	mean, least, greatest := s.nothing(), s.nothing(), s.nothing()
	for _, rows := range b.rows {
		of := s.withBoth(rows, z)
		if len(rows) == 1 { // of one record, what the other column says
			of = rows
		}
		if rows = of; len(rows) == 0 {
			continue
		}
		sum, n, low, high := 0.0, 0.0, math.Inf(1), math.Inf(-1)
		for _, i := range rows {
			by := from(z[i], moved[i], multiplied)
			if by != by {
				continue
			}
			n++
			sum, low, high = sum+by, min(low, by), max(high, by)
		}
		for _, way := range []struct {
			values []float64
			by     float64
		}{{mean, sum / n}, {least, low}, {greatest, high}} {
			for _, i := range rows {
				if way.values[i] = s.y[i] + way.by; multiplied {
					way.values[i] = s.y[i] * way.by
				}
				if math.IsInf(way.values[i], 0) {
					way.values[i] = math.NaN()
				}
			}
		}
	}
	for _, values := range [][]float64{mean, least, greatest} {
		s.give(add, b.unit, column, values)
	}
}

// builtUp returns the sums of the changes z by unit, or with a way the products of what it makes of them, at
// a height.
func (s *sought) builtUp(c *course, z []float64, way func(float64) float64, at height) []float64 {
	out, course := s.nothing(), []float64(nil)
	c.each(func(rows []int32) {
		s.stretches(rows, z, func(part []int32) {
			last := 0.0
			if way != nil {
				last = 1
			}
			course = append(course[:0], last)
			for _, i := range part[1:] {
				if last += z[i]; way != nil {
					last = course[len(course)-1] * way(z[i])
				}
				course = append(course, last)
			}
			raised(out, part, course, at, way != nil)
		})
	})
	return out
}

// outer is a column that may be the greatest, or the least, value of a unit.
type outer struct {
	column int
	of     func([]float64) float64
}

// outerOf returns those of the columns that are the same in units which go with the greatest or the least
// released value of the unit.
func (s *sought) outerOf(each func(visit func(rows []int32)), same []int) (list []outer) {
	for _, column := range same[:min(len(same), mostOutermost)] {
		z := s.columns[column].numbers
		for _, of := range []func([]float64) float64{slices.Max[[]float64], slices.Min[[]float64]} {
			var a, b, values []float64
			each(func(rows []int32) {
				if rows = s.withBoth(rows, z); len(rows) >= 2 {
					values = values[:0]
					for _, i := range rows {
						values = append(values, s.y[i])
					}
					a, b = append(a, of(values)), append(b, z[rows[0]])
				}
			})
			if r := stat.Correlation(a, b, nil); r*r >= goesWithOuter {
				list = append(list, outer{column, of})
			}
		}
	}
	return list
}

// sameIn returns the columns that are the same in the records of nearly every unit of two or more, such as
// its greatest value.
func (s *sought) sameIn(each func(visit func(rows []int32)), columns []int) (list []int) {
	for _, column := range columns {
		z, same, several := s.columns[column].numbers, 0, 0
		each(func(rows []int32) {
			if rows = s.withBoth(rows, z); len(rows) < 2 {
				return
			}
			if several++; !math.IsNaN(s.sameOf(rows, z)) {
				same++
			}
		})
		if several >= leastRows && float64(same) >= sameInUnits*float64(several) {
			list = append(list, column)
		}
	}
	return list
}

// each visits the records of each unit.
func (b *bundle) each(visit func(rows []int32)) {
	for _, rows := range b.rows {
		visit(rows)
	}
}

// sameOf returns the number that all of the rows have; NaN if there is none.
func (s *sought) sameOf(rows []int32, z []float64) float64 {
	for _, i := range rows[1:] {
		if z[i] != z[rows[0]] {
			return math.NaN()
		}
	}
	return z[rows[0]]
}
