package tablerisk

import (
	"math/rand/v2"
	"slices"

	"github.com/sdlfilter/sdlfilter/internal/tables"
)

// moves are the cells of records by their codes.
type moves struct {
	set    *tables.Set
	leaves [][]string // of a variable: its codes
	tables []moveTable
	size   int // inner cells of all tables
}

type moveTable struct {
	variables []int       // of a dimension
	strides   []int       // of a dimension: of its nodes
	above     [][][]int32 // of a dimension and a code: its node and those above it
	first     []bool      // of a place: no earlier table has this cell
}

func newMoves(set *tables.Set) *moves {
	m := &moves{set: set}
	number := map[string]int{}
	for t, table := range set.Tables {
		mt := moveTable{}
		size := 1
		for _, d := range table.Dimensions {
			v, known := number[d.Name]
			if !known {
				v = len(m.leaves)
				number[d.Name] = v
				var codes []string
				for _, leaf := range d.Leaves(0) {
					codes = append(codes, d.Codes[leaf])
				}
				m.leaves = append(m.leaves, codes)
			}
			above := make([][]int32, len(m.leaves[v]))
			for k, code := range m.leaves[v] {
				leaf, _ := d.Node(code)
				for n := range d.Codes {
					if slices.Contains(d.Leaves(n), int32(leaf)) {
						above[k] = append(above[k], int32(n))
					}
				}
			}
			mt.variables, mt.above = append(mt.variables, v), append(mt.above, above)
			size *= len(d.Codes)
		}
		mt.strides = make([]int, len(table.Dimensions))
		stride := 1
		for k := len(table.Dimensions) - 1; k >= 0; k-- {
			mt.strides[k] = stride
			stride *= len(table.Dimensions[k].Codes)
		}
		if t > 0 {
			mt.first = make([]bool, size)
			for at := range size {
				mt.first[at] = set.IsHome(t, at)
			}
		}
		m.tables = append(m.tables, mt)
		m.size += m.inner(t)
	}
	return m
}

// inner returns the number of inner cells of a table.
func (m *moves) inner(t int) int {
	n := 1
	for _, v := range m.tables[t].variables {
		n *= len(m.leaves[v])
	}
	return n
}

// choose returns the codes of an inner cell, with random ones for the variables that its table does not have.
func (m *moves) choose(rng *rand.Rand, t, at int, codes []int) {
	for v := range codes {
		codes[v] = -1
	}
	of := m.tables[t].variables
	for k := len(of) - 1; k >= 0; k-- {
		n := len(m.leaves[of[k]])
		codes[of[k]], at = at%n, at/n
	}
	for v := range codes {
		if codes[v] < 0 {
			codes[v] = rng.IntN(len(m.leaves[v]))
		}
	}
}

// list appends every cell that counts a record with the given codes, each once.
func (m *moves) list(codes []int, cells []int32) []int32 {
	for t := range m.tables {
		table := &m.tables[t]
		from := len(cells)
		cells = append(cells, 0)
		for k, v := range table.variables {
			above, stride, n := table.above[k][codes[v]], int32(table.strides[k]), len(cells)
			for _, node := range above[1:] {
				for _, at := range cells[from:n] {
					cells = append(cells, at+node*stride)
				}
			}
			for i := from; i < n; i++ {
				cells[i] += above[0] * stride
			}
		}
		to := from
		for _, at := range cells[from:] {
			if table.first == nil || table.first[at] {
				cells[to] = m.set.Cell(t, int(at))
				to++
			}
		}
		cells = cells[:to]
	}
	return cells
}
