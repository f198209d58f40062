package lp

import "fmt"

// Entry is one non-zero of a row.
type Entry struct {
	Column int
	Value  float64
}

// Matrix is a sparse matrix, held by columns and by rows.
type Matrix struct {
	rows, columns int

	columnStart []int32 // column j is at columnStart[j]:columnStart[j+1]
	rowOf       []int32
	byColumn    []float64

	rowStart []int32
	columnOf []int32
	byRow    []float64
}

// NewMatrix returns the matrix with the given rows and number of columns. It adds
// entries of the same row and column. It returns an error for a column outside 0 to
// columns−1.
func NewMatrix(columns int, rows [][]Entry) (*Matrix, error) {
	a := &Matrix{rows: len(rows), columns: columns}
	a.rowStart = make([]int32, 1, len(rows)+1)
	at := make([]int32, columns) // 1 + place of column j in the current row
	for i, row := range rows {
		first := int32(len(a.columnOf))
		for _, e := range row {
			if e.Column < 0 || e.Column >= columns {
				return nil, fmt.Errorf("row %d: column %d is outside 0 to %d", i, e.Column, columns-1)
			}
			if p := at[e.Column]; p > first {
				a.byRow[p-1] += e.Value
				continue
			}
			a.columnOf = append(a.columnOf, int32(e.Column))
			a.byRow = append(a.byRow, e.Value)
			at[e.Column] = int32(len(a.columnOf))
		}
		a.rowStart = append(a.rowStart, int32(len(a.columnOf)))
	}
	a.transpose()
	return a, nil
}

func (a *Matrix) transpose() {
	a.columnStart = make([]int32, a.columns+1)
	for _, j := range a.columnOf {
		a.columnStart[j+1]++
	}
	for j := range a.columns {
		a.columnStart[j+1] += a.columnStart[j]
	}
	next := append([]int32(nil), a.columnStart[:a.columns]...)
	a.rowOf = make([]int32, len(a.columnOf))
	a.byColumn = make([]float64, len(a.columnOf))
	for i := range a.rows {
		for p := a.rowStart[i]; p < a.rowStart[i+1]; p++ {
			j := a.columnOf[p]
			a.rowOf[next[j]], a.byColumn[next[j]] = int32(i), a.byRow[p]
			next[j]++
		}
	}
}

// column returns the rows and values of column j; for j ≥ columns it is the unit column
// of row j - columns.
func (a *Matrix) column(j int, unit *unitColumn) ([]int32, []float64) {
	if j >= a.columns {
		unit.row[0], unit.value[0] = int32(j-a.columns), 1
		return unit.row[:], unit.value[:]
	}
	from, to := a.columnStart[j], a.columnStart[j+1]
	return a.rowOf[from:to], a.byColumn[from:to]
}

type unitColumn struct {
	row   [1]int32
	value [1]float64
}
