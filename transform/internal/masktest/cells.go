package masktest

import (
	"math/bits"
	"math/rand/v2"
	"slices"
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

// Candidates counts the released records that can be that of respondent i for a snooper who knows
// the keys of a set that the source has, comparing all pairs. If missing cells are no value, only those
// count that lack no key that the snooper knows, or the same as the respondent's own record.
func Candidates(in, out [][]int, i, known int, strict bool) (n int) {
	for j := range out {
		can, complete, same := true, true, true
		for c := range in[i] {
			if known>>c&1 == 0 {
				continue
			}
			x, y := in[i][c], out[j][c]
			can = can && (x == 0 || y == 0 || x == y)
			complete = complete && (x == 0 || y != 0)
			same = same && y == out[i][c]
		}
		if can && (!strict || complete || same) {
			n++
		}
	}
	return n
}

// Fewest returns the least number of candidates of any respondent by any set of so many keys.
func Fewest(in, out [][]int, keys int, strict bool) int {
	least := len(in)
	for known := range 1 << len(in[0]) {
		if bits.OnesCount(uint(known)) != keys {
			continue
		}
		for i := range in {
			least = min(least, Candidates(in, out, i, known, strict))
		}
	}
	return least
}

// Without returns a record with a set of cells made missing.
func Without(record []int, set int) []int {
	out := slices.Clone(record)
	for c := range out {
		if set>>c&1 == 1 {
			out[c] = 0
		}
	}
	return out
}
