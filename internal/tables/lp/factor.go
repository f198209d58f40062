package lp

import (
	"math"
	"slices"
)

// smallestPivot is the least absolute value of a pivot. The entries of a table are ±1,
// and so are nearly all pivots.
const smallestPivot = 1e-8

// factors holds the factorisation of the basis: B = L U times the later updates. Pivot
// k is in row pivotRow[k] and in position pivotPlace[k] of the basis.
type factors struct {
	m                    int
	pivotRow, pivotPlace []int32
	diagonal             []float64

	lowerStart, upperStart []int32 // column k of L and of U, without diagonals
	lowerRow, upperRow     []int32 // rows of the matrix
	lower, upper           []float64
	eliminating            []int32 // the pivots k with a nonempty column of L

	// U by rows: row pivotRow[k] is at acrossStart[k]:acrossStart[k+1].
	acrossStart, acrossPlace []int32
	across                   []float64

	updates []update

	eliminated int64 // entries that the last factorisation processed
	updated    int64 // entries of the updates

	// Buffers of factorise.
	order                []int32
	rank                 []int32 // pivot number of a row, -1 for none
	rowCount, placeCount []int32
	rowHead, rowEntries  []int32
	work                 []float64
	stack, touched       []int32
	mark                 []bool
}

// update records that a column entered the basis at place. (row, value) is the solution
// B x = column outside place, pivot its value at place.
type update struct {
	place int32
	pivot float64
	row   []int32
	value []float64
}

func newFactors(m int) *factors {
	return &factors{
		m: m, pivotRow: make([]int32, m), pivotPlace: make([]int32, m), diagonal: make([]float64, m),
		rank: make([]int32, m), rowCount: make([]int32, m), placeCount: make([]int32, m),
		rowHead: make([]int32, m+1), work: make([]float64, m), mark: make([]bool, m),
	}
}

// factorise factors the columns of basis. If they are linearly dependent, it replaces
// the columns without a pivot by unit columns of the remaining rows and returns their
// places in dropped.
func (f *factors) factorise(a *Matrix, basis []int32) (dropped []int32) {
	f.updates, f.eliminated, f.updated = f.updates[:0], 0, 0
	f.lowerStart, f.upperStart = append(f.lowerStart[:0], 0), append(f.upperStart[:0], 0)
	f.lowerRow, f.upperRow = f.lowerRow[:0], f.upperRow[:0]
	f.lower, f.upper = f.lower[:0], f.upper[:0]
	f.eliminating = f.eliminating[:0]
	pinned := f.peel(a, basis)
	for i := range f.rank {
		f.rank[i] = -1
	}
	k := int32(0)
	for n, place := range f.order {
		want := int32(-1)
		if n < len(pinned) {
			want = pinned[n]
		}
		if f.eliminate(a, basis[place], place, k, want) {
			k++
		} else {
			dropped = append(dropped, place)
		}
	}
	row := int32(0)
	for _, place := range dropped {
		for f.rank[row] >= 0 {
			row++
		}
		basis[place] = int32(a.columns) + row
		f.eliminate(a, basis[place], place, k, row)
		k++
	}
	f.transpose()
	return dropped
}

// transpose stores U by rows: most objectives have a single cell, and then only the few
// rows that it reaches need processing.
func (f *factors) transpose() {
	start := append(f.acrossStart[:0], make([]int32, f.m+1)...)
	for _, r := range f.upperRow {
		start[f.rank[r]+1]++
	}
	for k := range f.m {
		start[k+1] += start[k]
	}
	n := len(f.upperRow)
	f.acrossPlace, f.across = slices.Grow(f.acrossPlace[:0], n)[:n], slices.Grow(f.across[:0], n)[:n]
	next := append(f.touched[:0], start[:f.m]...)
	for k := range f.m {
		for p := f.upperStart[k]; p < f.upperStart[k+1]; p++ {
			at := &next[f.rank[f.upperRow[p]]]
			f.acrossPlace[*at], f.across[*at] = f.pivotPlace[k], f.upper[p]
			*at++
		}
	}
	f.acrossStart, f.touched = start, next[:0]
}

// peel orders the places of the basis: first columns with one entry in the remaining
// rows, then rows with one remaining column, then the other columns (the nucleus) by
// their number of entries. It returns the pivot rows of the first two groups.
func (f *factors) peel(a *Matrix, basis []int32) (pinned []int32) {
	var unit unitColumn
	for i := range f.rowHead {
		f.rowHead[i] = 0
	}
	for place, j := range basis {
		rows, _ := a.column(int(j), &unit)
		f.placeCount[place] = int32(len(rows))
		for _, r := range rows {
			f.rowHead[r+1]++
		}
	}
	for i := range f.m {
		f.rowCount[i] = f.rowHead[i+1]
		f.rowHead[i+1] += f.rowHead[i]
	}
	if n := int(f.rowHead[f.m]); cap(f.rowEntries) < n {
		f.rowEntries = make([]int32, n)
	} else {
		f.rowEntries = f.rowEntries[:n]
	}
	next := append(f.touched[:0], f.rowHead[:f.m]...)
	for place, j := range basis {
		rows, _ := a.column(int(j), &unit)
		for _, r := range rows {
			f.rowEntries[next[r]] = int32(place)
			next[r]++
		}
	}
	f.touched = next[:0]
	f.order = f.order[:0]
	takenRow, takenPlace := make([]bool, f.m), make([]bool, f.m)
	take := func(r, place int32) {
		takenRow[r], takenPlace[place] = true, true
		f.order = append(f.order, place)
		pinned = append(pinned, r)
	}
	queue := f.singleColumns(a, basis, takenRow, takenPlace, take)
	queue = f.singleRows(a, basis, queue, takenRow, takenPlace, take)
	f.stack = queue[:0]
	f.nucleus(takenPlace)
	return pinned
}

// singleColumns takes the columns with one entry in the remaining rows.
func (f *factors) singleColumns(a *Matrix, basis []int32, takenRow, takenPlace []bool,
	take func(r, place int32)) []int32 {
	var unit unitColumn
	queue := f.stack[:0]
	for place := range f.m {
		if f.placeCount[place] == 1 {
			queue = append(queue, int32(place))
		}
	}
	for len(queue) > 0 {
		place := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if takenPlace[place] || f.placeCount[place] != 1 {
			continue
		}
		rows, values := a.column(int(basis[place]), &unit)
		for p, r := range rows {
			if takenRow[r] || math.Abs(values[p]) < smallestPivot {
				continue
			}
			take(r, place)
			for _, q := range f.rowEntries[f.rowHead[r]:f.rowHead[r+1]] {
				if f.placeCount[q]--; f.placeCount[q] == 1 && !takenPlace[q] {
					queue = append(queue, q)
				}
			}
			break
		}
	}
	return queue
}

// singleRows takes the rows with one entry in the remaining places.
func (f *factors) singleRows(a *Matrix, basis, queue []int32, takenRow, takenPlace []bool,
	take func(r, place int32)) []int32 {
	var unit unitColumn
	for r := range f.m {
		f.rowCount[r] = 0
		for _, q := range f.rowEntries[f.rowHead[r]:f.rowHead[r+1]] {
			if !takenPlace[q] {
				f.rowCount[r]++
			}
		}
		if f.rowCount[r] == 1 && !takenRow[r] {
			queue = append(queue, int32(r))
		}
	}
	for len(queue) > 0 {
		r := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if takenRow[r] || f.rowCount[r] != 1 {
			continue
		}
		for _, place := range f.rowEntries[f.rowHead[r]:f.rowHead[r+1]] {
			if takenPlace[place] {
				continue
			}
			take(r, place)
			rows, _ := a.column(int(basis[place]), &unit)
			for _, o := range rows {
				if f.rowCount[o]--; f.rowCount[o] == 1 && !takenRow[o] {
					queue = append(queue, o)
				}
			}
			break
		}
	}
	return queue
}

// nucleus appends the remaining columns to the order, by their number of entries, with
// a counting sort, so that the order is the same on every machine.
func (f *factors) nucleus(taken []bool) {
	most := 0
	for place := range f.m {
		if !taken[place] {
			most = max(most, int(f.placeCount[place]))
		}
	}
	for count := 0; count <= most; count++ {
		for place := range f.m {
			if !taken[place] && int(f.placeCount[place]) == count {
				f.order = append(f.order, int32(place))
			}
		}
	}
}

// eliminate computes column k of L and U from column j of the matrix. The pivot is in
// row want or, if want is negative, in the row of the greatest absolute value. If no
// pivot is large enough, it returns false and changes nothing.
func (f *factors) eliminate(a *Matrix, j, place, k, want int32) bool {
	var unit unitColumn
	rows, values := a.column(int(j), &unit)
	f.touched = f.touched[:0]
	steps := f.stack[:0] // pivots whose column of L is to be applied, as a heap by number
	add := func(r int32, v float64) {
		if !f.mark[r] {
			f.mark[r] = true
			f.touched = append(f.touched, r)
			if n := f.rank[r]; n >= 0 && f.lowerStart[n] < f.lowerStart[n+1] {
				steps = push(steps, n)
			}
		}
		f.work[r] += v
	}
	for p, r := range rows {
		add(r, values[p])
	}
	for len(steps) > 0 {
		var n int32
		n, steps = pop(steps)
		t := f.work[f.pivotRow[n]]
		if t == 0 {
			continue
		}
		f.eliminated += int64(f.lowerStart[n+1] - f.lowerStart[n])
		for p := f.lowerStart[n]; p < f.lowerStart[n+1]; p++ {
			add(f.lowerRow[p], -t*f.lower[p])
		}
	}
	f.stack = steps[:0]
	pivot := want
	if pivot < 0 {
		best := smallestPivot
		for _, r := range f.touched {
			if v := math.Abs(f.work[r]); f.rank[r] < 0 && (v > best || v == best && pivot >= 0 && r < pivot) {
				pivot, best = r, v
			}
		}
	}
	ok := pivot >= 0 && math.Abs(f.work[pivot]) >= smallestPivot
	if ok {
		f.store(k, pivot, place)
	}
	for _, r := range f.touched {
		f.work[r], f.mark[r] = 0, false
	}
	return ok
}

// store writes column k from the work vector.
func (f *factors) store(k, pivot, place int32) {
	d := f.work[pivot]
	for _, r := range f.touched {
		v := f.work[r]
		switch {
		case r == pivot || math.Abs(v) < 1e-14:
		case f.rank[r] >= 0:
			f.upperRow, f.upper = append(f.upperRow, r), append(f.upper, v)
		default:
			f.lowerRow, f.lower = append(f.lowerRow, r), append(f.lower, v/d)
		}
	}
	f.rank[pivot] = k
	f.pivotRow[k], f.pivotPlace[k], f.diagonal[k] = pivot, place, d
	f.upperStart = append(f.upperStart, int32(len(f.upperRow)))
	f.lowerStart = append(f.lowerStart, int32(len(f.lowerRow)))
	if f.lowerStart[k] < f.lowerStart[k+1] {
		f.eliminating = append(f.eliminating, k)
	}
}

// push and pop keep a heap of pivot numbers, least first.
func push(h []int32, n int32) []int32 {
	h = append(h, n)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up] <= h[i] {
			break
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
	return h
}

func pop(h []int32) (int32, []int32) {
	least, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && h[down+1] < h[down] {
			down++
		}
		if h[i] <= h[down] {
			break
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
	return least, h
}
