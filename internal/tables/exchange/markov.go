package exchange

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// square holds the four inner cells of two rows and two columns.
type square struct {
	rows, columns [2]int
	law           law
	before, after int64 // the first count before and after
	margins       [3]int64
}

// counts returns the counts a, b, c, d of the square for the given first count.
func (s *square) counts(first int64) [4]int64 {
	row, column, all := s.margins[0], s.margins[1], s.margins[2]
	return [4]int64{first, row - first, column - first, all - row - column + first}
}

// Perturbed is a table after Markov perturbation.
type Perturbed struct {
	frame     *Frame
	value     []float64
	squares   [][]square  // of a pass
	of        [][][]int32 // of a pass, a row and a column: the square of the inner cell, −1 for none
	after     [][]int64   // inner counts after the last pass
	theta     float64
	Published []float64
}

// Perturb moves records within squares of four inner cells, two rows by two columns, so
// that all counts keep their expectation and both margins their value (Markov perturbation:
// Duncan and Fienberg 1999; Duncan et al. 2001, section 3). The squares of a pass have no
// cell in common. The largest row is paired with the smallest, the second largest with the
// second smallest, and so on, and columns likewise, because the range of a small count
// depends on the counts beside it. This uses only margins, which are published in any case.
// If the number of rows or columns is odd, one is omitted, and another one in a further
// pass, so that every inner cell is in a square of at least one pass. draws returns the
// source of draws of a square, given its four cells and the pass.
func (f *Frame) Perturb(value []float64, theta float64, draws func(cells [4]int32, pass int) *rand.Rand) *Perturbed {
	p := &Perturbed{frame: f, value: value, theta: theta}
	m := f.matrix(value)
	none := make([]int, len(f.dimensions))
	rows := ordered(len(f.rows), func(i int) float64 { return value[f.at(none, f.rows[i])] })
	columns := ordered(len(f.columns), func(j int) float64 { return value[f.at(f.columns[j], 0)] })
	passes := 1 + len(rows)%2 + len(columns)%2
	for pass := range passes {
		var list []square
		of := make([][]int32, len(f.rows))
		for i := range of {
			of[i] = slices.Repeat([]int32{-1}, len(f.columns))
		}
		for _, r := range pairs(rows, pass) {
			for _, c := range pairs(columns, pass) {
				s := square{rows: r, columns: c}
				cells := [4]int32{f.inner(r[0], c[0]), f.inner(r[0], c[1]), f.inner(r[1], c[0]), f.inner(r[1], c[1])}
				s.move(m, theta, func() *rand.Rand { return draws(cells, pass) })
				for k := range 4 {
					of[r[k/2]][c[k%2]] = int32(len(list))
				}
				list = append(list, s)
			}
		}
		p.squares, p.of = append(p.squares, list), append(p.of, of)
	}
	p.after, p.Published = m, f.addUp(value, m)
	return p
}

// move changes the four counts of a square.
func (s *square) move(m [][]int64, theta float64, draws func() *rand.Rand) {
	at := func(k int) *int64 { return &m[s.rows[k/2]][s.columns[k%2]] }
	a, b, c, d := *at(0), *at(1), *at(2), *at(3)
	s.margins = [3]int64{a + b, a + c, a + b + c + d}
	s.law = law{max(0, a-d), a + min(b, c), theta}
	s.before, s.after = a, a
	if s.law.low < s.law.high {
		s.after = s.law.draw(a, draws())
	}
	for k, n := range s.counts(s.after) {
		*at(k) = n
	}
}

// ordered returns the numbers 0 to n−1 sorted by size, the largest first; equal sizes
// keep their order.
func ordered(n int, size func(int) float64) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	return list
}

// pairs pairs the first with the last, the second with the last but one, and so on. If the
// number is odd, one is omitted: the middle one in pass 0, the first in pass 1, the last in
// pass 2.
func pairs(order []int, pass int) (list [][2]int) {
	if n := len(order); n%2 == 1 {
		out := [...]int{n / 2, 0, n - 1}[pass]
		order = slices.Concat(order[:out], order[out+1:])
	}
	for k := range len(order) / 2 {
		list = append(list, [2]int{order[k], order[len(order)-1-k]})
	}
	return list
}
