package referee

import (
	"math"
	"slices"
	"sort"

	"github.com/sdlfilter/sdlfilter/internal/rank"
)

// operator is how a condition compares.
type operator uint8

const (
	equal operator = iota
	atMost
	atLeast
	isMissing
	unequal
	below
	above
	isPresent
)

// condition is about the value of one column. value is 0 for isMissing and isPresent.
type condition struct {
	column int
	op     operator
	value  float64
}

func (c condition) holds(v float64) bool {
	switch c.op {
	case equal:
		return v == c.value
	case atMost:
		return v <= c.value
	case atLeast:
		return v >= c.value
	case isMissing:
		return v != v
	case unequal:
		return v == v && v != c.value
	case below:
		return v < c.value
	case above:
		return v > c.value
	}
	return v == v
}

// mostConditions is the number of columns of a predicate (Giomi et al. 2023 use 3 of them).
const mostConditions = 3

// predicate is the conjunction of its first n conditions, ascending by column.
type predicate struct {
	n          int
	conditions [mostConditions]condition
}

// finder counts the records that a predicate holds for. Equal records count once, so that nobody hides behind a copy of
// their own record.
type finder struct {
	d       *Data
	side    Side
	records int       // distinct ones
	order   [][]int32 // by column: the distinct records by value, those without a value last
	present []int     // by column: the number of those with a value
}

// newFinder sorts the records by each of the columns. It gives up if stop says so.
func newFinder(d *Data, side Side, columns []int, stop func() bool) *finder {
	distinct := d.distinct(side, columns, stop)
	f := &finder{d: d, side: side, records: len(distinct), order: make([][]int32, len(d.Columns)),
		present: make([]int, len(d.Columns))}
	for _, j := range columns {
		v := d.Columns[j].Sides[side]
		rows := make([]int32, 0, len(distinct))
		var without []int32
		for _, i := range distinct {
			if x := v.at(i); x == x {
				rows = append(rows, i)
			} else {
				without = append(without, i)
			}
		}
		if v.Codes != nil {
			rows = byCode(rows, v.Codes)
		} else {
			rank.Order(rows, v.Numbers, stop)
		}
		f.present[j] = len(rows)
		f.order[j] = append(rows, without...)
	}
	return f
}

// byCode sorts rows by their codes.
func byCode(rows, codes []int32) []int32 {
	most := int32(-1)
	for _, i := range rows {
		most = max(most, codes[i])
	}
	starts := make([]int32, most+2)
	for _, i := range rows {
		starts[codes[i]+1]++
	}
	for c := range most {
		starts[c+1] += starts[c]
	}
	sorted := make([]int32, len(rows))
	for _, i := range rows {
		sorted[starts[codes[i]]] = i
		starts[codes[i]]++
	}
	return sorted
}

// distinct returns the first of each set of equal records.
func (d *Data) distinct(side Side, columns []int, stop func() bool) []int32 {
	n := d.Len(side)
	hashes, rows := make([]uint64, n), make([]int32, n)
	for i := range rows {
		hashes[i], rows[i] = d.hash(columns, side, int32(i)), int32(i)
	}
	rank.OrderFunc(rows, func(a, b int32) int {
		switch {
		case hashes[a] != hashes[b] && hashes[a] < hashes[b]:
			return -1
		case hashes[a] != hashes[b]:
			return 1
		}
		return int(a - b)
	}, stop)
	list := rows[:0]
	from := 0 // in list: those with the hash of the current record
	for k, i := range rows {
		if k > 0 && len(list) > from && hashes[list[from]] != hashes[i] {
			from = len(list)
		}
		if !slices.ContainsFunc(list[from:], func(o int32) bool { return d.alike(columns, side, o, i) }) {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}

// stretch returns the part of a column's order that a condition holds for; false if it is not one stretch.
func (f *finder) stretch(c condition) (from, to int, ok bool) {
	order, v := f.order[c.column][:f.present[c.column]], f.d.Columns[c.column].Sides[f.side]
	first := func(x float64, behind bool) int { // the first record with at least x, or with more
		return sort.Search(len(order), func(i int) bool { return v.at(order[i]) > x || !behind && v.at(order[i]) == x })
	}
	switch c.op {
	case equal:
		return first(c.value, false), first(c.value, true), true
	case atMost:
		return 0, first(c.value, true), true
	case below:
		return 0, first(c.value, false), true
	case atLeast:
		return first(c.value, false), len(order), true
	case above:
		return first(c.value, true), len(order), true
	case isMissing:
		return len(order), f.records, true
	}
	return 0, f.records, false
}

// count returns the number of records that a predicate holds for; counting stops above limit. It looks at the records
// of its rarest condition.
func (f *finder) count(p *predicate, limit int) (n int) {
	best, from, to := 0, 0, f.records
	var met [mostConditions]bool // whether the condition holds for the whole stretch
	for k := range p.conditions[:p.n] {
		a, b, ok := f.stretch(p.conditions[k])
		if met[k] = ok; ok && (b-a < to-from || !met[best]) {
			best, from, to = k, a, b
		}
	}
next:
	for _, i := range f.order[p.conditions[best].column][from:to] {
		for k, c := range p.conditions[:p.n] {
			if (k != best || !met[best]) && !c.holds(f.d.Columns[c.column].Sides[f.side].at(i)) {
				continue next
			}
		}
		if n++; n > limit {
			break
		}
	}
	return n
}

// median returns that of a column's distinct records, the mean of the middle two; NaN if there are none.
func (f *finder) median(column int) float64 {
	order, v := f.order[column][:f.present[column]], f.d.Columns[column].Sides[f.side]
	if len(order) == 0 {
		return math.NaN()
	}
	return (v.at(order[(len(order)-1)/2]) + v.at(order[len(order)/2])) / 2
}

// values returns the places in a column's order at which its different values begin, that of missing ones among them.
func (f *finder) values(column int) (starts []int32) {
	order, v := f.order[column], f.d.Columns[column].Sides[f.side]
	for i, r := range order {
		if i == 0 || i == f.present[column] || i < f.present[column] && v.at(r) != v.at(order[i-1]) {
			starts = append(starts, int32(i))
		}
	}
	return starts
}
