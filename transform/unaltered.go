package transform

import (
	"bytes"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// watch notes whether a column that is held as an array, as texts are, has values, and whether the
// masks have changed any of them. Columns held as numbers are measured instead.
type watch struct {
	name          string
	index         int
	seen, altered atomic.Bool
	renamed       *renamedCounts    // nil where no mask gives pseudonyms
	determined    *determinedCounts // nil where no mask rounds dates
}

// watched returns the watches for the columns of a chain that is not a replicate.
func (c *Chain) watched() (list []*watch) {
	if c.replicate > 0 {
		return nil
	}
	for _, col := range c.columns {
		w := &watch{name: col.Name, index: col.Index}
		if Renames(c.masks, col.Name) {
			w.renamed = new(renamedCounts)
		}
		if roundsDates(c.masks, col.Name) {
			w.determined = new(determinedCounts)
		}
		list = append(list, w)
	}
	return list
}

// see looks for a changed value in a masked block, until one has been found.
func (w *watch) see(b *microdata.Block) {
	col := &b.Columns[w.index]
	if w.renamed != nil && col.Array != nil {
		w.renamed.add(b, w.index)
	}
	if w.determined != nil {
		w.determined.add(b, w.index)
	}
	if col.Array == nil || w.altered.Load() {
		return
	}
	if col.OutArray() == col.Array && w.seen.Load() {
		return // no mask has replaced the array
	}
	same := sameValues(col.Array, col.OutArray())
	for i := range b.N {
		if b.Rejected(i) {
			continue
		}
		if !col.Array.IsNull(i) {
			w.seen.Store(true)
		}
		if !same(i) {
			w.altered.Store(true)
			return
		}
	}
}

// sameValues returns a function that reports whether two arrays have the same value at i; if their
// types cannot be compared, it always returns false.
func sameValues(x, y arrow.Array) func(i int) bool {
	if x == y {
		return func(int) bool { return true }
	}
	a, known := bytesOf(x)
	b, too := bytesOf(y)
	if !known || !too {
		return func(int) bool { return false }
	}
	return func(i int) bool {
		if x.IsNull(i) || y.IsNull(i) {
			return x.IsNull(i) == y.IsNull(i)
		}
		return bytes.Equal(a(i), b(i))
	}
}

// Unaltered returns the masked columns, held as arrays, that had values in Apply, all of which were
// released unchanged: whatever the law of the masks is, these columns are not protected. Records of
// other chains (Resume) do not count.
func (c *Chain) Unaltered() (names []string) {
	for _, w := range c.watches {
		if w.seen.Load() && !w.altered.Load() {
			names = append(names, w.name)
		}
	}
	return names
}
