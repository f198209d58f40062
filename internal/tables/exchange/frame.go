package exchange

import "github.com/sdlfilter/sdlfilter/internal/tables"

// Frame is a table as rows, the leaves of one variable, and columns, the combinations of
// leaves of all others. Every cell of the table is the sum of the inner cells in some
// rows and some columns.
type Frame struct {
	Set      *tables.Set
	table    int
	variable int

	dimensions []*tables.Dimension
	place      []int       // of a cell of the set: its place in the table
	rows       []int       // nodes of the leaves of the variable
	columns    [][]int     // of a column: the nodes of its leaves; 0 for the variable of the rows
	above      [][][]int32 // of a variable and a leaf: all nodes above the leaf, and the leaf itself
}

// NewFrame returns the frame of a table of a set, with the given dimension as rows. The
// table must have all variables of the set.
func NewFrame(set *tables.Set, table, variable int) *Frame {
	f := &Frame{Set: set, table: table, variable: variable, dimensions: set.Tables[table].Dimensions,
		place: make([]int, set.Cells())}
	size := 1
	for _, d := range f.dimensions {
		size *= len(d.Codes)
		above := make([][]int32, len(d.Codes))
		for n := range d.Codes {
			for _, leaf := range d.Leaves(n) {
				above[leaf] = append(above[leaf], int32(n))
			}
		}
		f.above = append(f.above, above)
	}
	for at := range size {
		f.place[set.Cell(table, at)] = at
	}
	f.columns = [][]int{make([]int, len(f.dimensions))}
	for k, d := range f.dimensions {
		if k == variable {
			for _, leaf := range d.Leaves(0) {
				f.rows = append(f.rows, int(leaf))
			}
			continue
		}
		var longer [][]int
		for _, c := range f.columns {
			for _, leaf := range d.Leaves(0) {
				nodes := append([]int(nil), c...)
				nodes[k] = int(leaf)
				longer = append(longer, nodes)
			}
		}
		f.columns = longer
	}
	return f
}

// Variables returns the names of the dimensions, in their order.
func (f *Frame) Variables() []string {
	names := make([]string, len(f.dimensions))
	for k, d := range f.dimensions {
		names[k] = d.Name
	}
	return names
}

// at returns the cell at the given nodes, with node of for the variable of the rows.
func (f *Frame) at(nodes []int, of int) int32 {
	place := 0
	for k, d := range f.dimensions {
		n := nodes[k]
		if k == f.variable {
			n = of
		}
		place = place*len(d.Codes) + n
	}
	return f.Set.Cell(f.table, place)
}

func (f *Frame) inner(row, column int) int32 { return f.at(f.columns[column], f.rows[row]) }

// nodes returns the nodes of a cell.
func (f *Frame) nodes(cell int32) []int {
	nodes := make([]int, len(f.dimensions))
	for k, rest := len(nodes)-1, f.place[cell]; k >= 0; k-- {
		n := len(f.dimensions[k].Codes)
		nodes[k], rest = rest%n, rest/n
	}
	return nodes
}

// Margins returns the two totals of a cell: of its rows over all columns, and of its columns
// over all rows.
func (f *Frame) Margins(cell int32) (rows, columns int32) {
	nodes := f.nodes(cell)
	return f.at(make([]int, len(nodes)), nodes[f.variable]), f.at(nodes, 0)
}

// Kept reports whether a cell is a margin, whose value is the same in every table that
// this package publishes.
func (f *Frame) Kept(cell int32) bool {
	rows, columns := f.Margins(cell)
	return cell == rows || cell == columns
}

// split reports over which rows and which columns a cell is the sum.
func (f *Frame) split(cell int32) (rows, columns []bool) {
	nodes := f.nodes(cell)
	of := make([][]bool, len(nodes)) // of a variable and a node: it is a leaf under the cell's node
	for k, d := range f.dimensions {
		of[k] = make([]bool, len(d.Codes))
		for _, leaf := range d.Leaves(nodes[k]) {
			of[k][leaf] = true
		}
	}
	rows, columns = make([]bool, len(f.rows)), make([]bool, len(f.columns))
	for i, leaf := range f.rows {
		rows[i] = of[f.variable][leaf]
	}
	for j, c := range f.columns {
		columns[j] = true
		for k, leaf := range c {
			columns[j] = columns[j] && (k == f.variable || of[k][leaf])
		}
	}
	return rows, columns
}

// matrix returns the inner counts.
func (f *Frame) matrix(value []float64) [][]int64 {
	m := make([][]int64, len(f.rows))
	for i := range m {
		m[i] = make([]int64, len(f.columns))
		for j := range m[i] {
			m[i][j] = int64(value[f.inner(i, j)])
		}
	}
	return m
}

// addUp returns the value of every cell if the inner counts change from those in value
// to those in m.
func (f *Frame) addUp(value []float64, m [][]int64) []float64 {
	published := append([]float64(nil), value...)
	for i, row := range m {
		for j, to := range row {
			cell := f.inner(i, j)
			if d := float64(to) - value[cell]; d != 0 {
				f.add(published, i, j, d)
			}
		}
	}
	return published
}

// add adds d to an inner cell and to all totals above it.
func (f *Frame) add(value []float64, row, column int, d float64) {
	places := []int{0}
	for k, dimension := range f.dimensions {
		leaf := f.columns[column][k]
		if k == f.variable {
			leaf = f.rows[row]
		}
		var longer []int
		for _, place := range places {
			for _, n := range f.above[k][leaf] {
				longer = append(longer, place*len(dimension.Codes)+int(n))
			}
		}
		places = longer
	}
	for _, place := range places {
		value[f.Set.Cell(f.table, place)] += d
	}
}
