package joint

import (
	"math"
	"slices"
)

// snap takes the estimate to the nearest of the values that the original can have: the values of the
// column if they are few, those of its lattice, the released values of the group in which values were exchanged. Where
// some originals are none of these, only estimates that are near one of them are taken there.
func (s *sought) snap() {
	some := s.some()
	for _, to := range s.nearests() {
		for _, from := range []struct {
			value func(row int) float64
			error float64
		}{{s.estimate, math.Sqrt(s.square())}, {func(row int) float64 { return s.y[row] }, math.Sqrt(s.index)}} {
			for _, reach := range []float64{math.Inf(1), 3 * from.error} {
				at := func(row int) float64 {
					v := from.value(row)
					if v != v {
						return v
					}
					if near := to(row, v); math.Abs(near-v) <= reach {
						return near
					}
					return v
				}
				if s.nearer(at, some, false) {
					s.takeWhere(at, false)
				}
			}
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
		if at := &s.Frame.groups[g]; s.complete && (at.identifies || at.groups <= mostLevels) &&
			!slices.Contains(at.columns, s.own) && at.groups*fewMembers >= s.Frame.rows {
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
	for _, k := range []float64{2, 5, 10, 20, 25, 50, 100, 250, 500, 1000, 2000, 2500, 5000, 10_000, 50_000, 100_000,
		1_000_000} {
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
