// Package rank puts rows in the order of their values, fast: masks that need ranks of a whole
// data set need them again in each of many replicates.
package rank

import (
	"cmp"
	"math"
	bits64 "math/bits"
	"slices"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/cores"
)

const (
	digit   = 11 // bits of a key that one pass sorts by
	buckets = 1 << digit
	passes  = (64 + digit - 1) / digit

	few  = 256            // rows that are compared with one another
	many = 1 << placeBits // rows that keys have places for: their keys need up to 40 bytes each
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
	if len(rows) < ranged {
		byKeys(rows, values)
		return
	}
	cuts := cutsOf(rows, compare)
	above := make([]float64, len(cuts))
	for i, row := range cuts {
		above[i] = values[row]
	}
	inRanges(rows, len(cuts)+1, func(row int32) int { return notAbove(above, values[row]) }, func(rows []int32) {
		inPieces(rows, many, func(piece []int32) { byKeys(piece, values) }, compare, stop)
	}, stop)
}

// notAbove returns how many of ascending cuts are not greater than v.
func notAbove[T float64 | uint64](cuts []T, v T) (at int) {
	for n := len(cuts); n > 0; n /= 2 {
		half := n - n/2
		if cuts[at+half-1] <= v {
			at += half
		}
	}
	return at
}

// piece is how many rows OrderFunc sorts at a time.
const piece = 1 << 16

// OrderFunc puts rows in ascending order by compare, for which no two may be equal. Where stop
// (nil: never) says so it gives up, and rows are of no use. Compare is called on all cores, stop by one at a time.
func OrderFunc(rows []int32, compare func(a, b int32) int, stop func() bool) {
	if len(rows) < ranged {
		inPieces(rows, piece, func(piece []int32) { slices.SortFunc(piece, compare) }, compare, stop)
		return
	}
	cuts := cutsOf(rows, compare)
	byRange := func(row int32) int {
		at, there := slices.BinarySearchFunc(cuts, row, compare)
		if there {
			at++
		}
		return at
	}
	inRanges(rows, len(cuts)+1, byRange, func(rows []int32) { slices.SortFunc(rows, compare) }, stop)
}

// Ranges of values that are sorted on all cores.
const (
	ranged     = 1 << 17 // so many rows and more are: replicates, which have fewer, are themselves on all cores
	inRange    = 1 << 15 // rows of a range, as many as a near cache holds the keys of
	mostRanges = 1 << 10
	perCut     = 32 // rows that are looked at for a cut
)

// cutsOf returns rows between whose values ranges of similar size lie, in ascending order and no two of them equal.
func cutsOf[T any](rows []T, compare func(a, b T) int) []T {
	ranges := min(len(rows)/inRange, mostRanges)
	some := make([]T, ranges*perCut)
	for i := range some {
		some[i] = rows[i*len(rows)/len(some)]
	}
	slices.SortFunc(some, compare)
	cuts := some[:0]
	for i := perCut; i < len(some); i += perCut {
		cuts = append(cuts, some[i])
	}
	return slices.CompactFunc(cuts, func(a, b T) bool { return compare(a, b) == 0 })
}

// inRanges divides rows into n ranges by their values, each in the order given, and sorts each of these. All cores do
// both. It asks for stop with each part and each range.
func inRanges[T any](rows []T, n int, byRange func(row T) int, sort func([]T), stop func() bool) {
	asked := cores.Asked(stop)
	of := make([]uint16, len(rows))
	at := make([][]int32, (len(rows)+piece-1)/piece) // by part, then by range
	cores.Parts(len(rows), piece, func(from, to int) {
		counts := make([]int32, n)
		at[from/piece] = counts
		if asked() {
			return
		}
		for i, row := range rows[from:to] {
			r := byRange(row)
			of[from+i] = uint16(r)
			counts[r]++
		}
	})
	if asked() {
		return
	}
	ends, next := make([]int32, n), int32(0)
	for r := range n {
		for _, counts := range at {
			counts[r], next = next, next+counts[r]
		}
		ends[r] = next
	}
	divided := make([]T, len(rows))
	cores.Parts(len(rows), piece, func(from, to int) {
		place := at[from/piece]
		for i, row := range rows[from:to] {
			r := of[from+i]
			divided[place[r]] = row
			place[r]++
		}
	})
	cores.Each(n, func(r int) {
		from := int32(0)
		if r > 0 {
			from = ends[r-1]
		}
		if from < ends[r] && !asked() {
			sort(divided[from:ends[r]])
			copy(rows[from:ends[r]], divided[from:ends[r]])
		}
	})
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

// byKeys is Order by cells of equal width, where values lie evenly enough, or by a radix sort of the leading bits of
// the keys; the few rows that these leave out of order are inserted in their places. Where they are many it is
// byAllBits.
func byKeys(rows []int32, values []float64) {
	if !byCells(rows, values) && !byLeadingBits(rows, values) {
		byAllBits(rows, values)
	}
}

const (
	placeMask = 1<<placeBits - 1
	budget    = 4 // moves for each row, when rows out of order are inserted
)

// byCells is byKeys for at most 2^placeBits rows by the first two digits of their places between the least and the
// greatest value, which are cells of equal width; false, and rows are as they were, if too many would share a cell.
func byCells(rows []int32, values []float64) bool {
	low, high := values[rows[0]], values[rows[0]]
	for _, r := range rows {
		v := values[r]
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	const most = 1<<(64-placeBits) - 1
	scale := most / (high - low)
	if !(scale > 0 && scale <= math.MaxFloat64) || !evenly(rows, values, low, 1/(high-low)) {
		return false
	}
	own := scratch.Get().(*[]uint64)
	defer scratch.Put(own)
	packed, moved := memory(own, len(rows))
	var counts [2][buckets]int32
	const from = 64 - 2*digit
	for i, r := range rows { // a difference, and its product, are greater where the value is, or the same
		k := uint64(int64((values[r]-low)*scale))<<placeBits | uint64(i)
		packed[i] = k
		counts[0][k>>from%buckets]++
		counts[1][k>>(from+digit)]++
	}
	for p := range counts {
		packed, moved = pass(packed, moved, &counts[p], from+p*digit)
	}
	return inserted(packed, moved, rows, values, true)
}

// memory returns two lists of n.
func memory(own *[]uint64, n int) (a, b []uint64) {
	*own = slices.Grow((*own)[:0], 2*n)[:2*n]
	return (*own)[:n], (*own)[n:]
}

// pass puts the packed keys in the order of a digit, where they are not all alike in it; free has room for them. It
// returns both in turn, the ordered keys first.
func pass(packed, free []uint64, count *[buckets]int32, shift int) (ordered, left []uint64) {
	if int(count[packed[0]>>shift%buckets]) == len(packed) {
		return packed, free
	}
	at := int32(0)
	for b := range count {
		count[b], at = at, at+count[b]
	}
	for _, k := range packed {
		b := k >> shift % buckets
		free[count[b]] = k
		count[b]++
	}
	return free, packed
}

// evenly reports whether no part of 64 between low and its end, which is 1/inverse above it, has more than a quarter of
// some rows.
func evenly(rows []int32, values []float64, low, inverse float64) bool {
	var counts [65]int
	every := len(rows) / few
	for i := range few {
		c := int(64 * ((values[rows[i*every]] - low) * inverse))
		if counts[c]++; counts[c] > few/4 {
			return false
		}
	}
	return true
}

// inserted puts rows, which packed has in order but for those that are alike in its leading bits, in order, each
// inserted in its place; false, and rows are as they were, if this takes long. Packed are leading bits of a key and the
// place among rows; more says that equal leading bits do not mean equal values.
func inserted(packed, free []uint64, rows []int32, values []float64, more bool) bool {
	less := func(a, b uint64) bool {
		if more && a>>placeBits == b>>placeBits {
			if k, l := key(values[rows[a&placeMask]]), key(values[rows[b&placeMask]]); k != l {
				return k < l
			}
		}
		return a < b
	}
	moves, n := 0, len(packed)
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
		free[i] = uint64(rows[p&placeMask])
	}
	for i, r := range free {
		rows[i] = int32(r)
	}
	return true
}

// byLeadingBits is byKeys for at most 2^placeBits rows; false, and rows are as they were, if too many of them are
// alike in the first 33 bits in which any differ.
func byLeadingBits(rows []int32, values []float64) bool {
	const from = 64 - 3*digit
	own := scratch.Get().(*[]uint64)
	defer scratch.Put(own)
	packed, moved := memory(own, len(rows))
	first, differ := key(values[rows[0]]), uint64(0)
	for i, r := range rows {
		packed[i] = key(values[r])
		differ |= packed[i] ^ first
	}
	shared := bits64.LeadingZeros64(differ)
	var counts [3][buckets]int32
	for i, k := range packed {
		k = k<<shared&^placeMask | uint64(i)
		packed[i] = k
		counts[0][k>>from%buckets]++
		counts[1][k>>(from+digit)%buckets]++
		counts[2][k>>(from+2*digit)]++
	}
	for p := range counts {
		packed, moved = pass(packed, moved, &counts[p], from+p*digit)
	}
	more := differ<<shared&placeMask != 0 // bits of the keys that are not among the packed ones
	return inserted(packed, moved, rows, values, more)
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
	if len(values) < ranged {
		sortPart(values)
		return
	}
	cuts := cutsOf(values, func(a, b float64) int { return cmp.Compare(bits(a), bits(b)) })
	above := make([]uint64, len(cuts))
	for i, v := range cuts {
		above[i] = bits(v)
	}
	inRanges(values, len(cuts)+1, func(v float64) int { return notAbove(above, bits(v)) }, sortPart, nil)
}

func sortPart(values []float64) {
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
