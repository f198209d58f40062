package transform

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

// number returns an empty list of numbers, with the memory of an earlier one if there is one.
func (l *lists) number() []float64 {
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

// again gives numbers back that nobody uses any more.
func (l *lists) again(of ...[]float64) {
	if l != nil {
		back(&l.floats, of...)
	}
}

// extended makes a list longer by n elements of undefined content, and returns these.
func extended[T any](list *[]T, n int) []T {
	from := len(*list)
	*list = slices.Grow(*list, n)[:from+n]
	return (*list)[from:]
}

// reserve makes room for n records in all, in place of more and more of it.
func (g *gatheredData) reserve(n int) {
	for _, columns := range [][][]float64{g.values, g.on, g.normals} {
		for k := range columns {
			columns[k] = slices.Grow(columns[k], max(0, n-g.n))
		}
	}
	for k := range g.words {
		g.words[k] = slices.Grow(g.words[k], max(0, n-g.n))
	}
	g.strata = slices.Grow(g.strata, max(0, n-g.n))
}

// borrow gives an empty replicate its memory.
func (g *gatheredData) borrow() {
	g.own = spare.Get().(*lists)
	for _, columns := range [][][]float64{g.values, g.on, g.normals} {
		for k := range columns {
			columns[k] = g.own.number()
		}
	}
	for k := range g.words {
		g.words[k] = g.own.word()
	}
	g.strata = g.own.row()
}

// decided gives up what only decisions need.
func (g *gatheredData) decided() {
	if g.own != nil {
		back(&g.own.floats, g.on...)
		back(&g.own.floats, g.normals...)
		back(&g.own.words, g.words...)
		back(&g.own.rows, g.strata)
	}
	g.strata, g.words, g.normals, g.ties, g.on = nil, nil, nil, nil, nil
}

// discard gives the memory of a replicate to others; shared says that its values are kept for others too.
func (g *gatheredData) discard(shared bool) {
	if g.own == nil {
		return
	}
	if !shared {
		back(&g.own.floats, g.values...)
	}
	spare.Put(g.own)
	*g = gatheredData{}
}

func (s *wholeStep) Discard() { s.data.discard(!s.draws()) }
