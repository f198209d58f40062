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
	p := &Perturbed{frame: f, value: value}
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
	p.Published = f.addUp(value, m)
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

// mostSquares is the greatest number of squares that a belief in a total takes into
// account.
const mostSquares = 20

// Count is a count of a perturbed table with the squares that its published value
// depends on.
type Count struct {
	value         int64
	rows, columns []bool
	squares       []*square
	signs         []int64 // sign of the change of the count if the first count of the square grows
}

// Count returns the count of a cell with its squares.
func (p *Perturbed) Count(cell int32) *Count {
	c := &Count{value: int64(p.value[cell])}
	c.rows, c.columns = p.frame.split(cell)
	row, column := only(c.rows), only(c.columns)
	for pass, squares := range p.squares {
		switch {
		case row < 0 || column < 0:
			for i := range squares {
				if len(c.squares) < mostSquares {
					c.add(&squares[i])
				}
			}
		case p.of[pass][row][column] >= 0:
			c.add(&squares[p.of[pass][row][column]])
		}
		if len(c.squares) > 0 {
			break
		}
	}
	return c
}

// only returns the index of the only true element; −1 if there are several.
func only(list []bool) int {
	first := slices.Index(list, true)
	if slices.Contains(list[first+1:], true) {
		return -1
	}
	return first
}

// add adds a square if it can change the count, that is if exactly one of its rows and
// one of its columns belong to the count and its first count can change.
func (c *Count) add(s *square) {
	row, column := c.rows[s.rows[0]], c.columns[s.columns[0]]
	if s.law.low == s.law.high || row == c.rows[s.rows[1]] || column == c.columns[s.columns[1]] {
		return
	}
	sign := int64(1)
	if row != column {
		sign = -1
	}
	c.squares, c.signs = append(c.squares, s), append(c.signs, sign)
}

// Belief returns the posterior distribution of the count for an intruder who knows the
// published table, the squares and theta, with a uniform prior over the counts that are
// possible in each square: p[0] is the probability of the count first. If the count was in
// squares of several passes, only the first pass that could change it is used, and the intruder
// is assumed to know the changes of the other passes. If the count has parts in more than 20
// squares, the intruder is assumed to know the changes of the further squares. Without this
// assumption the intruder knows less.
func (c *Count) Belief() (first int64, belief []float64) { return c.belief(-1, 0) }

// Respondents calls add with the beliefs of respondents, who know more about the count
// than outsiders: one belief for every cell of its squares with at least one record, for
// the respondent of such a record. A respondent who is the only one in the count is
// omitted.
func (c *Count) Respondents(add func(first int64, belief []float64)) {
	for k, s := range c.squares {
		for i, n := range s.counts(s.before) {
			inside := c.rows[s.rows[i/2]] && c.columns[s.columns[i%2]]
			if n > 0 && !(inside && c.value == 1) {
				add(c.belief(k, i))
			}
		}
	}
}

// belief returns the belief of a respondent in one of the four cells of a square; that
// of an outsider if square is −1.
func (c *Count) belief(square, cell int) (first int64, belief []float64) {
	first, belief = c.value, []float64{1}
	for k, s := range c.squares {
		least, most := s.law.low, s.law.high
		if square == k {
			switch row, column, all := s.margins[0], s.margins[1], s.margins[2]; cell {
			case 0:
				least = 1
			case 1:
				most = row - 1
			case 2:
				most = column - 1
			case 3:
				least = 1 - (all - row - column)
			}
		}
		low, part := s.law.belief(s.after, least, most)
		low -= s.before // of changes back
		if c.signs[k] < 0 {
			slices.Reverse(part)
			low = -(low + int64(len(part)) - 1)
		}
		first, belief = first+low, convolved(belief, part)
	}
	return first, belief
}

func convolved(a, b []float64) []float64 {
	sum := make([]float64, len(a)+len(b)-1)
	for i, p := range a {
		for j, q := range b {
			sum[i+j] += p * q
		}
	}
	return sum
}
