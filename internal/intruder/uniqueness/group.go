package uniqueness

import (
	"math/bits"
	"runtime"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/bug"
)

// grouper numbers the distinct tuples of columns. The tuple is packed into one word
// in mixed radix; where the word is full, the tuples so far are numbered and the
// number takes their place, so that the grouping is exact whatever the cardinalities.
// Its buffers are reused: one grouper belongs to one goroutine.
type grouper struct {
	packed []uint64
	table  []int32  // class + 1 of a packed tuple, where the span is small
	keys   []uint64 // open addressing, where it is large
	slots  []int32  // class + 1, 0: free
	// workers packs long columns with more than one goroutine.
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

// group writes the class of each row into ids, numbered from 0 in the order in which
// they first occur, and returns how many there are. rows are indices into the columns;
// nil: all of them. Without columns all rows are one class. Missing (−1) is a value.
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

// number replaces packed values below span by their classes.
func (g *grouper) number(packed []uint64, span uint64, ids []int32) int {
	// Beyond a few entries a row, clearing and missing the cache cost more than hashing.
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

// inChunks runs work over [0, n) in disjoint pieces, on several goroutines where n is
// large. The pieces' results must not depend on where they are cut.
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
