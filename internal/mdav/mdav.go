package mdav

import (
	"fmt"

	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// Groups returns the group of each record, numbered from 0 in the order in which MDAV
// forms them, and their number. points holds n records of d columns, record by record,
// in units in which distances are to be taken (standardised, as a rule), all finite.
// Each group has at least k and at most 2k−1 records. Domingo-Ferrer and Torra (2005),
// algorithm 1: as long as 3k records are left, those k nearest to the record r that is
// farthest from the mean become a group, and those k nearest to the record farthest from
// r; of 2k or more that are left then, the k nearest to the one farthest from the mean; and
// what is left at last. Of records equally far the first one is taken.
//
// Where stop (nil: never) says so, it gives up and returns nothing.
//
// It panics where k < 2, where there are fewer than k records, or where points is no
// multiple of d.
func Groups(points []float64, d, k int, stop func() bool) (group []int32, groups int) {
	if d < 1 || len(points)%d != 0 || k < 2 || len(points)/d < k {
		panic(fmt.Sprintf("mdav: %d numbers of %d columns cannot be grouped by %d", len(points), d, k))
	}
	f := newForming(points, d, k, stop)
	for f.left >= 3*k {
		if stop != nil && stop() {
			return nil, 0
		}
		r := f.farFromMean()
		s := f.about(r, true)
		f.about(s, false)
	}
	if f.left >= 2*k {
		f.about(f.farFromMean(), false)
	}
	f.rest()
	return f.group, f.groups
}

// forming is groups in the making.
type forming struct {
	t       *tree
	shell   shell
	k       int
	left    int
	sums    []sum // of the live records, by column
	mean    []float64
	nearest []near
	group   []int32
	groups  int
}

func newForming(points []float64, d, k int, stop func() bool) *forming {
	n := len(points) / d
	f := &forming{t: newTree(points, d, stop), k: k, left: n, sums: make([]sum, d), mean: make([]float64, d),
		group: make([]int32, n)}
	f.shell.t = f.t
	for i := range f.group {
		f.group[i] = -1
	}
	for i := range n {
		for j := range f.sums {
			f.sums[j].add(points[i*d+j])
		}
	}
	return f
}

// sum is a sum of many numbers, with what rounding has cost it (Neumaier 1974): records
// are taken off it by the million.
type sum struct{ high, low float64 }

func (s *sum) add(x float64) {
	t := s.high + x
	if max(s.high, -s.high) >= max(x, -x) {
		s.low += (s.high - t) + x
	} else {
		s.low += (x - t) + s.high
	}
	s.high = t
}

func (f *forming) farFromMean() int32 {
	for j := range f.mean {
		f.mean[j] = (f.sums[j].high + f.sums[j].low) / float64(f.left)
	}
	return f.shell.farthest(f.mean)
}

// about makes a group of the k records nearest to a record, itself among them, and
// returns, where it is asked for, the record that is farthest from it, of those that
// are left.
func (f *forming) about(record int32, farthest bool) int32 {
	q := f.t.point(record)
	f.nearest = f.t.nearest(q, f.k, f.nearest)
	for _, n := range f.nearest {
		f.put(n.record)
	}
	f.groups++
	if !farthest {
		return nobody
	}
	return f.t.farthest(q)
}

// put puts a record into the group that is being made.
func (f *forming) put(record int32) {
	f.group[record] = int32(f.groups)
	f.left--
	for j, x := range f.t.point(record) {
		f.sums[j].add(-x)
	}
	f.t.take(record)
}

// rest makes a group of all that is left.
func (f *forming) rest() {
	if f.left == 0 {
		return
	}
	for i, g := range f.group {
		if g < 0 {
			f.group[i] = int32(f.groups)
		}
	}
	f.left = 0
	f.groups++
}

// Sorted returns the group of each value and their number: k values each in ascending
// order, equal ones in the order given; the last group has those that are left too, up
// to 2k−1. Values must not be NaN. It panics where k < 2 or there are fewer than k. Where
// stop (nil: never) says so, it gives up, and what it returns is of no use.
func Sorted(values []float64, k int, stop func() bool) (group []int32, groups int) {
	if k < 2 || len(values) < k {
		panic(fmt.Sprintf("mdav: %d values cannot be grouped by %d", len(values), k))
	}
	order := make([]int32, len(values))
	for i := range order {
		order[i] = int32(i)
	}
	rank.Order(order, values, stop)
	group, groups = make([]int32, len(values)), len(values)/k
	for rank, i := range order {
		group[i] = int32(min(rank/k, groups-1))
	}
	return group, groups
}
