package gathered

import (
	"slices"
	"sync"
)

// lists is memory for what replicates gather and compute, for which they take turns: each has as much as the one
// before. Those of a release (nil) are made anew.
type lists struct {
	floats [][]float64
	words  [][]uint64
	rows   [][]int32
}

var spare = sync.Pool{New: func() any { return new(lists) }}

// Number returns an empty list of numbers, with the memory of an earlier one if there is one.
func (l *lists) Number() []float64 {
	if l == nil {
		return nil
	}
	return taken(&l.floats)
}

func (l *lists) word() []uint64 {
	if l == nil {
		return nil
	}
	return taken(&l.words)
}

func (l *lists) row() []int32 {
	if l == nil {
		return nil
	}
	return taken(&l.rows)
}

func taken[T any](from *[][]T) []T {
	if len(*from) == 0 {
		return nil
	}
	last := len(*from) - 1
	list := (*from)[last]
	*from = (*from)[:last]
	return list[:0]
}

// back gives lists back that nobody uses any more.
func back[T any](to *[][]T, of ...[]T) {
	for _, list := range of {
		if cap(list) > 0 {
			*to = append(*to, list)
		}
	}
}

// Again gives numbers back that nobody uses any more.
func (l *lists) Again(of ...[]float64) {
	if l != nil {
		back(&l.floats, of...)
	}
}

// Extended makes a list longer by n elements of undefined content, and returns these.
func Extended[T any](list *[]T, n int) []T {
	from := len(*list)
	*list = slices.Grow(*list, n)[:from+n]
	return (*list)[from:]
}

// reserve makes room for n records in all, in place of more and more of it.
func (g *Data) reserve(n int) {
	for _, columns := range [][][]float64{g.Values, g.On, g.Normals} {
		for k := range columns {
			columns[k] = slices.Grow(columns[k], max(0, n-g.N))
		}
	}
	for k := range g.Words {
		g.Words[k] = slices.Grow(g.Words[k], max(0, n-g.N))
	}
	g.Strata = slices.Grow(g.Strata, max(0, n-g.N))
}

// borrow gives an empty replicate its memory.
func (g *Data) borrow() {
	g.Own = spare.Get().(*lists)
	for _, columns := range [][][]float64{g.Values, g.On, g.Normals} {
		for k := range columns {
			columns[k] = g.Own.Number()
		}
	}
	for k := range g.Words {
		g.Words[k] = g.Own.word()
	}
	g.Strata = g.Own.row()
}

// decided gives up what only decisions need.
func (g *Data) decided() {
	if g.Own != nil {
		back(&g.Own.floats, g.On...)
		back(&g.Own.floats, g.Normals...)
		back(&g.Own.words, g.Words...)
		back(&g.Own.rows, g.Strata)
	}
	g.Strata, g.Words, g.Normals, g.Ties, g.On = nil, nil, nil, nil, nil
}

// discard gives the memory of a replicate to others; shared says that its values are kept for others too.
func (g *Data) discard(shared bool) {
	if g.Own == nil {
		return
	}
	if !shared {
		back(&g.Own.floats, g.Values...)
	}
	spare.Put(g.Own)
	*g = Data{}
}

// Discard gives the memory of a replicate to others.
func (s *Step) Discard() { s.Data.discard(!s.draws()) }
