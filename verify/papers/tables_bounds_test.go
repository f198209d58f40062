package papers

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// CountBounds are the smallest and the greatest count that the released margins allow for the cells
// of a two-way margin.
type CountBounds struct{ Lower, Upper [][]int }

func floats(table [][]int) [][]float64 {
	f := make([][]float64, len(table))
	for i, row := range table {
		for _, n := range row {
			f[i] = append(f[i], float64(n))
		}
	}
	return f
}

// BoundMargin bounds the unpublished margin I+K of a three-way table from the published IJ+
// (ij[i][j]) and +JK (jk[j][k]): the upper bound of cell (i, k) is Σ_j min(n_ij+, n_+jk), the lower
// one Σ_j max(0, n_ij+ + n_+jk − n_+j+). They are sharp. Duncan et al. (2001), section 4, after
// Dobra and Fienberg and Chowdhury et al. It returns an error if margins are inconsistent.
func BoundMargin(ij, jk [][]int) (CountBounds, error) {
	if err := checkTable("ij", ij, 0, len(jk)); err != nil {
		return CountBounds{}, err
	}
	if err := checkTable("jk", jk, len(jk), 0); err != nil {
		return CountBounds{}, err
	}
	between := columnSums(ij) // n_+j+
	for j, row := range jk {
		if s := rowSum(row); s != between[j] {
			return CountBounds{}, fmt.Errorf("jk[%d]: must add up to %d as ij does, got %d", j, between[j], s)
		}
	}
	b := CountBounds{Lower: make([][]int, len(ij)), Upper: make([][]int, len(ij))}
	lower, upper := Frechet(floats(ij), floats(jk))
	for i := range lower {
		for k := range lower[i] {
			b.Lower[i], b.Upper[i] = append(b.Lower[i], int(lower[i][k])), append(b.Upper[i], int(upper[i][k]))
		}
	}
	return b, nil
}

// Disclosures lists the cells (i, k) that the bounds do not protect: those with an upper bound
// below the desired one, the count plus the share protection of it, rounded up (0.2 in the example
// of Duncan et al. 2001, section 4). counts has the shape of the bounds.
func (b CountBounds) Disclosures(counts [][]int, protection float64) ([][2]int, error) {
	if err := checkTable("counts", counts, len(b.Upper), len(b.Upper[0])); err != nil {
		return nil, err
	}
	if !(protection >= 0) {
		return nil, fmt.Errorf("protection: must be at least 0, got %v", protection)
	}
	var cells [][2]int
	for i, row := range counts {
		for k, n := range row {
			// 1e-9: 75·1.2 is a little above 90 in floating point
			if float64(b.Upper[i][k]) < math.Ceil(float64(n)*(1+protection)-1e-9) {
				cells = append(cells, [2]int{i, k})
			}
		}
	}
	return cells, nil
}

// LinearUpperBound is the greatest value that linear programming gives for cell (i, j, k) of a
// three-way table with counts of at least 0 and the margins IJ+, I+K and +JK. In three dimensions
// it need not be an integer, and then no table of counts attains it: Duncan et al. (2001), section
// 4. It returns an error if margins are inconsistent, or if no table has them.
func LinearUpperBound(ij, ik, jk [][]int, cell [3]int) (float64, error) {
	if err := checkTable("jk", jk, 0, 0); err != nil {
		return 0, err
	}
	ni, nj, nk := len(ij), len(jk), len(jk[0])
	if err := checkTable("ij", ij, ni, nj); err != nil {
		return 0, err
	}
	if err := checkTable("ik", ik, ni, nk); err != nil {
		return 0, err
	}
	for d, n := range []int{ni, nj, nk} {
		if cell[d] < 0 || cell[d] >= n {
			return 0, fmt.Errorf("cell[%d]: must be between 0 and %d, got %d", d, n-1, cell[d])
		}
	}
	for i := range ij {
		if rowSum(ij[i]) != rowSum(ik[i]) {
			return 0, fmt.Errorf("ik[%d]: must add up to %d as ij does, got %d", i, rowSum(ij[i]), rowSum(ik[i]))
		}
	}
	for j, s := range columnSums(ij) {
		if rowSum(jk[j]) != s {
			return 0, fmt.Errorf("jk[%d]: must add up to %d as ij does, got %d", j, s, rowSum(jk[j]))
		}
	}
	across := columnSums(ik)
	for k, s := range columnSums(jk) {
		if across[k] != s {
			return 0, fmt.Errorf("jk: column %d must add up to %d as that of ik does, got %d", k, across[k], s)
		}
	}

	// The simplex method needs linearly independent rows: all of IJ+, I+K without its last layer,
	// and +JK without its last column and last layer.
	rows := ni*nj + ni*(nk-1) + (nj-1)*(nk-1)
	a := mat.NewDense(rows, ni*nj*nk, nil)
	b := make([]float64, 0, rows)
	at := func(i, j, k int) int { return (i*nj+j)*nk + k }
	for i := range ni {
		for j := range nj {
			for k := range nk {
				a.Set(len(b), at(i, j, k), 1)
			}
			b = append(b, float64(ij[i][j]))
		}
	}
	for i := range ni {
		for k := range nk - 1 {
			for j := range nj {
				a.Set(len(b), at(i, j, k), 1)
			}
			b = append(b, float64(ik[i][k]))
		}
	}
	for j := range nj - 1 {
		for k := range nk - 1 {
			for i := range ni {
				a.Set(len(b), at(i, j, k), 1)
			}
			b = append(b, float64(jk[j][k]))
		}
	}
	goal := make([]float64, ni*nj*nk)
	goal[at(cell[0], cell[1], cell[2])] = -1
	least, _, err := lp.Simplex(goal, a, b, 1e-10, nil)
	if err != nil {
		return 0, fmt.Errorf("greatest value of cell %v: %w", cell, err)
	}
	return -least, nil
}

// checkTable checks that a table of counts has the given rows and columns; 0 stands for any number
// above 0.
func checkTable(name string, t [][]int, rows, columns int) error {
	if len(t) == 0 || rows > 0 && len(t) != rows {
		return fmt.Errorf("%s: must have %s rows, got %d", name, anyNumber(rows), len(t))
	}
	if columns == 0 {
		columns = len(t[0])
	}
	for i, row := range t {
		if len(row) != columns || columns == 0 {
			return fmt.Errorf("%s[%d]: must have %s counts, got %d", name, i, anyNumber(columns), len(row))
		}
		for j, n := range row {
			if n < 0 {
				return fmt.Errorf("%s[%d][%d]: must be at least 0", name, i, j)
			}
		}
	}
	return nil
}

func anyNumber(n int) string {
	if n == 0 {
		return "some"
	}
	return fmt.Sprint(n)
}

func rowSum(row []int) (s int) {
	for _, n := range row {
		s += n
	}
	return s
}

func columnSums(t [][]int) []int {
	s := make([]int, len(t[0]))
	for _, row := range t {
		for j, n := range row {
			s[j] += n
		}
	}
	return s
}
