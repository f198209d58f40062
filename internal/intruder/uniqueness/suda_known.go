package uniqueness

import (
	"math/bits"
	"slices"
)

// uniques are the MSUs found so far, by row, as bits at the keys' places in the
// search; those of a row ascend as numbers.
type uniques struct {
	start []int // row r has sets[start[r]:start[r+1]]
	sets  []uint64
}

// msu is a minimal sample unique: a record, and the keys as bits at their places.
type msu struct {
	row int32
	set uint64
}

// with returns the sets of u and those of lists. A row's sets are searched far more
// often than they are gathered.
func (u *uniques) with(lists [][]msu, workers int) *uniques {
	rows := len(u.start) - 1
	start := make([]int, rows+1)
	for r := range rows {
		start[r+1] = u.start[r+1] - u.start[r]
	}
	for _, list := range lists {
		for _, f := range list {
			start[f.row+1]++
		}
	}
	for r := range rows {
		start[r+1] += start[r]
	}
	sets := make([]uint64, start[rows])
	fill := slices.Clone(start)
	for r := range rows {
		fill[r] += copy(sets[fill[r]:], u.sets[u.start[r]:u.start[r+1]])
	}
	for _, list := range lists {
		for _, f := range list {
			sets[fill[f.row]] = f.set
			fill[f.row]++
		}
	}
	inChunks(rows, workers, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			slices.Sort(sets[start[r]:start[r+1]])
		}
	})
	return &uniques{start, sets}
}

// within says whether a set of the row is a subset of set, of which the row is not
// unique on the keys but the last: such a subset has the same last key.
//
// From a set that has a key b outside, the search leaps to the least number above it
// that is a subset of set: all numbers between share b or another key outside.
func (u *uniques) within(row int32, set uint64) bool {
	sets := u.sets[u.start[row]:u.start[row+1]]
	next := uint64(1) << (bits.Len64(set) - 1)
	for {
		sets = sets[leap(sets, next):]
		if len(sets) == 0 || sets[0] > set {
			return false
		}
		outside := sets[0] &^ set
		if outside == 0 {
			return true
		}
		b := bits.Len64(outside) - 1
		// Bits outside set are filled so that the carry passes over them.
		next = ((sets[0]|^set)>>b + 1) << b & set
		if next == 0 {
			return false
		}
	}
}

// leap is the place of the first of sets that is at least next, looked for in growing
// steps: it is mostly near.
func leap(sets []uint64, next uint64) int {
	lo, step := 0, 1
	for lo+step <= len(sets) && sets[lo+step-1] < next {
		lo += step
		step *= 2
	}
	hi := min(lo+step, len(sets))
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if sets[mid] < next {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
