package exchange

import (
	"math"
	"slices"
	"sync/atomic"
)

// mostStates is the greatest number of inner counts of the tables of a component that are enumerated, for all
// components together; each component may have at least leastStates.
const (
	mostStates  = 1 << 22
	leastStates = 1 << 14
)

// component is the inner cells of squares that overlap, directly or by others, in different passes. Components are
// independent of each other.
type component struct {
	cells     []int           // places of the table
	squares   [][]localSquare // of a pass
	at        [][]int32       // of a pass and a cell: its square, −1 for none
	truth     []int64
	published []int64
	theta     float64
	questions []*share

	tables  [][]int64 // true tables that are possible, one for each way
	weights []float64
}

// localSquare is a square in the numbers of its component.
type localSquare struct {
	cells [4]int32
	back  int64 // change of the first count from after to before
	fixed bool  // the intruder is assumed to know it
}

func (q *localSquare) counts(table []int64) (a, b, c, d int64) {
	return table[q.cells[0]], table[q.cells[1]], table[q.cells[2]], table[q.cells[3]]
}

// add adds n to the first count of a square, with the same margins.
func (q *localSquare) add(table []int64, n int64) {
	table[q.cells[0]] += n
	table[q.cells[1]] -= n
	table[q.cells[2]] -= n
	table[q.cells[3]] += n
}

// partition is the components of a table.
type partition struct {
	columns int
	of      []*component // of a place
	local   []int32      // of a place: its number in the component
}

func (p *partition) place(row, column int) int { return row*p.columns + column }

// components finds the components.
func (p *Perturbed) components() *partition {
	rows, columns := len(p.frame.rows), len(p.frame.columns)
	parts := &partition{columns: columns, of: make([]*component, rows*columns), local: make([]int32, rows*columns)}
	up := make([]int32, rows*columns)
	for at := range up {
		up[at] = int32(at)
	}
	root := func(at int32) int32 {
		for up[at] != at {
			up[at] = up[up[at]]
			at = up[at]
		}
		return at
	}
	places := func(s *square) (at [4]int32) {
		for k := range at {
			at[k] = int32(parts.place(s.rows[k/2], s.columns[k%2]))
		}
		return at
	}
	for _, squares := range p.squares {
		for i := range squares {
			at := places(&squares[i])
			for _, other := range at[1:] {
				up[root(other)] = root(at[0])
			}
		}
	}
	byRoot := map[int32]*component{}
	m := p.frame.matrix(p.value)
	for at := range up {
		r := root(int32(at))
		c := byRoot[r]
		if c == nil {
			c = &component{squares: make([][]localSquare, len(p.squares)), at: make([][]int32, len(p.squares)), theta: p.theta}
			byRoot[r] = c
		}
		parts.of[at], parts.local[at] = c, int32(len(c.cells))
		c.cells = append(c.cells, at)
		c.truth = append(c.truth, m[at/columns][at%columns])
		c.published = append(c.published, p.after[at/columns][at%columns])
		for pass := range p.squares {
			c.at[pass] = append(c.at[pass], -1)
		}
	}
	for pass, squares := range p.squares {
		for i := range squares {
			s := &squares[i]
			at := places(s)
			c := parts.of[at[0]]
			q := localSquare{back: s.before - s.after, fixed: s.law.high-s.law.low > mostKnown}
			for k := range at {
				q.cells[k] = parts.local[at[k]]
				c.at[pass][q.cells[k]] = int32(len(c.squares[pass]))
			}
			c.squares[pass] = append(c.squares[pass], q)
		}
	}
	return parts
}

// single reports whether the component is one square of the only pass.
func (c *component) single() bool { return len(c.squares) == 1 }

// enumerate finds all true tables from which the published one can have been made, pass after pass, each way with its
// weight. It reports false if these have more than most inner counts.
func (c *component) enumerate(l *laws, most int) bool {
	most /= len(c.cells)
	tables, weights := [][]int64{c.published}, []float64{1}
	for pass := len(c.squares) - 1; pass >= 0; pass-- {
		for k := range c.squares[pass] {
			q := &c.squares[pass][k]
			var next [][]int64
			var with []float64
			for i, table := range tables {
				if len(next) > most {
					return false
				}
				b, at := l.back(q, table)
				if q.fixed {
					if moved := slices.Clone(table); q.moved(moved) {
						next, with = append(next, moved), append(with, weights[i])
					}
					continue
				}
				if b == nil {
					return false
				}
				for x, w := range b.weights[at] {
					if w > 0 {
						moved := slices.Clone(table)
						q.add(moved, int64(x)-at)
						next, with = append(next, moved), append(with, weights[i]*w)
					}
				}
			}
			tables, weights = next, with
		}
	}
	c.tables, c.weights = tables, weights
	return true
}

// moved moves a square whose change is known back; it reports whether that is possible.
func (q *localSquare) moved(table []int64) bool {
	q.add(table, q.back)
	for _, cell := range q.cells {
		if table[cell] < 0 {
			return false
		}
	}
	return true
}

// The greatest numbers of records that can change places in a square for which its law is tabulated, and up to which
// its change is not assumed to be known.
const (
	mostRange = 240
	mostKnown = 160
)

// laws tabulates the probabilities of the changes of squares. It is safe for concurrent use.
type laws struct {
	theta float64
	of    [mostRange + 1]atomic.Pointer[backward]
}

// backward is the law of all squares in which so many records can change places: for every result, counted from the
// least, the probability of becoming it for each previous count, their sum and its logarithm.
type backward struct {
	weights  [][]float64
	sum, log []float64
}

// back returns the law of a square that has become one of a table, and the result; nil if it has too many records.
func (l *laws) back(q *localSquare, table []int64) (b *backward, at int64) {
	first, second, third, fourth := q.counts(table)
	at = min(first, fourth)
	size := at + min(second, third)
	if size > mostRange {
		return nil, at
	}
	if b = l.of[size].Load(); b == nil {
		b = newBackward(law{0, size, l.theta})
		l.of[size].Store(b)
	}
	return b, at
}

func newBackward(l law) *backward {
	n := l.high + 1
	b := &backward{weights: make([][]float64, n), sum: make([]float64, n), log: make([]float64, n)}
	for y := range b.weights {
		b.weights[y] = make([]float64, n)
	}
	for x := range n {
		leave, enter := l.chances(x)
		if leave == 0 && enter == 0 {
			b.weights[x][x] = 1
			continue
		}
		var in []float64
		for k := range n - x {
			in = append(in, binomial(k, n-1-x, enter))
		}
		for stay := range x + 1 {
			p := binomial(stay, x, 1-leave)
			for k, q := range in {
				b.weights[int(stay)+k][x] += p * q
			}
		}
	}
	for y, w := range b.weights {
		for _, p := range w {
			b.sum[y] += p
		}
		b.log[y] = math.Log(b.sum[y])
	}
	return b
}
