package assess

import (
	"cmp"
	"math"
	"slices"
)

// extreme is an Extreme with the values of the whole record, which a replicate
// of it needs: original and released of every column, then carried codes; NaN
// where there is no value.
type extreme struct {
	x      float64
	from   *origin
	row    int64 // place
	values []float64
}

func (e *extreme) comparePlace(o *extreme) int {
	return cmp.Or(e.from.compare(o.from), cmp.Compare(e.row, o.row))
}

// edge keeps the r records with the greatest sign·x, the earliest place first
// among equals. Entries beyond r are dropped when the buffer is full, so that a
// record costs little even where every record is a new extreme (sorted data).
type edge struct {
	r       int
	sign    float64 // +1: the largest; −1: the smallest
	entries []extreme
	free    [][]float64 // values of dropped entries, for reuse
	bound   float64     // the r-th value once r are held: nothing nearer the middle can enter
	latest  extreme     // the last place among the entries, or beyond it; from is nil where there was none
}

func newEdge(r int, sign float64) edge {
	return edge{r: r, sign: sign, bound: math.Inf(-int(sign))}
}

// threshold returns the value that a record of a block starting at a place must
// pass to enter. A block later than everything held cannot win a tie; an earlier
// one can.
func (e *edge) threshold(from *origin, first int64) float64 {
	start := extreme{from: from, row: first}
	if e.latest.from != nil && start.comparePlace(&e.latest) <= 0 {
		return math.Nextafter(e.bound, math.Inf(-int(e.sign)))
	}
	return e.bound
}

// add takes a record in; fill writes its values. It reports whether the bound
// has moved.
func (e *edge) add(x float64, from *origin, row int64, width int, fill func([]float64)) bool {
	var values []float64
	if n := len(e.free); n > 0 {
		values, e.free = e.free[n-1], e.free[:n-1]
	} else {
		values = make([]float64, width)
	}
	fill(values)
	return e.push(extreme{x: x, from: from, row: row, values: values})
}

func (e *edge) push(entry extreme) bool {
	e.entries = append(e.entries, entry)
	if e.latest.from == nil || entry.comparePlace(&e.latest) > 0 {
		e.latest = extreme{from: entry.from, row: entry.row}
	}
	if len(e.entries) < 4*e.r {
		return false
	}
	e.prune()
	return true
}

// prune sorts the entries, most extreme first, and keeps r.
func (e *edge) prune() {
	slices.SortFunc(e.entries, func(a, b extreme) int {
		return cmp.Or(cmp.Compare(b.x*e.sign, a.x*e.sign), a.comparePlace(&b))
	})
	if len(e.entries) < e.r {
		return
	}
	for _, dropped := range e.entries[e.r:] {
		e.free = append(e.free, dropped.values)
	}
	clear(e.entries[e.r:])
	e.entries = e.entries[:e.r]
	e.bound = e.entries[e.r-1].x
}

// merge copies o's entries in.
func (e *edge) merge(o *edge) {
	if len(o.entries) == 0 {
		return
	}
	for _, entry := range o.entries {
		entry.values = slices.Clone(entry.values)
		e.push(entry)
	}
	e.prune()
}

// first returns the most extreme entry, nil where there is none.
func (e *edge) first() *extreme {
	e.prune()
	if len(e.entries) == 0 {
		return nil
	}
	return &e.entries[0]
}

// reset empties the edge.
func (e *edge) reset() {
	for _, dropped := range e.entries {
		e.free = append(e.free, dropped.values)
	}
	clear(e.entries)
	e.entries = e.entries[:0]
	e.bound = math.Inf(-int(e.sign))
	e.latest = extreme{}
}

// inherit makes the edge, which is empty, admit what o would.
func (e *edge) inherit(o *edge) {
	o.prune()
	e.bound, e.latest = o.bound, o.latest
	e.free = slices.Delete(e.free, min(len(e.free), 2*e.r), len(e.free))
}
