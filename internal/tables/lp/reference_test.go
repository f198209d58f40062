package lp

import (
	"math"
	"math/rand/v2"
	"testing"
)

// problem is a system as plain slices, for the references.
type problem struct {
	dense        [][]float64
	lower, upper []float64
}

func (p problem) system(t testing.TB) *System {
	t.Helper()
	rows := make([][]Entry, len(p.dense))
	for i, r := range p.dense {
		for j, v := range r {
			if v != 0 {
				rows[i] = append(rows[i], Entry{j, v})
			}
		}
	}
	a, err := NewMatrix(len(p.lower), rows)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(a, p.lower, p.upper)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lines returns the rows of a table of the given shape with every line in every
// dimension fixed.
func lines(shape ...int) [][]float64 {
	n := 1
	for _, k := range shape {
		n *= k
	}
	var rows [][]float64
	for d := range shape {
		stride := 1
		for _, k := range shape[d+1:] {
			stride *= k
		}
		for first := range n {
			if first/stride%shape[d] != 0 {
				continue
			}
			row := make([]float64, n)
			for k := range shape[d] {
				row[first+k*stride] = 1
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// around gives bounds from random counts: many zeros and ones, so that many
// vertices are degenerate; some cells fixed, some without an upper bound.
func around(rng *rand.Rand, dense [][]float64, n int) problem {
	p := problem{dense: dense, lower: make([]float64, n), upper: make([]float64, n)}
	for j := range n {
		x := float64(rng.IntN(4) * rng.IntN(3))
		p.lower[j], p.upper[j] = -x, float64(rng.IntN(5))
		switch rng.IntN(12) {
		case 0:
			p.lower[j], p.upper[j] = 0, 0
		case 1:
			p.upper[j] = 50
		}
	}
	return p
}

// vertices returns the least and the greatest value of every column by trying all
// bases: every choice of columns at bounds that leaves a regular square system.
func vertices(p problem) (low, high []float64) {
	n := len(p.lower)
	low, high = make([]float64, n), make([]float64, n)
	basis := independent(p.dense)
	r := len(basis)
	chosen := make([]int, 0, r)
	var choose func(from int)
	choose = func(from int) {
		if len(chosen) == r {
			tryBasis(p, basis, chosen, low, high)
			return
		}
		for j := from; j <= n-(r-len(chosen)); j++ {
			chosen = append(chosen, j)
			choose(j + 1)
			chosen = chosen[:len(chosen)-1]
		}
	}
	choose(0)
	return low, high
}

func independent(dense [][]float64) [][]float64 {
	var kept, reduced [][]float64
	for _, row := range dense {
		r := append([]float64(nil), row...)
		for _, e := range reduced {
			lead := 0
			for e[lead] == 0 {
				lead++
			}
			if f := r[lead] / e[lead]; f != 0 {
				for j := range r {
					r[j] -= f * e[j]
				}
			}
		}
		for j := range r {
			if !(math.Abs(r[j]) <= 1e-9) {
				for k := range j {
					r[k] = 0
				}
				kept, reduced = append(kept, row), append(reduced, r)
				break
			}
		}
	}
	return kept
}

func tryBasis(p problem, rows [][]float64, basic []int, low, high []float64) {
	n, r := len(p.lower), len(rows)
	inverse := invert(rows, basic)
	if inverse == nil {
		return
	}
	isBasic := make([]bool, n)
	for _, j := range basic {
		isBasic[j] = true
	}
	var free []int
	for j := range n {
		if !isBasic[j] && p.lower[j] != p.upper[j] {
			free = append(free, j)
		}
	}
	z := make([]float64, n)
	for mask := range 1 << len(free) {
		for k, j := range free {
			z[j] = p.lower[j]
			if mask>>k&1 == 1 {
				z[j] = p.upper[j]
			}
		}
		right := make([]float64, r)
		for i, row := range rows {
			for _, j := range free {
				right[i] -= row[j] * z[j]
			}
		}
		ok := true
		for i, j := range basic {
			z[j] = 0
			for k := range r {
				z[j] += inverse[i][k] * right[k]
			}
			ok = ok && z[j] >= p.lower[j]-1e-9 && z[j] <= p.upper[j]+1e-9
		}
		if ok {
			for j, v := range z {
				low[j], high[j] = min(low[j], v), max(high[j], v)
			}
		}
	}
}

func invert(rows [][]float64, basic []int) [][]float64 {
	r := len(rows)
	m := make([][]float64, r)
	for i := range m {
		m[i] = make([]float64, 2*r)
		for k, j := range basic {
			m[i][k] = rows[i][j]
		}
		m[i][r+i] = 1
	}
	for c := range r {
		best := c
		for i := c; i < r; i++ {
			if !(math.Abs(m[i][c]) <= math.Abs(m[best][c])) {
				best = i
			}
		}
		if math.Abs(m[best][c]) < 1e-9 {
			return nil
		}
		m[c], m[best] = m[best], m[c]
		d := m[c][c]
		for k := range m[c] {
			m[c][k] /= d
		}
		for i := range m {
			if f := m[i][c]; i != c && f != 0 {
				for k := range m[i] {
					m[i][k] -= f * m[c][k]
				}
			}
		}
	}
	out := make([][]float64, r)
	for i := range out {
		out[i] = m[i][r:]
	}
	return out
}
