// Package rank puts rows in the order of their values, fast: masks that need ranks of a whole
// data set need them again in each of many replicates.
package rank

import (
	"cmp"
	"math"
	"slices"
)

const (
	digit   = 11 // bits of a key that one pass sorts by
	buckets = 1 << digit
	passes  = (64 + digit - 1) / digit

	few  = 256     // rows that are compared with one another
	many = 1 << 20 // rows that are sorted at a time: their keys need 24 bytes each
)

// Order puts rows in ascending order of values[row]; rows of equal values stay in the order in
// which they are given, and so do 0 and −0. No value may be NaN. Where stop (nil: never) says
// so it gives up, and rows are of no use.
func Order(rows []int32, values []float64, stop func() bool) {
	compare := func(a, b int32) int { return cmp.Compare(values[a], values[b]) }
	if len(rows) < few {
		slices.SortStableFunc(rows, compare)
		return
	}
	inPieces(rows, many, func(piece []int32) { byKeys(piece, values) }, compare, stop)
}

// piece is how many rows OrderFunc sorts at a time.
const piece = 1 << 16

// OrderFunc puts rows in ascending order by compare, for which no two may be equal. Where stop
// (nil: never) says so it gives up, and rows are of no use.
func OrderFunc(rows []int32, compare func(a, b int32) int, stop func() bool) {
	inPieces(rows, piece, func(piece []int32) { slices.SortFunc(piece, compare) }, compare, stop)
}

// inPieces sorts rows by pieces and merges these, rows of earlier pieces first where they are equal.
// It asks for stop behind each piece, and each time before as many rows of OrderFunc's are merged.
func inPieces(rows []int32, size int, sort func([]int32), compare func(a, b int32) int, stop func() bool) {
	if len(rows) <= size {
		sort(rows)
		return
	}
	stopped := func() bool { return stop != nil && stop() }
	for part := range slices.Chunk(rows, size) {
		sort(part)
		if stopped() {
			return
		}
	}
	from, to := rows, make([]int32, len(rows))
	for ; size < len(rows); size *= 2 {
		next := to[:0]
		for two := range slices.Chunk(from, 2*size) {
			a, b := two[:min(size, len(two))], two[min(size, len(two)):]
			for len(a) > 0 && len(b) > 0 {
				if len(next)%piece == 0 && stopped() {
					return
				}
				if compare(b[0], a[0]) < 0 {
					next, b = append(next, b[0]), b[1:]
				} else {
					next, a = append(next, a[0]), a[1:]
				}
			}
			next = append(append(next, a...), b...)
		}
		from, to = to, from
	}
	if &from[0] != &rows[0] {
		copy(rows, from)
	}
}

// byKeys is Order by a radix sort from the last digit of the keys to the first.
func byKeys(rows []int32, values []float64) {
	n := len(rows)
	keys, moved := make([]uint64, n), make([]uint64, n)
	from, to := rows, make([]int32, n)
	var counts [passes][buckets]int32
	for i, r := range rows {
		k := key(values[r])
		keys[i] = k
		for p := range passes {
			counts[p][k>>(p*digit)%buckets]++
		}
	}
	for p := range passes {
		count := &counts[p]
		shift := p * digit
		if int(count[keys[0]>>shift%buckets]) == n {
			continue // all have the same digit
		}
		at := int32(0)
		for b := range count {
			count[b], at = at, at+count[b]
		}
		for i, k := range keys {
			b := k >> shift % buckets
			moved[count[b]], to[count[b]] = k, from[i]
			count[b]++
		}
		keys, moved, from, to = moved, keys, to, from
	}
	if &from[0] != &rows[0] {
		copy(rows, from)
	}
}

// Sort puts values in ascending order, −0 before 0. No value may be NaN. It takes 16 bytes a value
// beside them for more than a few.
func Sort(values []float64) {
	n := len(values)
	if n < few {
		slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(bits(a), bits(b)) })
		return
	}
	keys, moved := make([]uint64, n), make([]uint64, n)
	var counts [passes][buckets]int
	for i, v := range values {
		k := bits(v)
		keys[i] = k
		for p := range passes {
			counts[p][k>>(p*digit)%buckets]++
		}
	}
	for p := range passes {
		count := &counts[p]
		shift := p * digit
		if count[keys[0]>>shift%buckets] == n {
			continue // all have the same digit
		}
		at := 0
		for b := range count {
			count[b], at = at, at+count[b]
		}
		for _, k := range keys {
			b := k >> shift % buckets
			moved[count[b]] = k
			count[b]++
		}
		keys, moved = moved, keys
	}
	for i, k := range keys {
		if k>>63 != 0 {
			values[i] = math.Float64frombits(k ^ 1<<63)
		} else {
			values[i] = math.Float64frombits(^k)
		}
	}
}

// key is greater where x is greater, and the same for 0 and −0.
func key(x float64) uint64 { return bits(x + 0) } // −0 + 0 is 0

// bits is greater where x is greater, and for 0 greater than for −0.
func bits(x float64) uint64 {
	b := math.Float64bits(x)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}
