package exchange

import (
	"math"
	"math/rand/v2"
	"slices"
)

// trade is a pair of rows that exchange records within some columns. Each column keeps
// its number of records in both rows together.
type trade struct {
	rows    [2]int
	columns []int
	each    int64 // number of records of each row that are exchanged
	size    [2]int64
}

// Swapped is a table after swapping.
type Swapped struct {
	frame     *Frame
	value     []float64
	groups    []group
	matrices  [][][]int64 // inner counts before each pass and after the last one
	Published []float64
}

// group is the rows of a stratum that exchange records with each other, directly or by other rows: a pair, or
// all rows of the stratum if there were two passes.
type group struct {
	columns []int
	rows    []int // in order of size
	size    []int64
	each    [2][]int64 // of a pass: exchanged records of each row of its trades; the second pass may have none
}

// trade returns the trade of a row with the next one in order.
func (g *group) trade(i int) (each int64, known bool) {
	pass, k := i%2, i/2
	if i < 0 || k >= len(g.each[pass]) {
		return 0, false
	}
	return g.each[pass][k], true
}

// Swap exchanges records between pairs of rows (Dalenius and Reiss 1982; Duncan et al. 2001,
// section 3): the share rate of the records of the smaller row, rounded up and drawn without replacement, for
// the same number of records of the other row. match marks the dimensions, other than that of the rows, in
// which both records of an exchange have the same codes: columns with different codes in them form separate
// strata, so that the counts by rows and these dimensions together do not change, and neither do the counts
// by all columns. Within a stratum each row is paired with the next one in size, without the rows that have
// no record; this uses only row sizes, which are published in any case. If their number is odd, a second pass
// pairs them differently, so that each of them is in a pair. draws returns the source of draws of a trade,
// given its inner cells and the pass.
func (f *Frame) Swap(value []float64, rate float64, match []bool,
	draws func(cells []int32, pass int) *rand.Rand) *Swapped {
	s := &Swapped{frame: f, value: value}
	m := f.matrix(value)
	s.matrices = append(s.matrices, cloned(m))
	strata := f.strata(match)
	trades := make([][2][]trade, len(strata))
	for pass := range 2 {
		any := false
		for k, columns := range strata {
			for _, rows := range neighbours(m, columns, pass) {
				t := trade{rows: rows, columns: columns, size: [2]int64{sum(m[rows[0]], columns), sum(m[rows[1]], columns)}}
				t.each = int64(math.Ceil(rate * float64(min(t.size[0], t.size[1]))))
				var cells []int32
				for _, row := range rows {
					for _, j := range columns {
						cells = append(cells, f.inner(row, j))
					}
				}
				t.exchange(m, draws(cells, pass))
				trades[k][pass], any = append(trades[k][pass], t), true
			}
		}
		if any {
			s.matrices = append(s.matrices, cloned(m))
		}
	}
	for k := range strata {
		s.groups = append(s.groups, groupsOf(trades[k])...)
	}
	s.Published = f.addUp(value, m)
	return s
}

// groupsOf returns the groups of a stratum, whose trades of both passes are in order of size.
func groupsOf(trades [2][]trade) (list []group) {
	if len(trades[1]) == 0 {
		for _, t := range trades[0] {
			list = append(list, group{columns: t.columns, rows: t.rows[:], size: t.size[:], each: [2][]int64{{t.each}}})
		}
		return list
	}
	g := group{columns: trades[0][0].columns}
	for k, t := range trades[0] {
		g.rows, g.size = append(g.rows, t.rows[:]...), append(g.size, t.size[:]...)
		g.each[0] = append(g.each[0], t.each)
		g.each[1] = append(g.each[1], trades[1][k].each)
	}
	last := trades[1][len(trades[1])-1]
	g.rows, g.size = append(g.rows, last.rows[1]), append(g.size, last.size[1])
	return []group{g}
}

func cloned(m [][]int64) [][]int64 {
	c := make([][]int64, len(m))
	for i := range m {
		c[i] = slices.Clone(m[i])
	}
	return c
}

func sum(row []int64, columns []int) (n int64) {
	for _, j := range columns {
		n += row[j]
	}
	return n
}

// strata returns the groups of columns with the same codes in all marked dimensions.
func (f *Frame) strata(match []bool) (list [][]int) {
	alike := func(a, b []int) bool {
		for k := range a {
			if match[k] && k != f.variable && a[k] != b[k] {
				return false
			}
		}
		return true
	}
	for j, c := range f.columns {
		at := slices.IndexFunc(list, func(s []int) bool { return alike(f.columns[s[0]], c) })
		if at < 0 {
			list = append(list, nil)
			at = len(list) - 1
		}
		list[at] = append(list[at], j)
	}
	return list
}

// neighbours pairs the rows that have records in the given columns: the largest with the
// second, the third with the fourth, and so on. The second pass, if one row was left over,
// pairs the second with the third, and so on.
func neighbours(m [][]int64, columns []int, pass int) (pairs [][2]int) {
	all := ordered(len(m), func(i int) float64 { return float64(sum(m[i], columns)) })
	rows := slices.DeleteFunc(all, func(i int) bool { return sum(m[i], columns) == 0 })
	if pass > 0 && len(rows)%2 == 0 {
		return nil
	}
	for k := pass; k+1 < len(rows); k += 2 {
		pairs = append(pairs, [2]int{rows[k], rows[k+1]})
	}
	return pairs
}

// exchange draws the records and exchanges them.
func (t *trade) exchange(m [][]int64, draws *rand.Rand) {
	var leaving [2][]int64 // of a row: number of records of each column that leave it
	for side, row := range t.rows {
		deck := make([]int32, 0, t.size[side])
		for k, j := range t.columns {
			for range m[row][j] {
				deck = append(deck, int32(k))
			}
		}
		leaving[side] = make([]int64, len(t.columns))
		for i := range int(t.each) {
			k := i + draws.IntN(len(deck)-i)
			deck[i], deck[k] = deck[k], deck[i]
			leaving[side][deck[i]]++
		}
	}
	for k, j := range t.columns {
		d := leaving[1][k] - leaving[0][k]
		m[t.rows[0]][j] += d
		m[t.rows[1]][j] -= d
	}
}

// KeptBeside reports whether swapping within the marked dimensions keeps the value of a
// cell: whether it is a sum over all rows, or over all codes of each dimension that is not
// marked.
func (f *Frame) KeptBeside(cell int32, match []bool) bool {
	nodes := f.nodes(cell)
	if nodes[f.variable] == 0 {
		return true
	}
	for k, n := range nodes {
		if n != 0 && k != f.variable && !match[k] {
			return false
		}
	}
	return true
}
