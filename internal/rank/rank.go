// Package rank puts rows in the order of their values, fast: masks that need ranks of a whole
// data set need them again in each of many replicates.
package rank

import (
	"cmp"
	"math"
	bits64 "math/bits"
	"slices"
	"sync"
)

const (
	digit   = 11 // bits of a key that one pass sorts by
	buckets = 1 << digit
	passes  = (64 + digit - 1) / digit

	few  = 256            // rows that are compared with one another
	many = 1 << placeBits // rows that are sorted at a time: their keys need up to 40 bytes each
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

// placeBits are those of a number that make room for a row's place beside the leading bits of its key.
const placeBits = 20

// scratch is the memory of a sort: replicates, which sort as many rows each, take turns.
var scratch = sync.Pool{New: func() any { return new([]uint64) }}

// byKeys is Order by a radix sort of the leading bits of the keys; the few rows that it leaves out of order
// are inserted in their places. Where they are many it is byAllBits.
func byKeys(rows []int32, values []float64) {
	if !byLeadingBits(rows, values) {
		byAllBits(rows, values)
	}
}

// byLeadingBits is byKeys for at most 2^placeBits rows; false, and rows are as they were, if too many of them are
// alike in the first 33 bits in which any differ.
func byLeadingBits(rows []int32, values []float64) bool {
	const (
		mask   = 1<<placeBits - 1
		from   = 64 - 3*digit
		budget = 4 // moves for each row
	)
	n := len(rows)
	own := scratch.Get().(*[]uint64)
	defer scratch.Put(own)
	*own = slices.Grow((*own)[:0], 2*n)[:2*n]
	packed, moved := (*own)[:n], (*own)[n:]
	first, differ := key(values[rows[0]]), uint64(0)
	for i, r := range rows {
		packed[i] = key(values[r])
		differ |= packed[i] ^ first
	}
	shared := bits64.LeadingZeros64(differ)
	var counts [3][buckets]int32
	for i, k := range packed {
		k = k<<shared&^mask | uint64(i)
		packed[i] = k
		counts[0][k>>from%buckets]++
		counts[1][k>>(from+digit)%buckets]++
		counts[2][k>>(from+2*digit)]++
	}
	for p := range counts {
		count, shift := &counts[p], from+p*digit
		if int(count[packed[0]>>shift%buckets]) == n {
			continue // all have the same digit
		}
		at := int32(0)
		for b := range count {
			count[b], at = at, at+count[b]
		}
		for _, k := range packed {
			b := k >> shift % buckets
			moved[count[b]] = k
			count[b]++
		}
		packed, moved = moved, packed
	}
	more := differ<<shared&mask != 0 // bits of the keys that are not among the packed ones
	less := func(a, b uint64) bool {
		if more && a>>placeBits == b>>placeBits {
			if k, l := key(values[rows[a&mask]]), key(values[rows[b&mask]]); k != l {
				return k < l
			}
		}
		return a < b
	}
	moves := 0
	for i := 1; i < n; i++ {
		p, at := packed[i], i
		for ; at > 0 && (packed[at-1]>>placeBits >= p>>placeBits && less(p, packed[at-1])); at-- {
			packed[at] = packed[at-1]
		}
		packed[at] = p
		if moves += i - at; moves > budget*n {
			return false
		}
	}
	for i, p := range packed {
		moved[i] = uint64(rows[p&mask])
	}
	for i, r := range moved {
		rows[i] = int32(r)
	}
	return true
}

// byAllBits is Order by a radix sort from the last digit of the keys to the first.
func byAllBits(rows []int32, values []float64) {
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
