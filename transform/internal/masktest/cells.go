package masktest

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// Rows are records of categories, numbered from 1; 0 is a missing value.
type Rows [][]int

// CategoriesAt draws n records of keys with the given numbers of categories, the first category
// much more frequent, and a share of the cells missing.
func CategoriesAt(r *rand.Rand, n int, cards []int, missing float64) Rows {
	out := make(Rows, n)
	for i := range out {
		for _, card := range cards {
			v := 1 + min(r.IntN(card), r.IntN(card))
			if r.Float64() < missing {
				v = 0
			}
			out[i] = append(out[i], v)
		}
	}
	return out
}

// Columns returns the keys as columns of a type.
func (r Rows) Columns(typ arrow.DataType) []Column {
	columns := make([]Column, len(r[0]))
	for c := range columns {
		columns[c] = Column{Type: typ}
		for i := range r {
			columns[c].Values = append(columns[c].Values, float64(r[i][c]))
			if r[i][c] == 0 {
				columns[c].Null = append(columns[c].Null, i)
			}
		}
	}
	return columns
}

// MissingCells returns the set of cells made missing. A cell with another value fails the test.
func MissingCells(t *testing.T, x, y []int) (set int) {
	t.Helper()
	for c := range x {
		if x[c] != y[c] {
			if y[c] != 0 {
				t.Fatalf("cell %d got another value", c)
			}
			set |= 1 << c
		}
	}
	return set
}
