package sample

import (
	"cmp"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/place"
)

// Extreme is a record that is extreme in a column, with all of the record's values, which a
// replicate needs: original and released of every column, then carried codes; NaN where there is
// no value.
type Extreme struct {
	X      float64
	From   *place.Origin
	Row    int64 // place
	Values []float64
}

func (e *Extreme) comparePlace(o *Extreme) int {
	return cmp.Or(e.From.Compare(o.From), cmp.Compare(e.Row, o.Row))
}

// Edge keeps the r records with the greatest sign·x, the earliest place first
// among equals. Entries beyond r are dropped when there are most of them, so that adding
// a record is fast even if every record is a new extreme (sorted data).
type Edge struct {
	r       int
	sign    float64 // +1: the largest; −1: the smallest
	Entries []Extreme
	free    [][]float64 // values of dropped entries, for reuse
	bound   float64     // the r-th value once r are held: nothing nearer the middle can enter
	latest  Extreme     // the last place among the entries, or a later one; From is nil if there was no entry
}

// NewEdge keeps r records: of sign +1 the largest, of −1 the smallest.
func NewEdge(r int, sign float64) Edge {
	return Edge{r: r, sign: sign, bound: math.Inf(-int(sign))}
}

// Threshold returns the bound beyond which a record of a block starting at a place is
// added. If the block is later than all entries, a tie with an entry is not enough.
func (e *Edge) Threshold(from *place.Origin, first int64) float64 {
	start := Extreme{From: from, Row: first}
	if e.latest.From != nil && start.comparePlace(&e.latest) <= 0 {
		return math.Nextafter(e.bound, math.Inf(-int(e.sign)))
	}
	return e.bound
}

// Add adds a record; fill writes its values. It reports whether the bound has
// changed.
func (e *Edge) Add(x float64, from *place.Origin, row int64, width int, fill func([]float64)) bool {
	var values []float64
	if n := len(e.free); n > 0 {
		values, e.free = e.free[n-1], e.free[:n-1]
	} else {
		values = make([]float64, width)
	}
	fill(values)
	return e.push(Extreme{X: x, From: from, Row: row, Values: values})
}

func (e *Edge) push(entry Extreme) bool {
	e.Entries = append(e.Entries, entry)
	if e.latest.From == nil || entry.comparePlace(&e.latest) > 0 {
		e.latest = Extreme{From: entry.From, Row: entry.Row}
	}
	if len(e.Entries) < e.most(len(entry.Values)) {
		return false
	}
	e.Prune()
	return true
}

// most is the number of entries, of so many values each, at which those beyond r are dropped.
func (e *Edge) most(width int) int {
	if width > wide {
		return e.r + max(1, e.r/4)
	}
	return 2 * e.r
}

// Prune sorts the entries, most extreme first, and keeps r.
func (e *Edge) Prune() {
	slices.SortFunc(e.Entries, func(a, b Extreme) int {
		return cmp.Or(cmp.Compare(b.X*e.sign, a.X*e.sign), a.comparePlace(&b))
	})
	if len(e.Entries) < e.r {
		return
	}
	for _, dropped := range e.Entries[e.r:] {
		e.free = append(e.free, dropped.Values)
	}
	clear(e.Entries[e.r:])
	e.Entries = e.Entries[:e.r]
	e.bound = e.Entries[e.r-1].X
}

// Merge adds copies of o's entries.
func (e *Edge) Merge(o *Edge) {
	if len(o.Entries) == 0 {
		return
	}
	for _, entry := range o.Entries {
		entry.Values = slices.Clone(entry.Values)
		e.push(entry)
	}
	e.Prune()
}

// First returns the most extreme entry; nil if there is none.
func (e *Edge) First() *Extreme {
	e.Prune()
	if len(e.Entries) == 0 {
		return nil
	}
	return &e.Entries[0]
}

// Reset empties the edge.
func (e *Edge) Reset() {
	for _, dropped := range e.Entries {
		e.free = append(e.free, dropped.Values)
	}
	clear(e.Entries)
	e.Entries = e.Entries[:0]
	e.bound = math.Inf(-int(e.sign))
	e.latest = Extreme{}
}

// Inherit makes the edge, which is empty, admit only what o would admit.
func (e *Edge) Inherit(o *Edge) {
	o.Prune()
	e.bound, e.latest = o.bound, o.latest
	if n := len(e.free); n > 0 {
		e.free = slices.Delete(e.free, min(n, e.most(len(e.free[0]))), n)
	}
}
