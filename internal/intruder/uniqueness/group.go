package uniqueness

import (
	"math/bits"
	"runtime"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// grouper numbers the distinct tuples of columns. It packs a tuple into one word in
// mixed radix. If the next column does not fit into the word, it first replaces the
// tuples so far by their numbers, so that the grouping is exact for all cardinalities.
// Its buffers are reused, so each goroutine needs its own grouper.
type grouper struct {
	packed []uint64
	table  []int32  // class + 1 of a packed tuple, if the span is small
	keys   []uint64 // open addressing, if the span is large
	slots  []int32  // class + 1, 0: free
	// workers is the number of goroutines that pack long columns.
	workers int
}

// field is a column with one more than its largest code.
type field struct {
	codes []int32
	span  uint64
}

func newField(codes []int32) field {
	largest := int32(-1)
	for _, c := range codes {
		largest = max(largest, c)
	}
	return field{codes, uint64(int64(largest) + 1)}
}

func fieldsOf(columns []Column) []field {
	fields := make([]field, len(columns))
	for j, c := range columns {
		fields[j] = newField(c.Codes)
	}
	return fields
}

// group writes the class of each row to ids and returns the number of classes. Classes
// are numbered from 0 in the order of their first occurrence. rows are indices into the
// columns; nil: all rows. Without columns all rows form one class. Missing (−1) counts
// as a value.
func (g *grouper) group(columns []field, rows []int32, ids []int32) int {
	n := len(ids)
	if n == 0 {
		return 0
	}
	if cap(g.packed) < n {
		g.packed = make([]uint64, n)
	}
	packed := g.packed[:n]
	clear(packed)
	span := uint64(1)
	for _, c := range columns {
		radix := c.span + 1
		if high, _ := bits.Mul64(span, radix); high != 0 {
			span = uint64(g.number(packed, span, ids))
			for i, id := range ids {
				packed[i] = uint64(id)
			}
		}
		if rows == nil {
			inChunks(n, g.workers, func(lo, hi int) { pack(packed[lo:hi], radix, c.codes[lo:hi]) })
		} else {
			for i, r := range rows {
				packed[i] = packed[i]*radix + uint64(int64(c.codes[r])+1)
			}
		}
		span *= radix
	}
	return g.number(packed, span, ids)
}

func pack(packed []uint64, radix uint64, codes []int32) {
	for i, c := range codes {
		packed[i] = packed[i]*radix + uint64(int64(c)+1)
	}
}

// number writes the classes of packed values, all below span, to ids and returns the
// number of classes.
func (g *grouper) number(packed []uint64, span uint64, ids []int32) int {
	// If the table has more than a few entries per row, clearing it and cache misses
	// cost more than hashing.
	if span <= 4*uint64(len(packed))+1024 {
		return g.numberByTable(packed, span, ids)
	}
	return g.numberByHash(packed, ids)
}

func (g *grouper) numberByTable(packed []uint64, span uint64, ids []int32) int {
	if uint64(cap(g.table)) < span {
		g.table = make([]int32, span)
	}
	table := g.table[:span]
	clear(table)
	classes := int32(0)
	for i, p := range packed {
		c := table[p]
		if c == 0 {
			classes++
			c = classes
			table[p] = c
		}
		ids[i] = c - 1
	}
	return int(classes)
}

func (g *grouper) numberByHash(packed []uint64, ids []int32) int {
	if len(g.slots) == 0 {
		g.keys, g.slots = make([]uint64, 1024), make([]int32, 1024)
	} else {
		clear(g.slots)
	}
	classes := int32(0)
	shift := 65 - bits.Len(uint(len(g.slots)))
	mask := uint64(len(g.slots) - 1)
	for i, p := range packed {
		at := mix(p) >> shift
		for g.slots[at] != 0 && g.keys[at] != p {
			at = (at + 1) & mask
		}
		if g.slots[at] == 0 {
			classes++
			g.keys[at], g.slots[at] = p, classes
		}
		ids[i] = g.slots[at] - 1
		if 2*int(classes) > len(g.slots) {
			g.grow()
			shift--
			mask = uint64(len(g.slots) - 1)
		}
	}
	return int(classes)
}

func (g *grouper) grow() {
	keys, slots := g.keys, g.slots
	g.keys, g.slots = make([]uint64, 2*len(keys)), make([]int32, 2*len(slots))
	shift, mask := 65-bits.Len(uint(len(g.slots))), uint64(len(g.slots)-1)
	for i, s := range slots {
		if s == 0 {
			continue
		}
		at := mix(keys[i]) >> shift
		for g.slots[at] != 0 {
			at = (at + 1) & mask
		}
		g.keys[at], g.slots[at] = keys[i], s
	}
}

// mix spreads p over the high bits (the finaliser of SplitMix64: packed tuples differ
// in few digits, and linear probing needs them far apart).
func mix(p uint64) uint64 {
	p = (p ^ p>>30) * 0xbf58476d1ce4e5b9
	p = (p ^ p>>27) * 0x94d049bb133111eb
	return p ^ p>>31
}

// inChunks runs work over [0, n) in disjoint pieces, on several goroutines if n is
// large. The results must not depend on the boundaries of the pieces.
func inChunks(n, workers int, work func(lo, hi int)) {
	const least = 1 << 15
	workers = min(workers, n/least)
	if workers <= 1 {
		work(0, n)
		return
	}
	var wait sync.WaitGroup
	for w := range workers {
		lo, hi := n*w/workers, n*(w+1)/workers
		wait.Go(func() {
			defer bug.Guard()
			work(lo, hi)
		})
	}
	wait.Wait()
}

func workers() int { return runtime.GOMAXPROCS(0) }
