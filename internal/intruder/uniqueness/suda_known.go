package uniqueness

import (
	"math/bits"
	"slices"
)

// uniques holds the MSUs found so far, by row, as bits at the keys' places in the
// search. The sets of a row are in ascending order as numbers.
type uniques struct {
	start []int // the sets of row r are sets[start[r]:start[r+1]]
	sets  []uint64
}

// msu is a minimal sample unique: a record, and the keys as bits at their places.
type msu struct {
	row int32
	set uint64
}

// with returns the union of the sets of u and of lists, sorted by row, because a row's
// sets are searched far more often than they are collected.
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

// within reports whether one of the row's sets is a subset of set. The row must not be
// unique on set without its last key; so such a subset has the same last key.
//
// If the current set has a key b that is not in set, the search jumps to the least
// greater number that is a subset of set: all numbers between have b or another key
// that is not in set.
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
		// Bits outside set are set to 1 so that the carry passes over them.
		next = ((sets[0]|^set)>>b + 1) << b & set
		if next == 0 {
			return false
		}
	}
}

// leap returns the index of the first of sets that is at least next. It searches in
// growing steps, because this index is usually near 0.
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
